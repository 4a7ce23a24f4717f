"""A soft worm of two cables crawls over a floor by friction alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators import Cable
from pliant.actuators.values import Displacement
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict
from pliant.gym.tasks.placing import parameters
from pliant.gym.twins import Coarser
from pliant.materials import Corotated
from pliant.mesh import box
from pliant.models.rigid import Obstacle
from pliant.models.volume import Rayleigh, Volume
from pliant.robots import Marker
from pliant.world import Scene, World

SIZE = np.array([0.12, 0.03, 0.012])
"""Length, width and height, m."""
AHEAD = 0.06
"""How far it is to crawl, m."""


class Crawl(Task):
    """A slab of silicone; each of two cables along its sole arches a half of it."""

    title = "a worm of two cables crawls 60 mm ahead"
    reward = "10 × the speed ahead (m/s) − 0.002 |action|², + 1 where it arrived"
    error = "what is missing of the way of 60 mm, m"
    succeeds = "its middle is 60 mm ahead of where it began"
    actions = (
        Channel("pull of the cable of the rear half", "m", 0.0, 0.012, 0.08),
        Channel("pull of the cable of the front half", "m", 0.0, 0.012, 0.08),
    )
    observations = (
        Seen("way of tail, middle and head, without that of the middle", 2, "m", 0.02),
        Seen("heights of tail, quarter, middle, quarter and head", 5, "m", 0.02),
        Seen("velocities ahead of tail, middle and head", 3, "m/s", 0.2),
        Seen("what is left of the way", 1, "m", 0.1),
        Seen("commands, −1 … 1", 2, "1", 1.0),
    )
    variations = (
        Variation("modulus", lambda task: [parameters().Material(task.worm, "young")], 0.8, 1.2),
        Variation("mass", lambda task: [parameters().Mass(task.worm)], 0.9, 1.1),
        Variation("friction", lambda task: [parameters().Friction(task.worm, task.floor)], 0.7, 1.3),
    )
    steps = 250
    settle = 30
    view = (-0.02, -0.03, 0.0), (0.2, 0.06, 0.03)
    twin = Coarser("a mesh of 54 nodes instead of 117: it touches the floor everywhere, which few modes cannot follow")

    def build(self, *, coarse: bool) -> World:
        silicone = Corotated(young=0.4e6, poisson=0.45, density=1080.0)
        self.worm = Volume(
            box(SIZE, (8, 2, 1) if coarse else (12, 2, 2)), silicone, damping=Rayleigh(stiffness=0.01), name="worm"
        )
        scene = Scene(gravity=(0, 0, -9.81))
        scene.add(self.worm, position=(0.0, 0.0, 2e-4))
        self.cables = [
            scene.add(
                Cable(self.worm, [(x, 0.5 * SIZE[1], 0.0015) for x in np.linspace(*ends, 6)], name=f"{half} half")
            )
            for half, ends in (("rear", (0.010, 0.055)), ("front", (0.065, 0.110)))
        ]
        self.markers = [Marker(self.worm, (x, 0.5 * SIZE[1], 0.0)) for x in SIZE[0] * np.linspace(0.0, 1.0, 5)]
        self.floor = scene.add(Obstacle.plane(name="floor"))
        scene.collide(self.worm, self.floor, friction=0.5)
        return scene.compile()

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        return {cable: Displacement(float(pull)) for cable, pull in zip(self.cables, command, strict=True)}

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return np.array([0.5 * SIZE[0] + AHEAD])

    def measured(self, shapes: Shapes) -> FloatArray:
        points = [shapes.marker(marker) for marker in self.markers]
        return np.stack([*(points[k][:, 0] for k in (0, 2, 4)), *(point[:, 2] for point in points)], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        y = now.measured
        shape = y[:, [0, 2]] - y[:, 1:2] + np.array([0.5, -0.5]) * SIZE[0]
        return [shape, y[:, 3:], now.rates[:, :3], now.goal - y[:, 1:2], now.position]

    def judged(self, now: Moment) -> Verdict:
        left = now.goal[:, 0] - now.measured[:, 1]
        success = left <= 0.0
        reward = 10.0 * now.rates[:, 1] - 0.002 * (now.action * now.action).sum(axis=-1) + success
        return Verdict(reward, success, success.copy(), np.maximum(left, 0.0))

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        return [(np.array([goal[0], 0.5 * SIZE[1], 0.02]), 0.004)]
