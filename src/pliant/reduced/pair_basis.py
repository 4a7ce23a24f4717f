"""Contacts of two surfaces in a few modes: what was seen of a colliding pair becomes a facing, and the rest stays full.

Rows of the facing are points of side a that pushed in the snapshots, a vertex, or a place on an edge or a face: where
two edges cross, their ends may be far apart. They look at the triangles of side b that they met, and one ring around
these. An edge or a face has one point, at the mean of where it pushed. Where the modes cannot help, detection
goes on as ever: a contact outside of what the facing covers keeps its row, one inside of it as well at the depth that
is tolerated, and `info.unknown_contacts` counts those that push.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from pliant.collision import CollisionSurface, ContactSet
from pliant.collision.contacts import PAIR_LIMIT
from pliant.collision.facing import FacingTable
from pliant.constraints.colliders import Collider
from pliant.constraints.contact import ContactMemory, ContactPair
from pliant.constraints.facing import Facing, FacingPair
from pliant.constraints.rows import Rows, RowView, joined
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.models.rigid.frame_map import FrameMap
from pliant.models.volume.barycentric import BarycentricMap, NodeMap
from pliant.reduced.contact_basis import (
    HELD,
    ContactBasis,
    ReducedFacing,
    ReducedMemory,
    body_arrays,
    checked_modes,
    digest_of,
)

_SAME_WAY = 0.5
"""Triangles face the same way above this product of their normals at rest: 60 degrees."""
_CORNER = 0.95
"""A contact on an edge or a face with this weight at a vertex is one of the vertex."""


@dataclass(frozen=True, eq=False)
class PairFacing:
    """What was seen of the pair called `pair`: p points of side a and the triangles of side b that they face.

    nodes, weights               (p, 3) vertices of side a that a point is on, and their weights, 0 for those it is not
    faces                        (t,) triangles of side b
    point_group, face_group      (p,) and (t,), as in `pl.Facing`
    snapshots                    (p, n) N, normal forces of the points in n snapshots
    fingerprint                  of the meshes of both sides
    """

    pair: str
    nodes: IntArray
    weights: FloatArray
    faces: IntArray
    point_group: IntArray
    face_group: IntArray
    snapshots: FloatArray
    fingerprint: str

    def basis(self, modes: Any, *, guards: int = 0, tolerance: float = 0.05) -> PairBasis:
        """The reduction of the pair to `modes` (p, k) ≥ 0 of any scale; options as of `ContactBasis`."""
        kept = checked_modes(self.pair, modes, len(self.nodes))
        return PairBasis(replace(self, snapshots=np.zeros((len(kept), 0))), kept, guards, tolerance)


def facing_of(pair: ContactPair, history: Sequence[tuple[ContactMemory, FloatArray]]) -> PairFacing:
    """The facing of a colliding pair of surfaces from its memories and multipliers λ (N) in n snapshots."""
    surface_a, surface_b = pair.a.surface, pair.b.surface
    if isinstance(pair, FacingPair) or surface_a is None or surface_b is None:
        raise InputError(f"{pair.name!r} is no pair of two surfaces, so no facing can be made of it")
    pushing = [_pushing(memory.contacts, lam) for memory, lam in history]
    force = np.concatenate([lam for _, lam in pushing]) if pushing else np.zeros(0)
    if not len(force):
        raise InputError(f"nothing touched in the {len(history)} snapshots of {pair.name!r}; pull farther")
    nodes_a, weights_a, nodes_b = (np.concatenate([part[k] for part, _ in pushing]) for k in range(3))
    column = np.repeat(np.arange(len(history)), [len(lam) for _, lam in pushing])
    nodes, place = np.unique(nodes_a, axis=0, return_inverse=True)
    place = place.ravel()
    pushed, weights = np.zeros((len(nodes), len(history))), np.zeros(nodes.shape)
    np.add.at(pushed, (place, column), force)
    np.add.at(weights, place, force[:, None] * weights_a)
    weights /= weights.sum(axis=1, keepdims=True)
    links = sparse.lil_matrix((len(nodes), len(surface_b.triangles)), dtype=np.bool_)
    for one, *met in np.unique(np.column_stack([place, nodes_b]), axis=0):
        links[one, _opposed(surface_a, nodes[one], surface_b, _met(surface_b, np.array(met)))] = True
    faces, point_group, face_group, seen = _groups(surface_b, links.tocsr(), nodes, pair.a is pair.b)
    if not seen.any():
        raise InputError(f"{pair.name!r} touches in its valleys alone, where no point faces another surface")
    digest = digest_of([*body_arrays(pair.a.handle), *body_arrays(pair.b.handle)])
    kept = np.maximum(nodes[seen], 0).astype(np.int32)
    return PairFacing(
        pair.name, kept, weights[seen], faces, point_group[seen], face_group, pushed[seen], digest
    )  # fmt: skip


def _pushing(contacts: ContactSet, lam: FloatArray) -> tuple[tuple[IntArray, FloatArray, IntArray], FloatArray]:
    """Of the contacts that push: vertices (m, 3) of side a, descending, −1 where there are fewer, with their weights;
    vertices (m, 3) of side b, −1 where they have no weight; and the normal forces (m,), N.
    """
    normal = lam.reshape(contacts.count, -1)[:, 0] if contacts.count else np.zeros(0)
    own = contacts.selected(normal > 0.0)
    weights = np.where(own.nodes_a >= 0, own.weights_a, 0.0)
    corner = weights.max(axis=1, initial=0.0) > _CORNER
    weights[corner] = weights[corner] == weights[corner].max(axis=1, keepdims=True)
    nodes = np.where(weights > 0.0, own.nodes_a, -1)
    order = np.argsort(-nodes, axis=1, kind="stable")
    sides = np.take_along_axis(nodes, order, axis=1), np.take_along_axis(weights, order, axis=1)
    return (*sides, np.where(own.weights_b > 0.0, own.nodes_b, -1)), normal[normal > 0.0]


def _shared(surface: CollisionSurface, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Triangles around any of the points `nodes`, −1 among them, and those that have all of them as corners."""
    own = nodes[nodes >= 0]
    around = np.concatenate([surface.fan[surface.fan_start[n] : surface.fan_start[n + 1]] for n in own])
    ring, times = np.unique(around, return_counts=True)
    return ring, ring[times == len(own)]


