"""The number of modes by shapes that they were not made of."""

import warnings

import numpy as np
import pytest

import pliant as pl
from pliant.reduction import choose_modes, curved, pod
from pliant.reduction.snapshots import Snapshots
from scenes import RUBBER, bar


@pytest.fixture(scope="module")
def model():
    return bar(name="block")[0].compile().models[0]


def recorded(model, parts, runs, targets):
    """Snapshots of shapes that are `parts` (s, rank) of random motions, s / runs in each run."""
    random = np.random.default_rng(0)
    motions = np.where(model.constrained, 0.0, random.standard_normal((parts.shape[1], *model.rest.shape)))
    q = model.rest + 1e-3 * np.einsum("sk,kni->sni", parts, motions)
    count, none = len(parts), np.zeros(0, np.int64)
    each = count // runs
    return Snapshots(
        ("block",), (), (q,), run=np.repeat(np.arange(runs), each), step=np.tile(np.arange(each), runs),
        actuation=np.zeros((count, 1, 2)), residual=np.zeros(count), starts=np.zeros(count + 1, np.int64), keys=none,
        lam=np.zeros(0), maker=none, normal=none.astype(bool), nodes=np.zeros((0, 2, 3), np.int32),
        weights=np.zeros((0, 2, 3)), provenance={"plan": {"targets": targets}},
    )  # fmt: skip


def test_whole_runs_are_held_out_where_every_actuator_moves_in_enough(model):
    """All runs hold the same three motions: three modes reach those that are held out."""
    parts = np.random.default_rng(1).standard_normal((40, 3))
    choice = choose_modes(model, recorded(model, parts, 10, np.ones((10, 2)).tolist()), tolerance=1e-6)
    assert choice.by == "runs"
    assert choice.subspace.size == 3
    assert choice.error < 1e-6
    assert choice.errors[0] == pytest.approx(1.0)
    assert (np.diff(choice.errors) <= 0.0).all()


def test_runs_that_have_a_motion_of_their_own_are_missed_and_it_is_said(model):
    """The tail of the singular values would be content; runs that were held out are not."""
    parts = np.zeros((40, 11))
    parts[:, 0] = np.tile(np.arange(1.0, 5.0), 10)
    for run in range(10):
        parts[4 * run : 4 * run + 4, 1 + run] = 0.3 * np.arange(1.0, 5.0) ** 2
    snapshots = recorded(model, parts, 10, np.ones((10, 2)).tolist())
    with pytest.warns(pl.PliantWarning, match="do not span"):
        choice = choose_modes(model, snapshots, tolerance=1e-2)
    assert choice.error > 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pod(model, snapshots.positions("block"), tolerance=1e-2).discarded < 1e-2
        alone = choose_modes(model, recorded(model, parts, 10, np.eye(10).tolist()), tolerance=1e-2)
    assert alone.by == "snapshots", "each actuator moves in one run only: without it nothing is known of it"


def test_what_other_snapshots_lose_is_their_distance_from_the_modes(model):
    """Against a projection by least squares in the norm of the masses."""
    random = np.random.default_rng(3)
    snapshots = recorded(model, random.standard_normal((20, 6)), 1, [[1.0]])
    shapes = snapshots.positions("block")
    found = pod(model, shapes[:12], size=4)
    root = np.repeat(np.sqrt(model.mass.nodal), 3)[:, None]
    wanted = root * (shapes[12:] - model.rest).reshape(8, -1).T
    for size, error in enumerate(found.left_out(shapes[12:])):
        basis = root * found.modes[:, :size]
        rest = wanted - basis @ np.linalg.lstsq(basis, wanted, rcond=None)[0] if size else wanted
        assert error == pytest.approx(np.linalg.norm(rest) / np.linalg.norm(wanted), rel=1e-6)


def test_curved_subspaces_take_fewer(model):
    """Shapes along a parabola: two plane modes, or one coordinate and its square."""
    t = np.linspace(0.1, 1.0, 40)[:, None]
    snapshots = recorded(model, np.hstack([t, 0.2 * t**2]), 1, [[1.0]])
    plane, bent = (choose_modes(model, snapshots, tolerance=1e-2, curvature=c).subspace for c in (False, True))
    assert (plane.size, bent.size) == (2, 1)


def test_modes_are_zero_where_the_body_is_held_however_many(model):
    """Also those that hold rounding alone."""
    random = np.random.default_rng(4)
    parts = random.standard_normal((30, 12)) * 10.0 ** -np.arange(12)
    found = pod(model, recorded(model, parts, 1, [[1.0]]).positions("block"), tolerance=1e-15)
    assert found.size >= 11
    assert not found.modes[model.constrained_unknowns].any()


def test_too_few_snapshots_are_an_error(model):
    with pytest.raises(pl.InputError, match="too few"):
        choose_modes(model, recorded(model, np.ones((4, 1)), 1, [[1.0]]), tolerance=1e-2)


def test_masses_that_are_negative_at_corners_span_plane_subspaces_only():
    """Consistent masses of quadratic tetrahedra, summed by nodes."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (3, 1, 1), element="tet10")
    scene.add(pl.Volume(mesh, RUBBER, clamp=pl.regions.plane(axis="x", at=0), lumped_mass=False, name="block"))
    world = scene.compile()
    (model,) = world.models
    assert model.mass.nodal.min() < 0.0
    shapes = recorded(model, np.random.default_rng(5).standard_normal((20, 3)), 1, [[1.0]]).positions("block")
    found = pod(model, shapes, size=3)
    small = found.subspace().reduced(model)
    np.testing.assert_allclose(small.nearest(shapes[0]), shapes[0], rtol=0, atol=1e-12)
    with pytest.raises(pl.InputError, match="lumped_mass=True"):
        curved(found, shapes)


@pytest.mark.parametrize("tolerance", [0.3, 1e-2, 1e-4])
def test_curved_modes_are_added_until_the_tolerance_is_reached_and_no_longer(model, tolerance):
    """Shapes along two parabolas of falling size: errors of 0, 1 … modes, the last of them the first that is enough."""
    random = np.random.default_rng(0)
    a, b, c = random.uniform(-1.0, 1.0, (3, 60, 1)) * [[[1.0]], [[0.1]], [[0.01]]]
    parts = np.hstack([a, 0.2 * a**2, b, 0.3 * b**2, c])
    choice = choose_modes(
        model, recorded(model, parts, 10, np.ones((10, 1)).tolist()), tolerance=tolerance, curvature=True
    )
    assert choice.errors[0] == 1.0
    assert choice.errors[-1] <= tolerance
    assert (choice.errors[:-1] > tolerance).all()
    assert choice.subspace.size == len(choice.errors) - 1
