"""Narrow phase of vertices against faces: the nearest face of each vertex within the margin, with the side it is on.

A vertex has at most one contact with a facing surface. Its identity is the vertex and that surface, so it lasts while
the vertex slides from triangle to triangle. Two vertices that are nearest to each other make one contact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.collision.filters import (
    Arrays,
    History,
    Limits,
    agreement,
    place,
    touches,
    vertex_behind_at_rest,
    vertex_faces,
    vertex_opposes,
)
from pliant.collision.pseudonormal import Sides, facing_direction
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

_LASTS = 0.5
"""A contact of the last step needs no other sign that it is one while its normal turns by less than 60 degrees."""
_STRAIGHT = 0.99
"""A direction is that of a normal above this product of the two: 8 degrees."""


@dataclass(frozen=True, eq=False)
class FaceContacts:
    """m vertices near faces: vertices (m,) ascending, faces (m,), weights (m, 3) of the corners of the face, unit
    normal (m, 3) from the face to the vertex, gap (m,) in m, negative behind the face; met (m,), the corner that the
    vertex is nearest to, −1 where it is not a corner or the vertex is straight above one of the faces there.
    """

    vertices: IntArray
    faces: IntArray
    weights: FloatArray
    normal: FloatArray
    gap: FloatArray
    met: IntArray

    def selected(self, which: BoolArray) -> FaceContacts:
        """The contacts chosen by a mask (m,)."""
        v, f, w = self.vertices[which], self.faces[which], self.weights[which]
        return FaceContacts(v, f, w, self.normal[which], self.gap[which], self.met[which])


def vertex_face_contacts(
    pairs: IntArray, a: Arrays, b: Arrays, limits: Limits, history: History, key_base: int, *, column: int = 0
) -> FaceContacts:
    """Vertices of `a` near faces of `b`, among candidate `pairs` (p, 2) whose `column` names the triangles of `a`.

    When `a` and `b` are one surface both triangles of a pair lend vertices.
    """
    nearest = np.full(len(a.points), -1, dtype=np.int32)
    squared = np.full(len(a.points), np.inf)
    _search(pairs, column, a, b, limits, history, key_base, squared, nearest)
    vertices = np.flatnonzero(nearest >= 0).astype(np.int32)
    faces = nearest[vertices]
    weights, normal, gap = np.empty((len(faces), 3)), np.empty((len(faces), 3)), np.empty(len(faces))
    sides = Sides(b.points, b.normals, b.triangles, b.triangle_edges, b.edge_triangles, b.fan_start, b.fan)
    met = np.empty(len(faces), dtype=np.int32)
    _measure(vertices, faces, a.points, a.fan_start, a.fan, a.normals, sides, weights, normal, gap, met)
    return FaceContacts(vertices, faces, weights, normal, gap, met)


def without_twins(first: FaceContacts, second: FaceContacts) -> tuple[FaceContacts, FaceContacts]:
    """Drop vertices that are nearest to a vertex of the other side which has the same contact, seen from there.

    `first` are vertices of one side near faces of the other, `second` the reverse; of two nearest to each other the
    first stays. For self-contact both are the same set, and the lower vertex stays.
    """
    if not (first.met >= 0).any() and not (second.met >= 0).any():
        return first, second
    twin_of_first, twin_of_second = _twins(first, second), _twins(second, first)
    mine = np.arange(len(first.gap))
    mutual = (twin_of_first >= 0) & (twin_of_second[twin_of_first] == mine) if len(second.gap) else mine < 0
    if first is second:
        part = first.selected((twin_of_first < 0) | (mutual & (mine < twin_of_first)))
        return part, part
    return first.selected((twin_of_first < 0) | mutual), second.selected(twin_of_second < 0)


def _twins(contacts: FaceContacts, others: FaceContacts) -> IndexArray:
    """Which of `others` is the contact of the vertex that a contact meets, pushing the other way, −1 for none."""
    if len(contacts.gap) == 0 or len(others.gap) == 0:
        return np.full(len(contacts.gap), -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(others.vertices, contacts.met), len(others.gap) - 1)
    opposite = np.einsum("mi,mi->m", contacts.normal, others.normal[places]) < 0.0
    twins: IndexArray = np.where((others.vertices[places] == contacts.met) & opposite, places, -1)
    return twins


@kernel
def _search(
    pairs: IntArray,
    column: int,
    a: Arrays,
    b: Arrays,
    limits: Limits,
    history: History,
    key_base: int,
    squared: FloatArray,
    nearest: IntArray,
) -> None:
    # arrays taken out of their tuples: a call with a whole tuple counts all its references
    x, y, corners, others, mask = a.points, b.points, a.triangles, b.triangles, a.vertex_mask
    fan_start, fan, normals, normals_b, rest = a.fan_start, a.fan, a.normals, b.normals, a.rest
    sides = Sides(y, normals_b, others, b.triangle_edges, b.edge_triangles, b.fan_start, b.fan)
    same, reach, rest_reach = limits.same, limits.margin * limits.margin, limits.rest * limits.rest
    for turn in range(2 if same else 1):
        mine = (column + turn) % 2
        for pair in range(len(pairs)):
            lender, face = pairs[pair, mine], pairs[pair, 1 - mine]
            i, j, k = others[face, 0], others[face, 1], others[face, 2]
            for corner in range(3):
                if not (mask[lender] >> corner) & 1:
                    continue
                vertex = corners[lender, corner]
                if _beside(x, vertex, y, i, j, k, limits.margin):
                    continue
                v, w, distance = triangle_weights(x, vertex, y, i, j, k)
                if distance > reach or distance > squared[vertex]:
                    continue
                if distance == squared[vertex] and face > nearest[vertex]:
                    continue
                if not vertex_faces(fan_start, fan, normals, vertex, normals_b, face, limits.facing):
                    continue
                if same and triangle_weights(rest, vertex, rest, i, j, k)[2] < rest_reach:
                    continue
                if same and touches(a.ring_start, a.ring, vertex, i, j, k):
                    continue
                n0, n1, n2, gap = facing_direction(x, vertex, fan_start, fan, normals, sides, face, v, w)
                last = place(history, key_base + vertex)
                turned = agreement(history, last, n0, n1, n2) if last >= 0 else 0.0
                if turned < _LASTS and not vertex_opposes(fan_start, fan, normals, vertex, n0, n1, n2, limits.against):
                    continue
                if gap < 0.0 and last >= 0 and turned <= 0.0:
                    continue
                if gap < 0.0 and last < 0 and same and vertex_behind_at_rest(a, vertex, face, limits.wall):
                    continue
                squared[vertex], nearest[vertex] = distance, face


@inline
def _beside(x: FloatArray, p: int, y: FloatArray, i: int, j: int, k: int, margin: float) -> bool:
    """Whether x[p] is out of reach of the box around a triangle: spares most distances."""
    outside = 0.0
    for axis in range(3):
        low = min(y[i, axis], y[j, axis], y[k, axis]) - x[p, axis]
        high = x[p, axis] - max(y[i, axis], y[j, axis], y[k, axis])
        outside = max(outside, low, high)
    return bool(outside > margin)


@kernel
def _measure(
    vertices: IntArray,
    faces: IntArray,
    x: FloatArray,
    fan_start: IntArray,
    fan: IntArray,
    normals: FloatArray,
    b: Sides,
    weights: FloatArray,
    normal: FloatArray,
    gap: FloatArray,
    met: IntArray,
) -> None:
    for m in range(len(vertices)):
        i, j, k = b.triangles[faces[m]]
        v, w, _ = triangle_weights(x, vertices[m], b.points, i, j, k)
        weights[m, 0], weights[m, 1], weights[m, 2] = 1.0 - v - w, v, w
        n0, n1, n2, gap[m] = facing_direction(x, vertices[m], fan_start, fan, normals, b, faces[m], v, w)
        normal[m, 0], normal[m, 1], normal[m, 2] = n0, n1, n2
        met[m] = _met_corner(b, faces[m], v, w, n0, n1, n2)


@inline
def _met_corner(b: Sides, face: int, v: float, w: float, n0: float, n1: float, n2: float) -> int:
    """The corner at (v, w) unless n is a normal there: vertex on vertex of flat faces would come and go by rounding."""
    if not ((v == 0.0 and w == 0.0) or v == 1.0 or w == 1.0):
        return -1
    corner = b.triangles[face, 1 if v == 1.0 else (2 if w == 1.0 else 0)]
    for k in range(b.fan_start[corner], b.fan_start[corner + 1]):
        t = b.fan[k]
        if dot(b.normals[t, 0], b.normals[t, 1], b.normals[t, 2], n0, n1, n2) > _STRAIGHT:
            return -1
    return int(corner)