def _met(surface: CollisionSurface, nodes: IntArray) -> IntArray:
    """Triangles that a contact at the points `nodes` met, and those around them that face the same way."""
    normals = surface.rest_normals
    ring, met = _shared(surface, nodes)
    alike: BoolArray = (normals[ring] @ normals[met].T).max(axis=1) > _SAME_WAY
    return ring[alike]


def _opposed(a: CollisionSurface, nodes: IntArray, b: CollisionSurface, faces: IntArray) -> IntArray:
    """Those of `faces` of b that are against a triangle of a with the points `nodes` at rest, where there are any: a
    corner of a body that was met has other sides too.
    """
    around = a.rest_normals[_shared(a, nodes)[1]]
    against = (b.rest_normals[faces] @ around.T).min(axis=1) < -_SAME_WAY
    return faces[against] if against.any() else faces


def _groups(
    surface: CollisionSurface, links: sparse.csr_matrix, nodes: IntArray, same: bool
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Triangles that are faced, the groups of points and triangles (those that met, directly or by way of others), and
    which points can face them: of a surface that touches itself none that lies on one, as in a valley.
    """
    count = len(nodes)
    whole = sparse.bmat([[None, links], [links.T, None]], format="csr")
    _, labels = connected_components(whole, directed=False)
    faces = np.unique(links.indices)
    group = labels[count + faces]
    able: BoolArray = np.ones(count, np.bool_)
    for one in np.unique(group) if same else ():
        own = np.flatnonzero(labels[:count] == one)
        corners = surface.triangles[faces[group == one]]
        among = (nodes[own][:, None, :, None] == corners[:, None, :]).any(axis=3) | (nodes[own] < 0)[:, None]
        able[own] = ~among.all(axis=2).any(axis=1)
    return faces.astype(np.int32), labels[:count].astype(np.int32), group.astype(np.int32), able


@dataclass(frozen=True, eq=False)
class PairBasis:
    """Modes `modes` (p, k) ≥ 0 of what `seen` holds of a colliding pair; `guards`, `tolerance` as in `ContactBasis`."""

    seen: PairFacing
    modes: FloatArray
    guards: int = 0
    tolerance: float = 0.05

    def covers(self, maker: Any) -> bool:
        """Whether these are modes of `maker`; an error where it has their name but is of another robot or mesh."""
        if not isinstance(maker, ContactPair) or isinstance(maker, FacingPair) or maker.name != self.seen.pair:
            return False
        digest = digest_of([*body_arrays(maker.a.handle), *body_arrays(maker.b.handle)])
        if digest != self.seen.fingerprint:
            raise InputError(
                f"the contact modes of {self.seen.pair!r} belong to another robot or mesh; take snapshots of this one"
            )
        return True

    def reduced(self, maker: ContactPair) -> ReducedPair:
        """`maker` with the contacts that were seen in modes."""
        if not self.covers(maker):
            raise InputError(f"the contact modes of {self.seen.pair!r} are none of {maker.name!r}")
        own = {item.name: getattr(maker, item.name) for item in fields(ContactPair)}
        return ReducedPair(**own, seen=self.seen, few=self._facing(maker))

    def _facing(self, maker: ContactPair) -> ReducedFacing:
        seen, surface = self.seen, maker.b.surface
        assert maker.a.surface is not None
        assert surface is not None
        group = np.full(len(surface.triangles), -1, np.int32)  # the whole surface says which side a point is on
        group[seen.faces] = seen.face_group
        spec = Facing(
            maker.a.handle, maker.b.handle, _mean(seen, maker.a.surface.rest), surface.rest, surface.triangles,
            point_group=seen.point_group, triangle_group=group, friction=maker.mu, margin=maker.margin,
            name=maker.name,
        )  # fmt: skip
        table = FacingTable.build(surface, seen.point_group, group)
        every = np.arange(len(surface.rest), dtype=np.int32)[:, None]
        a, b = _riders(maker.a, seen.nodes, seen.weights), _riders(maker.b, every, np.ones(every.shape))
        # a pair of its own, so that identities of modes and points are no others'
        full = FacingPair(a, b, maker.mu, maker.margin, maker.pair + PAIR_LIMIT // 2, spec=spec, table=table)
        return ContactBasis.of(full, self.modes, guards=self.guards, tolerance=self.tolerance).reduced(full)


def _mean(seen: PairFacing, places: FloatArray) -> FloatArray:
    """Places (p, 3) of the points of `seen` from those of the vertices."""
    return np.asarray(np.einsum("pj,pji->pi", seen.weights, places[seen.nodes]))


def _riders(side: Collider, nodes: IntArray, weights: FloatArray) -> Collider:
    """A side with points of its own: means of its vertices `nodes` (p, j) with `weights` (p, j)."""
    assert side.surface is not None
    if isinstance(side.map, NodeMap):
        chosen: Any = BarycentricMap(np.ascontiguousarray(nodes), weights, len(side.surface.rest))
    else:
        assert isinstance(side.map, FrameMap)
        chosen = FrameMap(np.einsum("pj,pji->pi", weights, side.map.local[nodes]))
    return Collider(side.handle, side.number, chosen, np.arange(len(nodes), dtype=np.int32), None, None, 0.0)


@dataclass(frozen=True, eq=False)
class PairMemory:
    """What the modes remember, `few`; all contacts detected, `found`; those of them with rows of their own, `full`, and
    the `depth` (m,) m that each of these may have.
    """

    few: ReducedMemory
    found: ContactSet
    full: ContactMemory
    depth: FloatArray

    def unknown_pushing(self, lam: FloatArray) -> int:
        """How many contacts push by rows of their own, where λ (rows,) N are the multipliers of the pair's rows."""
        width = self.full.frames.shape[1]
        count = len(lam) - width * self.full.contacts.count
        return self.few.unknown_pushing(lam[:count]) + int((lam[count::width] > 0.0).sum())

    @cached_property
    def contacts(self) -> ContactSet:
        """The contacts of the modes, and those with rows of their own; nodes of the first are those of the facing."""
        parts = {
            item.name: np.concatenate([getattr(self.few.contacts, item.name), getattr(self.full.contacts, item.name)])
            for item in fields(ContactSet)
            if not item.name.startswith("point_count")
        }
        found = self.found
        return ContactSet(**parts, point_count_a=found.point_count_a, point_count_b=found.point_count_b)

    def forces(self, lam: FloatArray) -> FloatArray:
        """Force on side a at each contact, (m, 3), N."""
        width = self.full.frames.shape[1]
        count = len(lam) - width * self.full.contacts.count
        return np.concatenate([self.few.forces(lam[:count]), self.full.forces(lam[count:])])

    def arrays(self) -> dict[str, Any]:
        """Everything as arrays, for saving."""
        found = {item.name: np.asarray(getattr(self.found, item.name)) for item in fields(ContactSet)}
        parts = {"few": self.few.arrays(), "full": self.full.arrays(), "found": found, "own": {"depth": self.depth}}
        return {f"{part}_{name}": array for part, own in parts.items() for name, array in own.items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> PairMemory:
        """What `arrays` gave."""
        few, full, found = (
            {name.removeprefix(part): array for name, array in arrays.items() if name.startswith(part)}
            for part in ("few_", "full_", "found_")
        )
        empty = ContactMemory.from_arrays(found | {"frames": np.zeros((0, 1, 3))})
        full_memory = ContactMemory.from_arrays(full)
        return cls(ReducedMemory.from_arrays(few), empty.contacts, full_memory, arrays["own_depth"])


@dataclass(frozen=True, eq=False, kw_only=True)
class ReducedPair(ContactPair):
    """The rows of a colliding pair: of `few`, what was `seen` of it in modes, and of all other contacts in full."""

    seen: PairFacing
    few: ReducedFacing

    memory_type: ClassVar[Any] = PairMemory

    def detect(self, view: RowView) -> Any:
        """What is found of the modes, and all contacts within the margin."""
        memory: PairMemory | None = view.memory
        few = self.few.detect(replace(view, memory=None if memory is None else memory.few))
        return few, self.contact_set(view, None if memory is None else memory.found)

    def rows(self, view: RowView, found: Any) -> tuple[Rows, Any]:
        """Rows of the modes, and of the contacts that are not covered by them."""
        memory: PairMemory | None = view.memory
        of_modes, found = found
        modes, few = self.few.rows(replace(view, memory=None if memory is None else memory.few), of_modes)
        covered, tolerated = self._covered(found), self.few.tolerated
        chosen = ~covered | (found.gap <= -HELD * tolerated)
        full, depth = found.selected(chosen), np.where(covered[chosen], tolerated, 0.0)
        frames = self.frames_of(full, None if memory is None else memory.full)
        rows = joined([modes, self._rows(view, replace(full, gap=full.gap + depth), frames)])
        return rows, PairMemory(few, found, ContactMemory(full, frames), depth)

    def unknown_pushing(self, memory: Any, lam: FloatArray) -> int:
        """How many contacts push by rows of their own."""
        pushing: int = memory.unknown_pushing(lam)
        return pushing

    def end_gaps(self, memory: Any, delta: FloatArray, view: RowView) -> FloatArray:
        """Gaps (m,) m of all points that a mode in use touches, and of the other contacts, at the end of the step."""
        width = 3 if self.mu else 1
        count = len(delta) - width * memory.full.contacts.count
        own = self.few.end_gaps(memory.few, delta[:count], view)
        return np.concatenate([own, super().end_gaps(memory.full, delta[count:], view) - memory.depth])

    def _covered(self, found: ContactSet) -> BoolArray:
        """Which contacts (m,) are between the neighbourhoods of the vertices and of the triangles of the facing."""
        sides = ((found.nodes_a, found.nodes_b), (found.nodes_b, found.nodes_a))
        first, second = self._near
        covered = [_all_in(first, a) & _all_in(second, b) for a, b in sides]
        return covered[0] | covered[1] if self.a is self.b else covered[0]

    @cached_property
    def _near(self) -> tuple[BoolArray, BoolArray]:
        """Points of side a and of side b that belong to the facing, or are joined to one that does."""
        assert self.a.surface is not None
        assert self.b.surface is not None
        corners = self.b.surface.triangles[self.seen.faces]
        own = self.seen.nodes[self.seen.weights > 0.0]
        return _with_ring(self.a.surface, own), _with_ring(self.b.surface, corners)


def _with_ring(surface: CollisionSurface, nodes: IntArray) -> BoolArray:
    mask = np.zeros(len(surface.rest), np.bool_)
    mask[nodes] = True
    touched = mask[surface.triangles].any(axis=1)
    mask[surface.triangles[touched]] = True
    return mask


def _all_in(known: BoolArray, nodes: IntArray) -> BoolArray:
    return np.asarray((known[nodes] | (nodes < 0)).all(axis=1))
