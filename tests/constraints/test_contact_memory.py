"""What contacts remember: frames that turn with their normals, and forces in world axes."""

from dataclasses import replace

import numpy as np

import pliant as pl
from pliant.constraints import RowView
from pliant.core.lie import rotation_exp

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)


def view_of(world, q, **options):
    return RowView.of(world.models, q, time=0.01, dt=0.01, **options)


def on_block(obstacle):
    """A block above an obstacle with friction: the world, the pair and the positions."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2)), RUBBER))
    scene.collide(body, scene.add(obstacle), friction=0.5, allow_overlap=True)
    world = scene.compile()
    return world, world.constraints[0], list(world.initial_state().q)


def test_tangents_turn_with_their_normals_and_with_nothing_else():
    """A block on a sphere: where a normal turned, its tangents are those of before by the same rotation."""
    ball = pl.Obstacle.sphere(center=(0.02, 0.02, -0.0295), radius=0.03)
    world, constraint, q = on_block(ball)
    _, memory = constraint.rows_at(view_of(world, q))
    frames = memory.frames.copy()
    for frame in frames:  # tangents that only the last step can know
        frame[1:] = frame[1:] @ rotation_exp(0.4 * frame[0]).T
    memory = replace(memory, frames=frames)
    _, later = constraint.rows_at(view_of(world, [q[0] + (4e-3, 2e-3, 0.0)], memory=memory))
    place = {key: k for k, key in enumerate(memory.contacts.key.tolist())}
    for key, frame in zip(later.contacts.key.tolist(), later.frames, strict=True):
        if key not in place:
            continue
        old = frames[place.pop(key)]
        turn = np.cross(old[0], frame[0])
        angle = np.arcsin(np.linalg.norm(turn))
        rotation = rotation_exp(turn / max(np.linalg.norm(turn), 1e-300) * angle)
        np.testing.assert_allclose(frame, old @ rotation.T, atol=1e-9)
    assert len(place) < len(memory.contacts.key)  # some were known


def test_without_contacts_there_are_no_forces():
    world, constraint, q = on_block(pl.Obstacle.plane(point=(0.0, 0.0, -1.0)))
    _, memory = constraint.rows_at(view_of(world, q))
    assert memory.forces(np.zeros(0)).shape == (0, 3)
