"""Supports that an inverse moves: a body without forces follows its base rigidly, along a line and within bounds."""

import numpy as np
import pytest

import pliant as pl
from scenes import BEAM_TIP as TIP
from scenes import RUBBER
from scenes import cabled_beam as beam

AWAY = (0.3, -0.2, 0.5)
"""No node is at the origin: displacements are no positions."""
END = tuple(np.add(AWAY, (0.1, 0.01, 0.01)))
CLAMP = pl.regions.plane(axis="x", at=0.0)


def platform(direction, axes="xyz", **options):
    """A bar without gravity or cables on a base that moves along `direction`."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1)).translated(AWAY)
    body = scene.add(pl.Volume(mesh, RUBBER))
    base = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=AWAY[0]), axes=axes))
    moved = pl.MovedSupport(base, direction, **options)
    return scene.compile(), body, moved


def check_rigid(displacements, wanted):
    """All nodes move alike, along the line, by what is wanted but for the small weight of the motion itself."""
    np.testing.assert_allclose(displacements, np.tile(displacements[0], (len(displacements), 1)), atol=1e-9)
    np.testing.assert_allclose(np.cross(displacements[0], wanted), 0.0, atol=1e-12)
    np.testing.assert_allclose(displacements[0], wanted, atol=2e-3 * np.linalg.norm(wanted) + 1e-5)


@pytest.mark.parametrize("direction", [(1, 0, 0), (0, -1, 0), (1, 2, 2), (0, 3, -4)])
@pytest.mark.parametrize("iterations", [1, 3])
def test_a_body_follows_its_base_step_by_step(direction, iterations):
    """Quasi-static without forces: every node moves by s d, where the tip is to go."""
    world, body, base = platform(direction)
    d = np.array(direction) / np.linalg.norm(direction)
    tip = pl.Effector(body, END)
    step = pl.QuasiStatic(newton_iterations=iterations, solver=pl.Inverse([tip], [base], energy_weight=0.0))
    state = world.initial_state()
    for s in (0.004, 0.007, -0.002):
        state, info = step(world, state, {tip: np.array(END) + s * d})
        check_rigid(state.displacements(body), s * d)
        assert info.error(tip) < 2e-3 * abs(s) + 1e-5


@pytest.mark.parametrize(("target", "reached"), [(0.05, 0.01), (-0.05, -0.004), (0.003, 0.003)])
def test_a_base_stays_within_its_bounds(target, reached):
    """Along a diagonal the bounds are of the displacement itself, also where several solves go there."""
    world, body, base = platform((0, 3, 4), min_displacement=-0.004, max_displacement=0.01)
    d, tip = np.array([0.0, 0.6, 0.8]), pl.Effector(body, END)
    step = pl.QuasiStatic(newton_iterations=2, solver=pl.Inverse([tip], [base], energy_weight=0.0))
    state = world.initial_state()
    for _ in range(2):
        state, info = step(world, state, {tip: np.array(END) + target * d})
        exact = 1e-9 if target != reached else 1e-5
        np.testing.assert_allclose(state.displacements(body)[0], reached * d, atol=exact)
    assert ("support" in info.inverse.limited) is (target != reached)


def test_a_support_that_slides_along_other_axes_moves_along_its_own():
    """Supported along x alone, with a further support that keeps it in place."""
    scene, body, _ = beam(support=True, cables="")
    base = scene.add(pl.Support(body, CLAMP, axes="x"))
    scene.add(pl.Support(body, CLAMP, axes="yz"))
    moved, tip = pl.MovedSupport(base, (-2, 0, 0), name="rail"), pl.Effector(body, TIP, directions=(1, 0, 0))
    world = scene.compile()
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse([tip], [moved], energy_weight=0.0))
    state, _ = step(world, world.initial_state(), {tip: np.add(TIP, (-0.006, 0, 0))})
    check_rigid(state.displacements(body), np.array([-0.006, 0.0, 0.0]))


def test_bad_directions_and_foreign_supports_are_named():
    scene, body, _ = beam(support=True, cables="")
    base = scene.add(pl.Support(body, CLAMP, axes="xy"))
    with pytest.raises(pl.InputError, match=r"moves along \['z'\], which its support does not constrain"):
        pl.MovedSupport(base, (1, 0, 1))
    with pytest.raises(pl.InputError, match="direction of 'rail' must not be zero"):
        pl.MovedSupport(base, (0, 0, 0), name="rail")
    foreign = pl.MovedSupport(pl.Support(body, CLAMP), (1, 0, 0), name="rail")
    assert foreign.bodies == (body,)
    assert not foreign.rate_limited
    assert pl.MovedSupport(base, (1, 0, 0), max_rate=0.1).rate_limited
    tip, world = pl.Effector(body, TIP), scene.compile()
    step = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse([tip], [foreign]))
    with pytest.raises(pl.InputError, match="the support of 'rail' is not in this world"):
        step(world, world.initial_state(), {tip: TIP})


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize(("direction", "axes"), [((1, 2, 2), "xyz"), ((0, 3, -4), "yz"), ((0, 0, -1), "z")])
def test_what_it_says_of_the_base_is_where_the_base_is(direction, axes, iterations):
    """After each solve of a step, and as the controls that a step without inverse takes instead."""
    world, body, base = platform(direction, axes)
    d = np.array(direction) / np.linalg.norm(direction)
    tip = pl.Effector(body, END)
    step = pl.QuasiStatic(newton_iterations=iterations, solver=pl.Inverse([tip], [base], energy_weight=0.0))
    state = world.initial_state()
    for s in (0.004, -0.003):
        state, info = step(world, state, {tip: np.array(END) + s * d})
        moved = np.array(info.inverse.commands(None, info)[base.support].value)
        assert moved.shape == (len(axes),)
        own = ["xyz".index(axis) for axis in axes]
        np.testing.assert_allclose(moved, state.displacements(body)[0][own], atol=1e-9)
