"""Analytic obstacles: signed distance, outward normal and nearest point, for points outside and inside of them.

Each shape is solid. The gap is exact outside and, inside, the depth to the nearest wall; its gradient is the normal.

Reference: C. Ericson, "Real-Time Collision Detection", 2005, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray

_EPS = 1e-12
"""Directions shorter than this, relative to the shape, count as undefined and take a fixed choice."""


class Distance(NamedTuple):
    """Of p points: gap (p,) in m, negative inside; unit normal (p, 3) from the obstacle; nearest point (p, 3) in m."""

    gap: FloatArray
    normal: FloatArray
    point: FloatArray


class Obstacle(Protocol):
    """A solid shape that points can touch."""

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""


@dataclass(frozen=True, eq=False)
class Plane:
    """The half-space behind a plane through `point` (3,) m with the outward `normal` (3,)."""

    point: FloatArray
    normal: FloatArray

    def __post_init__(self) -> None:
        _store(self, point=_vector("point", self.point), normal=_direction("normal", self.normal))

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        gap = (points - self.point) @ self.normal
        normal = np.broadcast_to(self.normal, points.shape).copy()
        return Distance(gap, normal, points - gap[:, None] * normal)


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball around `center` (3,) m of `radius` m."""

    center: FloatArray
    radius: float

    def __post_init__(self) -> None:
        _store(self, center=_vector("center", self.center), radius=positive("radius", self.radius, unit="m"))

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        return _around(points, np.broadcast_to(self.center, points.shape), self.radius, np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within `radius` m of the segment from `start` to `end` (3,) m."""

    start: FloatArray
    end: FloatArray
    radius: float

    def __post_init__(self) -> None:
        _store_axis(self, self.start, self.end, self.radius)

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        axis = self.end - self.start
        along = np.clip((points - self.start) @ axis / (axis @ axis), 0.0, 1.0)
        return _around(points, self.start + along[:, None] * axis, self.radius, _across(axis))


@dataclass(frozen=True, eq=False)
class Box:
    """A box of `size` (3,) m around `center` (3,) m; the columns of `rotation` (3, 3) are its axes."""

    center: FloatArray
    size: FloatArray
    rotation: FloatArray | None = None

    def __post_init__(self) -> None:
        rotation = np.eye(3) if self.rotation is None else finite_array("rotation", self.rotation, shape=(3, 3))
        if not np.allclose(rotation.T @ rotation, np.eye(3), atol=1e-9):
            raise InputError("rotation must be orthogonal: its columns are the axes of the box, of unit length")
        size = _vector("size", self.size)
        if (size <= 0.0).any():
            raise InputError(f"size must be > 0 (in m) along each axis, got {size}")
        _store(self, center=_vector("center", self.center), size=size, rotation=rotation)

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        assert self.rotation is not None
        local = (points - self.center) @ self.rotation
        half = 0.5 * self.size
        gap, normal = _box_distance(local, -half, half)
        normal = normal @ self.rotation.T
        return Distance(gap, normal, points - gap[:, None] * normal)


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A solid cylinder of `radius` m with flat ends at `start` and `end` (3,) m."""

    start: FloatArray
    end: FloatArray
    radius: float

    def __post_init__(self) -> None:
        _store_axis(self, self.start, self.end, self.radius)

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        # a cylinder is a box in the half-plane (radius, height); the wall at −∞ stands for the axis
        return _revolved(points, self.start, self.end, -np.inf, self.radius)


@dataclass(frozen=True, eq=False)
class Pipe:
    """The wall of a straight pipe from `start` to `end` (3,) m, open at both: solid from `radius` to
    `radius` + `thickness` m. Points inside touch its inner wall; an infinite wall has no outside.
    """

    start: FloatArray
    end: FloatArray
    radius: float
    thickness: float = np.inf

    def __post_init__(self) -> None:
        _store_axis(self, self.start, self.end, self.radius)
        if not self.thickness > 0.0:
            raise InputError(f"thickness must be > 0 (in m), got {self.thickness}")

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        return _revolved(points, self.start, self.end, self.radius, self.radius + self.thickness)


def _around(points: FloatArray, centers: FloatArray, radius: float, fallback: FloatArray) -> Distance:
    """Distance to balls around `centers`; a point in the very center leaves along `fallback`."""
    offset = points - centers
    length = np.linalg.norm(offset, axis=1)
    clear = length > _EPS * radius
    normal = np.where(clear[:, None], offset / np.where(clear, length, 1.0)[:, None], fallback)
    return Distance(length - radius, normal, centers + radius * normal)


def _revolved(points: FloatArray, start: FloatArray, end: FloatArray, inner: float, outer: float) -> Distance:
    """Distance to the solid of revolution of the rectangle [inner, outer] × [0, length] about the axis."""
    length = float(np.linalg.norm(end - start))
    axis = (end - start) / length
    height = (points - start) @ axis
    outward = (points - start) - height[:, None] * axis
    radius = np.linalg.norm(outward, axis=1)
    clear = radius > _EPS * length
    radial = np.where(clear[:, None], outward / np.where(clear, radius, 1.0)[:, None], _across(axis))
    rectangle = np.array([inner, 0.0]), np.array([outer, length])
    gap, flat = _box_distance(np.column_stack([radius, height]), *rectangle)
    normal = flat[:, :1] * radial + flat[:, 1:] * axis
    return Distance(gap, normal, points - gap[:, None] * normal)


def _box_distance(local: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Signed distance (p,) and normal (p, d) of points (p, d) to an axis-aligned box in d dimensions."""
    walls = np.maximum(lower - local, local - upper)
    excess = np.maximum(walls, 0.0)
    outside = np.linalg.norm(excess, axis=1)
    deepest = np.argmax(walls, axis=1)
    rows = np.arange(len(local))
    sign = np.where(local - upper > lower - local, 1.0, -1.0)
    face = np.zeros_like(local)
    face[rows, deepest] = sign[rows, deepest]
    is_outside = outside > 0.0
    away = sign * excess / np.where(is_outside, outside, 1.0)[:, None]
    gap = np.where(is_outside, outside, walls[rows, deepest])
    return gap, np.where(is_outside[:, None], away, face)


def _across(axis: FloatArray) -> FloatArray:
    """A unit vector perpendicular to `axis` (3,)."""
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    unit: FloatArray = across / np.linalg.norm(across)
    return unit


def _vector(name: str, value: FloatArray) -> FloatArray:
    return np.array(finite_array(name, value, shape=(3,)))


def _direction(name: str, value: FloatArray) -> FloatArray:
    vector = _vector(name, value)
    length = np.linalg.norm(vector)
    if length == 0.0:
        raise InputError(f"{name} must not be zero: it is a direction")
    unit: FloatArray = vector / length
    return unit


def _store(shape: object, **values: object) -> None:
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(shape, name, value)


def _store_axis(shape: object, start: FloatArray, end: FloatArray, radius: float) -> None:
    start, end = _vector("start", start), _vector("end", end)
    if (start == end).all():
        raise InputError(f"start and end must differ, both are {start}; for a ball use Sphere")
    _store(shape, start=start, end=end, radius=positive("radius", radius, unit="m"))
