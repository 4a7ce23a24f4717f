"""Signed distance of points from a closed triangle surface at a pose, at any depth.

The nearest triangle is found by branch and bound in a tree of boxes, the side by the angle-weighted pseudonormal.

Reference: J. A. Bærentzen and H. Aanæs, "Signed distance computation using the angle weighted pseudonormal", IEEE
TVCG 11, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.narrow.pseudonormal import Sides, signed_distances
from pliant.collision.surface import Pose
from pliant.core.arrays import frozen
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.mesh.queries import nearest_triangles
from pliant.mesh.tree import build_tree


class SurfacePoints(NamedTuple):
    """Of p points: gap (p,) m, negative inside; unit normal (p, 3) from the surface; the nearest triangle (p,) and the
    weights (p, 3) of its corners at the nearest point; whether that triangle takes part in collisions (p,).
    """

    gap: FloatArray
    normal: FloatArray
    face: IntArray
    weights: FloatArray
    takes_part: BoolArray


class SurfaceDistance:
    """Signed distance from the surface `pose`; all of its triangles count, also those that take no part."""

    def __init__(self, pose: Pose) -> None:
        s = pose.surface
        corners = pose.points[s.triangles]
        self.pose = pose
        self.lower, self.upper = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
        self._tree = build_tree(corners.min(axis=1), corners.max(axis=1))
        self._sides = Sides(
            pose.points, pose.bounds.normals, s.triangles, s.triangle_edges, s.edge_triangles, s.fan_start, s.fan
        )
        self._takes_part = np.zeros(len(s.triangles), bool)
        self._takes_part[s.order] = True

    def __call__(self, points: FloatArray) -> SurfacePoints:
        """What is nearest to `points` (p, 3) m."""
        queries = frozen(np.ascontiguousarray(points, np.float64))
        face, _ = nearest_triangles(self.pose.points, self.pose.surface.triangles, self._tree, queries)
        gap, normal, weights = np.empty(len(queries)), np.empty(queries.shape), np.empty(queries.shape)
        signed_distances(queries, self._sides, face, gap, normal, weights)
        return SurfacePoints(gap, normal, face, weights, self._takes_part[face])
