"""Mass properties of solid shapes of uniform density."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray, IntArray


def solid_moments(points: FloatArray, triangles: IntArray) -> tuple[float, FloatArray, FloatArray]:
    """Volume (m³), centroid (3,) m and inertia per density about the centroid (3, 3) m⁵ of a closed surface.

    Sums over the tetrahedra that the triangles span with the origin; exact (Blow and Binstock 2004).
    """
    a, b, c = (points[triangles[:, k]] for k in range(3))
    six_volumes = np.einsum("ti,ti->t", a, np.cross(b, c))
    volume = float(six_volumes.sum()) / 6.0
    centroid = np.einsum("t,ti->i", six_volumes, a + b + c) / (24.0 * volume)
    total = a + b + c
    second: FloatArray = np.zeros((3, 3))
    for x in (a, b, c, total):
        second += np.einsum("t,ti,tj->ij", six_volumes, x, x)
    second = second / 120.0 - volume * np.outer(centroid, centroid)
    return volume, centroid, np.trace(second) * np.eye(3) - second


def box_triangles(size: FloatArray) -> tuple[FloatArray, IntArray]:
    """Corners (8, 3) and outward triangles (12, 3) of a box of `size` (3,) m about its centre."""
    corners = 0.5 * size * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32)
