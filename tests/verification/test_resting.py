"""Static equilibrium of bodies that only contacts hold: the floor carries exactly their weight."""

import numpy as np
import pytest

import pliant as pl

RUBBER = pl.materials.Corotated(young=5e5, poisson=0.45, density=1000.0)


def resting(body, friction, **place):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(body, **place)
    floor = scene.add(pl.Obstacle.plane())
    scene.collide(body, floor, friction=friction)
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    return state, info, info.contact_force(body, floor)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_soft_block_rests_on_the_floor(friction):
    body = pl.Volume(pl.mesh.box((0.06, 0.06, 0.06), (3, 3, 3)), RUBBER)
    state, info, force = resting(body, friction, position=(0, 0, 1e-4))
    assert info.status is pl.Status.CONVERGED
    assert info.rigid_motion == ()
    np.testing.assert_allclose(force, [0, 0, 0.06**3 * 1000.0 * 9.81], rtol=1e-8, atol=1e-8)
    assert abs(state.points(body)[:, 2].min()) < 1e-9


def test_a_rigid_box_rests_on_the_floor():
    body = pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.1, position=(0, 0, 0.0101))
    state, info, force = resting(body, 0.5)
    assert info.status is pl.Status.CONVERGED
    np.testing.assert_allclose(force, [0, 0, 0.981], atol=1e-8)
    np.testing.assert_allclose(state.pose(body)[0], [0, 0, 0.01], atol=1e-9)


def test_a_body_far_above_the_floor_comes_to_rest_on_it():
    body = pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0, 0, 1.0))
    state, _, force = resting(body, 0.5)
    np.testing.assert_allclose(force, [0, 0, 0.981], atol=1e-8)
    np.testing.assert_allclose(state.pose(body)[0], [0, 0, 0.01], atol=1e-9)


def test_a_body_that_nothing_supports_has_no_equilibrium_and_says_so():
    body = pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0, 0, -1.0))
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(body)
    floor = scene.add(pl.Obstacle.box(center=(0, 0, 0), size=(1, 1, 0.1)))
    scene.collide(body, floor)
    world = scene.compile()
    with pytest.raises(pl.ConvergenceError, match=r"no equilibrium found.*'sphere' is supported by nothing"):
        pl.QuasiStatic()(world, world.initial_state())


def test_statics_keeps_a_grasp_that_dynamics_brought_to_rest():
    """A grasp comes to rest with its knuckles closed, and statics accepts that state as it is."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    grip = scene.add(pl.robots.gripper())
    grip.collide(scene, friction=0.8)
    world = scene.compile()
    step, state = pl.ImplicitEuler(dt=0.02), world.initial_state()
    for k in range(100):
        state, _ = step(world, state, grip.controls(close=0.02 * min(k / 20, 1.0)))
    assert max(np.abs(v).max() for v in state.v) < 1e-6  # knuckles are closed: no segment of a cable turns to and fro
    found, info = pl.QuasiStatic()(world, state, grip.controls(close=0.02))
    assert info.status is pl.Status.CONVERGED
    assert info.iterations <= 15
    for body in (*(finger.body for finger in grip.fingers), grip.cube):
        np.testing.assert_allclose(found.points(body), state.points(body), atol=1e-7)
