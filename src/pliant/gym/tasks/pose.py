"""A trunk of eight cables brings its tip to a place and turns it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from pliant.actuators.values import Displacement
from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict, distance
from pliant.gym.tasks.placing import parameters
from pliant.gym.tasks.reach import LENGTH, LONGEST, hanging_trunk
from pliant.gym.twins import Modes
from pliant.robots import Marker
from pliant.stepping import QuasiStatic
from pliant.world import Scene, World

SHORTEST = 0.008
"""Largest pull of a short cable, m."""
TRIES = 20
"""Random pulls that a goal is looked for with."""
ARM = 0.015
"""Distance of the two points of the axis that tell its direction, m."""


class Pose(Task):
    """The hanging trunk with its four long and four short cables, which bend its two halves apart."""

    title = "a trunk with eight cables brings its tip to a random place, in a random direction"
    reward = "−10 |tip − place| (m) − 0.3 |axis − direction| − 0.005 |action − position|², + 0.5 where it succeeds"
    error = "distance of the tip from the place, m, and 20 mm for each radian of the direction"
    succeeds = "the tip is within 12 mm of the place and its axis within 0.2 rad of the direction"
    actions = (
        *(Channel(f"pull of the long cable at {90 * k}°", "m", 0.0, LONGEST, 0.1) for k in range(4)),
        *(Channel(f"pull of the short cable at {90 * k}°", "m", 0.0, SHORTEST, 0.1) for k in range(4)),
    )
    observations = (
        Seen("tip", 3, "m", 0.1),
        Seen("velocity of the tip", 3, "m/s", 1.0),
        Seen("axis at the tip", 3, "1", 1.0),
        Seen("place − tip", 3, "m", 0.05),
        Seen("direction − axis", 3, "1", 1.0),
        Seen("commands, −1 … 1", 8, "1", 1.0),
    )
    variations = (
        Variation("modulus", lambda task: [parameters().Material(task.trunk.body, "young")], 0.8, 1.2),
        Variation("mass", lambda task: [parameters().Mass(task.trunk.body)], 0.9, 1.1),
    )
    settle = 150
    view = (-0.08, -0.08, 0.0), (0.08, 0.08, 0.2)
    twin = Modes(runs=25, tolerance=4e-3, points=3e-2)

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.81))
        self.trunk = hanging_trunk(scene, cables=8)
        self.above = Marker(self.trunk.body, (0.0, 0.0, LENGTH - ARM))
        self.statics = QuasiStatic(tolerance=1e-4)
        return scene.compile()

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        return {cable: Displacement(float(pull)) for cable, pull in zip(self.trunk.cables, command, strict=True)}

    def goal(self, rng: np.random.Generator) -> FloatArray:
        """Tip and axis of the equilibrium with random pulls, of one long and one short cable at right angles."""
        most = np.array([each.high for each in self.actions])
        for _ in range(TRIES):
            first, second = rng.integers(4), 4 + rng.integers(4)
            pulls = np.zeros(8)
            pulls[[first, second]] = rng.uniform(0.2, 0.9, 2) * most[[first, second]]
            with suppress(ConvergenceError):  # then others are drawn
                state, _ = self.statics(self.world, self.start, self.controls(pulls))
                return np.asarray(self.measured(Shapes(self.world, [q[None] for q in state.q]))[0], np.float64)
        raise ConvergenceError(f"{TRIES} random pulls of the trunk had no equilibrium; take another modulus or mass")

    def measured(self, shapes: Shapes) -> FloatArray:
        tip = shapes.marker(self.trunk.tip)
        along = tip - shapes.marker(self.above)
        return np.concatenate([tip, along / distance(along)[:, None]], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        y, left = now.measured, now.goal - now.measured
        return [y[:, :3], now.rates[:, :3], y[:, 3:], left[:, :3], left[:, 3:], now.position]

    def judged(self, now: Moment) -> Verdict:
        left, moves = now.goal - now.measured, now.action - now.position
        away, turned = distance(left[:, :3]), distance(left[:, 3:])
        success = (away < 0.012) & (turned < 0.2)
        reward = -10.0 * away - 0.3 * turned - 0.005 * (moves * moves).sum(axis=-1) + 0.5 * success
        return Verdict(reward, success, np.zeros(len(away), bool), away + 0.02 * turned)

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        return [(goal[:3], 0.007), (goal[:3] - ARM * goal[3:], 0.005)]
