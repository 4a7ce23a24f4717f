"""A stack of five rigid cubes: hyperstatic, and it stays."""

import numpy as np
import pytest

import pliant as pl

G, SIDE, MASS = 9.81, 0.05, 0.1


def stacked(count, duration, dt=0.01):
    scene = pl.Scene(gravity=(0, 0, -G))
    floor = scene.add(pl.Obstacle.plane())
    cubes = [
        scene.add(pl.RigidBody.box(size=(SIDE,) * 3, mass=MASS, position=(0, 0, (k + 0.5) * SIDE), name=f"cube {k}"))
        for k in range(count)
    ]
    for below, above in zip([floor, *cubes[:-1]], cubes, strict=True):
        scene.collide(above, below, friction=0.5)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=dt)
    for _ in range(round(duration / dt)):
        state, info = step(world, state)
    return world, state, info, floor, cubes


def check(world, state, info, floor, cubes):
    for k, cube in enumerate(cubes):
        pose = state.pose(cube)
        np.testing.assert_allclose(pose[0], [0, 0, (k + 0.5) * SIDE], atol=5e-5)
        np.testing.assert_allclose(pose[1:], np.eye(3), atol=1e-3)
        below = cubes[k - 1] if k else floor
        force = info.contact_force(cube, below)
        weight = (len(cubes) - k) * MASS * G
        np.testing.assert_allclose(force, [0, 0, weight], atol=2e-3 * weight)
        np.testing.assert_allclose(info.contact_force(below, cube), -force, atol=1e-12)
    assert max(np.abs(v).max() for v in state.v) <= 1e-3


def test_five_cubes_stay():
    check(*stacked(5, 3.0))


def test_a_pyramid_stays():
    """Each box inside the face below it, so that no corner stands on an edge."""
    scene = pl.Scene(gravity=(0, 0, -G))
    below, boxes = scene.add(pl.Obstacle.plane()), []
    for k in range(4):
        size = (0.1 - 0.02 * k, 0.09 - 0.02 * k, 0.02)
        spot = (0.001 * k, 0.0, 0.02 * k + 0.01)
        boxes.append(scene.add(pl.RigidBody.box(size=size, mass=0.2 - 0.04 * k, position=spot, name=f"box {k}")))
        scene.collide(boxes[-1], below, friction=0.5)
        below = boxes[-1]
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(200):
        state, info = step(world, state)
    for k, box in enumerate(boxes):
        np.testing.assert_allclose(state.pose(box)[0], [0.001 * k, 0, 0.02 * k + 0.01], atol=1e-6)
    weight = G * sum(box.mass for box in boxes[1:])
    np.testing.assert_allclose(info.contact_force(boxes[1], boxes[0]), [0, 0, weight], atol=1e-4 * weight)
    assert max(np.abs(v).max() for v in state.v) <= 1e-5


@pytest.mark.slow
def test_five_cubes_stay_for_ten_seconds():
    check(*stacked(5, 10.0))
