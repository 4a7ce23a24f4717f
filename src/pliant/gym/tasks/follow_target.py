"""The tip of an elastic arm follows a target that moves at random."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray
from pliant.gym.task import Moment, Seen
from pliant.gym.tasks.elastic_arm import SEEN, TrackingArm, channels
from pliant.world import Scene, World

LOWER, UPPER = np.array([-0.6, -0.6, 0.3]), np.array([0.6, 0.6, 0.9])
"""Corners of the box in which targets are, m."""
SPEED, TURNS = 0.5, 0.025
"""Speed of the target, m/s, and the probability of another direction in a step."""


class FollowTarget(TrackingArm):
    """The target moves straight on, is reflected by the walls of its box, and at times takes another direction."""

    title = "the tip of an elastic arm follows a target that moves at 0.5 m/s and changes its direction at random"
    actions = channels("bend_y", "bend_z")
    observations = (
        Seen("points of the arm, the tip last", 3 * SEEN, "m", 1.0),
        Seen("velocities of these points", 3 * SEEN, "m/s", 1.0),
        Seen("commands, −1 … 1", len(actions), "1", 1.0),
        Seen("target", 3, "m", 1.0),
        Seen("velocity of the target", 3, "m/s", 1.0),
    )
    dt, substeps, steps = 0.1, 2, 500
    newton_iterations = 2
    goal_moves = True

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.8))
        self.stand(scene, coarse=coarse)
        return scene.compile()

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return np.concatenate([rng.uniform(LOWER, UPPER), _velocity(rng)])

    def moved(self, goal: FloatArray, rng: np.random.Generator) -> FloatArray:
        place, velocity = goal[:3], goal[3:]
        outside = ((place < LOWER) & (velocity < 0.0)) | ((place > UPPER) & (velocity > 0.0))
        turns = rng.uniform() < TURNS
        velocity = np.where(outside, -velocity, velocity) if outside.any() or not turns else _velocity(rng)
        return np.concatenate([place + self.dt * velocity, velocity])

    def observed(self, now: Moment) -> list[FloatArray]:
        return [now.measured[:, 3:], now.rates[:, 3:], now.position, now.goal[:, :3], now.goal[:, 3:]]


def _velocity(rng: np.random.Generator) -> FloatArray:
    """A velocity (3,), m/s, in a direction that is uniform on the sphere."""
    direction = rng.normal(size=3)
    return np.asarray(SPEED * direction / np.linalg.norm(direction))
