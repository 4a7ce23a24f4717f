"""Subspaces whose modes, points or weights do not belong to their body are refused, each by what is wrong."""

import numpy as np
import pytest

import pliant as pl
from pliant.reduced import Subspace
from pliant.world.reduced import reduced

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)


def made(size=(0.1, 0.03, 0.03), cells=(3, 1, 1)):
    scene = pl.Scene()
    mesh, clamp = pl.mesh.box(size, cells), pl.regions.plane(axis="x", at=0)
    scene.add(pl.Volume(mesh, RUBBER, clamp=clamp, name="bar"))
    return scene.compile()


@pytest.fixture(scope="module")
def world():
    return made()


def subspace(world, **changes):
    """A subspace of two modes with three of its integration points, but for the changes."""
    model = world.models[0]
    modes = np.zeros((*model.rest.shape, 2))
    modes[:, 2, 0], modes[:, 1, 1] = model.rest[:, 0] ** 2, model.rest[:, 0] ** 2
    given = {"modes": modes.reshape(-1, 2), "rest": model.rest, "point_count": model.points.count,
             "points": np.array([0, 2, model.points.count - 1]), "weights": np.array([0.0, 1.0, 2.5])}  # fmt: skip
    given |= {name: change(given.get(name)) for name, change in changes.items()}
    return Subspace(model.spec, given.pop("modes"), **given)


def test_what_belongs_together_is_taken(world):
    whole = subspace(world)
    assert (whole.size, len(whole.points)) == (2, 3)
    assert f"2 modes, 3 of {whole.point_count} points" in repr(whole)
    all_points = subspace(world, points=lambda _: None, weights=lambda _: None)
    assert f"2 modes, {whole.point_count} of {whole.point_count} points" in repr(all_points)
    bent = subspace(world, curvature=lambda _: np.zeros((world.models[0].rest.size, 2 + 3)))
    assert "2 curved modes" in repr(bent)
    assert whole.covers(world.models[0])
    assert not whole.covers(made().models[0])
    assert not whole.covers(world)
    assert reduced(world, [all_points]).models[0].name == "bar"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"modes": lambda m: m[:, :0]}, r"must be \(3n, k\)"),
        ({"modes": lambda m: m[:-3]}, r"must be \(3n, k\) with n = 16"),
        ({"modes": lambda m: m[:, 0]}, "modes of the subspace of 'bar'"),
        ({"modes": lambda m: np.where(m == m.max(), np.nan, m)}, "finite"),
        ({"rest": lambda r: r[:, :2]}, "rest positions of the subspace of 'bar'"),
        ({"curvature": lambda _: np.zeros((48, 4))}, "curvature of the subspace of 'bar'"),
        ({"curvature": lambda _: np.zeros((48, 6))}, "curvature of the subspace of 'bar'"),
        ({"points": lambda _: None}, "both points and weights"),
        ({"weights": lambda _: None}, "both points and weights"),
        ({"weights": lambda w: w[:2]}, "a weight ≥ 0 for each"),
        ({"weights": lambda w: w - 1.0}, "a weight ≥ 0 for each"),
        ({"points": lambda p: p[:0], "weights": lambda w: w[:0]}, "a weight ≥ 0 for each"),
        ({"points": lambda p: p[:1]}, "a weight ≥ 0 for each"),
        ({"weights": lambda w: w[:, None]}, "weights of the subspace of 'bar'"),
        ({"points": lambda p: p - 1}, r"must lie in \[0, "),
        ({"points": lambda p: p + 1}, r"must lie in \[0, "),
    ],
)  # fmt: skip
def test_what_does_not_is_named(world, changes, said):
    with pytest.raises(pl.InputError, match=said):
        subspace(world, **changes)


def test_the_body_must_be_the_one_that_the_modes_were_made_for(world):
    bare = {"points": lambda _: None, "weights": lambda _: None}
    small = subspace(world, **bare)
    with pytest.raises(pl.InputError, match=r"was made for 16 nodes and .* the body has 24 and"):
        small.reduced(made(cells=(5, 1, 1)).models[0])
    away = subspace(world, rest=lambda r: r + 2e-3, **bare)
    with pytest.raises(pl.InputError, match="nodes up to 2 mm away"):
        away.reduced(world.models[0])
    near = subspace(world, rest=lambda r: r + 0.5e-10, **bare)
    assert near.reduced(world.models[0]).subspace is near, "rounding of a placement"
    fewer = subspace(world, point_count=lambda count: count - 1, **bare)
    with pytest.raises(pl.InputError, match="integration points"):
        fewer.reduced(world.models[0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_modes_are_zero_at_supports_but_for_rounding(world, sign):
    """In either direction; what is below rounding is set to zero."""
    fixed = np.flatnonzero(world.models[0].constrained.ravel())
    bare = {"points": lambda _: None, "weights": lambda _: None}

    def with_motion(size):
        def change(modes):
            moved = modes.copy()
            moved[fixed[0], 0] = sign * size * np.abs(modes).max()
            return moved

        return subspace(world, modes=change, **bare)

    with pytest.raises(pl.InputError, match="a mode of 'bar' moves constrained nodes"):
        with_motion(1e-3).reduced(world.models[0])
    assert not with_motion(1e-12).reduced(world.models[0]).chart.modes[fixed].any()
