"""Second contacts of vertices in valleys: where the edge between two faces is concave, both planes bound the vertex.

A vertex near such an edge is in front of two planes at once. With the contact of its nearest face alone its normal
jumps when it slides over the edge. The free space there is the intersection of the two half-spaces, so the other face
has a contact too, along its own normal. So it is in a pit, where several concave edges meet: a vertex at its bottom has
the planes of all faces around it, whichever of them happens to be the nearest.
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
    """Contacts of the vertices of `contacts` with the other faces of concave edges and pits near them, ascending by
    faces.
    """
    widest = 0
    for p in range(len(b.fan_start) - 1):
        widest = max(widest, b.fan_start[p + 1] - b.fan_start[p])
    most = (3 + widest) * len(contacts.gap)
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
    count = 0
    for m in range(len(own)):
        p, f, first = own[m], nearest[m], count
        for side in range(3):
            if at[m, (side + 2) % 3] > _NEAR_EDGE:
                continue
            g = _across(b.triangle_edges, b.edge_triangles, f, side)
            if g < 0 or _rise(y, normals, triangles, f, g) <= _CONCAVE:
                continue
            if not _is_among(g, faces, first, count):
                count = _add(
                    p, g, x, y, triangles, normals, fan_start, fan, normals_a, limits, vertices, faces, weights,
                    normal, gap, count,
                )  # fmt: skip
            # in a pit the faces beyond bound the vertex too: go on around the corner to the next edge that is convex
            for corner in (side, (side + 1) % 3):
                if at[m, (corner + 1) % 3] > _NEAR_EDGE or at[m, (corner + 2) % 3] > _NEAR_EDGE:
                    continue
                pit, before, here = triangles[f, corner], f, g
                for _ in range(b.fan_start[pit + 1] - b.fan_start[pit]):
                    beyond = _next_around(b.triangle_edges, b.edge_triangles, triangles, pit, before, here)
                    if beyond < 0 or beyond == f or _rise(y, normals, triangles, here, beyond) < -_CONCAVE:
                        break
                    before, here = here, beyond
                    if _rise(y, normals, triangles, f, here) > _CONCAVE and not _is_among(here, faces, first, count):
                        count = _add(
                            p, here, x, y, triangles, normals, fan_start, fan, normals_a, limits, vertices, faces,
                            weights, normal, gap, count,
                        )  # fmt: skip
    return count


@inline
def _is_among(face: int, faces: IntArray, first: int, end: int) -> bool:
    """Whether a face is listed in faces[first:end]."""
    found = False
    for k in range(first, end):
        found |= faces[k] == face
    return found


@inline
def _add(
    p: int, g: int, x: FloatArray, y: FloatArray, triangles: IntArray, normals: FloatArray, fan_start: IntArray,
    fan: IntArray, normals_a: FloatArray, limits: Limits, vertices: IntArray, faces: IntArray, weights: FloatArray,
    normal: FloatArray, gap: FloatArray, count: int,
) -> int:  # fmt: skip
    """Write the contact of vertex p with the plane of face g if it is in front of it; returns the count with it."""
    n0, n1, n2 = normals[g, 0], normals[g, 1], normals[g, 2]
    if not vertex_faces(fan_start, fan, normals_a, p, normals, g, limits.facing):
        return count
    if not vertex_opposes(fan_start, fan, normals_a, p, n0, n1, n2, limits.against):
        return count
    v, w, height = _on_plane(x, p, y, triangles[g, 0], triangles[g, 1], triangles[g, 2], n0, n1, n2)
    u = 1.0 - v - w
    if abs(height) > limits.margin or min(u, v, w) < -_BEYOND:
        return count
    vertices[count], faces[count], gap[count] = p, g, height
    weights[count, 0], weights[count, 1], weights[count, 2] = u, v, w
    normal[count, 0], normal[count, 1], normal[count, 2] = n0, n1, n2
    return count + 1


@inline
def _rise(y: FloatArray, normals: FloatArray, triangles: IntArray, f: int, g: int) -> float:
    """Sine of the angle by which the corner of face g that is highest above the plane of face f rises from the corner
    that they share, or the lowest falls if none rises: positive where the edge between them is concave.
    """
    shared = triangles[g, 0]
    for corner in range(3):
        for other in range(3):
            if triangles[g, corner] == triangles[f, other]:
                shared = triangles[g, corner]
    highest, lowest = 0.0, 0.0
    for corner in range(3):
        q = triangles[g, corner]
        if (q == triangles[f, 0]) | (q == triangles[f, 1]) | (q == triangles[f, 2]):
            continue
        d0, d1, d2 = y[q, 0] - y[shared, 0], y[q, 1] - y[shared, 1], y[q, 2] - y[shared, 2]
        rise = dot(d0, d1, d2, normals[f, 0], normals[f, 1], normals[f, 2])
        rise /= max(np.sqrt(dot(d0, d1, d2, d0, d1, d2)), 1e-300)
        highest, lowest = max(highest, rise), min(lowest, rise)
    return highest if highest > 0.0 else lowest


@inline
def _across(triangle_edges: IntArray, edge_triangles: IntArray, f: int, side: int) -> int:
    """The other face of an edge of face f, −1 for none."""
    edge = triangle_edges[f, side]
    return int(edge_triangles[edge, 0] if edge_triangles[edge, 0] != f else edge_triangles[edge, 1])


@inline
def _next_around(
    triangle_edges: IntArray, edge_triangles: IntArray, triangles: IntArray, pit: int, before: int, here: int
) -> int:
    """The face beside `here` at the corner `pit` that is not the one `before`, −1 for none."""
    for side in range(3):
        if triangles[here, side] != pit and triangles[here, (side + 1) % 3] != pit:
            continue
        found = _across(triangle_edges, edge_triangles, here, side)
        if found != before:
            return int(found)
    return -1


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
