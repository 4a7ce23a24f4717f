"""Geometry of a body or an obstacle for contacts: points, triangles, and a solid that detection can use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.collision import CollisionSurface
from pliant.core.types import FloatArray, IntArray
from pliant.models.point_map import PointMap


@dataclass(frozen=True, eq=False)
class ContactShape:
    """Geometry of a body for collision detection.

    `nodes` (s,) are the points of `map` that may make contact, each with a ball of `radius` m, or of its own of `radii`
    (points,), with `radius` the largest. `surface` is None where there are no triangles, `solid` where distances are
    taken from the triangles. `shells` (points,) are the indices of the closed shells of a surface, −1 inside the body,
    None where there is only one: the wall of a chamber never touches the outside.
    """

    map: PointMap
    nodes: IntArray
    surface: CollisionSurface | None = None
    solid: Any = None
    radius: float = 0.0
    radii: FloatArray | None = None
    shells: IntArray | None = None
