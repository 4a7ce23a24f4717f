"""A pre-bent wire is steered through a vessel into one of its two branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.actuators.values import Placement
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Seen, Shapes, Task, Variation, Verdict, distance
from pliant.gym.tasks.placing import parameters
from pliant.gym.twins import Coarser
from pliant.models.beam import section
from pliant.models.rigid import Obstacle
from pliant.models.rod import Rod
from pliant.models.volume import Rayleigh, Support
from pliant.world import Scene, World

WIRE, BORE, LENGTH, INSIDE = 0.4e-3, 3e-3, 0.16, 0.03
"""Radius of the wire, of the vessel, length of the wire, and how far it begins inside, m."""
FORK, BRANCH, ANGLE = 0.06, 0.07, np.radians(28.0)
"""Where the vessel divides, length of its branches, m, and the angle by which they turn off."""


class CatheterVessel(Task):
    """The base of the wire is pushed and turned; its tip is bent at rest and follows the wall, with friction."""

    title = "a pre-bent wire is pushed and turned so that its tip enters the wanted branch of a vessel"
    reward = "−10 |tip − goal| (m) − 0.005 |action − position|², + 0.5 within 6 mm"
    error = "distance of the tip from the goal, m"
    succeeds = "the tip is within 6 mm of the goal, 25 to 40 mm inside the wanted branch"
    actions = (
        Channel("push of the base", "m", 0.0, 0.075, 0.06),
        Channel("turn of the base", "rad", -np.pi, np.pi, 4.0),
    )
    observations = (
        Seen("tip", 3, "m", 0.05),
        Seen("velocity of the tip", 3, "m/s", 0.1),
        Seen("direction of the tip", 3, "1", 1.0),
        Seen("goal − tip", 3, "m", 0.05),
        Seen("commands, −1 … 1", 2, "1", 1.0),
    )
    variations = (
        Variation("modulus", lambda task: [parameters().Material(task.wire, "young")], 0.8, 1.2),
        Variation("friction", lambda task: [parameters().Friction(task.wire, task.vessel)], 0.5, 1.5),
    )
    steps = 200
    settle = 40
    view = (0.0, -0.04, -0.005), (0.125, 0.04, 0.005)
    eye = (-75.0, 55.0)
    twin = Coarser("12 sections instead of 20: a rod in strain coordinates is a reduced model already")

    def build(self, *, coarse: bool) -> World:
        count = 12 if coarse else 20
        fork = np.array([FORK, 0.0, 0.0])
        ends = [fork + BRANCH * np.array([np.cos(ANGLE), side * np.sin(ANGLE), 0.0]) for side in (1.0, -1.0)]
        paths = [np.array([np.zeros(3), fork, ends[0]]), np.array([fork, ends[1]])]
        bent = np.zeros((count, 6))
        bent[-round(0.125 * count) :, 2] = 25.0
        self.wire = Rod(
            LENGTH, count, section=section.Circle(WIRE), young=2e9, poisson=0.3, density=3000.0, rest_strain=bent,
            start_strain=np.zeros(6), strains=("twist", "bend_y", "bend_z"), position=(INSIDE - LENGTH, 0.0, 0.0),
            damping=Rayleigh(stiffness=0.05), contact_points=2, name="wire",
        )  # fmt: skip
        scene = Scene(gravity=(0, 0, -9.81))
        scene.add(self.wire)
        self.hand = scene.add(Support(self.wire, [0], rotation=(0, 0, 0)))
        self.vessel = scene.add(Obstacle.tubes(paths, radius=BORE, name="vessel"))
        scene.collide(self.wire, self.vessel, friction=0.1, margin=BORE - WIRE, continuous=True)
        return scene.compile()

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        push, turn = (float(each) for each in command)
        return {self.hand: Placement([(push, 0.0, 0.0), (turn, 0.0, 0.0)])}

    def goal(self, rng: np.random.Generator) -> FloatArray:
        side, deep = rng.choice([-1.0, 1.0]), rng.uniform(0.025, 0.04)
        return np.array([FORK + deep * np.cos(ANGLE), side * deep * np.sin(ANGLE), 0.0])

    def measured(self, shapes: Shapes) -> FloatArray:
        points = shapes.points(self.wire)
        along = points[:, -1] - points[:, -2]
        return np.concatenate([points[:, -1], along / distance(along)[:, None]], axis=1)

    def observed(self, now: Moment) -> list[FloatArray]:
        y = now.measured
        return [y[:, :3], now.rates[:, :3], y[:, 3:], now.goal - y[:, :3], now.position]

    def judged(self, now: Moment) -> Verdict:
        error, moves = distance(now.goal - now.measured[:, :3]), now.action - now.position
        success = error < 0.006
        reward = -10.0 * error - 0.005 * (moves * moves).sum(axis=-1) + 0.5 * success
        return Verdict(reward, success, np.zeros(len(error), bool), error)

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        return [(goal, 0.002)]
