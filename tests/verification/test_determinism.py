"""Determinism with contact, friction and cables: two runs, and a restored run, agree to the bit."""

import numpy as np
import pytest

import pliant as pl


def build():
    """A cabled soft finger above a ball on a floor: cable, soft–rigid and rigid–obstacle contact with friction."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=2e5, poisson=0.4, density=1e3)
    clamp = pl.regions.plane(axis="x", at=0.0)
    mesh = pl.mesh.box((0.12, 0.02, 0.02), (8, 2, 2))
    finger = pl.Volume(mesh, rubber, clamp=clamp, damping=pl.Rayleigh(stiffness=0.02), name="finger")
    scene.add(finger, position=(0.0, -0.01, 0.042))
    cable = scene.add(pl.Cable(finger, [(0.0, 0.01, 0.002), (0.06, 0.01, 0.002), (0.12, 0.01, 0.002)]))
    ball = scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.05, position=(0.09, 0.002, 0.02)))
    floor = scene.add(pl.Obstacle.plane())
    scene.collide(finger, ball, friction=0.5)
    scene.collide(ball, floor, friction=0.3)
    scene.collide(finger, floor, friction=0.3)
    return scene.compile(), finger, ball, cable


def walked(world, state, cable, first, last):
    step, forces = pl.ImplicitEuler(dt=0.005), []
    for k in range(first, last):
        state, info = step(world, state, {cable: pl.Displacement(2e-4 * min(k, 50))})
        forces.append(info.lam)
    return state, forces


def same(a, b):
    assert a.time == b.time
    for x, y in zip((*a.q, *a.v, a.lam), (*b.q, *b.v, b.lam), strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_scene_really_touches():
    world, finger, ball, cable = build()
    state, _ = walked(world, world.initial_state(), cable, 0, 60)
    _, info = pl.ImplicitEuler(dt=0.005)(world, state, {cable: pl.Displacement(0.01)})
    assert np.linalg.norm(info.contact_force(finger, ball)) > 0.01
    assert info.actuation(cable)[1] > 0.0


def test_two_runs_agree_to_the_bit():
    ends = []
    for _ in range(2):
        world, _, _, cable = build()
        ends.append(walked(world, world.initial_state(), cable, 0, 60))
    same(ends[0][0], ends[1][0])
    for a, b in zip(ends[0][1], ends[1][1], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("moment", [30, 55])
def test_a_restored_run_continues_to_the_bit(tmp_path, moment):
    """What a step needs of the last one (warm starts, contact identities, frames) is saved with the state."""
    world, _, _, cable = build()
    middle, _ = walked(world, world.initial_state(), cable, 0, moment)
    path = middle.save(tmp_path / "middle.npz")
    whole, _ = walked(world, middle, cable, moment, moment + 30)
    fresh, _, _, again = build()
    restored, _ = walked(fresh, fresh.load_state(path), again, moment, moment + 30)
    same(whole, restored)
