"""Points that ride on whatever body they are given on."""

from __future__ import annotations

from typing import Any

from pliant.core.types import FloatArray
from pliant.mappings.barycentric import BarycentricMap
from pliant.mappings.frame import FrameMap
from pliant.mappings.point_map import PointMap
from pliant.models.volume import Volume


def riding(body: Any, points: FloatArray, *, what: str, reach: float = 0.0) -> PointMap:
    """Riding points (p, 3), m, given in the frame in which `body` was made: its mesh, or its own axes at its centre.

    A point farther outside a mesh than `reach` (m) is an error that names it.
    """
    if isinstance(body, Volume):
        return BarycentricMap.of_points(body.mesh, points, what=what, reach=reach)
    return FrameMap(points)
