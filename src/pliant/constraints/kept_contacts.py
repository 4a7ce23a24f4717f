"""Contacts that pushed in the last linear solves of an equilibrium, and that detection no longer lists.

In a valley between two facets both bound the motion of a vertex. Detection gives it the second one near the edge;
where a solve takes it farther, Newton's iteration goes to and fro between them. Edges of flat surfaces touch only once
they have crossed, so that they come and go in the same way. Contacts of the last solves are therefore measured again at
the present positions, on their own facet or edges, and stay beside those of detection while they are possible: a facet
where the edge between it and the nearest one is concave, edges while they cross.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pliant.collision import Capsule, ContactSet, Sphere, concatenate
from pliant.collision.contacts import ContactKind
from pliant.collision.narrow.valleys import VALLEY
from pliant.collision.surface import EDGE_LIMIT
from pliant.constraints.contact import ContactPair
from pliant.constraints.rows import RowView
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

SOLVES = 4
"""Linear solves for which a contact stays after it pushed last: cycles are of two or three contact sets."""
BESIDE = 0.5
"""How far outside its facet a vertex may be, in barycentric weights: it lies on the next one."""
OUTSIDE = 1e-3
"""The same for crossing edges and for faces without another contact of the vertex."""


class KeptContacts(NamedTuple):
    """`contacts` of a pair that pushed, with the keys and faces of detection, and the number of solves since, `age`."""

    contacts: ContactSet
    age: IndexArray

    @classmethod
    def after(cls, before: KeptContacts | None, contacts: ContactSet, normal_forces: FloatArray) -> KeptContacts:
        """What is kept after a solve with `contacts` and their `normal_forces` (m,) N."""
        pushes = (normal_forces > 0.0) & (contacts.kind != ContactKind.VERTEX_OBSTACLE)
        pushing = _renamed(contacts.selected(pushes))
        age = np.zeros(pushing.count, np.int64)
        if before is None or not before.contacts.count:
            return cls(pushing, age)
        names = _names(pushing)
        stays = np.array(
            [
                age < SOLVES and name not in names
                for name, age in zip(_name_list(before.contacts), before.age.tolist(), strict=True)
            ],
            bool,
        )
        return cls(_joined(pushing, before.contacts.selected(stays)), np.concatenate([age, before.age[stays] + 1]))


def with_kept(pair: ContactPair, view: RowView, found: ContactSet, kept: KeptContacts) -> ContactSet:
    """`found` contacts of a pair and the `kept` ones that are still possible at the positions of `view`."""
    a, b, old = pair.a, pair.b, kept.contacts
    if not old.count or a.radius or b.radius or old.point_counts != found.point_counts:
        return found
    if b.surface is None and (b.index is not None or isinstance(b.solid, Sphere | Capsule)):
        return found  # edges and faces stay beside a sphere by themselves
    present = _names(found)
    missing = np.array([name not in present for name in _name_list(old)], bool)
    if not missing.any():
        return found
    points_a = a.map.points(a.q(view))
    points_b = points_a if a is b else b.map.points(b.q(view)) if old.point_count_b else None
    edges = None
    if b.facets is not None and points_b is None:
        facets = b.facets_at(view)
        edges = facets.points[facets.surface.edges]
    measured, possible = _measured(old.selected(missing), points_a, points_b, edges)
    possible &= np.abs(measured.gap) <= pair.margin
    possible &= _concave(measured, found, points_a, points_b)
    more = _as_other_facets(measured.selected(possible))
    return concatenate([found, more]) if more.count else found


def _measured(
    old: ContactSet, points_a: FloatArray, points_b: FloatArray | None, edges: FloatArray | None
) -> tuple[ContactSet, BoolArray]:
    """`old` contacts at the present positions, and which of them still are in front of each other. `edges` (e, 2, 3) m
    are those of an obstacle with facets.
    """
    count = old.count
    x = _corners(old.nodes_a, points_a)
    y = np.repeat(old.point_b[:, None], 3, axis=1) if points_b is None else _corners(old.nodes_b, points_b)
    weights_a, weights_b = np.array(old.weights_a), np.array(old.weights_b)
    normal, possible, foot = np.array(old.normal), np.ones(count, bool), np.array(old.point_b)
    for m in range(count):
        kind = old.kind[m]
        if kind == ContactKind.VERTEX_FACE and points_b is not None:
            weights_b[m], normal[m], least = _on_face(y[m], x[m, 0], old.normal[m])
            possible[m] = least > -BESIDE
        elif kind == ContactKind.FACE_VERTEX:
            weights_a[m], normal[m], least = _on_face(x[m], y[m, 0], old.normal[m])
            possible[m] = least > -BESIDE
        elif kind == ContactKind.EDGE_EDGE and points_b is not None:
            s, t, normal[m] = _across(x[m, 0], x[m, 1], y[m, 0], y[m, 1], old.normal[m])
            weights_a[m], weights_b[m] = (1.0 - s, s, 0.0), (1.0 - t, t, 0.0)
            possible[m] = min(s, t, 1.0 - s, 1.0 - t) > -OUTSIDE
        elif kind == ContactKind.EDGE_EDGE and edges is not None:
            start, end = edges[old.key[m] % EDGE_LIMIT]
            s, t, normal[m] = _across(x[m, 0], x[m, 1], start, end, old.normal[m])
            weights_a[m], foot[m] = (1.0 - s, s, 0.0), start + t * (end - start)
            possible[m] = min(s, t, 1.0 - s, 1.0 - t) > -OUTSIDE
    possible &= np.isfinite(normal).all(axis=1) & (np.einsum("mi,mi->m", normal, old.normal) > 0.5)
    point_a = np.einsum("mk,mki->mi", weights_a, x)
    point_b = foot if points_b is None else np.einsum("mk,mki->mi", weights_b, y)
    gap = np.einsum("mi,mi->m", normal, point_a - point_b)
    made = replace(
        old, weights_a=weights_a, weights_b=weights_b, normal=normal, gap=gap, point_a=point_a, point_b=point_b
    )
    return made, possible


def _on_face(corners: FloatArray, point: FloatArray, like: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Weights of the foot of `point` on the plane of a triangle, its normal in the direction of `like`, and the
    smallest weight.
    """
    u, v, away = corners[1] - corners[0], corners[2] - corners[0], point - corners[0]
    across = np.cross(u, v)
    squared = float(across @ across)
    if not squared > 0.0:
        return np.full(3, np.nan), np.full(3, np.nan), -np.inf
    second = float(np.cross(away, v) @ across) / squared
    third = float(np.cross(u, away) @ across) / squared
    weights = np.array([1.0 - second - third, second, third])
    normal = across / np.sqrt(squared)
    return weights, normal if normal @ like >= 0.0 else -normal, float(weights.min())


