"""The world of one robot, for the studio, demos, benchmarks, experiments and commands."""

from __future__ import annotations

from typing import Any

from pliant.models.rigid import Obstacle
from pliant.world import Scene, World

DOWN = (0.0, 0.0, -9.81)
"""Gravity on earth, m/s²."""


def robot_world(
    robot: Any,
    *obstacles: Obstacle,
    gravity: Any = DOWN,
    touches_itself: bool = False,
    friction: float = 0.0,
    **contact: Any,
) -> World:
    """The compiled world of `robot` and of `obstacles` in contact with it, with Coulomb's μ `friction`.

    `gravity` (3,) m/s². `touches_itself` adds self-contact: ``robot.collide(scene, **contact)``.
    """
    scene = Scene(gravity=gravity)
    scene.add(robot)
    if touches_itself:
        robot.collide(scene, **contact)
    for obstacle in obstacles:
        scene.add(obstacle)
        scene.collide(robot, obstacle, friction=friction)
    return scene.compile()
