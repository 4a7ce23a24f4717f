"""Robots in one quasi-static call anywhere in their range, and the load beyond which they have no equilibrium; slow
dynamics of the same world is the second answer.
"""

import itertools
import re

import numpy as np
import pytest

import pliant as pl
from pliant.robots import bellows, pneumatic_finger, pneunet, trunk


@pytest.fixture(scope="module")
def standing():
    """The trunk, its world and the limits of its cables, m."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(trunk())
    return robot, scene.compile(), np.array([cable.max_displacement for cable in robot.cables])


def commands(robot, pulls, fraction=1.0):
    return {cable: pl.Displacement(fraction * float(x)) for cable, x in zip(robot.cables, pulls, strict=True)}


def random_pulls(seed, limits):
    """By turns pulls at the limits of some cables, of half the cables, and of all eight."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        return limits * (rng.random(8) < 0.4)
    pulls = limits * rng.random(8)
    return pulls * (rng.random(8) < 0.5) if seed % 3 == 1 else pulls


def test_a_trunk_takes_opposed_pulls_and_dynamics_agrees(standing):
    """Three long cables at their limit, two of them opposed: they compress the trunk by 19 mm."""
    robot, world, limits = standing
    pulls = limits * np.array([0, 1, 1, 1, 0, 0, 0, 0])
    state, info = pl.QuasiStatic()(world, world.initial_state(), commands(robot, pulls))
    assert info.iterations <= 50
    moved, step = world.initial_state(), pl.ImplicitEuler(dt=0.02)
    for k in range(140):
        moved, _ = step(world, moved, commands(robot, pulls, min(1.0, (k + 1) / 40)))
    assert np.abs(moved.points(robot.body) - state.points(robot.body)).max() < 1e-4
    assert world.models[0].least_volume_ratio(state.q[0]) > 0.3


def corners():
    """Which cables are pulled to their limits: every set of the eight, once of those that a symmetry exchanges."""
    found = {}
    for on in itertools.product((0, 1), repeat=8):
        turned = [
            [4 * kind + (side * k + by) % 4 for kind in (0, 1) for k in range(4)] for by in range(4) for side in (1, -1)
        ]
        found.setdefault(min(tuple(on[k] for k in order) for order in turned), on)
    return list(found)


@pytest.mark.slow
def test_a_trunk_has_an_equilibrium_at_every_corner_of_its_range(standing):
    """55 sets of cables at their limits, the others held at their length at rest, or slack."""
    robot, world, limits = standing
    for on in corners():
        for slack in (False, True):
            given = commands(robot, limits * np.array(on))
            given = {cable: pull for cable, pull in given.items() if pull.value or not slack}
            state, info = pl.QuasiStatic()(world, world.initial_state(), given)
            assert info.residual <= 1e-8
            assert world.models[0].least_volume_ratio(state.q[0]) > 0.3


@pytest.mark.parametrize("seed", [2, 3])
def test_a_trunk_takes_random_pulls(standing, seed):
    robot, world, limits = standing
    _, info = pl.QuasiStatic()(world, world.initial_state(), commands(robot, random_pulls(seed, limits)))
    assert info.residual <= 1e-8
    assert info.iterations <= 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_a_trunk_rests_where_any_pulls_lead(standing, seed):
    robot, world, limits = standing
    pulls = random_pulls(seed, limits)
    state, _ = pl.QuasiStatic()(world, world.initial_state(), commands(robot, pulls))
    moved, step = world.initial_state(), pl.ImplicitEuler(dt=0.02)
    for k in range(500):
        moved, _ = step(world, moved, commands(robot, pulls, min(1.0, (k + 1) / 40)))
    assert np.abs(moved.points(robot.body) - state.points(robot.body)).max() < 1e-4


def comes_to_rest(world, air, pressure):
    """Whether slow dynamics rests under the pressure (Pa); where not, the chamber bursts."""
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.02)
    rest = state.volume(air)
    try:
        for k in range(200):
            state, _ = step(world, state, {air: pl.Pressure(pressure * min(1.0, (k + 1) / 50))})
            if state.volume(air) > 20.0 * rest:
                return False
    except pl.errors.ConvergenceError:
        return False
    return max(float(np.abs(v).max()) for v in state.v) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: pneumatic_finger(cell_size=0.004, chamber_count=2),
        lambda: bellows(material=pl.materials.dragon_skin_30()),
        lambda: pneunet(cell_size=0.005),
    ],
    ids=["finger of Ecoflex", "bellows of Dragon Skin", "pneunet"],
)
def test_the_pressure_limit_of_a_robot_is_where_dynamics_bursts_it(make):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(make())
    world = scene.compile()
    with pytest.raises(pl.errors.ConvergenceError, match="limit point") as caught:
        pl.QuasiStatic()(world, world.initial_state(), {robot.cavity: pl.Pressure(90e3)})
    limit = float(re.search(r"at ([\d.e+]+) Pa", str(caught.value))[1])
    assert comes_to_rest(world, robot.cavity, 0.95 * limit)
    assert not comes_to_rest(world, robot.cavity, 1.05 * limit)
