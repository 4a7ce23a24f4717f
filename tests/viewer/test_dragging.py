"""Which obstacles a user drags."""

import numpy as np
import pytest

import pliant as pl
from pliant.viewer.dragging import draggable


def still(time):
    return np.zeros(3), np.zeros(3)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: pl.Obstacle.sphere(center=(0, 0, 0), radius=0.01), True),
        (lambda: pl.Obstacle.box(size=(0.01, 0.01, 0.01), center=(0, 0, 0)), True),
        (lambda: pl.Obstacle.plane(normal=(0, 0, 1)), False),
        (lambda: pl.Obstacle.sphere(center=(0, 0, 0), radius=0.01, motion=still), False),
        (lambda: pl.Obstacle.plane(normal=(0, 0, 1), motion=still), False),
    ],
)
def test_what_is_fixed_and_finite_is_dragged(make, expected):
    scene = pl.Scene()
    obstacle = scene.add(make())
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=(0.1, 0, 0.1)))
    scene.collide(ball, obstacle)
    assert draggable(scene.compile().obstacles[0]) is expected
