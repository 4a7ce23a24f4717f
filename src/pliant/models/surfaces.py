"""Surfaces of a body: its geometry for contacts, and the surface that is drawn and recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.collision import CollisionSurface
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh
from pliant.models.point_map import PointMap


@dataclass(frozen=True, eq=False)
class ContactShape:
    """Geometry of a body for collision detection.

    `nodes` (s,) are the points of `map` that may make contact, each with a ball of `radius` m, or of its own of `radii`
    (points,), with `radius` the largest. `surface` is None where there are no triangles, `solid` where distances are
    taken from the triangles. `shells` (points,) are the indices of the closed shells of a surface, −1 inside the body,
    None where there is only one: the wall of a chamber never touches the outside. `facets` are the triangles of an
    obstacle, whose distances come from its solid.
    """

    map: PointMap
    nodes: IntArray
    surface: CollisionSurface | None = None
    solid: Any = None
    radius: float = 0.0
    radii: FloatArray | None = None
    shells: IntArray | None = None
    facets: CollisionSurface | None = None


@dataclass(frozen=True, eq=False)
class Skin:
    """A drawn surface, in one of three forms.

    A volume has its `mesh` at rest. A rigid body has `local` points (p, 3) m and `triangles` (t, 3) in its own frame,
    and the `radius` m of the ball around each point. Any other body has a `map` of the points of its surface, their
    `triangles`, counter-clockwise from outside, its nodes at rest in `local`, and the radius of its section or balls.
    """

    mesh: Mesh | None = None
    local: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: IntArray = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    radius: float = 0.0
    map: PointMap | None = None
