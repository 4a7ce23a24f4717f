"""A closed triangle mesh as an obstacle: signed distance to its nearest triangle, at any depth."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pliant.collision.solids.obstacles import Distance
from pliant.collision.solids.surface_distance import SurfaceDistance
from pliant.collision.surface import CollisionSurface
from pliant.core.checks import finite_array
from pliant.core.types import FloatArray
from pliant.mesh.surface import Surface


class MeshObstacle:
    """The solid inside a closed, outward oriented mesh of `triangles` (t, 3) over `points` (n, 3) m."""

    def __init__(self, points: Any, triangles: Any) -> None:
        mesh = Surface.from_triangles(points, triangles)
        mesh.check_closed()
        mesh.check_orientation()
        if mesh.volume() < 0.0:
            mesh = mesh.flipped()
        self.surface = CollisionSurface.build(mesh.triangles, mesh.points)

    @cached_property
    def _distance(self) -> SurfaceDistance:
        return SurfaceDistance(self.surface.at(self.surface.rest))

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        queries = finite_array("points", points, shape=(None, 3))
        found = self._distance(queries)
        return Distance(found.gap, found.normal, queries - found.gap[:, None] * found.normal)
