"""Regions of space that select nodes: boxes, planes, spheres, lists of nodes, and what `|`, `&` and `~` make of them.

A region does not depend on a mesh; `select` and `nodes` apply it to points:

    base = pl.regions.plane(axis="x", at=0.0) & ~pl.regions.sphere((0, 0, 0), 0.005)
    base.nodes(mesh.points, what="clamp of the finger")       # indices, or an error that names region and bounds

Boundaries count as inside, with a slack of 1e-9 of the diagonal of the points against rounding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, finite_number, non_negative, positive, unit_vector
from pliant.core.declared import declared
from pliant.core.errors import InputError, MeshError
from pliant.core.types import BoolArray, FloatArray, IntArray

_SLACK = 1e-9
"""Slack of a boundary, relative to the diagonal of the points: rounding of coordinates."""


class Region(ABC):
    """A set of points of space, or of node indices. Combine with `|` (either), `&` (both) and `~` (outside)."""

    @abstractmethod
    def select(self, points: FloatArray) -> BoolArray:
        """Which of `points` (n, 3) m belong to the region, shape (n,)."""

    def nodes(self, points: FloatArray, *, what: str = "region") -> IntArray:
        """Indices of the `points` (n, 3) m in the region, ascending; an empty selection is an error naming `what`."""
        points = np.asarray(points)
        indices = np.flatnonzero(self.select(points)).astype(np.int32)
        if len(indices) == 0:
            span = f"{_text(points.min(axis=0))} to {_text(points.max(axis=0))} m" if len(points) else "nothing"
            raise MeshError(
                f"{what}: {self} selects none of the {len(points)} nodes, which span {span}; move or enlarge "
                "the region, and check that it is given in metres"
            )
        return indices

    def __repr__(self) -> str:
        return f"Region({self})"

    def __or__(self, other: Region) -> Region:
        return _Union(self, _region(other))

    def __and__(self, other: Region) -> Region:
        return _Intersection(self, _region(other))

    def __invert__(self) -> Region:
        return _Complement(self)


@declared
def box(lower: Any, upper: Any) -> Region:
    """The points between the corners `lower` and `upper`, (3,) m each; use ±inf for an open side."""
    low, high = _corner("lower", lower), _corner("upper", upper)
    if (low > high).any():
        raise InputError(f"box: lower {low.tolist()} exceeds upper {high.tolist()}; swap them")
    return _Box(low, high)


@declared
def plane(
    point: Any = None, normal: Any = None, *, axis: str | None = None, at: float | None = None, tolerance: float = 0.0
) -> Region:
    """The points on a plane, within `tolerance` (m) of it.

    Give a `point` (3,) m and a `normal` (3,), or an `axis` ("x", "y" or "z") and the coordinate `at` (m).
    """
    slack = non_negative("tolerance", tolerance, unit="m")
    if axis is not None and at is not None and point is None and normal is None:
        if not isinstance(axis, str) or axis not in ("x", "y", "z"):
            raise InputError(f'axis must be "x", "y" or "z", got {axis!r}')
        unit = np.eye(3)["xyz".index(axis)]
        return _Plane(finite_number("at", at, unit="m") * unit, unit, slack)
    if point is None or normal is None or axis is not None or at is not None:
        raise InputError('plane takes either point and normal, or axis and at, e.g. plane(axis="x", at=0.0)')
    return _Plane(finite_array("point", point, shape=(3,)), unit_vector("normal of a plane", normal), slack)


@declared
def sphere(center: Any, radius: float) -> Region:
    """The points within `radius` (m) of `center` (3,) m."""
    return _Sphere(finite_array("center", center, shape=(3,)), positive("radius", radius, unit="m"))


def nodes(indices: Iterable[int]) -> Region:
    """The nodes of these indices, at any position."""
    if isinstance(indices, (str, bytes, Mapping)) or not isinstance(indices, Iterable):
        raise InputError(f"node indices must be a list of whole numbers, got {indices!r:.60}")
    try:
        given = np.atleast_1d(np.asarray(list(indices) if not isinstance(indices, np.ndarray) else indices))
    except ValueError:  # rows of different lengths
        given = np.zeros((1, 1))
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise InputError(f"node indices must be integers, got {indices!r}; use numpy.flatnonzero for a mask")
    if given.size and given.min() < 0:
        raise InputError(f"node indices must be ≥ 0, got {given.min()}")
    if given.size and given.max() >= 2**31:  # node indices are 32 bits wide
        raise InputError(f"node indices must be < 2³¹, got {given.max()}")
    return _Nodes(np.unique(given).astype(np.int32))


def cells(indices: Iterable[int]) -> Region:
    """The cells of these indices: a region for inclusions and other things that select cells, not nodes."""
    return _Cells(nodes(indices).indices)  # type: ignore[attr-defined]


def as_region(value: Any, *, what: str) -> Region:
    """`value` as a region: a region itself, or a list of node indices; anything else is an error naming `what`."""
    if isinstance(value, Region):
        return value
    try:
        given = np.asarray(value) if isinstance(value, (Iterable, np.ndarray)) and not isinstance(value, str) else None
    except ValueError:  # rows of different lengths
        given = None
    if given is None or given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise InputError(
            f'{what} must be a region, such as pl.regions.plane(axis="x", at=0.0), or a list of node indices, '
            f"got {value!r:.60}"
        )
    return nodes(given)


def everything() -> Region:
    """Every point."""
    return _Everything()


@dataclass(frozen=True, eq=False, repr=False)
class _Box(Region):
    lower: FloatArray
    upper: FloatArray

    def select(self, points: FloatArray) -> BoolArray:
        slack = _slack(points)
        outside = np.any((points < self.lower - slack) | (points > self.upper + slack), axis=1)
        return ~np.asarray(outside, dtype=bool)

    def __str__(self) -> str:
        return f"box from {_text(self.lower)} to {_text(self.upper)} m"


@dataclass(frozen=True, eq=False, repr=False)
class _Plane(Region):
    point: FloatArray
    normal: FloatArray
    tolerance: float

    def select(self, points: FloatArray) -> BoolArray:
        return np.abs((points - self.point) @ self.normal) <= self.tolerance + _slack(points)

    def __str__(self) -> str:
        return f"plane through {_text(self.point)} m with normal {_text(self.normal)}, ± {self.tolerance:g} m"


@dataclass(frozen=True, eq=False, repr=False)
class _Sphere(Region):
    center: FloatArray
    radius: float

    def select(self, points: FloatArray) -> BoolArray:
        return np.asarray(np.linalg.norm(points - self.center, axis=1) <= self.radius + _slack(points))

    def __str__(self) -> str:
        return f"sphere of radius {self.radius:g} m around {_text(self.center)} m"


@dataclass(frozen=True, eq=False, repr=False)
class _Nodes(Region):
    indices: IntArray

    def select(self, points: FloatArray) -> BoolArray:
        if len(self.indices) and self.indices[-1] >= len(points):
            raise MeshError(f"{self} includes node {self.indices[-1]}, but the mesh has only {len(points)} nodes")
        chosen = np.zeros(len(points), dtype=bool)
        chosen[self.indices] = True
        return chosen

    def __str__(self) -> str:
        return f"list of {len(self.indices)} nodes"


class _Cells(_Nodes):
    def select(self, points: FloatArray) -> BoolArray:
        if len(self.indices) and self.indices[-1] >= len(points):
            raise MeshError(f"{self} includes cell {self.indices[-1]}, but the mesh has only {len(points)} cells")
        return super().select(points)

    def __str__(self) -> str:
        return f"list of {len(self.indices)} cells"


@dataclass(frozen=True, eq=False, repr=False)
class _Everything(Region):
    def select(self, points: FloatArray) -> BoolArray:
        return np.ones(len(points), dtype=bool)

    def __str__(self) -> str:
        return "everything"


@dataclass(frozen=True, eq=False, repr=False)
class _Union(Region):
    first: Region
    second: Region

    def select(self, points: FloatArray) -> BoolArray:
        return self.first.select(points) | self.second.select(points)

    def __str__(self) -> str:
        return f"({self.first} | {self.second})"


class _Intersection(_Union):
    def select(self, points: FloatArray) -> BoolArray:
        return self.first.select(points) & self.second.select(points)

    def __str__(self) -> str:
        return f"({self.first} & {self.second})"


@dataclass(frozen=True, eq=False, repr=False)
class _Complement(Region):
    region: Region

    def select(self, points: FloatArray) -> BoolArray:
        return ~self.region.select(points)

    def __str__(self) -> str:
        return f"~({self.region})"


def _region(value: Any) -> Region:
    if not isinstance(value, Region):
        raise InputError(f"a region can only be combined with a region, got {value!r}; see pl.regions")
    return value


def _corner(name: str, value: Any) -> FloatArray:
    """A corner (3,) m in which ±inf is allowed and NaN is not."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != (3,) or np.isnan(array).any():
        raise InputError(f"{name} must be three numbers (in m), got {value!r}")
    return array


def _slack(points: FloatArray) -> float:
    return _SLACK * float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0


def _text(vector: FloatArray) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in vector) + ")"


KINDS: tuple[type[Region], ...] = (
    _Box,
    _Plane,
    _Sphere,
    _Nodes,
    _Cells,
    _Everything,
    _Union,
    _Intersection,
    _Complement,
)
"""The classes behind the functions of this file, for saving."""
