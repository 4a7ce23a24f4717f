"""Pairs of features that stay candidates while no point moves by more than a given distance.

A vertex and a face, or two edges, that are farther apart than `reach` are farther apart than the margin as long as no
point of side a has moved by more than d_a and none of side b by more than d_b, with d_a + d_b ≤ reach − margin: the
distance of two features changes by no more than the motions of their points. Pairs whose normals cannot face each other
within these motions are left out too. A triangle with sides u and v and N = u × v, whose points move by d, has

    |ΔN| ≤ 2d (|u| + |v|) + 4d²,   |Δn| ≤ √2 |ΔN| / |N|  where |ΔN| < |N|,

and a product of two unit normals changes by at most |Δn| + |Δn′|. Normals are compared last: what the boxes leave is
little, and few normals are excluded.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.broad.features import Features
from pliant.collision.broad.lanes import Reach
from pliant.collision.broad.near_edges import find_bent
from pliant.collision.broad.near_vertices import find_vertices
from pliant.collision.broad.pairs import near_leaves
from pliant.collision.closest import dot, triangle_weights
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray

Fan = tuple[IntArray, IntArray]
"""Triangles around each point, CSR: `fan_start` and `fan` of a `CollisionSurface`."""


@kernel
def lasting_pairs(
    a: Features, fan_a: Fan, b: Features, fan_b: Fan, same: bool, wide: Reach, reach: float, facing: float, most: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Vertices of a with faces of b, vertices of b with faces of a, and edges, (m, 2) each: all that are within `reach`
    (m) and may face each other after motions up to `most` (m). `wide` has the same reach and no limit of `facing`.
    """
    none = np.empty((0, 2), np.int32)
    leaves = near_leaves(a.nodes, a.leaves, b.nodes, b.leaves, same, wide.near, wide.facing)
    if not len(leaves):
        return none, none, none
    turns_a = _turns(a.points, a.triangles, most)
    turns_b = turns_a if same else _turns(b.points, b.triangles, most)
    all_a = np.ones(len(a.edges), np.bool_)
    all_b = all_a if same else np.ones(len(b.edges), np.bool_)
    vertices = find_vertices(leaves, 0, a, b, same, wide)
    vertices = _facing_vertices(
        vertices, a.points, a.normals, turns_a, *fan_a, b.points, b.triangles, b.normals, turns_b, reach, facing
    )
    others = none
    if not same:
        others = find_vertices(leaves, 1, b, a, same, wide)
        others = _facing_vertices(
            others, b.points, b.normals, turns_b, *fan_b, a.points, a.triangles, a.normals, turns_a, reach, facing
        )
    edges = find_bent(leaves, 0, a, all_a, b, all_b, same, wide, reach, True)
    edges = _facing_edges(edges, a.edge_triangles, a.normals, turns_a, b.edge_triangles, b.normals, turns_b, facing)
    return vertices, others, edges


@inline
def _turns(points: FloatArray, triangles: IntArray, d: float) -> FloatArray:
    """Bound of the change |Δn| of each unit normal (t,) under motions of the points up to d (m)."""
    turns = np.full(len(triangles), 2.0)
    for t in range(len(triangles)):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        u0, u1, u2 = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
        v0, v1, v2 = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
        n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
        area = np.sqrt(dot(n0, n1, n2, n0, n1, n2))
        sides = np.sqrt(dot(u0, u1, u2, u0, u1, u2)) + np.sqrt(dot(v0, v1, v2, v0, v1, v2))
        change = 2.0 * d * sides + 4.0 * d * d
        if change < area:
            turns[t] = 1.4143 * change / area
    return turns


@inline
def _facing_vertices(
    pairs: IntArray, x: FloatArray, normals: FloatArray, turns: FloatArray, fan_start: IntArray, fan: IntArray,
    y: FloatArray, faces: IntArray, facets: FloatArray, face_turns: FloatArray, reach: float, facing: float,
) -> IntArray:  # fmt: skip
    """Those of `pairs` (m, 2) of vertices and faces that are within `reach` (m) and may come to face each other."""
    found, count = np.empty((len(pairs) + 1, 2), np.int32), 0
    for m in range(len(pairs)):
        p, t = pairs[m, 0], pairs[m, 1]
        _, _, squared = triangle_weights(x, p, y, faces[t, 0], faces[t, 1], faces[t, 2])
        if squared > reach * reach:
            continue
        for z in range(fan_start[p], fan_start[p + 1]):
            f = fan[z]
            if _product(normals, f, facets, t) < facing + turns[f] + face_turns[t]:
                found[count, 0], found[count, 1] = p, t
                count += 1
                break
    return found[:count].copy()


@inline
def _facing_edges(
    pairs: IntArray, beside_a: IntArray, normals_a: FloatArray, turns_a: FloatArray, beside_b: IntArray,
    normals_b: FloatArray, turns_b: FloatArray, facing: float,
) -> IntArray:  # fmt: skip
    """Those of `pairs` (m, 2) of edges whose faces may come to face each other."""
    found, count = np.empty((len(pairs) + 1, 2), np.int32), 0
    for m in range(len(pairs)):
        e, f = pairs[m, 0], pairs[m, 1]
        faces = False
        for k in range(4):
            g, h = beside_a[e, k // 2], beside_b[f, k % 2]
            if g >= 0 and h >= 0:
                faces |= _product(normals_a, g, normals_b, h) < facing + turns_a[g] + turns_b[h]
        found[count, 0], found[count, 1] = e, f
        count += faces
    return found[:count].copy()


@inline
def _product(n: FloatArray, i: int, m: FloatArray, j: int) -> float:
    """Scalar product of n[i] and m[j]."""
    return float(dot(n[i, 0], n[i, 1], n[i, 2], m[j, 0], m[j, 1], m[j, 2]))
