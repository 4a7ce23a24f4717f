"""The gripper closes on the cube, lifts it, holds it and lets it go."""

import numpy as np
import pytest

import pliant as pl
from pliant import robots


def _smooth(x):
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def _grasp(*, until, release=np.inf, friction=0.8):
    """Close in 0.4 s, lift by 30 mm in the next 0.4 s; open within 0.1 s from `release` on. Heights of the cube."""
    grip = robots.gripper()
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(grip)
    grip.collide(scene, friction=friction)
    world = scene.compile()
    state, step, heights, errors = world.initial_state(), pl.ImplicitEuler(dt=0.01), [], []
    for number in range(round(100 * until)):
        t = 0.01 * (number + 1)
        close = 0.016 * (_smooth(t / 0.4) - _smooth((t - release) / 0.1))
        before = state.velocities(grip.cube)[0]
        state, info = step(world, state, grip.controls(close=close, lift=0.03 * _smooth((t - 0.4) / 0.4)))
        heights.append(state.pose(grip.cube)[0, 2])
        touched = [info.contact_force(grip.cube, side) for side in (*(one.body for one in grip.fingers), grip.floor)]
        needed = grip.cube.mass * ((state.velocities(grip.cube)[0] - before) / 0.01 + [0, 0, 9.81])
        errors.append(np.linalg.norm(sum(touched) - needed))
    assert max(errors) < 1e-8, "in every step the contacts carry the weight of the cube and its acceleration, N"
    return grip, state, info, np.array(heights)


@pytest.fixture(scope="module")
def short():
    return _grasp(until=1.0)


def test_the_gripper_lifts_the_cube_and_holds_it(short):
    grip, _, info, heights = short
    assert heights[0] == pytest.approx(0.015, abs=1e-5)
    assert heights[-1] > 0.044, "30 mm of lift, and what the fingers add as they curl"
    assert np.ptp(heights[-10:]) < 2e-4, "held"
    weight = sum(info.contact_force(grip.cube, one.body) for one in grip.fingers)
    assert weight == pytest.approx([0, 0, 0.03 * 9.81], abs=0.01), "friction carries it, and the sides balance"
    assert np.linalg.norm(info.contact_force(grip.cube, grip.floor)) < 1e-9


def test_the_cube_stays_upright_between_the_fingers(short):
    grip, state, *_ = short
    pose = state.pose(grip.cube)
    assert pose[3, 2] > np.cos(np.radians(3.0))
    assert np.abs(pose[0, :2]).max() < 2e-3


def test_every_contact_obeys_coulomb(short):
    grip, _, info, _ = short
    for one in grip.fingers:
        contacts = info.contacts(one.body, grip.cube)
        normal = np.einsum("mi,mi->m", contacts.forces, contacts.normals)
        tangential = np.linalg.norm(contacts.forces - normal[:, None] * contacts.normals, axis=1)
        assert (normal > -1e-9).all()
        assert (tangential <= 0.8 * normal + 1e-6).all()


def _slip_load(friction, *, dt=0.01, rate=40.0):
    """Lift the cube with little weight, then let gravity grow by `rate` m/s³ until it slides down faster than 10 mm/s
    along the fingers: load it held last and the forces that pressed it from the sides, N.
    """
    grip = robots.gripper()
    scene = pl.Scene()
    scene.add(grip)
    grip.collide(scene, friction=friction)
    world = scene.compile()
    state, step, gravity = world.initial_state(), pl.ImplicitEuler(dt=dt), 0.5
    for number in range(1, 400):
        t = dt * number
        gravity += rate * dt if t > 0.8 else 0.0
        command = grip.controls(close=0.016 * _smooth(t / 0.4), lift=0.03 * _smooth((t - 0.4) / 0.35))
        tips = [one.tip.at(state)[2] for one in grip.fingers]
        state, info = step(world, state, command | {"gravity": (0, 0, -gravity)})
        fingers = np.mean([one.tip.at(state)[2] - z for one, z in zip(grip.fingers, tips, strict=True)]) / dt
        forces = [info.contact_force(grip.cube, one.body) for one in grip.fingers]
        if t > 0.85 and state.velocities(grip.cube)[0, 2] - fingers < -0.01:
            return grip.cube.mass * gravity, float(np.abs(forces)[:, 0].sum())
    raise AssertionError(f"the cube does not slip at {grip.cube.mass * gravity:.2f} N")


def test_the_load_at_which_the_cube_slips_grows_with_friction():
    """μ = 0.2, 0.4, 0.8: strictly increasing, and within a tenth of Coulomb's μ × the sum of the normal forces."""
    found = {mu: _slip_load(mu) for mu in (0.2, 0.4, 0.8)}
    loads = np.array([load for load, _ in found.values()])
    coulomb = np.array([mu * pressed for mu, (_, pressed) in found.items()])
    print(f"slips at {np.round(loads, 3)} N, μN {np.round(coulomb, 3)} N")
    assert (np.diff(loads) > 0.1).all()
    assert loads == pytest.approx(coulomb, rel=0.1)


def test_released_the_cube_drops_to_the_floor():
    _, _, _, heights = _grasp(until=1.3, release=0.85)
    assert heights[80] > 0.04
    assert heights[-1] < 0.025


def test_without_friction_nothing_is_lifted():
    _, _, _, heights = _grasp(until=0.9, friction=0.0)
    assert heights[-1] < 0.025


@pytest.mark.slow
def test_the_cube_is_held_for_five_seconds():
    _, _, _, heights = _grasp(until=5.8)
    assert np.ptp(heights[-500:]) < 5e-4
    assert heights[-1] > 0.044
