"""Analytic obstacles: signed distance, outward normal and nearest point, for points outside and inside of them.

Each shape is solid. The gap is exact outside and, inside, the depth to the nearest wall; its gradient is the normal.

Reference: C. Ericson, "Real-Time Collision Detection", 2005, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from pliant.collision.solids.shape_distance import BOX, PLANE, REVOLVED, ROUND, shape_distance
from pliant.core.arrays import frozen
from pliant.core.checks import finite_array, positive
from pliant.core.errors import InputError
from pliant.core.types import FloatArray


class Distance(NamedTuple):
    """Of p points: gap (p,) in m, negative inside; unit normal (p, 3) from the obstacle; nearest point (p, 3) in m."""

    gap: FloatArray
    normal: FloatArray
    point: FloatArray


class Obstacle(Protocol):
    """A solid shape that points can touch."""

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""


class Primitive:
    """A shape whose distance one kernel computes, from its `kind` and the numbers that describe it."""

    kind: ClassVar[int]

    @cached_property
    def numbers(self) -> FloatArray:
        """The shape as `shape_distance` takes it."""
        raise NotImplementedError

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        x = frozen(np.ascontiguousarray(points, np.float64))
        gap, normal, foot = np.empty(len(x)), np.empty(x.shape), np.empty(x.shape)
        shape_distance(self.kind, self.numbers, x, gap, normal, foot)
        return Distance(gap, normal, foot)


@dataclass(frozen=True, eq=False)
class Plane(Primitive):
    """The half-space behind a plane through `point` (3,) m with the outward `normal` (3,)."""

    kind: ClassVar[int] = PLANE
    point: FloatArray
    normal: FloatArray

    def __post_init__(self) -> None:
        _store(self, point=_vector("point", self.point), normal=_direction("normal", self.normal))

    @cached_property
    def numbers(self) -> FloatArray:
        """The shape as `shape_distance` takes it."""
        return np.concatenate([self.point, self.normal])


@dataclass(frozen=True, eq=False)
class Sphere(Primitive):
    """A ball around `center` (3,) m of `radius` m."""

    kind: ClassVar[int] = ROUND
    center: FloatArray
    radius: float

    def __post_init__(self) -> None:
        _store(self, center=_vector("center", self.center), radius=positive("radius", self.radius, unit="m"))

    @cached_property
    def numbers(self) -> FloatArray:
        """The shape as `shape_distance` takes it."""
        return _round(self.center, self.center, self.radius, np.array([0.0, 0.0, 1.0]))

    @property
    def centers(self) -> FloatArray:
        """Centre of the one ball at its end, (1, 3) m."""
        return np.expand_dims(self.center, 0)


@dataclass(frozen=True, eq=False)
class Capsule(Primitive):
    """All points within `radius` m of the segment from `start` to `end` (3,) m."""

    kind: ClassVar[int] = ROUND
    start: FloatArray
    end: FloatArray
    radius: float

    def __post_init__(self) -> None:
        _store_axis(self, self.start, self.end, self.radius)

    @cached_property
    def numbers(self) -> FloatArray:
        """The shape as `shape_distance` takes it."""
        return _round(self.start, self.end, self.radius, across(self.end - self.start))

    @property
    def centers(self) -> FloatArray:
        """Centres of the balls at both ends, (2, 3) m."""
        return np.array([self.start, self.end])


@dataclass(frozen=True, eq=False)
class Box(Primitive):
    """A box of `size` (3,) m around `center` (3,) m; the columns of `rotation` (3, 3) are its axes."""

    kind: ClassVar[int] = BOX
    center: FloatArray
    size: FloatArray
    rotation: FloatArray | None = None

    def __post_init__(self) -> None:
        rotation = np.eye(3) if self.rotation is None else finite_array("rotation", self.rotation, shape=(3, 3))
        if not np.allclose(rotation.T @ rotation, np.eye(3), atol=1e-9):  # rounding of composed rotations
            raise InputError("rotation must be orthogonal: its columns are the axes of the box, of unit length")
        size = _vector("size", self.size)
        if (size <= 0.0).any():
            raise InputError(f"size must be > 0 (in m) along each axis, got {size}")
        _store(self, center=_vector("center", self.center), size=size, rotation=rotation)

    @cached_property
    def numbers(self) -> FloatArray:
        """The shape as `shape_distance` takes it."""
        assert self.rotation is not None
        return np.concatenate([self.center, 0.5 * self.size, self.rotation.ravel()])


@dataclass(frozen=True, eq=False)
class Cylinder(Primitive):
    """A solid cylinder of `radius` m with flat ends at `start` and `end` (3,) m."""

    kind: ClassVar[int] = REVOLVED
    start: FloatArray
    end: FloatArray
    radius: float

    def __post_init__(self) -> None:
        _store_axis(self, self.start, self.end, self.radius)

    @cached_property
    def numbers(self) -> FloatArray:
        """The shape as `shape_distance` takes it."""
        # the wall at −∞ stands for the axis
        return _revolved(self.start, self.end, -np.inf, self.radius)


@dataclass(frozen=True, eq=False)
class Pipe(Primitive):
    """The wall of a straight pipe from `start` to `end` (3,) m, open at both: solid from `radius` to
    `radius` + `thickness` m. Points inside touch its inner wall; an infinite wall has no outside.
    """

    kind: ClassVar[int] = REVOLVED
    start: FloatArray
    end: FloatArray
    radius: float
    thickness: float = np.inf

    def __post_init__(self) -> None:
        _store_axis(self, self.start, self.end, self.radius)
        if not self.thickness > 0.0:
            raise InputError(f"thickness must be > 0 (in m), got {self.thickness}")

    @cached_property
    def numbers(self) -> FloatArray:
        """The shape as `shape_distance` takes it."""
        return _revolved(self.start, self.end, self.radius, self.radius + self.thickness)


def _round(start: FloatArray, end: FloatArray, radius: float, outward: FloatArray) -> FloatArray:
    return np.concatenate([start, end, [radius], outward])


def _revolved(start: FloatArray, end: FloatArray, inner: float, outer: float) -> FloatArray:
    length = float(np.linalg.norm(end - start))
    axis = (end - start) / length
    return np.concatenate([start, axis, [length, inner, outer], across(axis)])


def across(axis: FloatArray) -> FloatArray:
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
