"""All rows of a step, in the order of their constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np

from pliant.constraints.row_blocks import RowBlocks, stacked_blocks
from pliant.constraints.rows import COLUMNS, Constraint, Rows, RowView, Stiffnesses, joined_laws
from pliant.core.immutable import filled, fresh
from pliant.core.types import FloatArray


class Bundle(Protocol):
    """Neighbours among the constraints of a world, of one row each, that are evaluated in one pass: `members`, the
    first of which has the index `first`.
    """

    @property
    def first(self) -> int:
        """Index of the first member among the constraints of the world."""

    @property
    def members(self) -> Sequence[Constraint]:
        """The constraints."""

    def rows(self, views: Sequence[RowView]) -> tuple[Rows, Sequence[Any]]:
        """`Constraint.rows` of all members, one below the other, and their memories."""

    def bounded_stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`Constraint.bounded_stiffness` of all members, for λ (N) of their rows."""


@dataclass(frozen=True, eq=False)
class Assembly:
    """All rows of a step: `rows`, the slice of each constraint's rows in them, and the memories of the constraints."""

    rows: Rows
    slices: tuple[slice, ...]
    memories: tuple[Any, ...]


def detect(constraints: Sequence[Constraint], views: Sequence[RowView]) -> tuple[Any, ...]:
    """What collision detection finds for each constraint at the positions of its view."""
    for constraint in constraints:
        if constraint.detects:
            break
    else:
        return (None,) * len(constraints)
    return tuple([constraint.detect(view) for constraint, view in zip(constraints, views, strict=True)])


def assemble(
    constraints: Sequence[Constraint], views: Sequence[RowView], found: Sequence[Any], bundles: Sequence[Bundle] = ()
) -> Assembly:
    """All rows of a step, in the order of their constraints, from what `detect` has `found`; `bundles` are those of the
    constraints that are evaluated in one pass.
    """
    if not bundles:
        return gathered([one.rows(view, seen) for one, view, seen in zip(constraints, views, found)])
    parts: list[Rows] = []
    counts: list[int] = []
    memories: list[Any] = []

    def add_single(first: int, last: int) -> None:
        for k in range(first, last):
            rows, memory = constraints[k].rows(views[k], found[k])
            parts.append(rows)
            counts.append(len(rows.gap))
            memories.append(memory)

    at = 0
    for bundle in bundles:
        add_single(at, bundle.first)
        at = bundle.first + len(bundle.members)
        rows, known = bundle.rows(views[bundle.first : at])
        parts.append(rows)
        counts.extend([1] * len(known))
        memories.extend(known)
    add_single(at, len(constraints))
    return fresh(Assembly, rows=joined(parts), slices=_slices(tuple(counts)), memories=tuple(memories))


def gathered(made: Sequence[tuple[Rows, Any]]) -> Assembly:
    """All rows of a step from the rows and the memory of each constraint."""
    if len(made) == 1:
        rows, memory = made[0]
        return filled(Assembly, {"rows": rows, "slices": (slice(0, len(rows.gap)),), "memories": (memory,)})
    parts = [rows for rows, _ in made]
    slices = _slices(tuple([len(part.gap) for part in parts]))
    return fresh(Assembly, rows=joined(parts), slices=slices, memories=tuple([memory for _, memory in made]))


@lru_cache(maxsize=256)
def _slices(counts: tuple[int, ...]) -> tuple[slice, ...]:
    """Slices of parts of so many rows, one below the other."""
    return tuple(slice(a, b) for a, b in pairwise(accumulate(counts, initial=0)))


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of all `parts`, one below the other."""
    parts = [part for part in parts if len(part.gap)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    H = stacked_blocks([RowBlocks.of(part.H) for part in parts])
    known = [part.laws for part in parts]
    if None in known:
        return Rows(H, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS})
    gap, target = np.concatenate([part.gap for part in parts]), np.concatenate([part.target for part in parts])
    laws = tuple([law for own in known if own is not None for law in own])
    return fresh(Rows, H=H, gap=gap, target=target, **joined_laws(laws), laws=laws)
