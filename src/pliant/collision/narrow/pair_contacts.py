"""Narrow phase of a pair of surfaces, or of one with itself, in one kernel: from candidates to the arrays of a set.

The kernel calls the phases in turn and writes what they find, side by side, in the order of the keys: vertices of a,
second contacts of these in valleys, vertices of b, their second contacts, edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.collision.filters import Arrays, History, Limits
from pliant.collision.narrow.edge_edge import EdgeContacts, edge_edge_contacts
from pliant.collision.narrow.valleys import VALLEY, valley_contacts
from pliant.collision.narrow.vertex_face import FaceContacts, vertex_face_contacts, without_twins
from pliant.collision.surface import EDGE_LIMIT
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray

VERTEX_FACE, FACE_VERTEX, EDGE_EDGE = 0, 1, 2
"""Values of `ContactKind`, which kernels cannot read."""


class Bases(NamedTuple):
    """Lowest keys of the contacts of a pair by kind: vertices of a, vertices of b, edges."""

    vertices: int
    others: int
    edges: int


class ContactArrays(NamedTuple):
    """The arrays of a `ContactSet` of m contacts, in its order."""

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


@kernel
def contacts_among(
    vertices: IntArray, others: IntArray, edges: IntArray, a: Arrays, b: Arrays, limits: Limits, history: History,
    bases: Bases,
) -> ContactArrays:  # fmt: skip
    """Contacts among the candidates: `vertices` of a with faces of b, `others` of b with faces of a, `edges` with
    edges, each (m, 2). For self-contact a and b are one surface and `others` is empty.
    """
    same = limits.same
    faces = vertex_face_contacts(vertices, a, b, limits, history, bases.vertices)
    flipped = History(history.keys, -history.normals, history.faces)
    back = vertex_face_contacts(others, b, a, limits, flipped, bases.others)
    faces, twins = without_twins(faces, faces if same else back, same)
    back = back if same else twins
    crossed = edge_edge_contacts(edges, a, b, limits, history, bases.edges)
    none = FaceContacts(
        faces.vertices[:0], faces.faces[:0], faces.weights[:0], faces.normal[:0], faces.gap[:0], faces.met[:0]
    )
    valleys = none if same else valley_contacts(faces, a, b, limits)
    others_valleys = none if same else valley_contacts(back, b, a, limits)
    counts = len(faces.gap), len(valleys.gap), len(back.gap), len(others_valleys.gap), len(crossed.gap)
    made: ContactArrays = _blank(counts[0] + counts[1] + counts[2] + counts[3] + counts[4])
    end = _write_faces(made, 0, faces, a.points, b.points, b.triangles, bases.vertices, False)
    end = _write_faces(made, end, valleys, a.points, b.points, b.triangles, bases.vertices, True)
    end = _write_back(made, end, back, b.points, a.points, a.triangles, bases.others, False)
    end = _write_back(made, end, others_valleys, b.points, a.points, a.triangles, bases.others, True)
    _write_edges(made, end, crossed, a.points, a.edges, b.points, b.edges, bases.edges)
    return made


@inline
def _blank(count: int) -> ContactArrays:
    """Arrays of `count` contacts that touch no point yet."""
    return ContactArrays(
        np.empty(count, np.uint8), np.full((count, 3), -1, np.int32), np.zeros((count, 3)),
        np.full((count, 3), -1, np.int32), np.zeros((count, 3)), np.empty((count, 3)), np.empty(count),
        np.empty((count, 3)), np.empty((count, 3)), np.empty(count, np.int64), np.empty(count, np.int32),
    )  # fmt: skip


@inline
def _write_faces(
    made: ContactArrays, first: int, found: FaceContacts, x: FloatArray, y: FloatArray, triangles: IntArray, base: int,
    valley: bool,
) -> int:  # fmt: skip
    """Write contacts of vertices of side a from index `first` on, and return the index behind them."""
    _write_side(
        made.kind, made.nodes_a, made.weights_a, made.nodes_b, made.weights_b, made.gap, made.point_a, made.point_b,
        made.key, made.face, first, found, x, y, triangles, base, VERTEX_FACE, valley,
    )  # fmt: skip
    for m in range(len(found.gap)):
        for axis in range(3):
            made.normal[first + m, axis] = found.normal[m, axis]
    return first + len(found.gap)


@inline
def _write_back(
    made: ContactArrays, first: int, found: FaceContacts, x: FloatArray, y: FloatArray, triangles: IntArray, base: int,
    valley: bool,
) -> int:  # fmt: skip
    """Write contacts of vertices of side b, whose normals point the other way."""
    _write_side(
        made.kind, made.nodes_b, made.weights_b, made.nodes_a, made.weights_a, made.gap, made.point_b, made.point_a,
        made.key, made.face, first, found, x, y, triangles, base, FACE_VERTEX, valley,
    )  # fmt: skip
    for m in range(len(found.gap)):
        for axis in range(3):
            made.normal[first + m, axis] = -found.normal[m, axis]
    return first + len(found.gap)


@inline
def _write_side(
    kind: NDArray[np.uint8], nodes: IntArray, weights: FloatArray, nodes_of_face: IntArray, weights_of_face: FloatArray,
    gap: FloatArray, point: FloatArray, foot: FloatArray, key: IndexArray, face: IntArray, first: int,
    found: FaceContacts, x: FloatArray, y: FloatArray, triangles: IntArray, base: int, name: int, valley: bool,
) -> None:  # fmt: skip
    """What contacts of vertices of either side have in common; second ones are known by the vertex and the face."""
    for m in range(len(found.gap)):
        k, v, f = first + m, found.vertices[m], found.faces[m]
        kind[k], gap[k], face[k] = name, found.gap[m], f
        key[k] = base + v + (VALLEY * (1 + np.int64(f)) if valley else 0)
        nodes[k, 0], weights[k, 0] = v, 1.0
        for corner in range(3):
            nodes_of_face[k, corner] = triangles[f, corner]
            weights_of_face[k, corner] = found.weights[m, corner]
        i, j, n = triangles[f, 0], triangles[f, 1], triangles[f, 2]
        for axis in range(3):
            point[k, axis] = x[v, axis]
            weighted = found.weights[m, 0] * y[i, axis] + found.weights[m, 1] * y[j, axis]
            foot[k, axis] = weighted + found.weights[m, 2] * y[n, axis]


@inline
def _write_edges(
    made: ContactArrays, first: int, found: EdgeContacts, x: FloatArray, edges_a: IntArray, y: FloatArray,
    edges_b: IntArray, base: int,
) -> None:  # fmt: skip
    for m in range(len(found.gap)):
        k, e, f = first + m, found.edges[m, 0], found.edges[m, 1]
        made.kind[k], made.gap[k], made.face[k] = EDGE_EDGE, found.gap[m], -1
        made.key[k] = base + np.int64(e) * EDGE_LIMIT + f
        s, t = found.parameters[m, 0], found.parameters[m, 1]
        for end in range(2):
            made.nodes_a[k, end], made.nodes_b[k, end] = edges_a[e, end], edges_b[f, end]
            made.weights_a[k, end] = s if end else 1.0 - s
            made.weights_b[k, end] = t if end else 1.0 - t
        for axis in range(3):
            made.normal[k, axis] = found.normal[m, axis]
            made.point_a[k, axis] = (1.0 - s) * x[edges_a[e, 0], axis] + s * x[edges_a[e, 1], axis]
            made.point_b[k, axis] = (1.0 - t) * y[edges_b[f, 0], axis] + t * y[edges_b[f, 1], axis]
