"""Contacts in a few modes: λ ≈ Ψ β with Ψ ≥ 0 and β ≥ 0, so that a problem of k modes stands for one of all points.

With H and the gaps of all points that a mode touches, near or far,

    Ĥ = Ψᵀ H,    gap̂ = Ψᵀ gap,    0 ≤ β ⊥ gap̂ + Ĥ dx ≥ 0,

formed before W, so that k right-hand sides are solved. Columns of Ψ sum to one: gap̂ is a mean gap (m) and β the whole
normal force of a mode (N). Ψᵀ δ ≥ 0 does not imply δ ≥ 0: `info.penetration` says how deep points stand.

A contact that no mode touches keeps a row of its own; `info.unknown_contacts` counts those that push. With friction a
mode has one force along each of the carried tangents of its points, spread over them like its normal force; so every
point obeys Coulomb's law when the mode does.

Reference: O. Goury, B. Carrez, C. Duriez, "Real-time simulation for control of soft robots with self-collisions using
model order reduction for contact forces", IEEE RA-L 6, 2021, section III.B.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.constraints.contact import ContactMemory
from pliant.constraints.facing import Facing, FacingMemory, FacingPair
from pliant.constraints.rows import Rows, RowView
from pliant.core.arrays import csr
from pliant.core.checks import finite_array, non_negative
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.models.beam import Beam
from pliant.models.volume import Volume

FAINT = 1e-3
"""Entries of a mode below this share of its largest are left out: a point so faint is not known to it."""
HELD = 0.9
"""A contact is held at the tolerated depth from this share of it on."""
_MODE_KEYS = 1 << 30
"""Identities of modes begin here, above those of points."""


@dataclass(frozen=True, eq=False)
class ContactBasis:
    """Modes `modes` (p, k) ≥ 0 of the p potential contacts of the `pl.Facing` called `facing`; columns sum to one.

    `fingerprint` is that of the facing and its bodies' meshes, so that modes of another robot are refused.

    guards
        How many full rows watch over the modes: the nearest point of each group that a mode touches gets one (in
        statics all that touch), the deepest first. They stop penetrations that modes average away, at the price of as
        many rows; 0: none.
    tolerance
        How deep a point may be that no mode touches, where others of its group are touched, as a share of the margin:
        there a row of its own holds it.
    """

    facing: str
    modes: FloatArray
    fingerprint: str
    guards: int = 0
    tolerance: float = 0.05

    @classmethod
    def of(cls, maker: FacingPair, modes: Any, *, guards: int = 0, tolerance: float = 0.05) -> ContactBasis:
        """The basis of a facing's rows `maker` from `modes` (p, k) of any scale; empty ones are left out."""
        kept = checked_modes(maker.name, modes, maker.count)
        if guards < 0:
            raise InputError(f"guards must be ≥ 0, got {guards}")
        non_negative("tolerance", tolerance)
        return cls(maker.name, kept, fingerprint(maker.spec), guards, tolerance)

    @property
    def count(self) -> int:
        """Number of modes."""
        return int(self.modes.shape[1])

    def covers(self, maker: Any) -> bool:
        """Whether these are modes of `maker`; an error where it has their name but is of another robot or mesh."""
        if not isinstance(maker, FacingPair) or maker.name != self.facing:
            return False
        if len(self.modes) != maker.count or fingerprint(maker.spec) != self.fingerprint:
            raise InputError(
                f"the contact modes of {self.facing!r} belong to another robot or mesh ({len(self.modes)} potential "
                f"contacts, here {maker.count}); take snapshots of this one"
            )
        return True

    def reduced(self, maker: FacingPair) -> ReducedFacing:
        """`maker` with its contacts in these modes."""
        if not self.covers(maker):
            raise InputError(f"the contact modes of {self.facing!r} are none of {maker.name!r}")
        own = {item.name: getattr(maker, item.name) for item in fields(FacingPair)}
        return ReducedFacing(**own, basis=self)


