"""Overlaps of two triangulated surfaces that do not match: where facets face each other, with quadrature points.

Facets of the second surface are projected along the normal of a facet of the first, and both are clipped against each
other (Sutherland and Hodgman, 1974). Integrals over the parts are exact for polynomials on both facets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.mesh.quadrature import facet_gauss

_DEGREE = 4
"""Degree of the quadrature: a linear multiplier times a quadratic displacement, and one more."""
_FACING = 0.2
"""Least cosine between a normal and the opposite one of the facing facet: 78°."""
_NEGLIGIBLE = 1e-9
"""Area of a part over that of its facet below which it is rounding."""


class Overlaps(NamedTuple):
    """p quadrature points of the common parts: the triangle (p,) of the first surface with barycentric weights (p, 3),
    `points` (p, 3) m there and `feet` (p, 3) m on the second surface, along the normal, and areas `weight` (p,) m².
    """

    triangle: IntArray
    barycentric: FloatArray
    points: FloatArray
    feet: FloatArray
    weight: FloatArray


def plain_points(first: FloatArray) -> Overlaps:
    """Quadrature points of triangles `first` (t, 3, 3) m by themselves; feet are the points."""
    reference, gauss_weights = facet_gauss("tri3", _DEGREE)
    local = _barycentric(reference)
    area = 0.5 * np.linalg.norm(np.cross(first[:, 1] - first[:, 0], first[:, 2] - first[:, 0]), axis=1)
    points = np.einsum("qk,tkc->tqc", local, first).reshape(-1, 3)
    fractions = gauss_weights / gauss_weights.sum()
    count = len(first)
    triangle = np.repeat(np.arange(count, dtype=np.int32), len(local))
    return Overlaps(triangle, np.tile(local, (count, 1)), points, points.copy(), (area[:, None] * fractions).ravel())


def overlaps(first: FloatArray, second: FloatArray, reach: float) -> Overlaps:
    """The parts of triangles `first` (t, 3, 3) m that face triangles `second` (s, 3, 3) m within `reach` (m)."""
    reference, gauss_weights = facet_gauss("tri3", _DEGREE)
    local, fractions = _barycentric(reference), gauss_weights / gauss_weights.sum()
    low, high = second.min(axis=1) - reach, second.max(axis=1) + reach
    normals = _normals(second)
    found: list[tuple[int, FloatArray, FloatArray, FloatArray, float]] = []
    for t, corners in enumerate(first):
        normal = _normals(corners[None])[0]
        near = (low <= corners.max(axis=0)).all(axis=1) & (high >= corners.min(axis=0)).all(axis=1)
        near &= normals @ normal < -_FACING
        along = corners[1] - corners[0]
        along = along / np.linalg.norm(along)
        basis = np.stack([along, np.cross(normal, along)])
        flat = (corners - corners[0]) @ basis.T
        whole = _area(flat)
        for s in np.flatnonzero(near):
            other = (second[s] - corners[0]) @ basis.T
            part = _clipped(flat, other[::-1] if _area(other) < 0.0 else other)
            if len(part) < 3 or _area(part) <= _NEGLIGIBLE * whole:
                continue
            center = part.mean(axis=0)
            for a, b in zip(part, np.roll(part, -1, axis=0), strict=True):
                piece = np.stack([center, a, b])
                area = _area(piece)
                if area <= 0.0:
                    continue
                points = corners[0] + (local @ piece) @ basis
                height = ((second[s][0] - points) @ normals[s]) / (normal @ normals[s])
                if np.abs(height).max() <= reach:
                    found.append((t, local @ piece, points, points + height[:, None] * normal, area))
    return _gathered(first, found, fractions)


def _gathered(
    first: FloatArray, found: list[tuple[int, FloatArray, FloatArray, FloatArray, float]], fractions: FloatArray
) -> Overlaps:
    if not found:
        none = np.zeros((0, 3))
        return Overlaps(np.zeros(0, np.int32), none, none, none, np.zeros(0))
    triangle = np.repeat([part[0] for part in found], len(fractions)).astype(np.int32)
    points, feet = (np.concatenate([part[k] for part in found]) for k in (2, 3))
    weight = np.concatenate([part[4] * fractions for part in found])
    corners = first[triangle]
    edges = np.stack([corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], axis=2)
    inner = np.einsum("pci,pc->pi", edges, points - corners[:, 0])
    own = np.linalg.solve(np.einsum("pci,pcj->pij", edges, edges), inner[:, :, None])[:, :, 0]
    barycentric = np.column_stack([1.0 - own.sum(axis=1), own])
    return Overlaps(triangle, barycentric, points, feet, weight)


def _barycentric(points: FloatArray) -> FloatArray:
    return np.column_stack([1.0 - points.sum(axis=1), points])


def _normals(triangles: FloatArray) -> FloatArray:
    """Unit normals (t, 3) of triangles (t, 3, 3)."""
    n = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return np.asarray(n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), np.finfo(float).tiny))


def _area(polygon: FloatArray) -> float:
    """Signed area of a polygon (k, 2)."""
    x, y = polygon.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _clipped(polygon: FloatArray, window: FloatArray) -> FloatArray:
    """The common part (k, 2) of two convex counter-clockwise polygons."""
    for a, b in zip(window, np.roll(window, -1, axis=0), strict=True):
        if not len(polygon):
            return polygon
        edge = b - a
        side = edge[0] * (polygon[:, 1] - a[1]) - edge[1] * (polygon[:, 0] - a[0])
        kept = []
        for k in range(len(polygon)):
            p, q, dp, dq = polygon[k - 1], polygon[k], side[k - 1], side[k]
            if (dp < 0.0) != (dq < 0.0):
                kept.append(p + (q - p) * (dp / (dp - dq)))
            if dq >= 0.0:
                kept.append(q)
        polygon = np.array(kept).reshape(-1, 2)
    return polygon
