"""Points for the modes of a colliding pair of surfaces: where it pushed in the snapshots, and what it pushed against.

The points are on side a: a vertex, or one point on an edge or a face, at the mean of where it pushed; ends of crossing
edges may be far apart. They face the triangles of side b that they met, and one ring around these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.collision import CollisionSurface, ContactSet
from pliant.collision.narrow.facing import FacingTable
from pliant.constraints.colliders import Collider
from pliant.constraints.contact import ContactPair
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.facing import Facing, FacingPair
from pliant.constraints.keys import STAND_IN_PAIRS
from pliant.core.checks import check_array, check_indices
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray, IntArray
from pliant.models.beam import Beam
from pliant.models.rigid.frame_map import FrameMap
from pliant.models.volume import Volume
from pliant.models.volume.barycentric import BarycentricMap, NodeMap

_SAME_SIDE = 0.5
"""Triangles face the same way above this cosine of their normals at rest: 60 degrees."""
_CORNER = 0.95
"""A contact on an edge or a face with this weight at a vertex is one of the vertex."""


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """p points of side a of the pair called `pair`, and the triangles of side b that they face.

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

    def __post_init__(self) -> None:
        check_declared(self)
        points, faces = len(self.nodes), len(self.faces)
        name = f"of the contact points of {self.pair!r}"
        for what, shape, kind in (
            ("nodes", (points, 3), np.int32), ("weights", (points, 3), np.float64), ("faces", (faces,), np.int32),
            ("point_group", (points,), np.int32), ("face_group", (faces,), np.int32),
            ("snapshots", (points, *self.snapshots.shape[1:2]), np.float64),
        ):  # fmt: skip
            check_array(f"{what} {name}", getattr(self, what), shape, kind)

    def pair_of(self, full: ContactPair) -> FacingPair:
        """The points and what they face as a pair of their own, on the bodies of the colliding pair `full`."""
        surface_a, surface = full.a.surface, full.b.surface
        assert surface_a is not None
        assert surface is not None
        check_indices(f"nodes of the contact points of {self.pair!r}", self.nodes, 0, len(surface_a.rest))
        check_indices(f"faces of the contact points of {self.pair!r}", self.faces, 0, len(surface.triangles))
        group = np.full(len(surface.triangles), -1, np.int32)  # the whole surface says which side a point is on
        group[self.faces] = self.face_group
        spec = Facing(
            full.a.handle, full.b.handle, np.einsum("pj,pji->pi", self.weights, surface_a.rest[self.nodes]),
            surface.rest, surface.triangles, point_group=self.point_group, triangle_group=group, friction=full.mu,
            margin=full.margin, name=full.name,
        )  # fmt: skip
        table = FacingTable.build(surface, self.point_group, group)
        every = np.arange(len(surface.rest), dtype=np.int32)[:, None]
        a, b = _embedded(full.a, self.nodes, self.weights), _embedded(full.b, every, np.ones(every.shape))
        # a pair of its own, so that identities of modes and points are no others'
        return FacingPair(a, b, full.mu, full.margin, full.pair + STAND_IN_PAIRS, spec=spec, table=table)

    def near(self, full: ContactPair) -> tuple[BoolArray, BoolArray]:
        """Vertices (masks) of side a and of side b of `full` in the triangles around the points and what they face."""
        assert full.a.surface is not None
        assert full.b.surface is not None
        corners = full.b.surface.triangles[self.faces]
        own = self.nodes[self.weights > 0.0]
        return _with_ring(full.a.surface, own), _with_ring(full.b.surface, corners)


