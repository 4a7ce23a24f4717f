"""The contact set: what detection hands on, as frozen arrays, each contact with an identity that lasts over steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.collision.surface import EDGE_LIMIT
from pliant.core.checks import check_array, check_indices
from pliant.core.errors import CapacityError, InputError
from pliant.core.types import FloatArray, IndexArray, IntArray

PAIR_LIMIT = 2**15
"""Number of pairs of surfaces that keys can tell apart: three rows of every contact have identities below 2⁶³."""


class ContactKind(IntEnum):
    """Which features meet: the first is on side a, the second on side b."""

    VERTEX_FACE = 0
    FACE_VERTEX = 1
    EDGE_EDGE = 2
    VERTEX_OBSTACLE = 3


@dataclass(frozen=True, eq=False)
class ContactSet:
    """m contacts between side a and side b (one surface twice for self-contact), ascending by `key`.

    kind      (m,) `ContactKind`
    nodes_a   (m, 3) points of side a, −1 beyond the last; nodes_b likewise, all −1 for an obstacle
    weights_a (m, 3) their weights, which sum to one, 0 beyond the last; weights_b likewise
    normal    (m, 3) unit, from b to a
    gap       (m,) m, signed: negative in penetration; its gradient is +weights_a normal, −weights_b normal
    point_a   (m, 3) m, nearest point on side a; point_b on side b
    key       (m,) identity: the vertex and what it faces, or the two edges. Independent of the triangle that is
              nearest at the moment, so it lasts while a vertex slides
    face      (m,) triangle that a vertex is nearest to, on side b (on side a for FACE_VERTEX), else −1
    point_count_a, point_count_b  number of points of either side, 0 for an obstacle
    """

    kind: NDArray[np.uint8]
    nodes_a: IntArray
    weights_a: FloatArray
    nodes_b: IntArray
    weights_b: FloatArray
    normal: FloatArray
    gap: FloatArray
    point_a: FloatArray
    point_b: FloatArray
    key: IndexArray
    face: IntArray
    point_count_a: int
    point_count_b: int

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            getattr(self, name).setflags(write=False)

    @property
    def count(self) -> int:
        """Number of contacts."""
        return len(self.gap)

    @property
    def point_counts(self) -> tuple[int, int]:
        """Number of points of both sides."""
        return self.point_count_a, self.point_count_b

    @classmethod
    def empty(cls, point_count_a: int, point_count_b: int) -> ContactSet:
        """No contacts between sides of the given numbers of points."""
        return cls(**_no_arrays(), point_count_a=point_count_a, point_count_b=point_count_b)

    def selected(self, which: Any) -> ContactSet:
        """The contacts chosen by a mask or by ascending indices."""
        parts = {name: getattr(self, name)[which] for name in _ARRAYS}
        return ContactSet(**parts, point_count_a=self.point_count_a, point_count_b=self.point_count_b)

    def check(self) -> None:
        """An error where the arrays do not belong together or name points that are not there: those of a file."""
        if not all(isinstance(count, int) and count >= 0 for count in self.point_counts):
            raise InputError(f"numbers of points of both sides of contacts must be ≥ 0, got {self.point_counts}")
        for name, (shape, dtype) in _ARRAYS.items():
            check_array(f"{name} of {self.count} contacts", getattr(self, name), (self.count, *shape[1:]), dtype)
        for name, count in (("nodes_a", self.point_count_a), ("nodes_b", self.point_count_b)):
            check_indices(f"{name} of contacts", getattr(self, name), -1, count)

    def match(self, previous: ContactSet) -> IndexArray:
        """Index in `previous` of each contact, −1 for a new one, shape (m,)."""
        if previous.count == 0:
            return np.full(self.count, -1, dtype=np.int64)
        places = np.minimum(np.searchsorted(previous.key, self.key), previous.count - 1)
        matched: IndexArray = np.where(previous.key[places] == self.key, places, -1)
        return matched


_ARRAYS: dict[str, tuple[tuple[int, ...], type]] = {
    "kind": ((0,), np.uint8),
    "nodes_a": ((0, 3), np.int32),
    "weights_a": ((0, 3), np.float64),
    "nodes_b": ((0, 3), np.int32),
    "weights_b": ((0, 3), np.float64),
    "normal": ((0, 3), np.float64),
    "gap": ((0,), np.float64),
    "point_a": ((0, 3), np.float64),
    "point_b": ((0, 3), np.float64),
    "key": ((0,), np.int64),
    "face": ((0,), np.int32),
}


@cache
def _no_arrays() -> dict[str, Any]:
    return {name: np.zeros(shape, dtype) for name, (shape, dtype) in _ARRAYS.items()}


@lru_cache(maxsize=256)
def no_side_b(count: int, kind: ContactKind) -> dict[str, Any]:
    """What is the same of all contacts of `kind` with a solid; shared, since contact sets are never changed."""
    return {
        "kind": np.full(count, kind, dtype=np.uint8),
        "nodes_b": np.full((count, 3), -1, dtype=np.int32),
        "weights_b": np.zeros((count, 3)),
    }


def key_base(kind: ContactKind, pair: int) -> int:
    """Lowest key of contacts of `kind` between the surfaces of `pair`; features are added to it."""
    if not 0 <= pair < PAIR_LIMIT:
        raise InputError(f"pair must be in 0…{PAIR_LIMIT - 1}, got {pair}")
    return (int(kind) * PAIR_LIMIT + pair) * EDGE_LIMIT * EDGE_LIMIT


def concatenate(sets: Sequence[ContactSet]) -> ContactSet:
    """All contacts of several sets between the same two sides, e.g. of one surface with several obstacles."""
    if not sets:
        raise InputError("no contact set to concatenate; use ContactSet.empty")
    sides = {(s.point_count_a, s.point_count_b) for s in sets}
    if len(sides) > 1:
        raise InputError(f"contact sets have different sides, with point counts {sorted(sides)}; keep them apart")
    parts = {name: np.concatenate([getattr(s, name) for s in sets]) for name in _ARRAYS}
    order = np.argsort(parts["key"], kind="stable")
    if (np.diff(parts["key"][order]) == 0).any():
        raise InputError("two contact sets share an identity; give each pair of surfaces its own `pair` number")
    ((a, b),) = sides
    return ContactSet(**{name: part[order] for name, part in parts.items()}, point_count_a=a, point_count_b=b)


def check_capacity(count: int, capacity: int | None) -> None:
    """Raise a `CapacityError` where more than `capacity` contacts are found; None is no limit."""
    if capacity is not None and count > capacity:
        raise CapacityError(
            f"{count} contacts found, but the capacity is {capacity}; raise it, lower the margin, or limit the region"
        )
