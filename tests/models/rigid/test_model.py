"""Free motion of rigid bodies: fall, spin about principal axes, torque-free tumbling."""

from itertools import pairwise

import numpy as np
import pytest

import pliant as pl
from pliant.core.lie import rotation_exp


def alone(body, gravity=(0, 0, 0)):
    scene = pl.Scene(gravity=gravity)
    scene.add(body)
    world = scene.compile()
    return world, world.initial_state()


def walked(world, state, step, count):
    for _ in range(count):
        state, _ = step(world, state)
    return state


def angular_momentum(world, state):
    return world.models[0].mass_matrix(state.q[0])[3:, 3:] @ state.v[0][1]


def test_free_fall_is_exact_for_the_midpoint_rule():
    body = pl.RigidBody.sphere(radius=0.1, mass=0.3, velocity=(1, 0, 2))
    world, state = alone(body, gravity=(0, 0, -9.81))
    state = walked(world, state, pl.ImplicitMidpoint(dt=0.01), 50)
    np.testing.assert_allclose(state.pose(body)[0], [0.5, 0, 1.0 - 0.5 * 9.81 * 0.25], atol=1e-12)
    np.testing.assert_allclose(state.velocities(body)[0], [1, 0, 2 - 9.81 * 0.5], atol=1e-12)


def test_free_fall_by_implicit_euler():
    """v exact, z = −g h² n (n + 1)/2."""
    body = pl.RigidBody.box(size=(0.1, 0.2, 0.3), mass=0.3)
    world, state = alone(body, gravity=(0, 0, -9.81))
    state = walked(world, state, pl.ImplicitEuler(dt=0.01), 50)
    assert state.velocities(body)[0, 2] == pytest.approx(-9.81 * 0.5)
    assert state.pose(body)[0, 2] == pytest.approx(-9.81 * 1e-4 * 50 * 51 / 2)
    np.testing.assert_allclose(state.pose(body)[1:], np.eye(3), atol=1e-14)


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler, pl.ImplicitMidpoint])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_spin_about_a_principal_axis_stays(stepper, axis):
    spin = 10.0 * np.eye(3)[axis]
    turn = np.array([0.3, -0.2, 0.5])
    body = pl.RigidBody.box(size=(0.1, 0.2, 0.3), mass=0.5, rotation=turn)
    body = pl.RigidBody.box(size=(0.1, 0.2, 0.3), mass=0.5, rotation=turn, spin=body.pose()[1:] @ spin)
    world, state = alone(body)
    state = walked(world, state, stepper(dt=0.01), 20)
    np.testing.assert_allclose(state.velocities(body)[1], body.spin, atol=1e-9)
    R = body.pose()[1:] @ rotation_exp(0.2 * spin)
    np.testing.assert_allclose(state.pose(body)[1:], R, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("stepper", [pl.ImplicitEuler, pl.ImplicitMidpoint])
def test_tumbling_keeps_energy_and_angular_momentum(stepper):
    """Torque-free rotation about no principal axis, ten seconds: both constant to 1e-6, whatever the step."""
    for dt in (0.02, 0.005):
        body = pl.RigidBody.box(size=(0.1, 0.2, 0.3), mass=0.5, spin=(3.0, 4.0, 1.0))
        world, state = alone(body)
        energy, momentum = state.kinetic_energy(), angular_momentum(world, state)
        state = walked(world, state, stepper(dt=dt), round(10.0 / dt))
        assert state.kinetic_energy() == pytest.approx(energy, rel=1e-6)
        np.testing.assert_allclose(angular_momentum(world, state), momentum, atol=1e-6 * np.linalg.norm(momentum))
        np.testing.assert_allclose(state.pose(body)[1:] @ state.pose(body)[1:].T, np.eye(3), atol=1e-13)


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler, pl.ImplicitMidpoint])
def test_the_attitude_of_a_tumbling_body_converges_with_the_second_order(stepper):
    poses = []
    for dt in (0.02, 0.01, 0.005):
        body = pl.RigidBody.box(size=(0.1, 0.2, 0.3), mass=0.5, spin=(3.0, 4.0, 1.0))
        world, state = alone(body)
        poses.append(walked(world, state, stepper(dt=dt), round(1.0 / dt)).pose(body)[1:])
    first, second = (np.linalg.norm(b - a) for a, b in pairwise(poses))
    assert first / second == pytest.approx(4.0, rel=0.1)


def test_precession_of_a_symmetric_top_has_the_closed_form_rate():
    """I₁ = I₂: the spin goes round the symmetry axis of the body at (I₃ − I₁)/I₁ ω₃."""
    body = pl.RigidBody.box(size=(0.1, 0.1, 0.3), mass=0.5, spin=(1.0, 0.0, 5.0))
    first, third = body.inertia[0, 0], body.inertia[2, 2]
    rate = (third - first) / first * 5.0
    world, state = alone(body)
    state = walked(world, state, pl.ImplicitMidpoint(dt=5e-4), 1000)
    local = state.pose(body)[1:].T @ state.velocities(body)[1]
    np.testing.assert_allclose(local, [np.cos(0.5 * rate), np.sin(0.5 * rate), 5.0], atol=0.02)


def test_points_of_a_body_follow_its_pose():
    body = pl.RigidBody.box(size=(0.1, 0.2, 0.3), mass=0.5, position=(1, 0, 0), spin=(0, 0, 1), velocity=(0, 1, 0))
    world, state = alone(body)
    state = walked(world, state, pl.ImplicitEuler(dt=0.01), 10)
    pose = state.pose(body)
    np.testing.assert_allclose(state.points(body), pose[0] + body.shape.points @ pose[1:].T)


def test_energy_of_a_falling_body():
    body = pl.RigidBody.sphere(radius=0.1, mass=0.3, position=(0, 0, 2.0))
    world, state = alone(body, gravity=(0, 0, -9.81))
    start = world.energy(state)
    assert start["potential"] == pytest.approx(0.3 * 9.81 * 2.0)
    end = world.energy(walked(world, state, pl.ImplicitMidpoint(dt=0.01), 30))
    assert end["total"] == pytest.approx(start["total"], abs=1e-12)
    assert end["kinetic"] > 1.0
    assert end["elastic"] == 0.0


def test_deformable_read_outs_are_refused():
    body = pl.RigidBody.sphere(radius=0.1, mass=0.3)
    _, state = alone(body)
    with pytest.raises(pl.PliantError, match="'sphere' is not a deformable volume"):
        state.stress(body)
