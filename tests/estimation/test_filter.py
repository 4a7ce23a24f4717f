"""`pl.estimation.Filter` follows forces in motion, and its covariance is that of its errors."""

import numpy as np
import pytest

import pliant as pl
from pliant.estimation import Filter, PointForce
from pliant.estimation.loads import PointLoad
from pliant.estimation.search import WithLoads
from pliant.identification import ActuatorDisplacement, ActuatorForce

DT, TIP = 0.01, (0.1, 0.01, 0.01)


@pytest.fixture(scope="module")
def reduced(bar):
    """The bar in a few modes, which cable and forces at the tip excite."""
    actuators = [bar.cable, bar.end, bar.side]
    plan = pl.reduction.latin_hypercube(
        bar.world, 6, steps=2, amplitude=[0.3, 0.05, 0.05], kind=pl.Force, actuators=actuators, seed=1
    )
    return pl.reduction.reduce(bar.world, plan, motion_tolerance=5e-3, stepper=pl.QuasiStatic(), progress=False)


def sensors(bar):
    tension, length = ActuatorForce(bar.cable, noise=0.01), ActuatorDisplacement(bar.cable, noise=1e-5)
    return bar.markers(noise=2e-4), tension, length


def moved(follow, state, force, controls):
    """A step of the robot itself under a force at the tip, and what its sensors would read without noise."""
    place = follow.problem.points[0][1]
    stepper = pl.ImplicitEuler(DT, tolerance=1e-10, solver=WithLoads((PointLoad(place, force),)))
    state, info = stepper(follow.world, state, controls)
    return state, follow.problem.sensors.predicted(info)


@pytest.mark.parametrize("kind", ["full", "reduced"])
@pytest.mark.parametrize("command", [pl.Displacement(0.004), pl.Force(0.4)])
def test_errors_are_carried_on_by_the_derivatives_of_the_step(bar, reduced, kind, command):
    """Of readings and points by a change of the first force; a second step carries those of the state."""
    world, held = (bar.world if kind == "full" else reduced), {bar.cable: command}
    force = PointForce(bar.body, TIP, deviation=1.0)
    follow = Filter(world, sensors(bar), [force], dt=DT, drift=0.0, rank=1000, tolerance=1e-11)
    start, _ = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state(), held)
    belief, state = follow.begin(start), start
    for _ in range(2):
        belief = follow(belief, held)
    motion, size = follow.motion, follow.motion.size
    rows = world.models[0].embed(np.array([TIP]), what="tip").pull_back_along(start.q[0], np.eye(3)[None])
    found = motion.of_points(belief.state, 0, rows) @ belief.root[:size] @ np.linalg.inv(belief.root[2 * size :])
    ends = []
    for s in (1e-4, -1e-4):
        for axis in range(3):
            state = start
            for _ in range(2):
                state, _ = moved(follow, state, s * np.eye(3)[axis], held)
            ends.append(rows @ state.q[0].ravel())
    slope = (np.array(ends[:3]) - np.array(ends[3:])).T / 2e-4
    assert found == pytest.approx(slope, rel=0.02, abs=0.01 * np.abs(slope).max())  # D(q) is differentiated roughly


