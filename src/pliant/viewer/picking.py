"""Picking: a click with Shift on a body gives that point in the coordinates of its mesh, as cables take it.

The ray of the click meets the deformed surface; barycentric coordinates carry the point back to the mesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.viewer.contents import SceneContents
from pliant.viewer.frame import Frame


@dataclass(frozen=True)
class Pick:
    """A point of `body`: `position` (3,) m in its mesh, `now` (3,) m its present position, and the nearest `node`."""

    body: str
    position: FloatArray
    now: FloatArray
    node: int

    @property
    def text(self) -> str:
        """The point as one pastes it into a script."""
        position, now = (", ".join(f"{x:.4f}" for x in point) for point in (self.position, self.now))
        return f"{self.body}: ({position}) m in its mesh, near node {self.node}; now at ({now}) m"


def pick(contents: SceneContents, frame: Frame, origin: Any, direction: Any) -> Pick | None:
    """The first point of a volume that the ray from `origin` (3,) m along `direction` (3,) meets, if there is one."""
    nearest, nearest_pick = np.inf, None
    for index, body in enumerate(contents.bodies):
        if body.mesh is None:
            continue
        triangles, q = body.mesh.surface().triangles, frame.q[index]
        hit = first_hit(np.asarray(origin, float), np.asarray(direction, float), q, triangles)
        if hit is None or hit[0] >= nearest:
            continue
        nearest, triangle, weights = hit
        corners = triangles[triangle]
        position = weights @ contents.mesh_points(index)[corners]
        nearest_pick = Pick(body.name, position, weights @ q[corners], int(corners[weights.argmax()]))
    return nearest_pick


def first_hit(
    origin: FloatArray, direction: FloatArray, points: FloatArray, triangles: IntArray
) -> tuple[float, int, FloatArray] | None:
    """Distance along the ray, triangle and weights (3,) of its corners where the ray first meets triangles (t, 3) over
    `points` (n, 3) m (T. Möller, B. Trumbore, Fast, minimum storage ray/triangle intersection, 1997).
    """
    a, b, c = (points[triangles[:, k]] for k in range(3))
    across = np.cross(direction, c - a)
    slope = np.einsum("ti,ti->t", b - a, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = ((origin - a) * across).sum(axis=1) / slope
        normal = np.cross(origin - a, b - a)
        v = normal @ direction / slope
        distance = np.einsum("ti,ti->t", c - a, normal) / slope
        meets = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (distance > 0.0) & (np.abs(slope) > 0.0)
    if not meets.any():
        return None
    t = int(np.flatnonzero(meets)[distance[meets].argmin()])
    return float(distance[t]), t, np.array([1.0 - u[t] - v[t], u[t], v[t]])
