"""Second contacts of vertices in valleys: where the edge between two faces is concave, both planes bound the vertex.

A vertex near such an edge is in front of two planes at once. With the contact of its nearest face alone its normal
jumps when it slides over the edge. The free space there is the intersection of the two half-spaces, so the other face
has a contact too, along its own normal.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.closest import dot
from pliant.collision.filters import Arrays, Limits, vertex_faces, vertex_opposes
from pliant.collision.narrow.vertex_face import FaceContacts
from pliant.collision.surface import EDGE_LIMIT
from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IntArray

VALLEY = EDGE_LIMIT
"""Keys of second contacts begin here, above those of vertices; the face is added in multiples of it."""
_NEAR_EDGE = 0.1
"""Weight of the far corner of a face below which a vertex above it is near the edge: a tenth of the face's height."""
_BEYOND = 0.25
"""Weight below which a vertex is beyond a face and not bounded by its plane."""
_CONCAVE = 1e-3
"""Sine of the bend from which on an edge is concave: below, the two planes differ by less than meshes resolve."""


@inline
def valley_contacts(contacts: FaceContacts, a: Arrays, b: Arrays, limits: Limits) -> FaceContacts:
    """Contacts of the vertices of `contacts` with the other faces of concave edges near them, ascending by faces."""
    most = 3 * len(contacts.gap)
    vertices, faces = np.empty(most, np.int32), np.empty(most, np.int32)
    weights, normal, gap = np.empty((most, 3)), np.empty((most, 3)), np.empty(most)
    count = _find(
        contacts.vertices, contacts.faces, contacts.weights, a, b, limits, vertices, faces, weights,
        normal, gap,
    )  # fmt: skip
    names = np.empty(count, np.int64)
    for m in range(count):
        names[m] = np.int64(faces[m]) * VALLEY + vertices[m]
    order = np.argsort(names, kind="mergesort")
    met = np.full(count, -1, np.int32)
    return FaceContacts(vertices[order], faces[order], weights[order], normal[order], gap[order], met)


@inline
def _find(
    own: IntArray,
    nearest: IntArray,
    at: FloatArray,
    a: Arrays,
    b: Arrays,
    limits: Limits,
    vertices: IntArray,
    faces: IntArray,
    weights: FloatArray,
    normal: FloatArray,
    gap: FloatArray,
) -> int:
    """Write the contacts, and return how many there are."""
    x, y, triangles, normals = a.points, b.points, b.triangles, b.normals
    fan_start, fan, normals_a = a.fan_start, a.fan, a.normals
    count, reach = 0, limits.margin
    for m in range(len(own)):
        p, f = own[m], nearest[m]
        for side in range(3):
            if at[m, (side + 2) % 3] > _NEAR_EDGE:
                continue
            edge = b.triangle_edges[f, side]
            g = b.edge_triangles[edge, 0] if b.edge_triangles[edge, 0] != f else b.edge_triangles[edge, 1]
            if g < 0:
                continue
            i, j = b.edges[edge, 0], b.edges[edge, 1]
            apex = triangles[g, 0]
            for corner in range(1, 3):
                apex = triangles[g, corner] if (apex == i) | (apex == j) else apex
            d0, d1, d2 = y[apex, 0] - y[i, 0], y[apex, 1] - y[i, 1], y[apex, 2] - y[i, 2]
            rise = dot(d0, d1, d2, normals[f, 0], normals[f, 1], normals[f, 2])
            if rise <= _CONCAVE * np.sqrt(dot(d0, d1, d2, d0, d1, d2)):
                continue
            n0, n1, n2 = normals[g, 0], normals[g, 1], normals[g, 2]
            if not vertex_faces(fan_start, fan, normals_a, p, normals, g, limits.facing):
                continue
            if not vertex_opposes(fan_start, fan, normals_a, p, n0, n1, n2, limits.against):
                continue
            v, w, height = _on_plane(x, p, y, triangles[g, 0], triangles[g, 1], triangles[g, 2], n0, n1, n2)
            u = 1.0 - v - w
            if abs(height) > reach or min(u, v, w) < -_BEYOND:
                continue
            vertices[count], faces[count], gap[count] = p, g, height
            weights[count, 0], weights[count, 1], weights[count, 2] = u, v, w
            normal[count, 0], normal[count, 1], normal[count, 2] = n0, n1, n2
            count += 1
    return count


@inline
def _on_plane(
    x: FloatArray, p: int, y: FloatArray, i: int, j: int, k: int, n0: float, n1: float, n2: float
) -> tuple[float, float, float]:
    """Weights of corners j and k at the projection of x[p] onto the plane of a triangle, and the height above it, m.

    It may lie beyond the edge by a little: with these weights the row is the derivative of the height.
    """
    a0, a1, a2 = y[j, 0] - y[i, 0], y[j, 1] - y[i, 1], y[j, 2] - y[i, 2]
    b0, b1, b2 = y[k, 0] - y[i, 0], y[k, 1] - y[i, 1], y[k, 2] - y[i, 2]
    d0, d1, d2 = x[p, 0] - y[i, 0], x[p, 1] - y[i, 1], x[p, 2] - y[i, 2]
    aa, ab, bb = dot(a0, a1, a2, a0, a1, a2), dot(a0, a1, a2, b0, b1, b2), dot(b0, b1, b2, b0, b1, b2)
    da, db = dot(d0, d1, d2, a0, a1, a2), dot(d0, d1, d2, b0, b1, b2)
    determinant = max(aa * bb - ab * ab, 1e-300)
    v, w = (bb * da - ab * db) / determinant, (aa * db - ab * da) / determinant
    return v, w, dot(d0, d1, d2, n0, n1, n2)
