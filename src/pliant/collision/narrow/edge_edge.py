"""Narrow phase of edges against edges: crossing edges that face each other, with their interiors nearest.

Where the nearest point is the end of an edge, or the edges are nearly parallel, the contact is one of a vertex and a
face and is found there. Flat faces on each other are supported by their vertices: two flat edges make a contact only
after they have passed through each other, and keep it while they are near, since separated they are flat again. The
direction of a contact points away from the faces of both edges, up to the tolerance `facing`: neither is concave.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.closest import PARALLEL, dot
from pliant.collision.filters import (
    Arrays,
    History,
    Limits,
    agreement,
    closed_in,
    edge_faces,
    edge_height_at_rest,
    edges_touch,
    outward,
    place,
)
from pliant.collision.narrow.pseudonormal import distance_to_all
from pliant.collision.narrow.vertex_face import INSET, TOUCHING
from pliant.collision.surface import EDGE_LIMIT
from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IntArray

_END = 1e-6
"""A nearest point counts as the end of an edge within this fraction of its length."""
_CROSSED = 0.01
"""Flat edges have run through each other where they penetrate by this fraction of the margin."""
_UNDECIDED = 1e-3
"""Below this the normals beside two edges do not tell their sides apart, and the edges count as not penetrating."""


class EdgeContacts(NamedTuple):
    """m pairs of edges: edges (m, 2) of either side, parameters (m, 2) of the nearest points, unit normal (m, 3) from
    the second edge to the first, gap (m,) in m, negative in penetration.
    """

    edges: IntArray
    parameters: FloatArray
    normal: FloatArray
    gap: FloatArray


@inline
def edge_edge_contacts(
    candidates: IntArray, a: Arrays, b: Arrays, limits: Limits, history: History, key_base: int
) -> EdgeContacts:
    """Contacts among `candidates` (m, 2), edges of `a` and of `b`, each pair once, ascending; within one surface, the
    lower edge is the first.
    """
    found, values = np.empty((len(candidates), 2), np.int32), np.empty((len(candidates), 6))
    count = _search(candidates, a, b, limits, history, key_base, found, values)
    names = np.empty(count, np.int64)
    for m in range(count):
        names[m] = np.int64(found[m, 0]) * EDGE_LIMIT + found[m, 1]
    order = np.argsort(names, kind="mergesort")
    edges, parameters = np.empty((count, 2), np.int32), np.empty((count, 2))
    normal, gap = np.empty((count, 3)), np.empty(count)
    for m in range(count):
        k = order[m]
        edges[m, 0], edges[m, 1] = found[k, 0], found[k, 1]
        parameters[m, 0], parameters[m, 1] = values[k, 0], values[k, 1]
        normal[m, 0], normal[m, 1], normal[m, 2], gap[m] = values[k, 2], values[k, 3], values[k, 4], values[k, 5]
    return EdgeContacts(edges, parameters, normal, gap)


@inline
def _search(
    candidates: IntArray,
    a: Arrays,
    b: Arrays,
    limits: Limits,
    history: History,
    key_base: int,
    edges: IntArray,
    values: FloatArray,
) -> int:
    """Write the contacts, and return how many there are."""
    # arrays taken out of their tuples: a call with a whole tuple counts all its references
    x, y, edges_a, edges_b, reach = a.points, b.points, a.edges, b.edges, limits.margin
    beside_a, beside_b, normals_a, normals_b = a.edge_triangles, b.edge_triangles, a.normals, b.normals
    triangles_a, triangles_b, rest, rest_normals = a.triangles, b.triangles, a.rest, a.rest_normals
    same, rest_reach, wall = limits.same, limits.rest * limits.rest, limits.wall * limits.wall
    remembers = len(history.keys) > 0
    fans_a, fans_b, sides_a, sides_b = (a.fan_start, a.fan), (b.fan_start, b.fan), a.triangle_edges, b.triangle_edges
    checked, inset, spot = not same and a.closed and b.closed, INSET * limits.margin, np.empty((1, 3))
    count, row = 0, np.empty(6)
    for k in range(len(candidates)):
        e, f = candidates[k, 0], candidates[k, 1]
        if not _nearest_inside(x, edges_a[e, 0], edges_a[e, 1], y, edges_b[f, 0], edges_b[f, 1], reach, row):
            continue
        last = place(history, key_base + e * EDGE_LIMIT + f) if remembers else -1
        if last >= 0 and agreement(history, last, row[2], row[3], row[4]) < 0.0:
            row[2:6] *= -1.0
        flat = _is_flat(beside_a, normals_a, e, limits.flat) and _is_flat(beside_b, normals_b, f, limits.flat)
        if not _faces(beside_a, normals_a, e, beside_b, normals_b, f, flat, last, limits, row):
            continue
        if not _leaves_faces(x, edges_a, triangles_a, beside_a, e, row, 1.0, limits.facing):
            continue
        if not _leaves_faces(y, edges_b, triangles_b, beside_b, f, row, -1.0, limits.facing):
            continue
        if same and last < 0:
            height, rest_squared = edge_height_at_rest(rest, rest_normals, edges_a, beside_a, e, f)
            near_at_rest = rest_squared < rest_reach or edges_touch(triangles_a, beside_a, e, f)
            if near_at_rest and not closed_in(height, rest_squared, row[5] * row[5], row[5] < 0.0, False):
                continue
            if row[5] < 0.0 and height <= 0.0 and rest_squared < wall:
                continue
        if checked and row[5] < -TOUCHING * limits.margin and last < 0:
            # the direction may leave both cones of normals by the slack: then its sign means nothing
            spot[:] = 0.0
            _add_inset(x, edges_a, e, row[0], beside_a, normals_a, inset, spot)
            _add_inset(y, edges_b, f, row[1], beside_b, normals_b, inset, spot)
            if distance_to_all(spot, 0, y, normals_b, triangles_b, sides_b, beside_b, *fans_b) >= 0.0:
                continue
            if distance_to_all(spot, 0, x, normals_a, triangles_a, sides_a, beside_a, *fans_a) >= 0.0:
                continue
        edges[count, 0], edges[count, 1] = e, f
        values[count] = row
        count += 1
    return count


@inline
def _nearest_inside(
    x: FloatArray, i: int, j: int, y: FloatArray, k: int, m: int, margin: float, row: FloatArray
) -> bool:
    """Write s, t, the unit normal along u × v and the gap along it, where the nearest points of the segments x[i], x[j]
    and y[k], y[m] are inside both and within `margin` (m).
    """
    u0, u1, u2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    v0, v1, v2 = y[m, 0] - y[k, 0], y[m, 1] - y[k, 1], y[m, 2] - y[k, 2]
    r0, r1, r2 = x[i, 0] - y[k, 0], x[i, 1] - y[k, 1], x[i, 2] - y[k, 2]
    uu, vv, uv = dot(u0, u1, u2, u0, u1, u2), dot(v0, v1, v2, v0, v1, v2), dot(u0, u1, u2, v0, v1, v2)
    ur, vr = dot(u0, u1, u2, r0, r1, r2), dot(v0, v1, v2, r0, r1, r2)
    determinant = uu * vv - uv * uv
    if determinant <= PARALLEL * uu * vv:
        return False
    s, t = (uv * vr - ur * vv) / determinant, (uu * vr - uv * ur) / determinant
    if s <= _END or s >= 1.0 - _END or t <= _END or t >= 1.0 - _END:
        return False
    n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
    length = np.sqrt(dot(n0, n1, n2, n0, n1, n2))
    n0, n1, n2 = n0 / length, n1 / length, n2 / length
    gap = dot(n0, n1, n2, r0, r1, r2)
    row[0], row[1], row[2], row[3], row[4], row[5] = s, t, n0, n1, n2, gap
    return bool(abs(gap) <= margin)


@inline
def _faces(
    beside_a: IntArray,
    normals_a: FloatArray,
    e: int,
    beside_b: IntArray,
    normals_b: FloatArray,
    f: int,
    flat: bool,
    last: int,
    limits: Limits,
    row: FloatArray,
) -> bool:
    """Whether near edges, both `flat` or not, face each other, and have run through each other where they have to;
    turns the normal and the sign of the gap in `row` the right way, unless the edges were a contact, `last` ≥ 0.
    """
    if not edge_faces(beside_a, normals_a, e, beside_b, normals_b, f, limits.facing):
        return False
    if last < 0:
        side = 0.0
        for axis in range(3):
            towards_a = outward(beside_b, normals_b, f, axis) - outward(beside_a, normals_a, e, axis)
            side += row[2 + axis] * towards_a
        if abs(side) < _UNDECIDED:
            side = row[5]
        if side < 0.0:
            row[2:6] *= -1.0
    return bool(last >= 0 or not flat or row[5] < -_CROSSED * limits.margin)


@inline
def _add_inset(
    x: FloatArray,
    edges: IntArray,
    edge: int,
    along: float,
    beside: IntArray,
    normals: FloatArray,
    inset: float,
    spot: FloatArray,
) -> None:
    """Add half the point at the parameter `along` of an edge, moved into its own body by `inset` (m), to spot[0]: the
    sum over two edges is the point half-way between them, which is inside both solids where they penetrate.
    """
    i, j = edges[edge, 0], edges[edge, 1]
    m0, m1, m2 = outward(beside, normals, edge, 0), outward(beside, normals, edge, 1), outward(beside, normals, edge, 2)
    scale = inset / max(np.sqrt(dot(m0, m1, m2, m0, m1, m2)), 1e-300)
    spot[0, 0] += 0.5 * (x[i, 0] + along * (x[j, 0] - x[i, 0])) - scale * m0
    spot[0, 1] += 0.5 * (x[i, 1] + along * (x[j, 1] - x[i, 1])) - scale * m1
    spot[0, 2] += 0.5 * (x[i, 2] + along * (x[j, 2] - x[i, 2])) - scale * m2


@inline
def _is_flat(beside: IntArray, normals: FloatArray, edge: int, flat: float) -> bool:
    """Whether the two faces beside `edge` bend by less than the angle of cosine `flat`."""
    f, g = beside[edge, 0], beside[edge, 1]
    if g < 0:
        return False
    n0, n1, n2 = normals[f, 0], normals[f, 1], normals[f, 2]
    return bool(dot(n0, n1, n2, normals[g, 0], normals[g, 1], normals[g, 2]) >= flat)


@inline
def _leaves_faces(
    x: FloatArray,
    edges: IntArray,
    triangles: IntArray,
    beside: IntArray,
    edge: int,
    row: FloatArray,
    sign: float,
    slack: float,
) -> bool:
    """Whether the faces beside `edge` extend to the side of sign · normal, up to `slack` (the sine of an angle)."""
    i, j = edges[edge, 0], edges[edge, 1]
    u0, u1, u2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    uu = dot(u0, u1, u2, u0, u1, u2)
    for side in range(2):
        face = beside[edge, side]
        if face < 0:
            continue
        k = triangles[face, 0]
        for corner in range(1, 3):
            k = triangles[face, corner] if (k == i) | (k == j) else k
        d0, d1, d2 = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
        along = dot(u0, u1, u2, d0, d1, d2) / uu
        d0, d1, d2 = d0 - along * u0, d1 - along * u1, d2 - along * u2
        height = sign * dot(d0, d1, d2, row[2], row[3], row[4])
        if height < -slack * np.sqrt(dot(d0, d1, d2, d0, d1, d2)):
            return False
    return True
