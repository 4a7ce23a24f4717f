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
_SIDES = 6
"""Points around the cross-section of a drawn cable: thin enough that six look round."""
_BEND = np.cos(np.radians(20.0))
"""Cosine of the angle between segments of a tube up to which they are drawn as one wall, mitred."""
HOLLOW_OPACITY = 0.3
"""Opacity of the walls of pipes and vessels: what matters is inside."""


def is_hollow(shape: Shape) -> bool:
    """Whether bodies are inside the shape: a pipe, a vessel."""
    return isinstance(shape.solid, (Pipe, Tubes))


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
        return joined([_wall(path, radius) for path, radius in _chains(solid)])
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


def tube_frames(
    paths: FloatArray, radius: float, *, sides: int = _SIDES, capped: bool = True
) -> tuple[FloatArray, IndexArray]:
    """Points (T, p, 3) m and triangles (t, 3) of tubes of `radius` m along T polylines `paths` (T, k, 3) m.

    Cross-sections are normal to the mean of the two directions at a point. Each has the least rotation from the one
    before, so that the tube does not twist. `sides` are the points around; `capped` closes the ends.
    """
    count, size = paths.shape[:2]
    steps = np.diff(paths, axis=1)
    steps = steps / np.maximum(np.linalg.norm(steps, axis=2, keepdims=True), 1e-300)
    along = np.concatenate([steps[:, :1], steps[:, :-1] + steps[:, 1:], steps[:, -1:]], axis=1)
    along = along / np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-300)
    axis = np.eye(3)[np.argmin(np.abs(along[:, 0]), axis=1)]
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    rings = np.empty((count, size, sides, 3))
    across = axis
    for k in range(size):
        across = across - np.einsum("ti,ti->t", across, along[:, k])[:, None] * along[:, k]
        across = across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)
        other = np.cross(along[:, k], across)
        ring = np.cos(angle)[:, None] * across[:, None] + np.sin(angle)[:, None] * other[:, None]
        rings[:, k] = paths[:, k, None] + radius * ring
    wall = ring_triangles(size, sides)
    if not capped:
        return rings.reshape(count, -1, 3), wall
    fan = np.array([[0, i + 1, i] for i in range(1, sides - 1)])
    return rings.reshape(count, -1, 3), np.concatenate([wall, fan, fan[:, ::-1] + (size - 1) * sides])


def _chains(tubes: Tubes) -> list[tuple[FloatArray, float]]:
    """Polylines (k, 3) m of the segments that follow each other without a sharp bend, and their radii, m."""
    chains: list[tuple[list[FloatArray], float]] = []
    along = (tubes.ends - tubes.starts) / np.linalg.norm(tubes.ends - tubes.starts, axis=1, keepdims=True)
    for k, (start, end, radius) in enumerate(zip(tubes.starts, tubes.ends, tubes.radii, strict=True)):
        follows = k > 0 and (start == tubes.ends[k - 1]).all() and radius == tubes.radii[k - 1]
        if follows and along[k] @ along[k - 1] > _BEND:
            chains[-1][0].append(end)
        else:
            chains.append(([start, end], float(radius)))
    return [(np.array(path), radius) for path, radius in chains]


def _wall(path: FloatArray, radius: float) -> Triangles:
    """The inner wall of a tube along `path` (k, 3) m, seen from inside."""
    points, triangles = tube_frames(path[None], radius, sides=_AROUND, capped=False)
    return points[0], triangles[:, ::-1]


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