@pytest.mark.parametrize("kind", ["full", "reduced"])
def test_the_covariance_is_that_of_the_errors(bar, reduced, kind):
    """Normalised squares of the errors of forces and of innovations over trials, the true force drifting as told."""
    world, drift, deviation = (bar.world if kind == "full" else reduced), 0.05, 0.03
    measured = sensors(bar)
    follow = Filter(world, measured, [PointForce(bar.body, TIP, deviation=deviation)], dt=DT, drift=drift)
    start, _ = pl.QuasiStatic(tolerance=1e-9)(world, world.initial_state(), bar.held)
    noise = np.random.default_rng(0)
    squares, surprises, tips = [], [], []
    trials, steps = (5, 6) if kind == "full" else (25, 8)
    for _ in range(trials):
        force, state, belief = deviation * noise.normal(size=3), start, follow.begin(start)
        for _ in range(steps):
            force = force + drift * np.sqrt(DT) * noise.normal(size=3)
            state, rows = moved(follow, state, force, bar.held)
            rows = rows + follow.problem.sensors.noise * noise.normal(size=len(rows))
            readings = follow.problem.sensors.shaped(rows)
            belief = follow(belief, bar.held, readings)
            error = force - belief.forces
            squares.append(error @ np.linalg.solve(belief.covariance, error) / 3)
            surprises.append(belief.surprise / belief.readings)
            spread = belief.shape_covariance(bar.body, [TIP])[0, 2, 2]
            at = world.models[0].embed(np.array([TIP]), what="tip").points
            tips.append((at(state.q[0]) - at(belief.state.q[0]))[0, 2] ** 2 / spread)
    assert 0.7 < np.mean(squares) < 1.4
    assert 0.85 < np.mean(surprises) < 1.15
    assert 0.5 < np.mean(tips) < 1.7


def test_a_step_change_is_followed_through_gaps(bar):
    markers = bar.markers(noise=5e-5)
    force = PointForce(bar.body, TIP, deviation=0.05, directions=(0, 0, 1))
    follow = Filter(bar.world, [markers], [force], dt=DT, drift=0.3)
    state, belief = bar.rest, follow.begin(bar.rest)
    widths = []
    for k in range(12):
        state, rows = moved(follow, state, np.array((0.0, 0.0, 0.1)), bar.held)
        readings = rows.reshape(3, 3).copy()
        if 4 <= k < 7:  # hidden
            readings[:] = np.nan
        seen = None if 4 <= k < 7 else {markers: readings}
        belief = follow(belief, bar.held, seen)
        widths.append(belief[force].deviation)
    assert belief[force].force == pytest.approx((0.0, 0.0, 0.1), abs=0.015)
    assert widths[6] > widths[3] > widths[11] * 0.5
    assert widths[7] < widths[6]
    assert np.abs(belief.state.points(bar.body) - state.points(bar.body)).max() < 1e-4


def test_a_cut_root_keeps_the_covariance(bar):
    found = []
    for rank in (1000, 8):
        follow = Filter(
            bar.world, sensors(bar), [PointForce(bar.body, TIP, deviation=0.03)], dt=DT, drift=0.05, rank=rank
        )
        belief = follow.begin(bar.rest)
        rows = follow.problem.sensors.predicted(pl.ImplicitEuler(DT)(bar.world, bar.rest, bar.held)[1])
        for _ in range(5):
            belief = follow(belief, bar.held, follow.problem.sensors.shaped(rows))
        found.append(belief)
    assert found[1].root.shape[1] == 8
    assert found[0].root.shape[1] == 18
    assert found[1].covariance == pytest.approx(found[0].covariance, rel=0.02, abs=1e-6)


def test_bad_input(bar):
    markers, force = bar.markers(), PointForce(bar.body, TIP, deviation=0.3)
    cases = [
        (lambda: Filter(bar.world, [markers], [force], dt=0.0, drift=0.1), "dt"),
        (lambda: Filter(bar.world, [markers], [force], dt=0.01, drift=-1.0), "drift"),
        (
            lambda: Filter(bar.world, [markers], [pl.estimation.Push(bar.body, deviation=1.0)], dt=0.01, drift=0.1),
            "known",
        ),
        (
            lambda: Filter(
                bar.world, [markers], [PointForce(bar.body, TIP, deviation=1.0, lower=0.0)], dt=0.01, drift=0.1
            ),
            "bounds",
        ),
        (
            lambda: Filter(bar.world, [markers], [force], dt=0.01, drift=0.1).begin(bar.rest)[markers],
            "none of the forces",
        ),
    ]
    for make, text in cases:
        with pytest.raises(pl.PliantError, match=text):
            make()
