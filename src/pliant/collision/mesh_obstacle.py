"""A closed triangle mesh as an obstacle: signed distance to its nearest triangle, at any depth.

The nearest triangle is found by branch and bound in a tree of boxes, the side by the angle-weighted pseudonormal.

Reference: J. A. Bærentzen and H. Aanæs, "Signed distance computation using the angle weighted pseudonormal", IEEE
TVCG 11, 2005.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.collision.closest import triangle_weights
from pliant.collision.obstacles import Distance
from pliant.collision.pseudonormal import Sides, signed_direction
from pliant.collision.surface import CollisionSurface, frozen
from pliant.core.checks import finite_array
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.surface import Surface
from pliant.mesh.tree import LEAF, STACK, build_tree, squared_distance


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
        _find_nearest(queries, self._sides, self._tree.lower, self._tree.upper, self._tree.order, gap, normal)
        return Distance(gap, normal, queries - gap[:, None] * normal)


@kernel
def _find_nearest(
    queries: FloatArray,
    mesh: Sides,
    lower: FloatArray,
    upper: FloatArray,
    order: IntArray,
    gap: FloatArray,
    normal: FloatArray,
) -> None:
    points, triangles, first_leaf = mesh.points, mesh.triangles, len(lower) // 2
    stack = np.empty(STACK, dtype=np.int64)
    for q in range(len(queries)):
        best, nearest, best_v, best_w, top = np.inf, 0, 0.0, 0.0, 1
        stack[0] = 0
        while top > 0:
            top -= 1
            node = stack[top]
            if squared_distance(lower, upper, node, queries[q]) >= best:
                continue
            if node < first_leaf:
                close, far = 2 * node + 1, 2 * node + 2
                if squared_distance(lower, upper, far, queries[q]) < squared_distance(lower, upper, close, queries[q]):
                    close, far = far, close
                stack[top], stack[top + 1] = far, close
                top += 2
                continue
            begin = (node - first_leaf) * LEAF
            for t in order[begin : min(begin + LEAF, len(order))]:
                v, w, squared = triangle_weights(queries, q, points, triangles[t, 0], triangles[t, 1], triangles[t, 2])
                if squared < best:
                    best, nearest, best_v, best_w = squared, t, v, w
        n0, n1, n2, gap[q] = signed_direction(queries, q, mesh, nearest, best_v, best_w)
        normal[q, 0], normal[q, 1], normal[q, 2] = n0, n1, n2
