"""Narrow phase of vertices against faces: the nearest face of each vertex within the margin, with the side it is on.

A vertex has at most one contact with a facing surface. Its identity is the vertex and that surface, so it lasts while
the vertex slides from triangle to triangle. Two vertices that are nearest to each other make one contact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.collision.filters import (
    Arrays,
    History,
    Limits,
    agreement,
    closed_in,
    fill_inset,
    height_at_rest,
    is_extreme,
    place,
    touches,
    vertex_faces,
    vertex_opposes,
)
from pliant.collision.narrow.pseudonormal import (
    Sides,
    distance_to_all,
    facing_direction,
    is_nearest_around,
)
from pliant.core.kernels import inline
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

_LASTS = 0.5
"""A contact of the last step needs no other sign that it is one while its normal turns by less than 60 degrees."""
_STRAIGHT = 0.99
"""A direction is that of a normal above this product of the two: 8 degrees."""
_ABOVE = 0.5
"""A point is in front of a face where its direction from there is within 60 degrees of the normal."""
INSET = 1e-4
"""Fraction of the margin by which a point is moved into its own body before it is looked for in the other one: points
on the surface of both then tell whether the two solids overlap or touch."""
EQUAL = 1e-9
"""Relative difference of squared distances, and fraction of the margin, below which two faces are equally near: below
an edge that both share rounding would choose between their planes. The first one of the surface is taken.
"""
TOUCHING = 1e-6
"""Fraction of the margin below which a penetration is the rounding of a contact that touches."""


class FaceContacts(NamedTuple):
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


@inline
def vertex_face_contacts(
    candidates: IntArray, a: Arrays, b: Arrays, limits: Limits, history: History, key_base: int
) -> FaceContacts:
    """Contacts among `candidates` (m, 2), vertices of `a` and faces of `b`, in any order."""
    nearest = np.full(len(a.points), -1, np.int32)
    squared = np.full(len(a.points), np.inf)
    _search(candidates, a, b, limits, history, key_base, squared, nearest)
    count = 0
    for vertex in range(len(nearest)):
        count += nearest[vertex] >= 0
    vertices, faces = np.empty(count, np.int32), np.empty(count, np.int32)
    count = 0
    for vertex in range(len(nearest)):
        if nearest[vertex] >= 0:
            vertices[count], faces[count] = vertex, nearest[vertex]
            count += 1
    weights, normal, gap, met = np.empty((count, 3)), np.empty((count, 3)), np.empty(count), np.empty(count, np.int32)
    sides = Sides(b.points, b.normals, b.triangles, b.triangle_edges, b.edge_triangles, b.fan_start, b.fan)
    checked = b.closed and not limits.same
    _measure(vertices, faces, a.points, a.fan_start, a.fan, a.normals, sides, checked, weights, normal, gap, met)
    return FaceContacts(vertices, faces, weights, normal, gap, met)


@inline
def without_twins(first: FaceContacts, second: FaceContacts, same: bool) -> tuple[FaceContacts, FaceContacts]:
    """Drop vertices that are nearest to a vertex of the other side which has the same contact, seen from there.

    `first` are vertices of one side near faces of the other, `second` the reverse; of two nearest to each other the
    first stays. For self-contact (`same`) both are the same set, and the lower vertex stays.
    """
    twin_of_first, twin_of_second = _twins(first, second), _twins(second, first)
    keep_first, keep_second = np.empty(len(first.gap), np.bool_), np.empty(len(second.gap), np.bool_)
    for m in range(len(keep_first)):
        twin = twin_of_first[m]
        mutual = twin >= 0 and twin_of_second[twin] == m
        keep_first[m] = twin < 0 or (mutual and (not same or m < twin))
    for m in range(len(keep_second)):
        keep_second[m] = twin_of_second[m] < 0
    return _selected(first, keep_first), _selected(second, keep_second)


@inline
def _selected(c: FaceContacts, which: BoolArray) -> FaceContacts:
    """The contacts chosen by a mask (m,)."""
    return FaceContacts(
        c.vertices[which], c.faces[which], c.weights[which], c.normal[which], c.gap[which], c.met[which]
    )


@inline
def _twins(contacts: FaceContacts, others: FaceContacts) -> IndexArray:
    """Which of `others` is the contact of the vertex that a contact meets, pushing the other way, −1 for none."""
    met, normal, vertices, normals = contacts.met, contacts.normal, others.vertices, others.normal
    twins = np.full(len(met), -1, np.int64)
    for m in range(len(met)):
        if met[m] < 0:
            continue
        k = int(np.searchsorted(vertices, met[m]))
        if k < len(vertices) and vertices[k] == met[m]:
            n0, n1, n2 = normal[m, 0], normal[m, 1], normal[m, 2]
            if dot(n0, n1, n2, normals[k, 0], normals[k, 1], normals[k, 2]) < 0.0:
                twins[m] = k
    return twins


@inline
def _search(
    candidates: IntArray,
    a: Arrays,
    b: Arrays,
    limits: Limits,
    history: History,
    key_base: int,
    squared: FloatArray,
    nearest: IntArray,
) -> None:
    # arrays taken out of their tuples: a call with a whole tuple counts all its references
    x, y, corners = a.points, b.points, b.triangles
    fan_start, fan, normals, normals_b = a.fan_start, a.fan, a.normals, b.normals
    ring_start, ring, rest, rest_normals = a.ring_start, a.ring, a.rest, a.rest_normals
    triangle_edges, edge_triangles, around_start, around = b.triangle_edges, b.edge_triangles, b.fan_start, b.fan
    same, reach, rest_reach = limits.same, limits.margin * limits.margin, limits.rest * limits.rest
    same_place = (EQUAL * limits.margin) ** 2
    remembers, wall = len(history.keys) > 0, limits.wall * limits.wall
    checked, spot = not same and b.closed, np.empty((1, 3))
    side = np.zeros(len(x) if checked else 0, np.int8)  # 1 outside of b, −1 inside, 0 not known yet
    for m in range(len(candidates)):
        vertex, face = candidates[m, 0], candidates[m, 1]
        i, j, k = corners[face, 0], corners[face, 1], corners[face, 2]
        v, w, distance = triangle_weights(x, vertex, y, i, j, k)
        if distance > reach or distance > (1.0 + EQUAL) * squared[vertex] + same_place:
            continue
        if distance >= (1.0 - EQUAL) * squared[vertex] - same_place and face > nearest[vertex]:
            continue
        if not vertex_faces(fan_start, fan, normals, vertex, normals_b, face, limits.facing):
            continue
        rest_distance, rest_height = np.inf, 0.0
        if same:
            rest_v, rest_w, rest_distance = triangle_weights(rest, vertex, rest, i, j, k)
            rest_height = height_at_rest(rest, rest_normals, vertex, face, i, j, k, rest_v, rest_w)
        n0, n1, n2, gap, _ = facing_direction(
            x, vertex, fan_start, fan, normals, y, normals_b, corners, triangle_edges, edge_triangles, around_start,
            around, face, v, w, checked,
        )  # fmt: skip
        last = place(history, key_base + vertex) if remembers else -1
        turned = agreement(history, last, n0, n1, n2) if last >= 0 else 0.0
        opposes = turned >= _LASTS or vertex_opposes(fan_start, fan, normals, vertex, n0, n1, n2, limits.against)
        if not opposes and (same or gap < 0.0 or not is_extreme(x, vertex, ring_start, ring, n0, n1, n2)):
            continue
        if gap < 0.0 and last >= 0 and turned <= 0.0:
            if not _is_apart(x, vertex, y, corners, normals_b, history.faces[last], face):
                continue
            last = -1
        if same:
            near_at_rest = rest_distance < rest_reach or touches(ring_start, ring, vertex, i, j, k)
            lasts = last >= 0 and turned >= _LASTS
            if near_at_rest and not closed_in(rest_height, rest_distance, distance, gap < 0.0, lasts):
                continue
            if gap < 0.0 and last < 0 and rest_distance < wall and rest_height <= 0.0:
                continue
        if (
            checked
            and gap < -TOUCHING * limits.margin
            and not is_nearest_around(
                x,
                vertex,
                y,
                normals_b,
                corners,
                triangle_edges,
                edge_triangles,
                around_start,
                around,
                face,
                v,
                w,
                distance,
            )
        ):
            continue
        if checked and gap < -TOUCHING * limits.margin and last < 0:
            # the face may not be the nearest of all, as it has to face the vertex: then its sign means nothing
            if side[vertex] == 0:
                fill_inset(x, vertex, fan_start, fan, normals, INSET * limits.margin, spot)
                true_gap = distance_to_all(
                    spot, 0, y, normals_b, corners, triangle_edges, edge_triangles, around_start, around
                )
                side[vertex] = 1 if true_gap >= 0.0 else -1
            if side[vertex] > 0:
                continue
        squared[vertex], nearest[vertex] = min(distance, squared[vertex]), face


@inline
def _is_apart(
    x: FloatArray, vertex: int, y: FloatArray, corners: IntArray, normals: FloatArray, last: int, face: int
) -> bool:
    """Whether `face` is not the far side of a wall whose near side is the `last` face that the vertex met: the vertex
    is in front of that one, or `face` rises over its plane, as the next wall in a corner does.
    """
    if last < 0 or last >= len(corners):
        return False
    i, j, k = corners[last, 0], corners[last, 1], corners[last, 2]
    n0, n1, n2 = normals[last, 0], normals[last, 1], normals[last, 2]
    _, _, squared = triangle_weights(x, vertex, y, i, j, k)
    if dot(x[vertex, 0] - y[i, 0], x[vertex, 1] - y[i, 1], x[vertex, 2] - y[i, 2], n0, n1, n2) > _ABOVE * np.sqrt(
        squared
    ):
        return True
    for corner in range(3):
        q = corners[face, corner]
        height = dot(y[q, 0] - y[i, 0], y[q, 1] - y[i, 1], y[q, 2] - y[i, 2], n0, n1, n2)
        d0, d1, d2 = y[q, 0] - x[vertex, 0], y[q, 1] - x[vertex, 1], y[q, 2] - x[vertex, 2]
        if height > _ABOVE * np.sqrt(dot(d0, d1, d2, d0, d1, d2)):
            return True
    return False


@inline
def _measure(
    vertices: IntArray,
    faces: IntArray,
    x: FloatArray,
    fan_start: IntArray,
    fan: IntArray,
    normals: FloatArray,
    b: Sides,
    checked: bool,
    weights: FloatArray,
    normal: FloatArray,
    gap: FloatArray,
    met: IntArray,
) -> None:
    y, facets, corners, triangle_edges, edge_triangles, around_start, around = b
    for m in range(len(vertices)):
        face = faces[m]
        v, w, _ = triangle_weights(x, vertices[m], y, corners[face, 0], corners[face, 1], corners[face, 2])
        n0, n1, n2, gap[m], faces[m] = facing_direction(
            x, vertices[m], fan_start, fan, normals, y, facets, corners, triangle_edges, edge_triangles, around_start,
            around, face, v, w, checked,
        )  # fmt: skip
        normal[m, 0], normal[m, 1], normal[m, 2] = n0, n1, n2
        met[m] = _met_corner(facets, corners, around_start, around, face, v, w, n0, n1, n2)
        # at a border the plane may be that of a face beside: the point is the same, on the corners that both share
        for here in range(3):
            weights[m, here] = 0.0
            for there in range(3):
                if corners[faces[m], here] == corners[face, there]:
                    weights[m, here] = 1.0 - v - w if there == 0 else (v if there == 1 else w)


@inline
def _met_corner(
    facets: FloatArray,
    triangles: IntArray,
    fan_start: IntArray,
    fan: IntArray,
    face: int,
    v: float,
    w: float,
    n0: float,
    n1: float,
    n2: float,
) -> int:
    """The corner at (v, w) unless n is a normal there: vertex on vertex of flat faces would come and go by rounding."""
    if not ((v == 0.0 and w == 0.0) or v == 1.0 or w == 1.0):
        return -1
    corner = triangles[face, 1 if v == 1.0 else (2 if w == 1.0 else 0)]
    for k in range(fan_start[corner], fan_start[corner + 1]):
        t = fan[k]
        if dot(facets[t, 0], facets[t, 1], facets[t, 2], n0, n1, n2) > _STRAIGHT:
            return -1
    return int(corner)
