"""Narrow phase of vertices against faces: the nearest face of each vertex within the margin, with the side it is on.

A vertex has at most one contact with a facing surface. Its identity is the vertex and that surface, so it lasts while
the vertex slides from triangle to triangle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.collision.filters import (
    Arrays,
    History,
    Limits,
    place,
    vertex_behind_at_rest,
    vertex_faces,
    vertex_is_neighbour,
)
from pliant.collision.pseudonormal import signed_direction
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FaceContacts:
    """m vertices near faces: vertices (m,) ascending, faces (m,), weights (m, 3) of the corners of the face, unit
    normal (m, 3) from the face to the vertex, gap (m,) in m, negative behind the face.
    """

    vertices: IntArray
    faces: IntArray
    weights: FloatArray
    normal: FloatArray
    gap: FloatArray


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
    _measure(vertices, faces, a.points, b, weights, normal, gap)
    return FaceContacts(vertices, faces, weights, normal, gap)


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
    for turn in range(2 if limits.same else 1):
        mine = (column + turn) % 2
        for k in range(len(pairs)):
            lender, face = pairs[k, mine], pairs[k, 1 - mine]
            for corner in range(3):
                if (a.vertex_mask[lender] >> corner) & 1:
                    vertex = a.triangles[lender, corner]
                    _try_face(a, vertex, b, face, limits, history, key_base, squared, nearest)


@inline
def _try_face(
    a: Arrays,
    vertex: int,
    b: Arrays,
    face: int,
    limits: Limits,
    history: History,
    key_base: int,
    squared: FloatArray,
    nearest: IntArray,
) -> None:
    """Make `face` the nearest one of `vertex` if it is nearer than the last and they may touch."""
    i, j, k = b.triangles[face, 0], b.triangles[face, 1], b.triangles[face, 2]
    if limits.same and (vertex == i or vertex == j or vertex == k):
        return
    v, w, distance = triangle_weights(a.points, vertex, b.points, i, j, k)
    if distance > limits.margin * limits.margin or distance > squared[vertex]:
        return
    if distance == squared[vertex] and face > nearest[vertex]:
        return
    if not vertex_faces(a, vertex, b, face, limits.facing):
        return
    if limits.same and vertex_is_neighbour(a, vertex, face, limits.rest):
        return
    n0, n1, n2, gap = signed_direction(a.points, vertex, b, face, v, w)
    if gap < 0.0:
        last = place(history, key_base + vertex)
        if last >= 0 and dot(n0, n1, n2, *history.normals[last]) <= 0.0:
            return
        if last < 0 and limits.same and vertex_behind_at_rest(a, vertex, face, limits.wall):
            return
    squared[vertex], nearest[vertex] = distance, face


@kernel
def _measure(
    vertices: IntArray,
    faces: IntArray,
    x: FloatArray,
    b: Arrays,
    weights: FloatArray,
    normal: FloatArray,
    gap: FloatArray,
) -> None:
    for m in range(len(vertices)):
        i, j, k = b.triangles[faces[m]]
        v, w, _ = triangle_weights(x, vertices[m], b.points, i, j, k)
        weights[m, 0], weights[m, 1], weights[m, 2] = 1.0 - v - w, v, w
        n0, n1, n2, gap[m] = signed_direction(x, vertices[m], b, faces[m], v, w)
        normal[m, 0], normal[m, 1], normal[m, 2] = n0, n1, n2
