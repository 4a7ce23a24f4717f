"""The kernel of signed distances to analytic shapes; `collision.obstacles` says what they are.

A shape is a kind and a row of numbers, m:

    PLANE     point (3), outward unit normal (3)
    ROUND     start (3) and end (3) of a segment, radius, a direction (3) out of its very axis
    BOX       center (3), half its size (3), rotation (9)
    REVOLVED  start (3) and unit axis (3), length, inner and outer radius, a direction (3) across the axis
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray

PLANE, ROUND, BOX, REVOLVED = 0, 1, 2, 3
EPS = 1e-12
"""Directions shorter than this, relative to the shape, count as undefined and take a fixed choice."""


@kernel
def shape_distance(
    kind: int, shape: FloatArray, points: FloatArray, gap: FloatArray, normal: FloatArray, foot: FloatArray
) -> None:
    """Signed distances of `points` (p, 3) m into `gap` (p,), unit normals and nearest points into (p, 3)."""
    away, unit, local = np.empty(3), np.empty(3), np.empty(3)
    for p in range(len(points)):
        gap[p] = point_distance(kind, shape, points[p], away, local, unit)
        for c in range(3):
            normal[p, c] = unit[c]
            foot[p, c] = points[p, c] - gap[p] * unit[c]


@inline
def point_distance(
    kind: int, shape: FloatArray, point: FloatArray, away: FloatArray, local: FloatArray, unit: FloatArray
) -> float:
    """Signed distance of one `point` (3,) m, its unit normal into `unit` (3,); `away` and `local` (3,) are scratch."""
    for c in range(3):
        away[c] = point[c] - shape[c]
    if kind == PLANE:
        unit[:] = shape[3:6]
        return float(away[0] * shape[3] + away[1] * shape[4] + away[2] * shape[5])
    if kind == ROUND:
        return float(_round(shape, away, unit))
    if kind == BOX:
        return float(_box(shape, away, local, unit))
    return float(_revolved(shape, away, local, unit))


@inline
def _round(shape: FloatArray, away: FloatArray, unit: FloatArray) -> float:
    """Distance to all within a radius of a segment; a point on its very axis leaves along a fixed direction."""
    squares = along = 0.0
    for c in range(3):
        axis = shape[3 + c] - shape[c]
        squares += axis * axis
        along += axis * away[c]
    share = min(max(along / squares, 0.0), 1.0) if squares > 0.0 else 0.0
    length = 0.0
    for c in range(3):
        unit[c] = away[c] - share * (shape[3 + c] - shape[c])
        length += unit[c] * unit[c]
    length = sqrt(length)
    for c in range(3):
        unit[c] = unit[c] / length if length > EPS * shape[6] else shape[7 + c]
    return float(length - shape[6])


@inline
def _box(shape: FloatArray, away: FloatArray, local: FloatArray, unit: FloatArray) -> float:
    """Distance to a turned box."""
    for c in range(3):
        local[c] = away[0] * shape[6 + c] + away[1] * shape[9 + c] + away[2] * shape[12 + c]
    outside, deepest, axis = 0.0, -np.inf, 0
    for c in range(3):
        wall = abs(local[c]) - shape[3 + c]
        outside += max(wall, 0.0) ** 2
        if wall > deepest:
            deepest, axis = wall, c
    outside = sqrt(outside)
    for c in range(3):  # the normal in the axes of the box
        sign = 1.0 if local[c] > 0.0 else -1.0
        if outside > 0.0:
            local[c] = sign * max(abs(local[c]) - shape[3 + c], 0.0) / outside
        else:
            local[c] = sign if c == axis else 0.0
    for c in range(3):
        unit[c] = shape[6 + 3 * c] * local[0] + shape[7 + 3 * c] * local[1] + shape[8 + 3 * c] * local[2]
    return outside if outside > 0.0 else deepest


@inline
def _revolved(shape: FloatArray, away: FloatArray, local: FloatArray, unit: FloatArray) -> float:
    """Distance to the solid of revolution of the rectangle [inner, outer] × [0, length] about the axis."""
    length, inner, outer = shape[6], shape[7], shape[8]
    height = away[0] * shape[3] + away[1] * shape[4] + away[2] * shape[5]
    radius = 0.0
    for c in range(3):
        local[c] = away[c] - height * shape[3 + c]
        radius += local[c] * local[c]
    radius = sqrt(radius)
    for c in range(3):
        local[c] = local[c] / radius if radius > EPS * length else shape[9 + c]
    across, side = (radius - outer, 1.0) if radius - outer > inner - radius else (inner - radius, -1.0)
    above, end = (height - length, 1.0) if height - length > -height else (-height, -1.0)
    outside = sqrt(max(across, 0.0) ** 2 + max(above, 0.0) ** 2)
    if outside > 0.0:
        side, end = side * max(across, 0.0) / outside, end * max(above, 0.0) / outside
    elif across >= above:
        end = 0.0
    else:
        side = 0.0
    for c in range(3):
        unit[c] = side * local[c] + end * shape[3 + c]
    return outside if outside > 0.0 else max(across, above)
