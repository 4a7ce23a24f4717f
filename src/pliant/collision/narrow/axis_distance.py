"""How near the axis of a slender body comes to an analytic solid: which of its points may touch, and its lowest points.

One kernel call for a pair: most solids of a scene are far from most of the body, and the search for a lowest point
takes tens of distances of each segment.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, no_side_b
from pliant.collision.solids.shape_distance import point_distance
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray

SAMPLES = 8
"""Parts of a segment between which its lowest point is looked for."""
BISECTIONS = 26
"""Halvings of two parts in the search for the lowest point: 4e-9 of a segment."""
DIP = 1e-6
"""Fraction of the length of a segment by which its lowest point is below its ends: less is the ball at an end."""


@kernel
def within_reach(
    kind: int, shape: FloatArray, position: FloatArray, rotation: FloatArray, points: FloatArray, reach: FloatArray,
    margin: float, found: IndexArray,
) -> int:  # fmt: skip
    """Indices of the `points` (p, 3) m that are nearer to a solid than `margin` + `reach` (p,) m into `found`; returns
    their number. `position` (3,) and `rotation` (3, 3) place the solid.
    """
    away, scratch, unit, local = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    count = 0
    for p in range(len(points)):
        _placed(points[p], position, rotation, local)
        if point_distance(kind, shape, local, away, scratch, unit) <= margin + reach[p]:
            found[count] = p
            count += 1
    return count


@kernel
def solids_within_reach(
    kinds: IndexArray, shapes: FloatArray, positions: FloatArray, rotations: FloatArray, margins: FloatArray,
    points: FloatArray, reach: FloatArray, near: BoolArray,
) -> None:  # fmt: skip
    """Whether `within_reach` finds any of the `points` (p, 3) m near each of several solids, into `near` (s,). The rows
    of `shapes` (s, k) have the length of the longest.
    """
    away, scratch, unit, local = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for s in range(len(kinds)):
        near[s] = False
        for p in range(len(points)):
            _placed(points[p], positions[s], rotations[s], local)
            if point_distance(kinds[s], shapes[s], local, away, scratch, unit) <= margins[s] + reach[p]:
                near[s] = True
                break


@kernel
def lowest_points(
    kind: int, shape: FloatArray, position: FloatArray, rotation: FloatArray, x: FloatArray, fraction: FloatArray,
    kept: BoolArray,
) -> None:  # fmt: skip
    """Of segments with samples x (m, SAMPLES + 1, 3) m the fractions (m,) at which they are lowest, and whether that is
    between their ends (`kept`, (m,)). Between samples an axis is taken as a parabola.
    """
    away, scratch, unit, local = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    at, along, gaps = np.empty(3), np.empty(3), np.empty(SAMPLES + 1)
    for m in range(len(x)):
        for k in range(SAMPLES + 1):
            _placed(x[m, k], position, rotation, local)
            gaps[k] = point_distance(kind, shape, local, away, scratch, unit)
        best = 1
        for k in range(2, SAMPLES):
            if gaps[k] < gaps[best]:
                best = k
        low, high = max(best - 1, 0), min(best + 1, SAMPLES)
        lower, upper = -1.0, 1.0
        for _ in range(BISECTIONS):
            s = 0.5 * (lower + upper)
            _on_parabola(x[m, low], x[m, best], x[m, high], s, at, along)
            _placed(at, position, rotation, local)
            point_distance(kind, shape, local, away, scratch, unit)
            rise = 0.0
            for c in range(3):
                normal = 0.0
                for d in range(3):
                    normal += rotation[c, d] * unit[d]
                rise += normal * along[c]
            if rise < 0.0:
                lower = s
            else:
                upper = s
        s = 0.5 * (lower + upper)
        _on_parabola(x[m, low], x[m, best], x[m, high], s, at, along)
        _placed(at, position, rotation, local)
        least = point_distance(kind, shape, local, away, scratch, unit)
        square = 0.0
        for c in range(3):
            square += (x[m, SAMPLES, c] - x[m, 0, c]) ** 2
        kept[m] = least < min(gaps[0], gaps[SAMPLES]) - DIP * np.sqrt(square)
        fraction[m] = (best + s) / SAMPLES


@inline
def _placed(point: FloatArray, position: FloatArray, rotation: FloatArray, local: FloatArray) -> None:
    for c in range(3):
        local[c] = 0.0
        for d in range(3):
            local[c] += (point[d] - position[d]) * rotation[d, c]


@inline
def _on_parabola(p: FloatArray, m: FloatArray, r: FloatArray, s: float, at: FloatArray, along: FloatArray) -> None:
    """The point at s in [−1, 1] of the parabola through p, m and r (3,), and its derivative."""
    for c in range(3):
        slope, bend = 0.5 * (r[c] - p[c]), 0.5 * (r[c] + p[c]) - m[c]
        at[c] = m[c] + s * (slope + s * bend)
        along[c] = slope + 2.0 * s * bend


@lru_cache(maxsize=64)
def no_contacts(point_count: int) -> ContactSet:
    """Of a body with so many points with a solid; shared, since contact sets are never changed."""
    return ContactSet(
        nodes_a=np.empty((0, 3), np.int32),
        weights_a=np.empty((0, 3)),
        normal=np.empty((0, 3)),
        gap=np.empty(0),
        point_a=np.empty((0, 3)),
        point_b=np.empty((0, 3)),
        key=np.empty(0, np.int64),
        point_count_a=point_count,
        point_count_b=0,
        face=np.empty(0, np.int32),
        **no_side_b(0, ContactKind.VERTEX_OBSTACLE),
    )
