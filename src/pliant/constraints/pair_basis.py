"""Contacts of two surfaces in a few modes: what was seen of a colliding pair becomes a facing, and the rest stays full.

Rows of the facing are the vertices of side a that pushed in the snapshots; they look at the triangles of side b that
they met, and one ring around these. A contact of two edges, or of a vertex of b with a face of a, is handed to the
vertices of a that make it by their weights, so that the whole force is kept. Where the modes cannot help, detection
goes on as ever: a contact outside of what the facing covers keeps its row, one inside of it as well at the depth that
is tolerated, and `info.unknown_contacts` counts them.
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
from pliant.constraints.contact_basis import (
    HELD,
    ContactBasis,
    ReducedFacing,
    ReducedMemory,
    body_arrays,
    checked_modes,
    digest_of,
)
from pliant.constraints.facing import Facing, FacingPair
from pliant.constraints.rows import Rows, RowView, joined
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.mappings import BarycentricMap, FrameMap, NodeMap

_SAME_WAY = 0.5
"""Triangles face the same way above this product of their normals at rest: 60 degrees."""


@dataclass(frozen=True, eq=False)
class PairFacing:
    """What was seen of the pair called `pair`: p vertices of side a and the triangles of side b that they face.

    vertices                     (p,) points of side a, ascending
    faces                        (t,) triangles of side b
    point_group, face_group      (p,) and (t,), as in `pl.Facing`
    snapshots                    (p, n) N, normal forces of the vertices in n snapshots
    fingerprint                  of the meshes of both sides
    """

    pair: str
    vertices: IntArray
    faces: IntArray
    point_group: IntArray
    face_group: IntArray
    snapshots: FloatArray
    fingerprint: str

    def basis(self, modes: Any, *, guards: int = 0, tolerance: float = 0.05) -> PairBasis:
        """The reduction of the pair to `modes` (p, k) ≥ 0 of any scale; options as of `ContactBasis`."""
        kept = checked_modes(self.pair, modes, len(self.vertices))
        return PairBasis(replace(self, snapshots=np.zeros((len(kept), 0))), kept, guards, tolerance)


def facing_of(pair: ContactPair, history: Sequence[tuple[ContactMemory, FloatArray]]) -> PairFacing:
    """The facing of a colliding pair of surfaces from its memories and multipliers λ (N) in n snapshots."""
    surface_a, surface_b = pair.a.surface, pair.b.surface
    if isinstance(pair, FacingPair) or surface_a is None or surface_b is None:
        raise InputError(f"{pair.name!r} is no pair of two surfaces, so no facing can be made of it")
    pushed = np.zeros((len(surface_a.rest), len(history)))
    links = sparse.lil_matrix((len(surface_a.rest), len(surface_b.triangles)), dtype=np.bool_)
    for number, (memory, lam) in enumerate(history):
        contacts = memory.contacts
        if not contacts.count:
            continue
        normal = lam.reshape(contacts.count, -1)[:, 0]
        for corner in range(3):
            used = (contacts.nodes_a[:, corner] >= 0) & (normal > 0.0)
            nodes = contacts.nodes_a[used, corner]
            np.add.at(pushed[:, number], nodes, contacts.weights_a[used, corner] * normal[used])
            for node, met in zip(nodes, _met(surface_b, contacts.selected(used)), strict=True):
                links[node, _opposed(surface_a, node, surface_b, met)] = True
    vertices = np.flatnonzero(pushed.any(axis=1)).astype(np.int32)
    if not len(vertices):
        raise InputError(f"nothing touched in the {len(history)} snapshots of {pair.name!r}; pull farther")
    met = links.tocsr()[vertices]
    faces, vertex_group, face_group, seen = _groups(surface_b, met, vertices, pair.a is pair.b)
    if not seen.any():
        raise InputError(f"{pair.name!r} touches in its valleys alone, where no point faces another surface")
    digest = digest_of([*body_arrays(pair.a.handle), *body_arrays(pair.b.handle)])
    parts = (pair.name, vertices[seen], faces, vertex_group[seen], face_group, pushed[vertices[seen]])
    return PairFacing(*parts, digest)


def _met(surface: CollisionSurface, contacts: ContactSet) -> list[IntArray]:
    """Triangles of `surface`, side b, that each contact met there, and those around them that face the same way."""
    fan_start, fan, normals = surface.fan_start, surface.fan, surface.rest_normals
    found = []
    for nodes, weights in zip(contacts.nodes_b, contacts.weights_b, strict=True):
        own = nodes[(nodes >= 0) & (weights > 0.0)]
        around = np.concatenate([fan[fan_start[n] : fan_start[n + 1]] for n in own])
        ring, times = np.unique(around, return_counts=True)
        met = ring[times == len(own)]
        found.append(ring[(normals[ring] @ normals[met].T).max(axis=1) > _SAME_WAY])
    return found


def _opposed(a: CollisionSurface, node: int, b: CollisionSurface, faces: IntArray) -> IntArray:
    """Those of `faces` of b that are against a triangle around the point `node` of a at rest, where there are any:
    a corner of a body that was met has other sides too.
    """
    around = a.rest_normals[a.fan[a.fan_start[node] : a.fan_start[node + 1]]]
    against = (b.rest_normals[faces] @ around.T).min(axis=1) < -_SAME_WAY
    return faces[against] if against.any() else faces


def _groups(
    surface: CollisionSurface, links: sparse.csr_matrix, vertices: IntArray, same: bool
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Triangles that are faced, the groups of vertices and triangles (those that met, directly or by way of others),
    and which vertices can face them: of a surface that touches itself none that is a corner of one, as in a valley.
    """
    count = len(vertices)
    whole = sparse.bmat([[None, links], [links.T, None]], format="csr")
    _, labels = connected_components(whole, directed=False)
    faces = np.unique(links.indices)
    group = labels[count + faces]
    able: BoolArray = np.ones(count, np.bool_)
    if same:
        place = np.full(len(surface.rest), -1)
        place[vertices] = labels[:count]
        corners = surface.triangles[faces]
        able = ~np.isin(vertices, corners[place[corners] == group[:, None]])
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
            maker.a.handle, maker.b.handle, maker.a.surface.rest[seen.vertices], surface.rest, surface.triangles,
            point_group=seen.point_group, triangle_group=group, friction=maker.mu, margin=maker.margin,
            name=maker.name,
        )  # fmt: skip
        table = FacingTable.build(surface, seen.point_group, group)
        a, b = _riders(maker.a, seen.vertices), _riders(maker.b, np.arange(len(surface.rest), dtype=np.int32))
        # a pair of its own, so that identities of modes and points are no others'
        full = FacingPair(a, b, maker.mu, maker.margin, maker.pair + PAIR_LIMIT // 2, spec=spec, table=table)
        return ContactBasis.of(full, self.modes, guards=self.guards, tolerance=self.tolerance).reduced(full)


def _riders(side: Collider, nodes: IntArray) -> Collider:
    """A side with some of its points alone."""
    assert side.surface is not None
    if isinstance(side.map, NodeMap):
        count = len(side.surface.rest)
        chosen: Any = BarycentricMap(np.ascontiguousarray(nodes[:, None]), np.ones((len(nodes), 1)), count)
    else:
        assert isinstance(side.map, FrameMap)
        chosen = side.map.selected(nodes)
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

    @property
    def unknown(self) -> int:
        """Contacts that no mode touches."""
        return self.few.unknown + self.full.contacts.count

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

    def rows(self, view: RowView) -> tuple[Rows, Any]:
        """Rows of the modes, and of the contacts that are not covered by them."""
        memory: PairMemory | None = view.memory
        modes, few = self.few.rows(replace(view, memory=None if memory is None else memory.few))
        found = self.detect(view, None if memory is None else memory.found)
        covered, tolerated = self._covered(found), self.few.tolerated
        chosen = ~covered | (found.gap <= -HELD * tolerated)
        full, depth = found.selected(chosen), np.where(covered[chosen], tolerated, 0.0)
        frames = self.frames_of(full, None if memory is None else memory.full)
        rows = joined([modes, self._rows(view, replace(full, gap=full.gap + depth), frames)])
        return rows, PairMemory(few, found, ContactMemory(full, frames), depth)

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
        return _with_ring(self.a.surface, self.seen.vertices), _with_ring(self.b.surface, corners)


def _with_ring(surface: CollisionSurface, nodes: IntArray) -> BoolArray:
    mask = np.zeros(len(surface.rest), np.bool_)
    mask[nodes] = True
    touched = mask[surface.triangles].any(axis=1)
    mask[surface.triangles[touched]] = True
    return mask


def _all_in(known: BoolArray, nodes: IntArray) -> BoolArray:
    return np.asarray((known[nodes] | (nodes < 0)).all(axis=1))
