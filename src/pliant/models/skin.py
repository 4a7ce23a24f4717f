"""The surface of a body as it is drawn and recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh
from pliant.models.point_map import PointMap


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
