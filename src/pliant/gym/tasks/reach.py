"""A trunk reaches for a point in space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from pliant.actuators.values import Displacement
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict, distance
from pliant.gym.tasks.placing import parameters
from pliant.gym.twins import Modes
from pliant.robots import Robot, trunk
from pliant.world import Scene, World

LENGTH, HEIGHT = 0.195, 0.20
"""Length of the trunk, and height of its base above the floor, m."""
LONGEST = 0.012
"""Largest pull of a cable, m: 60 % of what the trunk bears, so that few modes describe its motions."""


class Reach(Task):
    """The trunk hangs from its base and is bent by its four long cables."""

    title = "a trunk with four cables brings its tip to a random point"
    reward = "−10 |tip − goal| (m) − 0.005 |action − position|², + 0.5 within 10 mm"
    error = "distance of the tip from the goal, m"
    succeeds = "the tip is within 10 mm of the goal"
    actions = tuple(Channel(f"pull of the cable at {90 * k}°", "m", 0.0, LONGEST, 0.1) for k in range(4))
    observations = (
        Seen("tip", 3, "m", 0.1),
        Seen("velocity of the tip", 3, "m/s", 1.0),
        Seen("goal", 3, "m", 0.1),
        Seen("goal − tip", 3, "m", 0.05),
        Seen("commands, −1 … 1", 4, "1", 1.0),
    )
    variations: ClassVar[tuple[Variation, ...]] = (
        Variation("modulus", lambda task: [parameters().Material(task.trunk.body, "young")], 0.8, 1.2),
        Variation("mass", lambda task: [parameters().Mass(task.trunk.body)], 0.9, 1.1),
    )
    settle = 150
    view = (-0.1, -0.1, 0.0), (0.1, 0.1, 0.21)
    twin = Modes()

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.81))
        self.trunk = hanging_trunk(scene)
        return scene.compile()

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        return {cable: Displacement(float(pull)) for cable, pull in zip(self.trunk.cables, command, strict=True)}

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return bowl(rng, 0.045)

    def measured(self, shapes: Shapes) -> FloatArray:
        return shapes.marker(self.trunk.tip)

    def observed(self, now: Moment) -> list[FloatArray]:
        return [now.measured, now.rates, now.goal, now.goal - now.measured, now.position]

    def judged(self, now: Moment) -> Verdict:
        return reach_verdict(now, now.measured, now.goal, 0.010)

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        return [(goal, 0.008)]


def hanging_trunk(scene: Scene, *, cables: int = 4) -> Robot:
    """A trunk of 412 nodes with its first `cables`, the long ones before the short ones, that hangs in `scene`."""
    whole = trunk(vertebra_count=8, cells=(2, 2), length=LENGTH)
    robot = replace(whole, cables=whole.cables[:cables])
    scene.add(robot, position=(0, 0, HEIGHT), rotation=(np.pi, 0, 0))
    return robot


def bowl(rng: np.random.Generator, widest: float, *, least: float = 0.015) -> FloatArray:
    """A point (3,), m, that the tip reaches, `least` to `widest` m from the axis.

    With one cable pulled, the tip moves on a bowl 5 mm above the floor in the middle and 8.2/m r² higher at r; opposed
    cables raise it by up to 19 mm there.
    """
    aside, azimuth = np.sqrt(rng.uniform(least**2, widest**2)), rng.uniform(-np.pi, np.pi)
    height = 0.005 + 8.2 * aside**2 + rng.uniform(0.0, 0.005)
    return np.array([aside * np.cos(azimuth), aside * np.sin(azimuth), height])


def reach_verdict(now: Moment, tip: FloatArray, goal: FloatArray, within: float) -> Verdict:
    """The verdict of reaching: nearer is better, within `within` (m) is success, large moves of commands cost."""
    error = distance(tip - goal)
    moves = now.action - now.position
    success = error < within
    reward = -10.0 * error - 0.005 * (moves * moves).sum(axis=-1) + 0.5 * success
    return Verdict(reward, success, np.zeros(len(error), bool), error)
