"""A closed triangle mesh as an obstacle: signed distance to its nearest triangle, at any depth.

The nearest triangle is found by branch and bound in a tree of boxes, the side by the angle-weighted pseudonormal.

Reference: J. A. Bærentzen and H. Aanæs, "Signed distance computation using the angle weighted pseudonormal", IEEE
TVCG 11, 2005.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.collision.closest import triangle_weights
from pliant.collision.narrow.pseudonormal import Sides, signed_direction
from pliant.collision.solids.obstacles import Distance
from pliant.collision.surface import CollisionSurface
from pliant.core.arrays import frozen
from pliant.core.checks import finite_array
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.queries import nearest_triangles
from pliant.mesh.surface import Surface
from pliant.mesh.tree import build_tree


class MeshObstacle:
    """The solid inside a closed, outward oriented mesh of `triangles` (t, 3) over `points` (n, 3) m."""

    def __init__(self, points: Any, triangles: Any) -> None:
        mesh = Surface.from_triangles(points, triangles)
        mesh.check_closed()
        mesh.check_orientation()
        if mesh.volume() < 0.0:
            mesh = mesh.flipped()
        self.surface = CollisionSurface.build(mesh.triangles, mesh.points)
        corners = mesh.points[mesh.triangles]
        self._tree = build_tree(corners.min(axis=1), corners.max(axis=1))
        s = self.surface
        self._sides = Sides(s.rest, s.rest_normals, s.triangles, s.triangle_edges, s.edge_triangles, s.fan_start, s.fan)

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        queries = frozen(finite_array("points", points, shape=(None, 3)))
        gap, normal = np.empty(len(queries)), np.empty((len(queries), 3))
        nearest, _ = nearest_triangles(self.surface.rest, self.surface.triangles, self._tree, queries)
        _measure(queries, self._sides, nearest, gap, normal)
        return Distance(gap, normal, queries - gap[:, None] * normal)


@kernel
def _measure(queries: FloatArray, mesh: Sides, nearest: IntArray, gap: FloatArray, normal: FloatArray) -> None:
    """Signed distance and normal of each query to its nearest triangle."""
    y, facets, corners, triangle_edges, edge_triangles, around_start, around = mesh
    for q in range(len(queries)):
        face = nearest[q]
        v, w, _ = triangle_weights(queries, q, y, corners[face, 0], corners[face, 1], corners[face, 2])
        n0, n1, n2, gap[q] = signed_direction(
            queries, q, y, facets, corners, triangle_edges, edge_triangles, around_start, around, face, v, w
        )
        normal[q, 0], normal[q, 1], normal[q, 2] = n0, n1, n2
