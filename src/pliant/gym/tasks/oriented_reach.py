"""The tip of an elastic arm reaches for a random place, turned about the vertical."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray
from pliant.gym.task import Moment, Seen, Shapes, Verdict
from pliant.gym.tasks.elastic_arm import NEAR, SEEN, ElasticArm, channels, tip_error
from pliant.gym.tasks.follow_target import LOWER, UPPER
from pliant.world import Scene, World

ALIGNED = 0.05
"""Largest misalignment, sin² of half the angle, that is success."""


class OrientedReach(ElasticArm):
    """The tip points up at the target, with the direction that is x at rest turned by a random angle from x."""

    title = "the tip of an elastic arm with twist reaches for a random place, pointing up and turned by a random angle"
    reward = (
        "−|tip − target|² (m²) − 0.5 s², s = sin² of half the angle between the orientations; within 50 mm + 4 − 2 s, "
        "+ 0.5 where s ≤ 0.1, + 2 where s < 0.05; else within 100 mm + 1 − 0.5 s, + 0.5 where s ≤ 0.1"
    )
    error = "distance of the tip from the target, m"
    succeeds = "the tip is within 50 mm of the target, and s < 0.05: 26° from the orientation"
    actions = channels("bend_y", "bend_z", "twist")
    observations = (
        Seen("points of the arm, the tip last", 3 * SEEN, "m", 1.0),
        Seen("velocities of these points", 3 * SEEN, "m/s", 1.0),
        Seen("directions of the tip: along it, and that which is x at rest", 6, "1", 1.0),
        Seen("commands, −1 … 1", len(actions), "1", 1.0),
        Seen("target", 3, "m", 1.0),
        Seen("direction that x shall have, cosine and sine", 2, "1", 1.0),
    )
    dt, substeps, steps = 0.1, 2, 100
    newton_iterations = 2
    commanded = ("bend_y", "bend_z", "twist")

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.8))
        self.stand(scene, coarse=coarse)
        return scene.compile()

    def goal(self, rng: np.random.Generator) -> FloatArray:
        place, turn = rng.uniform(LOWER, UPPER), rng.uniform(-0.5 * np.pi, 0.5 * np.pi)
        return np.concatenate([place, [np.cos(turn), np.sin(turn)]])

    def measured(self, shapes: Shapes) -> FloatArray:
        tip = shapes.frames(self.arm)[:, -1]
        return np.concatenate([super().measured(shapes), tip[:, :, 0], -tip[:, :, 2]], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        y, last = now.measured, 3 + 3 * SEEN
        return [y[:, 3:last], now.rates[:, 3:last], y[:, last:], now.position, now.goal[:, :3], now.goal[:, 3:]]

    def judged(self, now: Moment) -> Verdict:
        error, s = tip_error(now), misalignment(now.measured[:, -6:-3], now.measured[:, -3:], now.goal[:, 3:])
        at, about = error < NEAR, (error > NEAR) & (error < 2.0 * NEAR)
        closer = 0.5 * (s <= 0.1)
        reward = -(error**2) - 0.5 * s**2
        reward = reward + at * (4.0 - 2.0 * s + np.where(s < ALIGNED, 2.0, closer)) + about * (1.0 - 0.5 * s + closer)
        return Verdict(reward, at & (s < ALIGNED), np.zeros(len(error), bool), error)


def misalignment(along: FloatArray, x: FloatArray, wanted: FloatArray) -> FloatArray:
    """sin² of half the angle between a frame with the axes `along` (c, 3) and `x` (c, 3) and the one that points up
    with x at the cosine and sine `wanted` (c, 2): (3 − tr RᵀR′)/4.
    """
    cosine, sine = wanted[:, 0], wanted[:, 1]
    y = np.cross(along, x)
    trace = along[:, 2] + cosine * x[:, 0] + sine * x[:, 1] - sine * y[:, 0] + cosine * y[:, 1]
    return np.asarray(np.maximum(0.25 * (3.0 - trace), 0.0))
