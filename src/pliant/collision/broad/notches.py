"""Notches: pairs of triangles with a common point of which each is in front of the other at rest."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IntArray

_LEVEL = 1e-3
"""Least sine of the elevation above the plane of the other triangle; below, the two count as coplanar."""


def beside_notches(
    triangles: IntArray, rest: FloatArray, normals: FloatArray, fan_start: IntArray, fan: IntArray
) -> BoolArray:
    """Which triangles (t,) form a notch with a neighbour at one of their points; arrays as in `CollisionSurface`."""
    found = np.zeros(len(triangles), bool)
    _find_notches(triangles, rest, normals, fan_start, fan, found)
    return found


@kernel
def _find_notches(
    triangles: IntArray, rest: FloatArray, normals: FloatArray, fan_start: IntArray, fan: IntArray, found: BoolArray
) -> None:
    for t in range(len(triangles)):
        for corner in range(3):
            p = triangles[t, corner]
            for k in range(fan_start[p], fan_start[p + 1]):
                found[t] |= make_notch(triangles, rest, normals, t, fan[k])


@inline
def make_notch(triangles: IntArray, rest: FloatArray, normals: FloatArray, i: int, j: int) -> bool:
    """Whether the centres of triangles i and j are each in front of the other's plane at rest."""
    towards_j = towards_i = squared = 0.0
    for axis in range(3):
        apart = 0.0
        for corner in range(3):
            apart += rest[triangles[j, corner], axis] - rest[triangles[i, corner], axis]
        towards_j += apart * normals[i, axis]
        towards_i -= apart * normals[j, axis]
        squared += apart * apart
    least = _LEVEL * np.sqrt(squared)
    return bool(towards_j > least and towards_i > least)


@inline
def share_point(triangles: IntArray, i: int, j: int) -> bool:
    """Whether triangles i and j have a corner in common."""
    a, b, c = triangles[i, 0], triangles[i, 1], triangles[i, 2]
    d, e, f = triangles[j, 0], triangles[j, 1], triangles[j, 2]
    return bool((a == d) | (a == e) | (a == f) | (b == d) | (b == e) | (b == f) | (c == d) | (c == e) | (c == f))
