"""A tower of four air chambers brings its top to a place."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators.values import Pressure
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict
from pliant.gym.tasks.placing import parameters
from pliant.gym.tasks.reach import reach_verdict
from pliant.gym.twins import Modes
from pliant.robots import tower
from pliant.world import Scene, World

HIGHEST = 1.0e4
"""Largest pressure of a chamber, Pa."""

TILTS = np.array(
    [
        [[0.0, 0.0, 0.0], [0.3, 0.0, 0.1], [4.0, 0.0, 1.1], [17.7, 0.0, 2.4], [21.8, 0.0, 2.4]],
        [[0.0, 0.0, 0.0], [-0.4, 0.0, 0.2], [-5.7, 0.0, 1.8], [-11.8, 0.0, 3.0], [-17.0, 0.0, 3.2]],
        [[0.0, 0.0, 0.0], [0.1, 0.9, 0.6], [0.1, 4.7, 2.7], [0.2, 7.8, 4.0], [0.0, 10.6, 4.8]],
        [[0.0, 0.0, 0.0], [0.0, -1.1, 1.7], [0.0, -2.5, 3.8], [0.0, -3.3, 5.6], [0.0, -3.3, 7.4]],
    ]
)
"""How far the top moves, mm, with one chamber at quarters of the largest pressure. The sum of those
of `PAIRS` is within 4 mm of what both do, as the tests show: a goal is a place that the top can reach.
"""
PAIRS = ((0, 2), (0, 3), (1, 3))
"""Chambers that tilt across each other; 1 and 2 together snap to 9 mm from the sum."""


class PneumaticReach(Task):
    """Chambers swell, press the slots above them closed and tilt what is above: this needs self-contact."""

    title = "a pneumatic tower brings its top to a random place"
    reward = "−10 |top − goal| (m) − 0.005 |action − position|², + 0.5 within 5 mm"
    error = "distance of the top from the goal, m"
    succeeds = "the top is within 5 mm of the goal"
    actions = tuple(Channel(f"pressure of chamber {k}", "Pa", 0.0, HIGHEST, 5e4) for k in range(4))
    observations = (
        Seen("top", 3, "m", 0.05),
        Seen("velocity of the top", 3, "m/s", 0.5),
        Seen("goal − top", 3, "m", 0.02),
        Seen("commands, −1 … 1", 4, "1", 1.0),
    )
    variations = (
        Variation("modulus", lambda task: [parameters().Material(task.tower.body, "young")], 0.9, 1.2),
        Variation("mass", lambda task: [parameters().Mass(task.tower.body)], 0.9, 1.1),
    )
    settle = 40
    view = (-0.035, -0.035, 0.0), (0.035, 0.035, 0.09)
    twin = Modes(runs=15, tolerance=5e-3)

    def build(self, *, coarse: bool) -> World:
        scene = Scene(gravity=(0, 0, -9.81))
        self.tower = scene.add(tower())
        self.tower.collide(scene)
        return scene.compile()

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        return {cavity: Pressure(float(p)) for cavity, p in zip(self.tower.cavities, command, strict=True)}

    def goal(self, rng: np.random.Generator) -> FloatArray:
        """The sum of what two chambers that tilt across each other do to the top, and where it is at rest."""
        chambers, levels = PAIRS[rng.integers(len(PAIRS))], rng.uniform(0.2, 0.7, 2)
        moved = sum(1e-3 * _level(TILTS[k], x) for k, x in zip(chambers, levels, strict=True))
        return self.tower.tip.at(self.start) + moved

    def measured(self, shapes: Shapes) -> FloatArray:
        return shapes.marker(self.tower.tip)

    def observed(self, now: Moment) -> list[FloatArray]:
        return [now.measured, now.rates, now.goal - now.measured, now.position]

    def judged(self, now: Moment) -> Verdict:
        return reach_verdict(now, now.measured, now.goal, 0.005)

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        return [(goal, 0.005)]


def _level(moves: FloatArray, level: float) -> FloatArray:
    """Moves (3,), mm, between the quarters (5, 3) of the largest pressure."""
    quarters: FloatArray = np.linspace(0.0, 1.0, len(moves), dtype=np.float64)
    return np.array([np.interp(level, quarters, column) for column in moves.T])
