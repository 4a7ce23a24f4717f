"""A trunk reaches for a point among posts that it has to bend around."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray
from pliant.gym.task import Variation
from pliant.gym.tasks.placing import parameters
from pliant.gym.tasks.reach import Reach, bowl, hanging_trunk
from pliant.gym.twins import Modes
from pliant.models.rigid import Obstacle
from pliant.world import Scene, World

POSTS = 0.035 * np.array([[np.cos(a), np.sin(a)] for a in 0.25 * np.pi + 0.5 * np.pi * np.arange(4)])
"""Where the posts stand, (4, 2), m."""
RADIUS, TOP = 0.006, 0.02
"""Radius of a post, and height of the middle of its round top, m."""


class ReachObstacles(Reach):
    """The trunk of `Reach`; four posts with round tops stand around it, with friction."""

    title = "a trunk with four cables reaches for a point behind posts, which it touches and slides along"
    variations = (
        *Reach.variations,
        Variation(
            "friction", lambda task: [parameters().Friction(task.trunk.body, post) for post in task.posts], 0.5, 1.5
        ),
    )
    steps = 150
    view = (-0.06, -0.06, 0.0), (0.06, 0.06, 0.2)
    twin = Modes(runs=20)

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.81))
        self.trunk = hanging_trunk(scene)
        self.posts = [
            scene.add(Obstacle.capsule(start=(x, y, -0.01), end=(x, y, TOP), radius=RADIUS, name=f"post {k}"))
            for k, (x, y) in enumerate(POSTS)
        ]
        for post in self.posts:
            scene.collide(self.trunk, post, friction=0.2)
        return scene.compile()

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return bowl(rng, 0.05, least=0.042)