def fingerprint(spec: Facing) -> str:
    """What tells a facing and the meshes of its bodies from others."""
    parts: list[Any] = [spec.points, spec.corners, spec.triangles, spec.point_group, spec.triangle_group]
    return digest_of([*parts, *(part for body in spec.bodies for part in body_arrays(body))])


def body_arrays(body: Any) -> list[Any]:
    """Arrays that tell the mesh of a volume, the network of a beam or the shape of a rigid body from others."""
    if isinstance(body, Volume):
        return [body.mesh.points, body.mesh.cells]
    if isinstance(body, Beam):
        return [body.node_points, body.element_nodes]
    shape = getattr(body, "shape", None)
    return [] if shape is None else [shape.points, shape.triangles]


def digest_of(parts: Sequence[Any]) -> str:
    """Hexadecimal digest of arrays of numbers, None among them."""
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        array = np.ascontiguousarray([] if part is None else part)
        digest.update(str(array.shape).encode())
        kind = np.float64 if array.dtype.kind == "f" else np.int64
        digest.update(array.astype(kind).tobytes())
    return digest.hexdigest()


def checked_modes(name: str, modes: Any, count: int) -> FloatArray:
    """Modes (count, k) ≥ 0 whose columns sum to one, without faint entries and empty columns."""
    given = finite_array(f"modes of {name!r}", modes, shape=(count, None))
    if given.size and given.min() < 0.0:
        row, column = np.unravel_index(int(np.argmin(given)), given.shape)
        raise InputError(
            f"modes of {name!r} must be ≥ 0 (contacts push), but entry [{row}, {column}] is {given.min():g}"
        )
    kept = np.where(given < FAINT * given.max(axis=0, initial=0.0), 0.0, given)
    kept = kept[:, kept.any(axis=0)]
    if not kept.shape[1]:
        raise InputError(f"all modes of {name!r} are zero; take snapshots in which its points touch")
    return np.ascontiguousarray(kept / kept.sum(axis=0))