def contact_points(pair: ContactPair, history: Sequence[tuple[ContactMemory, FloatArray]]) -> ContactPoints:
    """The points of a colliding pair of surfaces from its memories and multipliers λ (N) in n snapshots."""
    surface_a, surface_b = pair.a.surface, pair.b.surface
    if isinstance(pair, FacingPair) or surface_a is None or surface_b is None:
        raise InputError(f"{pair.name!r} is not a pair of two surfaces, so contact points cannot be chosen on it")
    pushing = [_pushing(memory.contacts, lam) for memory, lam in history]
    force = np.concatenate([lam for _, lam in pushing]) if pushing else np.zeros(0)
    if not len(force):
        raise InputError(f"nothing touched in the {len(history)} snapshots of {pair.name!r}; pull farther")
    nodes_a, weights_a, nodes_b = (np.concatenate([part[k] for part, _ in pushing]) for k in range(3))
    column = np.repeat(np.arange(len(history)), [len(lam) for _, lam in pushing])
    nodes, point = np.unique(nodes_a, axis=0, return_inverse=True)
    point = point.ravel()
    pushed, weights = np.zeros((len(nodes), len(history))), np.zeros(nodes.shape)
    np.add.at(pushed, (point, column), force)
    np.add.at(weights, point, force[:, None] * weights_a)
    weights /= weights.sum(axis=1, keepdims=True)
    links = sparse.lil_matrix((len(nodes), len(surface_b.triangles)), dtype=np.bool_)
    for one, *met in np.unique(np.column_stack([point, nodes_b]), axis=0):
        links[one, _opposed(surface_a, nodes[one], surface_b, _met(surface_b, np.array(met)))] = True
    faces, point_group, face_group, seen = _groups(surface_b, links.tocsr(), nodes, pair.a is pair.b)
    if not seen.any():
        raise InputError(f"{pair.name!r} touches in its valleys alone, where no point faces another surface")
    kept = np.maximum(nodes[seen], 0).astype(np.int32)
    own = faces, point_group[seen], face_group, pushed[seen]
    return ContactPoints(pair.name, kept, weights[seen], *own, fingerprint(pair))


def _pushing(contacts: ContactSet, lam: FloatArray) -> tuple[tuple[IntArray, FloatArray, IntArray], FloatArray]:
    """Of the pushing contacts: vertices (m, 3) of side a, descending, −1 where there are fewer, with their weights;
    vertices (m, 3) of side b, −1 without weight; and the normal forces (m,), N.
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
    """Triangles around any of the points `nodes` (−1: none), and those that have all of them as corners."""
    own = nodes[nodes >= 0]
    around = np.concatenate([surface.fan[surface.fan_start[n] : surface.fan_start[n + 1]] for n in own])
    ring, times = np.unique(around, return_counts=True)
    return ring, ring[times == len(own)]


def _met(surface: CollisionSurface, nodes: IntArray) -> IntArray:
    """Triangles of a contact at the points `nodes`, and those around them that face the same way."""
    normals = surface.rest_normals
    ring, met = _shared(surface, nodes)
    alike: BoolArray = (normals[ring] @ normals[met].T).max(axis=1) > _SAME_SIDE
    return ring[alike]


def _opposed(a: CollisionSurface, nodes: IntArray, b: CollisionSurface, faces: IntArray) -> IntArray:
    """Those of `faces` of b that oppose a triangle of a with the points `nodes` at rest, or all where none does."""
    around = a.rest_normals[_shared(a, nodes)[1]]
    against = (b.rest_normals[faces] @ around.T).min(axis=1) < -_SAME_SIDE
    return faces[against] if against.any() else faces


def _groups(
    surface: CollisionSurface, links: sparse.csr_matrix, nodes: IntArray, same: bool
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Faced triangles, groups of points and of triangles (connected by contact), and which points can face them: in
    self-contact none that lies on one, as in a valley.
    """
    from scipy.sparse.csgraph import connected_components  # takes a while to import

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


def _embedded(side: Collider, nodes: IntArray, weights: FloatArray) -> Collider:
    """A side with points of its own: means of its vertices `nodes` (p, j) with `weights` (p, j)."""
    assert side.surface is not None
    if isinstance(side.map, NodeMap):
        chosen: Any = BarycentricMap(np.ascontiguousarray(nodes), weights, len(side.surface.rest))
    else:
        assert isinstance(side.map, FrameMap)
        chosen = FrameMap(np.einsum("pj,pji->pi", weights, side.map.local[nodes]))
    return Collider(side.handle, side.index, chosen, np.arange(len(nodes), dtype=np.int32), None, None, 0.0)


def _with_ring(surface: CollisionSurface, nodes: IntArray) -> BoolArray:
    mask = np.zeros(len(surface.rest), np.bool_)
    mask[nodes] = True
    touched = mask[surface.triangles].any(axis=1)
    mask[surface.triangles[touched]] = True
    return mask


def fingerprint(pair: ContactPair) -> str:
    """Digest of the meshes of both bodies, and of the points and triangles of a facing."""
    if isinstance(pair, FacingPair):
        spec = pair.spec
        parts: list[Any] = [spec.points, spec.corners, spec.triangles, spec.point_group, spec.triangle_group]
        return digest_of([*parts, *(part for body in spec.bodies for part in body_arrays(body))])
    return digest_of([*body_arrays(pair.a.handle), *body_arrays(pair.b.handle)])


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