def _across(
    a0: FloatArray, a1: FloatArray, b0: FloatArray, b1: FloatArray, like: FloatArray
) -> tuple[float, float, FloatArray]:
    """Parameters of the nearest points of two lines, and the direction across both, like `like`."""
    u, v, w = a1 - a0, b1 - b0, b0 - a0
    n = np.cross(u, v)
    squared = float(n @ n)
    if not squared > 1e-6 * float(u @ u) * float(v @ v):  # nearly parallel: no crossing
        return -1.0, -1.0, np.full(3, np.nan)
    s = float(np.cross(w, v) @ n) / squared
    t = float(np.cross(w, u) @ n) / squared
    n = n / np.sqrt(squared)
    return s, t, n if n @ like >= 0.0 else -n


def _concave(kept: ContactSet, found: ContactSet, points_a: FloatArray, points_b: FloatArray | None) -> BoolArray:
    """Which facets `kept` bound their vertex beside its nearest one, because the edge between both is concave. A vertex
    without a contact has to be in front of the facet.
    """
    nearest = dict(zip(zip(found.kind.tolist(), found.key.tolist(), strict=True), range(found.count), strict=True))
    good = np.ones(kept.count, bool)
    for m, (kind, key) in enumerate(zip(kept.kind.tolist(), kept.key.tolist(), strict=True)):
        if kind not in (ContactKind.VERTEX_FACE, ContactKind.FACE_VERTEX):
            good[m] = (kind, key) not in nearest
            continue
        face_of_b = kind == ContactKind.VERTEX_FACE
        other = nearest.get((kind, key))
        weights = kept.weights_b[m] if face_of_b else kept.weights_a[m]
        if other is None:
            good[m] = weights.min() > -OUTSIDE
            continue
        points = points_b if face_of_b else points_a
        if points is None:
            good[m] = False
            continue
        own = points[(kept.nodes_b if face_of_b else kept.nodes_a)[m]].mean(axis=0)
        next_to = points[(found.nodes_b if face_of_b else found.nodes_a)[other]].mean(axis=0)
        # outward normals of the facets: from b to a on b, the other way on a
        sign = 1.0 if face_of_b else -1.0
        good[m] = (
            sign * float((next_to - own) @ kept.normal[m]) > 0.0
            and sign * float((own - next_to) @ found.normal[other]) > 0.0
        )
    return good


def _as_other_facets(contacts: ContactSet) -> ContactSet:
    """`contacts` with facets under the keys that detection gives to second facets of a vertex, in their order."""
    facet = contacts.face >= 0
    keys = contacts.key + np.where(facet, VALLEY * (1 + contacts.face.astype(np.int64)), 0)
    _, first = np.unique(keys, return_index=True)
    return replace(contacts, key=keys).selected(first)


def _renamed(contacts: ContactSet) -> ContactSet:
    """`contacts` with the keys of vertices instead of those of second facets."""
    facet = contacts.face >= 0
    if not facet.any():
        return contacts
    feature = contacts.key % EDGE_LIMIT**2
    return replace(contacts, key=np.where(facet, contacts.key - feature + feature % VALLEY, contacts.key))


def _corners(nodes: IntArray, points: FloatArray) -> FloatArray:
    """Points (m, 3, 3) m of `nodes` (m, 3), the first one again where there are fewer."""
    corners: FloatArray = points[np.where(nodes >= 0, nodes, nodes[:, :1])]
    return corners


def _name_list(contacts: ContactSet) -> list[tuple[int, int]]:
    return list(zip(contacts.key.tolist(), contacts.face.tolist(), strict=True))


def _names(contacts: ContactSet) -> set[tuple[int, int]]:
    return set(_name_list(_renamed(contacts)))


def _joined(first: ContactSet, second: ContactSet) -> ContactSet:
    """Contacts of both, in this order, whatever their keys."""
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in first.__dataclass_fields__
        if isinstance(getattr(first, name), np.ndarray)
    }
    return replace(first, **arrays)
