"""Target paths: positions (count, 3), m."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive, positive_count, unit_vector
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray


@declared
def circle(*, center: Any, radius: float, count: int, normal: Any = (0.0, 0.0, 1.0), turns: float = 1.0) -> FloatArray:
    """`count` positions (count, 3), m, round `center` (3,) at `radius` m, anticlockwise about `normal` (3,).

    The last position closes the circle where `turns` is whole.
    """
    middle = finite_array("center", center, shape=(3,))
    axis = unit_vector("normal", normal)
    first = np.cross([0.0, 1.0, 0.0] if abs(axis[1]) < 0.9 else [1.0, 0.0, 0.0], axis)
    first /= np.linalg.norm(first)
    angle = 2.0 * np.pi * turns * np.arange(1, positive_count("count", count) + 1) / count
    around = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * np.cross(axis, first)
    return np.asarray(middle + positive("radius", radius, unit="m") * around)


@declared
def line(*, start: Any, end: Any, count: int) -> FloatArray:
    """`count` positions (count, 3), m, from `start` (3,) to `end` (3,), both included."""
    a, b = (finite_array(name, x, shape=(3,)) for name, x in (("start", start), ("end", end)))
    steps = np.linspace(0.0, 1.0, positive_count("count", count))[:, None]
    return np.asarray(a + steps * (b - a))


@declared
def through(points: Any, *, count: int) -> FloatArray:
    """`count` positions (count, 3), m, evenly spaced along the straight segments through `points` (k, 3)."""
    corners = finite_array("points", points, shape=(None, 3))
    if len(corners) < 2:
        raise InputError(f"a path needs two points or more, got {len(corners)}")
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    where = np.linspace(0.0, along[-1], positive_count("count", count))
    return np.stack([np.interp(where, along, corners[:, k]) for k in range(3)], axis=1)
