"""With what a body or an obstacle touches others: points, triangles, and a solid that detection can use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.collision import CollisionSurface
from pliant.core.types import FloatArray, IntArray
from pliant.models.point_map import PointMap


@dataclass(frozen=True, eq=False)
class ContactShape:
    """What detection sees of a body.

    `nodes` (s,) are those points of `map` that may touch others, each with a ball of `radius` m, or of its own of
    `radii` (points,), of which that is the largest; `surface` is None where it has no triangles, `solid` where
    distances are taken from the triangles. `shells` (points,) are the indices of the closed shells of a surface, −1
    inside the body; None where there is one: the wall of a chamber never meets the outside.
    """

    map: PointMap
    nodes: IntArray
    surface: CollisionSurface | None = None
    solid: Any = None
    radius: float = 0.0
    radii: FloatArray | None = None
    shells: IntArray | None = None
