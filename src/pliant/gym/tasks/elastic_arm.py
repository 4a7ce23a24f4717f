"""The elastic arm of four tasks that other simulators have been timed with, and what these tasks share.

The tasks are those of N. Naughton, J. Sun, A. Tekinalp, T. Parthasarathy, G. Chowdhary and M. Gazzola, "Elastica: a
compliant mechanics environment for soft robotic control", IEEE Robotics and Automation Letters 6, 2021. Arm, actions,
rewards, durations and obstacles are those of A. Choi and D. Tong, "Rapidly learning soft robot control via implicit
time-stepping", arXiv:2511.06667, 2025, and of its program dismech-rl; docs/gym.md says what differs.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pliant.actuators.values import Torque
from pliant.core.types import FloatArray
from pliant.gym.task import Channel, Moment, Shapes, Task, Variation, Verdict, distance
from pliant.gym.tasks.placing import parameters
from pliant.gym.twins import Coarser
from pliant.models.beam import section
from pliant.models.rod import Rod, RodMoments
from pliant.world import Scene

LENGTH, RADIUS, YOUNG, DENSITY = 1.0, 0.05, 1e7, 1000.0
"""Of the arm, m, m, Pa and kg/m³; it is incompressible, and stands on its clamped base."""
STIFFNESS = YOUNG * section.Circle(RADIUS).torsion_constant * np.array([1.0 / 3.0, 0.5, 0.5])
"""Of a section against twist and both bends, N·m²: the polar moment of area of a circle is twice that of bending."""
REGIONS, SEEN = 5, 10
"""Regions of equal length with a natural curvature of their own, and points of the arm that are observed."""
BEND, TWIST, RATE = 2.0, 0.5 * np.pi, 0.5
"""Largest natural bend and twist of a region, rad, and the rate at which they change, rad/s."""
NEAR = 0.05
"""Distance of the tip from its target that is success, m."""
UPRIGHT = (0.0, -0.5 * np.pi, 0.0)
"""Rotation of a rod along x that stands: y of its sections is y of the world, z is −x."""
KINDS = {"bend_y": "bend about y", "bend_z": "bend about −x", "twist": "twist"}
"""What is commanded of a region, by strain."""


def channels(*strains: str) -> tuple[Channel, ...]:
    """Channels of the natural curvatures of all regions, those of one region after those of another."""
    most = {"bend_y": BEND, "bend_z": BEND, "twist": TWIST}
    return tuple(
        Channel(f"natural {KINDS[strain]} of region {k + 1}", "rad", -most[strain], most[strain], RATE)
        for k in range(REGIONS)
        for strain in strains
    )


class ElasticArm(Task):
    """An upright arm whose regions have commanded natural curvatures, exerted as internal moments."""

    incremental = True
    variations: ClassVar[tuple[Variation, ...]] = (
        Variation("modulus", lambda task: [parameters().Material(task.arm, "young")], 0.8, 1.2),
        Variation("density", lambda task: [parameters().Material(task.arm, "density")], 0.9, 1.1),
    )
    commanded: ClassVar[tuple[str, ...]] = ("bend_y", "bend_z")
    """Strains that are commanded, of each region."""
    free: ClassVar[tuple[str, ...]] = ("bend_y", "bend_z", "twist")
    """Strains that may change."""
    view = (-0.65, -0.65, 0.0), (0.65, 0.65, 1.05)
    twin = Coarser("10 sections instead of 20: a rod in strain coordinates is a reduced model already")

    def stand(self, scene: Scene, *, coarse: bool) -> None:
        """Add the arm and its muscles to `scene`."""
        self.arm = scene.add(
            Rod(
                LENGTH, 10 if coarse else 20, section=section.Circle(RADIUS), young=YOUNG, poisson=0.5, density=DENSITY,
                rotation=UPRIGHT, strains=self.free, contact_points=1, name="arm",
            )
        )  # fmt: skip
        self.muscles = scene.add(RodMoments(self.arm))

    def controls(self, command: FloatArray) -> dict[Any, Any]:
        bent = command.reshape(REGIONS, 1, len(self.commanded))
        moments = np.zeros((REGIONS, self.arm.sections // REGIONS, 3))
        columns = self._columns
        moments[:, :, columns] = STIFFNESS[columns] * bent / (LENGTH / REGIONS)
        return {self.muscles: Torque(moments.reshape(-1, 3))}

    @cached_property
    def _columns(self) -> list[int]:
        """Columns of the moments of a section that are commanded."""
        return [("twist", "bend_y", "bend_z").index(strain) for strain in self.commanded]

    def measured(self, shapes: Shapes) -> FloatArray:
        points = self.points(shapes)
        return np.concatenate([points[:, -1], points.reshape(len(points), -1)], axis=1)

    def points(self, shapes: Shapes) -> FloatArray:
        """The points (c, SEEN, 3), m, of the arm that are observed, the tip last."""
        every = self.arm.sections // SEEN
        return shapes.points(self.arm)[:, every::every]

    def marks(self, goal: FloatArray) -> list[tuple[FloatArray, float]]:
        return [(goal[:3], NEAR)]


class TrackingArm(ElasticArm):
    """An arm whose tip alone is judged, by its distance from a target."""

    reward = "−|tip − target|² (m²), + 2 within 50 mm, else + 0.5 within 100 mm"
    error = "distance of the tip from the target, m"
    succeeds = "the tip is within 50 mm of the target"

    def judged(self, now: Moment) -> Verdict:
        return tracking_verdict(tip_error(now))


def tracking_verdict(error: FloatArray) -> Verdict:
    """The verdict on tips that are `error` (c,), m, from their targets, as published."""
    success = error < NEAR
    reward = -(error**2) + 2.0 * success + 0.5 * ((error > NEAR) & (error < 2.0 * NEAR))
    return Verdict(reward, success, np.zeros(len(error), bool), error)


def tip_error(now: Moment) -> FloatArray:
    """Distance (c,), m, of the tip from the place that the goal begins with."""
    return distance(now.measured[:, :3] - now.goal[:, :3])
