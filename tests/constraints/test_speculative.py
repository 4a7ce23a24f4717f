"""Contacts ahead of a motion do not act on a motion that misses, and stop one that does not."""

import dataclasses

import numpy as np
import pytest

import pliant as pl

SIZE = 0.03
MESH = pl.mesh.box((SIZE,) * 3, (3, 3, 3)).translated((-SIZE / 2,) * 3)
RUBBER = pl.materials.NeoHookean(young=2e5, poisson=0.45, density=1000)
WAY = np.array([np.cos(0.7), np.sin(0.7), 0.0])


def passing(kind, height, speed, dt, until=0.2):
    """Fraction of the speed that is left of a cube, or a ball, that flies over a cube at `height` (m)."""
    start = -0.06 * WAY + 0.004 * np.array([-WAY[1], WAY[0], 0]) + np.array([0, 0, SIZE + height])
    soft, other = kind.split("–")
    rigid = {"mass": 0.027, "position": start, "velocity": speed * WAY}
    body = {
        "soft": lambda: pl.Volume(MESH.translated(start), RUBBER),
        "box": lambda: pl.RigidBody.box(size=(SIZE,) * 3, **rigid),
        "ball": lambda: pl.RigidBody.sphere(radius=SIZE / 2, **rigid),
    }[soft]()
    thing = {
        "soft": lambda: pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="z", at=-SIZE / 2)),
        "rigid": lambda: pl.RigidBody.box(size=(SIZE,) * 3, mass=1e6),
        "obstacle": lambda: pl.Obstacle.box(center=(0, 0, 0), size=(SIZE,) * 3),
    }[other]()
    scene = pl.Scene()
    scene.add(body)
    scene.collide(body, scene.add(thing))
    world = scene.compile()
    state = world.initial_state()
    if soft == "soft":
        state = dataclasses.replace(state, v=(np.broadcast_to(speed * WAY, MESH.points.shape), *state.v[1:]))
    while state.time < until - 1e-9:
        state, _ = pl.ImplicitEuler(dt=dt)(world, state)
    v = state.v[0]
    return (v.mean(axis=0) if soft == "soft" else v[0]) @ WAY / speed


@pytest.mark.parametrize("dt", [0.01, 0.004])
@pytest.mark.parametrize(
    "kind", ["soft–soft", "soft–rigid", "soft–obstacle", "box–rigid", "box–obstacle", "ball–obstacle"]
)
def test_a_body_that_passes_above_another_keeps_its_speed(kind, dt):
    assert passing(kind, 3e-4, 0.6, dt) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["soft–soft", "box–rigid", "box–obstacle", "ball–obstacle"])
def test_a_body_that_meets_another_is_stopped(kind):
    assert passing(kind, -0.5 * SIZE, 0.6, 0.01) < 0.7


@pytest.mark.parametrize("dt", [0.01, 0.004])
@pytest.mark.parametrize("kind", ["obstacles", "rigid bodies"])
def test_a_box_slides_over_the_seam_of_two_flush_blocks(kind, dt):
    scene, size = pl.Scene(gravity=(0, 0, -9.81)), (0.2, 0.2, 0.1)
    if kind == "obstacles":
        blocks = [pl.Obstacle.box(center=(x, 0, -0.05), size=size, name=f"block {x}") for x in (-0.1, 0.1)]
    else:
        blocks = [pl.RigidBody.box(size=size, mass=1e6, position=(x, 0, -0.05), name=f"block {x}") for x in (-0.1, 0.1)]
    start = {"position": (-0.1, 0.013, 0.025), "velocity": (0.5, 0, 0)}
    body = scene.add(pl.RigidBody.box(size=(0.05, 0.05, 0.05), mass=0.1, **start))
    for part in blocks:
        scene.collide(body, scene.add(part))
        if kind != "obstacles":
            x = part.position[0]
            scene.attach(part, None, points=[(x + 0.05, 0.05, -0.1), (x - 0.05, 0.05, -0.1), (x, -0.05, -0.1)])
    world = scene.compile()
    state, index = world.initial_state(), world.index(body)
    while state.time < 0.4 - 1e-9:
        state, _ = pl.ImplicitEuler(dt=dt)(world, state)
    np.testing.assert_allclose(state.v[index][0], (0.5, 0, 0), atol=1e-6)
    np.testing.assert_allclose(state.pose(body)[0], (0.1, 0.013, 0.025), atol=1e-6)
