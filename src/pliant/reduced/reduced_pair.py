"""The rows Ĥ = Ψᵀ H of a contact pair in modes, and rows of their own for the contacts outside all modes.

Modes act at the points of a facing. All contacts of a pair that is not a facing itself are detected too: a contact away
from the points keeps its row, one among them only from the tolerated depth on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.collision import ContactSet
from pliant.constraints.assembly import joined
from pliant.constraints.contact import ContactPair
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.facing import FacingMemory, FacingPair
from pliant.constraints.keys import MODE_FEATURES
from pliant.constraints.memory import Memory, as_saved
from pliant.constraints.rows import Constraint, Rows, RowView
from pliant.core.checks import check_array
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.reduced.combined_rows import combined_rows

if TYPE_CHECKING:
    from pliant.reduced.contact_basis import ContactBasis

ROW_DEPTH = 0.9
"""A contact outside all modes gets a row from this fraction of the tolerated depth on, before it exceeds it."""


@dataclass(frozen=True, eq=False)
class OtherContacts:
    """Contacts beside the modes: all `detected`, those with rows of their own, `full`, and their `depth` (m,) m."""

    detected: ContactSet = field(metadata=as_saved(kind=ContactSet, prefix="found_"))
    full: ContactMemory = field(metadata=as_saved(kind=ContactMemory, prefix="full_"))
    depth: FloatArray = field(metadata=as_saved("own_depth"))


@dataclass(frozen=True, eq=False)
class ReducedMemory(Memory):
    """What a reduced pair keeps of a step.

    `points` are the contacts of the points with a row of their own or in an active mode; row j pushes them by
    `combination` (m, rows). The last `unknown` of these rows are of contacts outside all modes. `others` are the
    contacts beside the modes, whose rows follow; None for a facing.
    """

    points: FacingMemory = field(metadata=as_saved(kind=FacingMemory))
    combination: FloatArray = field(metadata=as_saved("shares"))
    unknown: int
    others: OtherContacts | None = field(default=None, metadata=as_saved(kind=OtherContacts, only_with="own_depth"))

    @cached_property
    def contacts(self) -> ContactSet:
        """Contacts of the modes, whose nodes are those of their points, and those with rows of their own."""
        if self.others is None:
            return self.points.contacts
        parts = (self.points.contacts, self.others.full.contacts)
        joint: dict[str, Any] = {
            item.name: np.concatenate([getattr(part, item.name) for part in parts])
            for item in fields(ContactSet)
            if not item.name.startswith("point_count")
        }
        detected = self.others.detected
        return ContactSet(**joint, point_count_a=detected.point_count_a, point_count_b=detected.point_count_b)

    def split(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`values` (rows,) of the modes' rows, and of those of the other contacts."""
        count = 0 if self.others is None else self.others.full.frames.shape[1] * self.others.full.contacts.count
        return values[: len(values) - count], values[len(values) - count :]

    def forces(self, lam: FloatArray) -> FloatArray:
        """Force on side a at each contact, (m, 3), N: λ = Ψ β at the points."""
        own, rest = self.split(lam)
        total = np.zeros((0, 3))
        if self.points.contacts.count:
            each = self.combination @ own.reshape(self.combination.shape[1], -1)
            total = np.einsum("mk,mki->mi", each, self.points.frames[:, : each.shape[1]])
        return total if self.others is None else np.concatenate([total, self.others.full.forces(rest)])

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> ReducedMemory:
        """The memory that `arrays` was made from; earlier versions put "few_" before its names."""
        return super().from_arrays({name.removeprefix("few_"): array for name, array in arrays.items()})


@dataclass(frozen=True, eq=False)
class Detected:
    """What detection finds of a reduced pair: the `memory` of its points without frames, the `combination` (m, rows) of
    their contacts into rows, the `keys` (rows,) of these, the allowed `depth` (u,) m of the last of them, of contacts
    outside all modes, and `others`, all contacts of a pair that is not a facing.
    """

    memory: FacingMemory
    combination: FloatArray
    keys: IndexArray
    depth: FloatArray
    others: ContactSet | None


