"""Friction in guides beside an inverse: tips follow what rods and cables with friction can do, and forces obey it."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.rows import RowLaw
from pliant.control.guides import _sticking, has_guides, solve_with_guides
from pliant.solvers.contact import MixedProblem

MESH = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
RUBBER = pl.materials.Corotated(young=5e5, poisson=0.4, density=1e3)
POINTS = np.stack([np.linspace(0.005, 0.1, 12), np.full(12, 0.01), np.full(12, 0.015)], axis=1)
TIP = int(np.argmin(np.linalg.norm(MESH.points - [0.1, 0.01, 0.01], axis=1)))
STEPS = 24


def with_rod(friction):
    scene = pl.Scene()
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
    rod = scene.add(
        pl.Rod(
            0.12, 10, section=pl.sections.Circle(2.5e-4), young=2e9, poisson=0.3, density=1e3,
            position=(-0.02, 0.01, 0.015), base=pl.Slide((-1, 0, 0)), damping=pl.Rayleigh(stiffness=0.05),
        )
    )  # fmt: skip
    scene.add(pl.Channel(body, POINTS, rod, friction=friction))
    drive = scene.add(pl.BaseDrive(rod))
    return scene.compile(), body, drive


def with_cable(friction):
    scene = pl.Scene()
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
    drive = scene.add(pl.Cable(body, POINTS, friction=friction))
    return scene.compile(), body, drive


def reachable(world, body, drive):
    """Where the tip goes as the drive pulls by 3 mm and lets go again, (STEPS, 3) m, and the forces of the drive, N."""
    state, places, forces = world.initial_state(), [], []
    for k in range(STEPS):
        amount = pl.Displacement(0.003 * np.sin(np.pi * (k + 1) / STEPS))
        state, info = pl.ImplicitEuler(0.02)(world, state, {drive: amount})
        places.append(state.points(body)[TIP])
        forces.append(info.actuation(drive)[1])
    return np.array(places), np.array(forces)


@pytest.mark.parametrize("build", [with_rod, with_cable])
def test_a_tip_follows_what_friction_lets_it_do(build):
    """The inverse of a direct run finds its forces, out and back, where friction turns round."""
    world, body, drive = build(0.2)
    places, forces = reachable(world, body, drive)
    tip = pl.Effector(body, MESH.points[TIP])
    step = pl.ImplicitEuler(0.02, solver=pl.Inverse([tip], [drive], energy_weight=0.0))
    state, found = world.initial_state(), []
    for place in places:
        state, info = step(world, state, {tip: place})
        found.append(info.actuation(drive)[1])
        assert info.inverse.friction_change < 1e-6
        assert info.error(tip) < 1e-6
    np.testing.assert_allclose(found, forces, atol=1e-3 * forces.max())
    frictionless = build(0.0)
    _, without = reachable(*frictionless)
    assert forces.max() > 1.01 * without.max()


def test_forces_obey_friction_where_the_target_is_out_of_reach():
    """The forces of a step are those of the laws under the actuation that was found."""
    world, body, drive = with_rod(0.3)
    tip = pl.Effector(body, MESH.points[TIP])
    step = pl.ImplicitEuler(0.02, solver=pl.Inverse([tip], [drive]))
    state = world.initial_state()
    for k in range(10):
        state, info = step(world, state, {tip: MESH.points[TIP] + (-0.0005 * k, 0.001 * k, 0.001 * k)})
    assert info.error(tip) > 1e-3
    place = info.assembly.slices[1]
    lam = info.lam[place][: 3 * (len(POINTS) - 1)].reshape(-1, 3)
    pressed = np.hypot(lam[:, 0], lam[:, 1])
    assert (np.abs(lam[:, 2]) <= 0.3 * pressed * (1 + 1e-6) + 1e-12).all()
    assert (np.abs(lam[:, 2]) > 0.29 * pressed).any()


def guided(law, lower=-np.inf, upper=np.inf, W=None, delta_free=0.0):
    """A problem of rows with the given laws."""
    law = np.array(law, np.int32)
    n = len(law)
    full = [np.broadcast_to(np.asarray(value, float), n).copy() for value in (delta_free, 0.0, lower, upper, 0.0)]
    return MixedProblem(np.eye(n) if W is None else W, full[0], law, *full[1:])


def test_guides_are_found_in_short_and_long_lists():
    for count in (1, 64, 65, 300):
        laws = [int(RowLaw.BOUNDED)] * count
        assert not has_guides(guided(laws, W=np.zeros((0, 0))))
        for place in {0, count // 2, count - 1}:
            assert has_guides(guided([*laws[:place], int(RowLaw.GUIDE), *laws[place:]], W=np.zeros((0, 0))))
    assert not has_guides(guided([], W=np.zeros((0, 0))))


@pytest.mark.parametrize(("slip", "sticks"), [(0.0, True), (0.49, True), (-0.49, True), (0.5, False), (-0.5, False)])
def test_a_rod_sticks_in_its_guide_below_the_friction_of_its_normal_force(slip, sticks):
    """Two normal rows, then that along the guide: |λ_t| < μ √(λ₁² + λ₂²), here 0.1 · 5."""
    law = [RowLaw.BILATERAL, RowLaw.BILATERAL, RowLaw.GUIDE]
    problem = guided(law * 2, lower=-0.1, upper=0.1)
    lam = np.array([3.0, -4.0, slip, 0.0, 0.0, 0.0])
    assert _sticking(problem, lam, np.array([2, 5])).tolist() == [sticks, False], "without a normal force none sticks"


def test_the_tension_of_a_cable_falls_from_one_via_point_to_the_next():
    """A drive of 10 N and three via points that take 2, −1 and 20 N: the tensions before them are 10, 8 and 9 N."""
    law = [RowLaw.BOUNDED, *[RowLaw.CAPSTAN] * 3, RowLaw.BOUNDED, RowLaw.CAPSTAN]
    for mu, expected in ((0.19, [False, True, False]), (0.21, [True, True, False]), (2.3, [True, True, True])):
        lam = np.array([10.0, 2.0, -1.0, 20.0, 1.0, 0.1])
        found = _sticking(guided(law, lower=-mu, upper=mu), lam, np.array([1, 2, 3, 5]))
        assert found.tolist()[:3] == expected
        assert found[3], "the next cable begins with its own drive"
    slack = _sticking(guided(law, lower=-5.0, upper=5.0), np.array([-3.0, 0.1, 0, 0, 0, 0]), np.array([1]))
    assert not slack[0], "a cable has no negative tension"


@pytest.mark.parametrize("moved", [0.0, -0.02])
def test_moved_supports_change_the_gaps_of_the_forward_problem_too(moved):
    """A rod in a guide and an actuator along it: λ of the guide is that of the laws with the gaps that moved."""
    W = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.5, 1.0]])
    law = [RowLaw.BILATERAL, RowLaw.BILATERAL, RowLaw.GUIDE, RowLaw.BOUNDED]
    problem = guided(law, lower=[-np.inf, -np.inf, -0.5, 0.0], upper=[np.inf, np.inf, 0.5, 9.0], W=W,
                     delta_free=[-3.0, 4.0, 0.1, 0.0])  # fmt: skip
    change = np.array([0.0, 0.0, moved, 0.0])

    def invert(given):
        """The actuator pulls by 0.4; all else is solved as it stands."""
        assert set(given.law.tolist()) <= {int(RowLaw.BILATERAL), int(RowLaw.IMPOSED), int(RowLaw.BOUNDED)}
        lam = np.array([3.0, -4.0, 0.0, 0.4])
        lam[2] = given.target[2] if given.law[2] == RowLaw.IMPOSED else -(0.1 + moved + 0.5 * 0.4)
        return lam, change, "report"

    lam, report, left = solve_with_guides(problem, np.zeros(4), np.array([3]), np.zeros(4, bool), invert)
    assert report == "report"
    np.testing.assert_allclose(lam, [3.0, -4.0, -(0.3 + moved), 0.4], atol=1e-9)
    assert left <= 1e-6
