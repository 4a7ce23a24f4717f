"""Triangles of rigid shapes, for drawing: solids of revolution, boxes, plates and whatever has triangles itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.collision import Capsule, Cylinder, Pipe, Plane, Sphere, Tubes
from pliant.core.lie import perpendicular
from pliant.core.types import FloatArray, IndexArray
from pliant.mesh.lattice import ring_triangles
from pliant.models.rigid.body import Shape

Triangles = tuple[FloatArray, IndexArray]
"""Points (n, 3) m and triangles (t, 3)."""

_AROUND = 48
"""Points around a solid of revolution."""


def shape_triangles(shape: Shape, *, half_width: float) -> Triangles | None:
    """Surface of an obstacle's shape, None where it is not known; a half-space is a plate of this `half_width` m."""
    solid = shape.solid
    if len(shape.triangles):
        return shape.points, shape.triangles.astype(np.int64)
    if isinstance(solid, Plane):
        return plate(solid.point, solid.normal, half_width)
    if isinstance(solid, Sphere):
        return ball(solid.center, solid.radius)
    if isinstance(solid, (Cylinder, Capsule, Pipe)):
        return _around_axis(solid)
    if isinstance(solid, Tubes):
        return joined([_inside(*segment) for segment in zip(solid.starts, solid.ends, solid.radii, strict=True)])
    return None


def balls(centers: FloatArray, radius: float) -> Triangles:
    """A ball of `radius` m around each of `centers` (p, 3) m."""
    return joined([ball(center, radius) for center in centers])


def joined(parts: list[Triangles]) -> Triangles:
    """Several surfaces as one."""
    begins = np.cumsum([0, *(len(points) for points, _ in parts)])
    points = np.concatenate([points for points, _ in parts])
    return points, np.concatenate([triangles + begin for (_, triangles), begin in zip(parts, begins, strict=False)])


def ball(center: FloatArray, radius: float) -> Triangles:
    """A ball of `radius` m around `center` (3,) m."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, _AROUND // 2 + 1)
    profile = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return revolve(profile, center, np.array([0.0, 0.0, 1.0]))


def plate(point: FloatArray, normal: FloatArray, half_width: float) -> Triangles:
    """A square through `point` (3,) m across `normal` (3,), of this `half_width` m."""
    first, second = perpendicular(normal)
    corners = point + half_width * np.array([s * first + t * second for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    return corners, np.array([[0, 1, 2], [0, 2, 3]])


def revolve(profile: FloatArray, start: FloatArray, axis: FloatArray, *, around: int = _AROUND) -> Triangles:
    """The surface that `profile` (k, 2), radius and height in m, sweeps about `axis` (3,), a unit vector from `start`
    (3,) m, with `around` points round it. Outward if the profile rises along the axis.
    """
    first, second = perpendicular(axis)
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    rays = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * second
    points = start + profile[:, :1, None] * rays + profile[:, 1:, None] * axis
    return points.reshape(-1, 3), ring_triangles(len(profile), around)


def _inside(start: FloatArray, end: FloatArray, radius: float) -> Triangles:
    """The inner wall of a straight tube."""
    length = float(np.linalg.norm(end - start))
    return revolve(np.array([[radius, length], [radius, 0.0]]), start, (end - start) / length)


def _around_axis(solid: Any) -> Triangles:
    length = float(np.linalg.norm(solid.end - solid.start))
    axis, radius = (solid.end - solid.start) / length, solid.radius
    if isinstance(solid, Cylinder):
        profile = np.array([[0.0, 0.0], [radius, 0.0], [radius, length], [0.0, length]])
    elif isinstance(solid, Capsule):
        angle = np.linspace(0.0, 0.5 * np.pi, _AROUND // 4 + 1)
        arc = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        profile = np.concatenate([(arc * np.array([1.0, -1.0]))[::-1], arc + np.array([0.0, length])])
    elif np.isinf(solid.thickness):
        profile = np.array([[radius, length], [radius, 0.0]])
    else:
        wall = radius + solid.thickness
        profile = np.array([[radius, length], [radius, 0.0], [wall, 0.0], [wall, length], [radius, length]])
    return revolve(profile, solid.start, axis)
