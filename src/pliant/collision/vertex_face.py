"""Narrow phase of vertices against faces: the nearest face of each vertex within the margin, with the side it is on.

A vertex has at most one contact with a facing surface. Its identity is the vertex and that surface, so it lasts while
the vertex slides from triangle to triangle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.collision.closest import triangle_weights
from pliant.collision.filters import (
    Arrays,
    History,
    Limits,
    agreement,
    place,
    touches,
    vertex_behind_at_rest,
    vertex_faces,
)
from pliant.collision.pseudonormal import Sides, signed_direction
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
    sides = Sides(b.points, b.normals, b.triangles, b.triangle_edges, b.edge_triangles, b.fan_start, b.fan)
    _measure(vertices, faces, a.points, sides, weights, normal, gap)
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
                n0, n1, n2, gap = signed_direction(x, vertex, sides, face, v, w)
                if gap < 0.0 and not _may_be_behind(a, vertex, face, n0, n1, n2, limits, history, key_base):
                    continue
                squared[vertex], nearest[vertex] = distance, face


@inline
def _may_be_behind(
    a: Arrays,
    vertex: int,
    face: int,
    n0: float,
    n1: float,
    n2: float,
    limits: Limits,
    history: History,
    key_base: int,
) -> bool:
    """Whether `vertex`, now behind `face`, has come there as a contact, and not through the material of a wall."""
    last = place(history, key_base + vertex)
    if last >= 0:
        return bool(agreement(history, last, n0, n1, n2) > 0.0)
    return not (limits.same and vertex_behind_at_rest(a, vertex, face, limits.wall))


@kernel
def _measure(
    vertices: IntArray,
    faces: IntArray,
    x: FloatArray,
    b: Sides,
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
