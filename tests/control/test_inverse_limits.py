"""What the inverse minimises, and what bounds its forces: weights, rates, cuts, several kinds of actuators."""

import numpy as np
import pytest

import pliant as pl
from pliant.control.qpcc_kernels import fill_problem
from scenes import BEAM_TIP as TIP
from scenes import cabled_beam as beam
from scenes import hollow_box

CLAMP = pl.regions.plane(axis="x", at=0.0)


def test_weights_multiply_squares():
    """One point with two targets along z: the optimum divides the way as 9 to 1, by the weights of the squares."""
    scene, body, cables = beam(cables="ac")
    low, high = (pl.Effector(body, TIP, directions=(0, 0, 1), weight=w, name=str(w)) for w in (9.0, 1.0))
    world = scene.compile()
    step = pl.ImplicitEuler(dt=0.05, solver=pl.Inverse([low, high], cables, energy_weight=0.0))
    _, info = step(world, world.initial_state(), {low: np.add(TIP, (0, 0, 1e-3)), high: np.add(TIP, (0, 0, 2e-3))})
    assert info.error(high) == pytest.approx(9e-4, rel=1e-5)
    assert info.error(low) == pytest.approx(1e-4, rel=1e-5)


def test_forces_change_at_their_largest_rate():
    """A target far away: the tension grows by 2 N/s, whatever the distance; released, it falls at the same rate."""
    scene, body, cables = beam(max_force_rate=2.0)
    tip, world = pl.Effector(body, TIP), scene.compile()
    step = pl.ImplicitEuler(dt=0.05, solver=pl.Inverse([tip], cables))
    state, largest = world.initial_state(), []
    for target in (0.05, 0.05, -0.05):
        state, info = step(world, state, {tip: np.add(TIP, (0, 0, target))})
        largest.append(info.actuation(cables[1])[1])
    np.testing.assert_allclose(largest, [0.1, 0.2, 0.1], rtol=1e-9)


def test_a_cut_cable_is_loose_below_its_least_tension():
    scene, body, cables = beam(min_force=0.1)
    tip, world = pl.Effector(body, TIP, directions=[(0, 1, 0), (0, 0, 1)]), scene.compile()
    step = pl.ImplicitEuler(dt=0.05, solver=pl.Inverse([tip], cables))
    _, info = step(world, world.initial_state(), {tip: np.add(TIP, (0, 0, 1e-3)), cables[2]: pl.Cut()})
    forces = info.actuation(cables)[1]
    assert forces[2] == 0.0
    assert np.delete(forces, 2).min() >= 0.1 * (1 - 1e-12)


def test_a_moved_support_keeps_its_rate_in_both_directions():
    """Several linear solves in a step count from its start: 0.2 m/s for 0.1 s are 20 mm."""
    scene, body, _ = beam(support=True, cables="")
    platform = pl.MovedSupport(scene.add(pl.Support(body, CLAMP)), (1, 0, 0), max_rate=0.2)
    tip, world = pl.Effector(body, TIP, directions=(1, 0, 0)), scene.compile()
    step = pl.ImplicitEuler(dt=0.1, newton_iterations=3, solver=pl.Inverse([tip], [platform]))
    for way in (-0.06, 0.06):
        state, _ = step(world, world.initial_state(), {tip: np.add(TIP, (way, 0, 0))})
        assert state.displacements(body)[0, 0] == pytest.approx(np.sign(way) * 0.02, rel=1e-6)


def test_forces_of_several_kinds_have_no_common_unit():
    """The energy weight of a cable and a chamber is the same problem whether pressures are in Pa or kPa."""
    scene = pl.Scene()
    body = scene.add(hollow_box())
    chamber = scene.add(pl.Cavity(body))
    cables = [scene.add(pl.Cable(body, [(x, 0.02, 0.001), (x, 0.02, 0.019)])) for x in (0.002, 0.038)]
    tip, world = pl.Effector(body, (0.02, 0.02, 0.02)), scene.compile()
    target = {tip: (0.02, 0.02, 0.021)}
    kinds = {}
    for actuators in (cables, [cables[0], chamber]):
        step = pl.ImplicitEuler(dt=0.05, solver=pl.Inverse([tip], actuators))
        kinds[len({type(each) for each in actuators})] = step(world, world.initial_state(), target)[1].inverse
    assert kinds[1].session.bound.of_one_kind
    assert not kinds[2].session.bound.of_one_kind
    p, units = kinds[2].problem, np.array([1.0, 1e-3])
    W = np.zeros((5, 5))
    W[:2, :2] = np.diag([1e-3, 1e-12]) + 1e-9 * np.array([[0.0, 1e-3], [1e-3, 0.0]])
    W[2:, :2], W[:2, 2:] = p.E_a, p.E_a.T
    found = []
    for scale in (np.ones(2), units):
        S = np.diag([*(1.0 / scale), 1.0, 1.0, 1.0])
        table, G, nothing = np.empty((3, 3)), np.empty((2, 2)), np.zeros(0, np.int64)
        fill_problem(
            S @ W @ S, np.zeros(5), np.zeros((5, 0)), np.arange(2), nothing, nothing, np.arange(2, 5), np.ones(3),
            np.nan, False, table, G,
        )  # fmt: skip
        found.append(scale[:, None] * G * scale)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_contacts_of_an_inverse_start_from_those_of_the_last_step():
    """A beam that is drawn along a wall: the first contact state tried is that in which the last step ended."""
    scene, body, cables = beam()
    wall = scene.add(pl.Obstacle.box(size=(0.3, 0.2, 0.02), center=(0.1, 0.015, 0.041)))
    scene.collide(body, wall, friction=0.0)
    tip, world = pl.Effector(body, TIP), scene.compile()
    step = pl.ImplicitEuler(dt=0.02, solver=pl.Inverse([tip], cables))
    state, ends = world.initial_state(), []
    for k in range(5):
        state, info = step(world, state, {tip: np.add(TIP, (0.0, 1e-3 * k, 4e-3))})
        path = info.inverse.result.path
        if ends and ends[-1]:
            assert path[0][0] == ends[-1]
        ends.append(path[-1][0])
    assert len(set(ends)) > 2


def test_the_error_of_several_points_is_their_root_mean_square():
    """Cables too weak to move anything: two points, 1 and 7 mm from their targets, are 5 mm away."""
    scene, body, cables = beam(max_force=1e-9)
    points = np.array([TIP, (0.1, 0.015, 0.015)])
    both, world = pl.Effector(body, points), scene.compile()
    step = pl.ImplicitEuler(dt=0.02, solver=pl.Inverse([both], cables))
    _, info = step(world, world.initial_state(), {both: np.add(points, [(0, 1e-3, 0), (0, 0, 7e-3)])})
    assert info.error(both) == pytest.approx(5e-3, rel=1e-5)
