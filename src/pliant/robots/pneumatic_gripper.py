"""The pneumatic gripper of Fang et al. 2022: soft fingers around a ball that close on it under pressure.

G. Fang, Y. Tian, A. Weightman, C. C. L. Wang, Collision-aware fast simulation for soft robots by optimization-based
geometric computing, IROS 2022, figures 1 and 11. The paper draws it without measures: the fingers are those of section
IV.B, the ball has the published 50 mm, and their arrangement is ours.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from pliant.actuators import Cavity
from pliant.actuators.values import VolumeRatio
from pliant.core.checks import positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.mesh import regions
from pliant.models.rigid import Obstacle
from pliant.robots.pneumatic_finger import pneumatic_finger
from pliant.robots.robot import Robot, hollows, moved, volume_ratios
from pliant.world import Scene


@one_line
@dataclass(frozen=True, eq=False)
class PneumaticGripper:
    """Fingers of one body and one cavity each around a fixed ball."""

    fingers: tuple[Robot, ...]
    _: KW_ONLY
    ball: Obstacle
    name: str = "pneumatic gripper"

    @property
    def parts(self) -> tuple[Any, ...]:
        """What `scene.add(gripper)` adds, in order: the fingers with their cavities, then the ball."""
        return (*(part for one in self.fingers for part in one.parts), self.ball)

    @property
    def cavities(self) -> tuple[Cavity, ...]:
        """The cavity of each finger."""
        return tuple(one.cavity for one in self.fingers)

    def collide(self, scene: Scene, *, selves: bool = True, each_other: bool = False, margin: float = 0.002) -> None:
        """Frictionless contacts of fingers and ball, detected within `margin` (m); with `selves` of each finger with
        itself, with `each_other` between fingers, whose tips meet below the ball.
        """
        for one in self.fingers:
            scene.collide(one.body, self.ball, margin=margin)
            if selves:
                scene.collide(one, one)
        for one, other in combinations(self.fingers, 2) if each_other else ():
            scene.collide(one.body, other.body)

    def controls(self, ratios: Any) -> dict[Cavity, VolumeRatio]:
        """Controls of a step: the volume of each finger's air over that at rest, one number for all or one each."""
        return volume_ratios(self.cavities, ratios)


@declared
def pneumatic_gripper(
    *,
    finger_count: int = 3,
    ball_radius: float = 0.025,
    depth: float = 0.040,
    opening: float = 0.028,
    name: str = "pneumatic gripper",
    **shape: Any,
) -> PneumaticGripper:
    """Fingers that hang from z = 0 about the z axis, their soles towards it, and a ball on it; all lengths in m.

        grip = scene.add(pl.robots.pneumatic_gripper())
        grip.collide(scene)
        state, info = pl.Geometric()(world, state, grip.controls(1.5))

    finger_count
        Fingers, evenly spread round the axis.
    ball_radius, depth
        Radius of the ball, an obstacle, and depth of its centre below the bases of the fingers.
    opening
        Distance of the soles from the axis, more than the radius of the ball.
    shape
        Options of `pl.robots.pneumatic_finger`, for all of them.
    """
    count = positive_count("finger_count", finger_count)
    radius, down = positive("ball_radius", ball_radius, unit="m"), positive("depth", depth, unit="m")
    if not positive("opening", opening, unit="m") > radius:
        raise InputError(f"opening ({opening:g} m) must exceed the radius of the ball ({radius:g} m)")
    straight = pneumatic_finger(name=name, **shape)
    half = float(straight.body.mesh.bounds[1, 2])
    if count > 2 and half >= opening * np.tan(np.pi / count):
        raise InputError(f"{count} fingers of width {2.0 * half:g} m do not fit an opening of {opening:g} m; widen it")
    angles = 2.0 * np.pi * np.arange(count) / count
    fingers = tuple(_hung(straight, angle, opening, f"{name} finger {k}") for k, angle in enumerate(angles))
    ball = Obstacle.sphere(center=(0.0, 0.0, -down), radius=radius, name=f"{name} ball")
    return PneumaticGripper(fingers, ball=ball, name=name)


def _hung(straight: Robot, angle: float, opening: float, name: str) -> Robot:
    """The finger pointing down, its sole towards the axis, at `angle` (rad) about it."""
    out = np.array([np.cos(angle), np.sin(angle), 0.0])
    along = np.array([0.0, 0.0, -1.0])
    rotation: FloatArray = np.column_stack([along, out, np.cross(along, out)])
    body = straight.body
    clamped = regions.nodes(body.clamp.nodes(body.mesh.points, what=f"base of {name!r}"))
    centers = body.mesh.points[body.mesh.cells].mean(axis=1)
    sole = [(regions.nodes(np.flatnonzero(region.select(centers))), stiff) for region, stiff in body.inclusions]
    hung = moved(straight, rotation, opening * out, clamp=clamped, inclusions=tuple(sole), name=name)
    return replace(hung, cavities=hollows(hung.body, 1, f"{name} air"))
