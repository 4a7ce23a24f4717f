"""An elastic arm manoeuvres in a plane between cylinders in two rows."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray
from pliant.gym.task import Moment, Seen, Shapes
from pliant.gym.tasks.elastic_arm import SEEN, TrackingArm, channels
from pliant.models.rigid import Obstacle
from pliant.world import Scene, World

PLACES = ((0.20, 0.12), (0.60, 0.12), (0.40, 0.0), (0.40, 0.37), (0.40, 0.57), (0.40, 0.77))
"""x and z of the axes of the cylinders, m."""
WIDE, HALF = 0.1, 0.5
"""Their radius and half their length along y, m."""
TARGET = (0.8, 0.0, 0.15)
"""Where the tip shall be, behind the cylinders, m."""


class StructuredObstacles(TrackingArm):
    """The arm bends in a plane; its tip has to go between six cylinders, without friction, to a target behind them."""

    title = "an elastic arm that bends in a plane pushes its tip between six cylinders to a target behind them"
    actions = channels("bend_y")
    observations = (
        Seen("points of the arm, x and z, the tip last", 2 * SEEN, "m", 1.0),
        Seen("velocities of these points", 2 * SEEN, "m/s", 1.0),
        Seen("commands, −1 … 1", len(actions), "1", 1.0),
        Seen("target, x and z", 2, "m", 1.0),
    )
    dt, substeps, steps = 0.5, 10, 50
    commanded = free = ("bend_y",)
    view = (-0.2, -0.5, -0.1), (0.95, 0.5, 1.05)
    eye = (-75.0, 12.0)

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.8))
        self.stand(scene, coarse=coarse)
        for k, (x, z) in enumerate(PLACES):
            ends = {"start": (x, -HALF, z), "end": (x, HALF, z)}
            post = scene.add(Obstacle.capsule(**ends, radius=WIDE, name=f"cylinder {k + 1}"))
            scene.collide(self.arm, post, friction=0.0)
        return scene.compile()

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return np.array(TARGET)

    def measured(self, shapes: Shapes) -> FloatArray:
        points = self.points(shapes)
        return np.concatenate([points[:, -1], points[:, :, ::2].reshape(len(points), -1)], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        return [now.measured[:, 3:], now.rates[:, 3:], now.position, now.goal[:, ::2]]