@dataclass(frozen=True, eq=False)
class ReducedMemory(FacingMemory):
    """`FacingMemory` of all contacts that a mode in use touches, or that have a row of their own: row j pushes them by
    `shares` (m, rows). The last `unknown` of the rows are of contacts that no mode touches.
    """

    shares: FloatArray
    unknown: int

    def forces(self, lam: FloatArray) -> FloatArray:
        """Force on the points at each contact, (m, 3), N: λ = Ψ β."""
        if not self.contacts.count:
            return np.zeros((0, 3))
        each = self.shares @ lam.reshape(self.shares.shape[1], -1)
        total: FloatArray = np.einsum("mk,mki->mi", each, self.frames[:, : each.shape[1]])
        return total

    def unknown_pushing(self, lam: FloatArray) -> int:
        """How many of the contacts that no mode touches push, where λ (rows,) N are the multipliers of the rows."""
        count = self.shares.shape[1]
        return int((lam.reshape(count, -1)[count - self.unknown :, 0] > 0.0).sum()) if self.unknown else 0

    def arrays(self) -> dict[str, Any]:
        """Everything as arrays, for saving."""
        return super().arrays() | {"shares": self.shares, "unknown": np.array(self.unknown)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> ReducedMemory:
        """What `arrays` gave."""
        rest = dict(arrays)
        shares, unknown = rest.pop("shares"), int(rest.pop("unknown"))
        base = FacingMemory.from_arrays(rest)
        return cls(base.contacts, base.frames, base.nearest, base.least, base.places, shares, unknown)


@dataclass(frozen=True, eq=False)
class ReducedFound:
    """What detection finds of a reduced facing: the `memory` of the step but for the frames of its contacts, the `keys`
    (rows,) of its rows, and the `depth` (u,) m that each of the unknown contacts may have.
    """

    memory: ReducedMemory
    keys: IndexArray
    depth: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class ReducedFacing(FacingPair):
    """The rows of a facing in the modes of `basis`."""

    basis: ContactBasis

    memory_type: ClassVar[type[ContactMemory]] = ReducedMemory

    @cached_property
    def full(self) -> FacingPair:
        """The same without modes."""
        return FacingPair(**{item.name: getattr(self, item.name) for item in fields(FacingPair)})

    def detect(self, view: RowView) -> Any:
        """All contacts that have a row or are in a mode with one; where nothing can be near nothing is looked at."""
        groups = self.stale(view)
        if not groups.any():
            return self._none_near(self._still(view.memory))
        seen, found = self.look(view, groups)
        near = seen.gap <= self.margin
        active = np.flatnonzero(self._touched[near].any(axis=0))
        alone, depth = self._unknown(seen.gap, near)
        if not len(active) and not len(alone):
            return self._none_near(found)
        more = self._meets[:, active].any(axis=1) & ~groups
        if more.any():  # far groups, but a mode in use counts their gaps
            seen, found = self.look(replace(view, memory=found), more, seen)
        own = np.concatenate([self._guards(view, seen.gap, near, alone), alone])
        chosen: BoolArray = np.asarray(self._touched[:, active].any(axis=1))
        chosen[own] = True
        points = np.flatnonzero(chosen)
        shares = np.zeros((len(points), len(active) + len(own)))
        shares[:, : len(active)] = self.basis.modes[np.ix_(points, active)]
        shares[np.searchsorted(points, own), len(active) + np.arange(len(own))] = 1.0
        memory = ReducedMemory(
            self.contacts(seen, points), found.frames, found.nearest, found.least, found.places, shares, len(alone)
        )
        return ReducedFound(memory, np.concatenate([self.key(_MODE_KEYS + active), self.key(own)]), depth)

    def rows(self, view: RowView, found: Any) -> tuple[Rows, Any]:
        """Rows of the modes that have a point within the margin, and of the contacts that none touches."""
        contacts, shares = found.memory.contacts, found.memory.shares
        if not shares.size:
            return self.governed(view, view.blank(0), np.zeros(0), np.zeros(0, np.int64)), found.memory
        frames = self.frames_of(contacts, view.memory)
        gaps = contacts.gap @ shares
        gaps[len(gaps) - len(found.depth) :] += found.depth
        rows = self.governed(view, self._combined(view, contacts, frames, shares), gaps, found.keys)
        return rows, replace(found.memory, frames=frames)

    def unknown_pushing(self, memory: Any, lam: FloatArray) -> int:
        """How many contacts push that no mode touches."""
        pushing: int = memory.unknown_pushing(lam)
        return pushing

    def outrun(self, view: RowView) -> float:
        """How much deeper than tolerated points are at the end of the step, m, that no row of it knows."""
        return super().outrun(view) - self.tolerated

    def end_gaps(self, memory: ContactMemory, delta: FloatArray, view: RowView) -> FloatArray:
        """Gaps (m,) m of all points that a mode in use touches, at the end of the step."""
        points = memory.contacts.nodes_a[:, 0]
        groups = np.zeros(self.table.group_count, np.bool_)
        groups[self.table.group[points]] = True
        return self._seen(replace(view, memory=memory), groups).gap[points]

    @cached_property
    def _touched(self) -> BoolArray:
        """Which points (p, k) a mode touches."""
        return self.basis.modes > 0.0

    @cached_property
    def _meets(self) -> BoolArray:
        """Which groups (g, k) a mode touches points of."""
        groups = np.zeros((self.table.group_count, self.basis.count), np.bool_)
        np.logical_or.at(groups, self.table.group, self._touched)
        return groups

    @cached_property
    def _known(self) -> BoolArray:
        return np.asarray(self._touched.any(axis=1))

    @cached_property
    def _covered(self) -> BoolArray:
        """Points (p,) whose group has a point that a mode touches."""
        groups: BoolArray = np.asarray(self._meets.any(axis=1))
        return groups[self.table.group]

    def _unknown(self, gap: FloatArray, near: BoolArray) -> tuple[IndexArray, FloatArray]:
        """Contacts that no mode touches, and how deep (m) each may be: those within the margin in groups that no mode
        touches; and in the others, where modes hold the surfaces apart, those at the depth that is tolerated. They are
        held there, so that they do not come and go from one linear solve to the next.
        """
        apart = np.flatnonzero(near & ~self._covered)
        inside = np.flatnonzero((gap <= -HELD * self.tolerated) & self._covered & ~self._known)
        points = np.concatenate([apart, inside])
        return points, np.where(np.arange(len(points)) < len(apart), 0.0, self.tolerated)

    @property
    def tolerated(self) -> float:
        """How deep a point may be that no mode touches, m, where modes touch others of its group."""
        return self.basis.tolerance * self.margin

    def _guards(self, view: RowView, gap: FloatArray, near: BoolArray, alone: IndexArray) -> IndexArray:
        """The nearest point within the margin in each group that modes touch, the deepest first, at most so many; none
        that has a row of its own already. Statics, which iterate, watch all points that touch: one at a time would
        alternate with its neighbour.
        """
        if not self.basis.guards:
            return np.zeros(0, np.int64)
        touching = near if view.dt else gap <= self.tolerated
        points = np.flatnonzero(touching & self._covered)
        points = points[~np.isin(points, alone)]
        points = points[np.argsort(gap[points], kind="stable")]
        if view.dt:
            points = points[np.sort(np.unique(self.table.group[points], return_index=True)[1])]
        return np.asarray(points[: self.basis.guards])

    def _none_near(self, found: FacingMemory) -> ReducedFound:
        memory = ReducedMemory(
            found.contacts, found.frames, found.nearest, found.least, found.places, np.zeros((0, 0)), 0
        )
        return ReducedFound(memory, np.zeros(0, np.int64), np.zeros(0))

    def _combined(
        self, view: RowView, contacts: Any, frames: FloatArray, shares: FloatArray
    ) -> list[sparse.csr_matrix]:
        """Φᵀ H over the models for the combinations Φ = `shares` (m, rows) of the rows of `contacts`."""
        H = view.blank(shares.shape[1] * self.width)
        dense: dict[int, FloatArray] = {}
        directions = np.ascontiguousarray(frames[:, : self.width])
        used, places = np.unique(contacts.nodes_b, return_inverse=True)
        sides = (
            (self.a, contacts.nodes_a[:, 0], np.arange(contacts.count)[:, None], np.ones((contacts.count, 1))),
            (self.b, used, places.reshape(-1, 3), -contacts.weights_b),
        )
        for side, riders, which, weights in sides:
            assert side.number is not None
            number = side.number
            values, columns = side.map.selected(riders).blocks(side.q(view))
            out = dense.setdefault(number, np.zeros((len(H[0].indptr) - 1, view.sizes[number])))
            _combine(shares, directions, values, columns, which.astype(np.int32), weights, out)
        for number, out in dense.items():
            H[number] = _without_zero_columns(out)
        return H


def _without_zero_columns(dense: FloatArray) -> sparse.csr_matrix:
    columns = np.flatnonzero(dense.any(axis=0)).astype(np.int32)
    count = len(dense)
    starts = len(columns) * np.arange(count + 1, dtype=np.int32)
    return csr(
        np.ascontiguousarray(dense[:, columns]).ravel(), np.tile(columns, count), starts, (count, dense.shape[1])
    )


@kernel
def _combine(
    shares: FloatArray,
    directions: FloatArray,
    values: FloatArray,
    columns: IntArray,
    which: IntArray,
    weights: FloatArray,
    out: FloatArray,
) -> None:
    """out[(j, a), columns] += Σ shares[c, j] weights[c, s] directions[c, a] · values[which[c, s]] over contacts c and
    their riding points s.
    """
    width, wide = directions.shape[1], values.shape[2]
    row = np.empty(wide)
    for c in range(len(shares)):
        for s in range(which.shape[1]):
            r = which[c, s]
            for a in range(width):
                d0, d1, d2 = directions[c, a]
                for b in range(wide):
                    row[b] = weights[c, s] * (d0 * values[r, 0, b] + d1 * values[r, 1, b] + d2 * values[r, 2, b])
                for j in range(shares.shape[1]):
                    share = shares[c, j]
                    if share != 0.0:
                        for b in range(wide):
                            out[j * width + a, columns[r, b]] += share * row[b]
