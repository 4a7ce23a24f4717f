"""What the contact problems with a closed form share: one soft body, a rigid tool, one call of `pl.QuasiStatic()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pliant as pl
from validation.row import Row

YOUNG = 1e6
RADIUS = 1e-3
"""Radius or half width of the contact, m, in all problems but those that find it."""
WITHIN = 0.03
"""Relative error that a coarse mesh may have."""

Solved = tuple[list[Row], pl.StepInfo]
"""Rows of a problem, and what its solve reports."""
Pose = tuple[tuple[float, float, float], tuple[float, float, float]]


def modulus(poisson: float) -> float:
    """E* of the body against a rigid one, Pa."""
    return YOUNG / (1.0 - poisson**2)


def rubber(poisson: float) -> pl.materials.Material:
    """A law that is linear at small strain."""
    return pl.materials.Corotated(young=YOUNG, poisson=poisson, density=1e3)


def pressed(scene: pl.Scene, body: pl.Volume, tool: pl.Obstacle, **options: Any) -> tuple[pl.State, pl.StepInfo]:
    """State and report of one quasi-static call; obstacles go to where they are after 1 s."""
    scene.collide(body, tool, **options)
    world = scene.compile()
    return pl.QuasiStatic(dt=1.0)(world, world.initial_state())


def downward(depth: float) -> Callable[[float], Pose]:
    """Down by `depth` (m) within 1 s."""
    return lambda t: ((0.0, 0.0, -depth * min(t, 1.0)), (0.0, 0.0, 0.0))


def down_then_aside(depth: float, side: float) -> Callable[[float], Pose]:
    """Down by `depth` (m) within 0.5 s, then along x by `side` (m) within 0.5 s."""

    def motion(t: float) -> Pose:
        aside, down = float(np.clip(2.0 * t - 1.0, 0.0, 1.0)), float(np.clip(2.0 * t, 0.0, 1.0))
        return (side * aside, 0.0, -depth * down), (0.0, 0.0, 0.0)

    return motion