@dataclass(frozen=True, eq=False, kw_only=True)
class ReducedPair(ContactPair):
    """The pair `full` in the modes of `basis`, which act at the points of `facing`: `full` itself where it is one."""

    full: ContactPair
    facing: FacingPair
    basis: ContactBasis

    memory_type: ClassVar[Any] = ReducedMemory
    can_cross: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name of the pair."""
        return self.full.name

    @property
    def handles(self) -> tuple[Any, ...]:
        """The handles that name the pair."""
        return self.full.handles

    def with_friction(self, mu: float) -> ReducedPair:
        """The pair with another coefficient of friction, in the same modes."""
        return self.basis.reduced(self.full.with_friction(mu))

    def check_memory(self, memory: Any) -> None:
        """An error where `memory` is none that this pair may have left."""
        Constraint.check_memory(self, memory)
        memory.points.check(self.facing.width)
        self.facing.check_points(memory.points)
        rows = memory.combination.shape[1:]
        check_array("combination of contacts", memory.combination, (memory.points.contacts.count, *rows))
        if memory.others is not None:
            memory.others.detected.check()
            self.full.check_memory(memory.others.full)
            check_array("depth of other contacts", memory.others.depth, (memory.others.full.contacts.count,))

    def constrains(self, index: int) -> bool:
        """Whether body `index` may rest on another."""
        return self.full.constrains(index)

    @property
    def tolerated(self) -> float:
        """Allowed depth, m, of a point outside all modes in a group that modes touch."""
        return self.basis.tolerance * self.margin

    def contact_set(self, view: RowView, previous: ContactSet | None) -> ContactSet:
        """Contacts within the margin at the positions of `view`; those of the `previous` step keep their sides."""
        return self.full.contact_set(view, previous)

    def detect(self, view: RowView) -> Detected:
        """Contacts with a row or in an active mode; groups that cannot be near are not evaluated."""
        memory: ReducedMemory | None = view.memory
        before = None if memory is None or memory.others is None else memory.others.detected
        others = None if self.full is self.facing else self.full.contact_set(view, before)
        points = None if memory is None else memory.points
        groups = self.facing.stale(view, points)
        if points is not None and not groups.any():
            return _none_near(self.facing.still(points), others)
        seen, found = self.facing.look(view, groups, points)
        near = seen.gap <= self.margin
        active = np.flatnonzero(self._touched[near].any(axis=0))
        alone, depth = self._unknown(seen.gap, near)
        if not len(active) and not len(alone):
            return _none_near(found, others)
        more = self._meets[:, active].any(axis=1) & ~groups
        if more.any():  # far groups, but a mode in use counts their gaps
            seen, found = self.facing.look(view, more, found, seen)
        own = np.concatenate([self._guards(view, seen.gap, near, alone), alone])
        chosen, combination = self._combination(active, own)
        keys = np.concatenate([self.facing.key(MODE_FEATURES + active), self.facing.key(own)])
        return Detected(replace(found, contacts=self.facing.contacts(seen, chosen)), combination, keys, depth, others)

    def rows(self, view: RowView, found: Any) -> tuple[Rows, Any]:
        """Rows of the modes with a point within the margin, and of contacts outside all modes."""
        memory: ReducedMemory | None = view.memory
        rows, points = self._mode_rows(view, found, None if memory is None else memory.points)
        unknown = len(found.depth)
        if found.others is None:
            return rows, ReducedMemory(points, found.combination, unknown)
        covered = self._covered_others(found.others)
        chosen = ~covered | (found.others.gap <= -ROW_DEPTH * self.tolerated)
        own, depth = found.others.selected(chosen), np.where(covered[chosen], self.tolerated, 0.0)
        frames = self.frames_of(own, None if memory is None or memory.others is None else memory.others.full)
        rest = self.full.contact_rows(view, replace(own, gap=own.gap + depth), frames)
        others = OtherContacts(found.others, ContactMemory(own, frames), depth)
        return joined([rows, rest]), ReducedMemory(points, found.combination, unknown, others)

    def _mode_rows(self, view: RowView, found: Detected, memory: FacingMemory | None) -> tuple[Rows, FacingMemory]:
        contacts, combination = found.memory.contacts, found.combination
        if not combination.size:
            return self.governed(view, view.blank(0), np.zeros(0), np.zeros(0, np.int64)), found.memory
        frames = self.frames_of(contacts, memory)
        gaps = contacts.gap @ combination
        gaps[len(gaps) - len(found.depth) :] += found.depth
        H = combined_rows(self.facing, view, contacts, frames, combination)
        return self.governed(view, H, gaps, found.keys), replace(found.memory, frames=frames)

    def _combination(self, active: IndexArray, own: IndexArray) -> tuple[IndexArray, FloatArray]:
        """The points (m,) in the modes `active` or with rows of their `own`, and the combination (m, rows) of these."""
        chosen: BoolArray = np.asarray(self._touched[:, active].any(axis=1))
        chosen[own] = True
        points = np.flatnonzero(chosen)
        combination = np.zeros((len(points), len(active) + len(own)))
        combination[:, : len(active)] = self.basis.modes[np.ix_(points, active)]
        combination[np.searchsorted(points, own), len(active) + np.arange(len(own))] = 1.0
        return points, combination

    def overlap(self, view: RowView) -> float:
        """Largest penetration of the two sides at the positions of `view`, m; 0 without any."""
        return self.full.overlap(view)

    def outrun(self, view: RowView, memory: ReducedMemory | None) -> float:
        """Motion beyond detection, m; of a facing the depth of points without a row beyond the tolerated one."""
        beyond = self.full.outrun(view, None if memory is None else memory.points)
        return beyond - self.tolerated if self.full is self.facing else beyond

    def unknown_pushing(self, memory: Any, lam: FloatArray) -> int:
        """Number of pushing contacts outside all modes."""
        width, (own, rest) = self.facing.width, memory.split(lam)
        alone = own[len(own) - width * memory.unknown :]
        return int((alone[::width] > 0.0).sum()) + int((rest[::width] > 0.0).sum())

    def end_gaps(self, memory: Any, delta: FloatArray, view: RowView) -> FloatArray:
        """Gaps (m,) m of all points in active modes, and of the other contacts, at the end of the step."""
        points = memory.points.contacts.nodes_a[:, 0]
        groups = np.zeros(self.facing.table.group_count, np.bool_)
        groups[self.facing.table.group[points]] = True
        gaps: FloatArray = self.facing.gaps_of(view, groups, memory.points).gap[points]
        if memory.others is None:
            return gaps
        rest = self.full.end_gaps(memory.others.full, memory.split(delta)[1], view)
        return np.concatenate([gaps, rest - memory.others.depth])

    @cached_property
    def _touched(self) -> BoolArray:
        """Which points (p, k) a mode touches."""
        return self.basis.modes > 0.0

    @cached_property
    def _meets(self) -> BoolArray:
        """Which groups (g, k) a mode has points of."""
        groups = np.zeros((self.facing.table.group_count, self.basis.count), np.bool_)
        np.logical_or.at(groups, self.facing.table.group, self._touched)
        return groups

    @cached_property
    def _covered(self) -> BoolArray:
        """Points (p,) whose group has a point that a mode touches."""
        groups: BoolArray = np.asarray(self._meets.any(axis=1))
        return groups[self.facing.table.group]

    def _unknown(self, gap: FloatArray, near: BoolArray) -> tuple[IndexArray, FloatArray]:
        """Contacts outside all modes and the allowed depth (m) of each: those within the margin in groups that no mode
        touches; in the other groups, which modes keep apart, those at the tolerated depth. They are kept there, so that
        they do not come and go from one linear solve to the next.
        """
        apart = np.flatnonzero(near & ~self._covered)
        inside = np.flatnonzero((gap <= -ROW_DEPTH * self.tolerated) & self._covered & ~self._touched.any(axis=1))
        points = np.concatenate([apart, inside])
        return points, np.where(np.arange(len(points)) < len(apart), 0.0, self.tolerated)

    def _guards(self, view: RowView, gap: FloatArray, near: BoolArray, alone: IndexArray) -> IndexArray:
        """Guards: the nearest point within the margin of each group that modes touch, deepest first, unless it has a
        row already. Quasi-static steps, which iterate, take all touching points: single ones would alternate.
        """
        if not self.basis.guards:
            return np.zeros(0, np.int64)
        touching = near if view.dt else gap <= self.tolerated
        points = np.flatnonzero(touching & self._covered)
        points = points[~np.isin(points, alone)]
        points = points[np.argsort(gap[points], kind="stable")]
        if view.dt:
            points = points[np.sort(np.unique(self.facing.table.group[points], return_index=True)[1])]
        return np.asarray(points[: self.basis.guards])

    def _covered_others(self, found: ContactSet) -> BoolArray:
        """Which contacts (m,) lie between the neighbourhoods of the points and of what they face."""
        first, second = self._near
        covered = _all_in(first, found.nodes_a) & _all_in(second, found.nodes_b)
        if self.a is self.b:
            covered |= _all_in(first, found.nodes_b) & _all_in(second, found.nodes_a)
        return covered

    @cached_property
    def _near(self) -> tuple[BoolArray, BoolArray]:
        assert self.basis.points is not None
        return self.basis.points.near(self.full)


def _none_near(memory: FacingMemory, others: ContactSet | None) -> Detected:
    return Detected(memory, np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(0), others)


def _all_in(mask: BoolArray, nodes: IntArray) -> BoolArray:
    return np.asarray((mask[nodes] | (nodes < 0)).all(axis=1))
