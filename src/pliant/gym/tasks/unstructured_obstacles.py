"""An elastic arm manoeuvres in space between cylinders that lie in disorder."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.gym.task import Moment, Seen
from pliant.gym.tasks.elastic_arm import SEEN, TrackingArm, channels
from pliant.models.rigid import Obstacle
from pliant.world import Scene, World

COUNT, LONG, THIN = 8, 1.0, 0.03
"""Number of cylinders, and their length and radius, m."""
LOWER, UPPER = np.array([0.3, -0.6, -0.1]), np.array([0.6, 0.6, 0.8])
"""Corners of the box in which their axes are, m."""
APART = 0.015
"""Least distance of their axes, m."""
TARGET = (0.8, 0.0, 0.35)
"""Where the tip shall be, behind the cylinders, m."""


class UnstructuredObstacles(TrackingArm):
    """Eight cylinders lie across the way of the arm, without friction."""

    title = "an elastic arm pushes its tip between eight cylinders in disorder to a target behind them"
    actions = channels("bend_y", "bend_z")
    observations = (
        Seen("points of the arm, the tip last", 3 * SEEN, "m", 1.0),
        Seen("velocities of these points", 3 * SEEN, "m/s", 1.0),
        Seen("commands, −1 … 1", len(actions), "1", 1.0),
        Seen("target", 3, "m", 1.0),
        Seen("ends of the axes of the cylinders", 6 * COUNT, "m", 1.0),
    )
    dt, substeps, steps = 0.5, 10, 50
    view = (-0.2, -0.6, -0.1), (0.95, 0.6, 1.05)

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.8))
        self.stand(scene, coarse=coarse)
        self.axes = disorder(np.random.default_rng(0))
        for k, (start, end) in enumerate(self.axes):
            made: Any = Obstacle.capsule(start=start, end=end, radius=THIN, name=f"cylinder {k + 1}")
            scene.collide(self.arm, scene.add(made), friction=0.0)
        return scene.compile()

    def goal(self, rng: np.random.Generator) -> FloatArray:
        return np.array(TARGET)

    def observed(self, now: Moment) -> list[FloatArray]:
        ends = np.tile(self.axes.ravel(), (len(now.measured), 1))
        return [now.measured[:, 3:], now.rates[:, 3:], now.position, now.goal[:, :3], ends]


def disorder(rng: np.random.Generator) -> FloatArray:
    """Ends (COUNT, 2, 3), m, of axes within the box, in random directions and at least `APART` from each other."""
    axes: list[FloatArray] = []
    while len(axes) < COUNT:
        middle, direction = rng.uniform(LOWER, UPPER), rng.normal(size=3)
        half = 0.5 * LONG * direction / np.linalg.norm(direction)
        ends = np.stack([middle - half, middle + half])
        inside = ((ends >= LOWER) & (ends <= UPPER)).all()
        if inside and all(segment_distance(ends, other) >= APART for other in axes):
            axes.append(ends)
    return np.stack(axes)


def segment_distance(a: FloatArray, b: FloatArray) -> float:
    """Least distance, m, of two segments from their ends (2, 3): between their insides, or from an end of one."""
    u, v, w = a[1] - a[0], b[1] - b[0], a[0] - b[0]
    normal = np.cross(u, v)
    square = float(normal @ normal)
    if square > 1e-12 * float(u @ u) * float(v @ v):
        s, t = float(np.cross(v, w) @ normal) / square, float(np.cross(u, w) @ normal) / square
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            return abs(float(w @ normal)) / float(np.sqrt(square))
    return min(*(_from_segment(p, b) for p in a), *(_from_segment(p, a) for p in b))


def _from_segment(point: FloatArray, segment: FloatArray) -> float:
    along, away = segment[1] - segment[0], point - segment[0]
    fraction = np.clip(float(away @ along) / float(along @ along), 0.0, 1.0)
    return float(np.linalg.norm(away - fraction * along))
