"""The side of a triangle mesh that a point is on, from its nearest triangle, exact for closed meshes.

Inside a face the sign comes from the normal; on an edge from the sum of the two normals; at a corner from the normals
of all triangles around it, weighted by their angle there.

Reference: J. A. Bærentzen and H. Aanæs, "Signed distance computation using the angle weighted pseudonormal", IEEE
TVCG 11, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray

_TOUCHING = 1e-9
"""Below this distance, relative to the triangle, the direction to a point is noise and the pseudonormal is used."""


_FLUSH = 1e-2
"""Within this distance of a border, relative to the triangle, the faces there are told apart by what faces them."""
_AGAINST = -0.7
"""Two faces are against each other below this product of their normals."""
_BELOW = 1e-5
"""A point in front of a surface is below the plane of a face by at most this, relative to the triangle, from rounding
and the tolerance of solvers. Farther below it is beside the face."""


class Sides(NamedTuple):
    """What the side of a mesh is read from: names as in `CollisionSurface`, `normals` (t, 3) the current unit ones."""

    points: FloatArray
    normals: FloatArray
    triangles: IntArray
    triangle_edges: IntArray
    edge_triangles: IntArray
    fan_start: IntArray
    fan: IntArray


@kernel
def signed_distances(
    x: FloatArray, mesh: Sides, nearest: IntArray, gap: FloatArray, normal: FloatArray, weights: FloatArray
) -> None:
    """Signed distance (p,) m, unit normal (p, 3) and weights (p, 3) of the corners of the `nearest` triangle (p,) of
    each point of `x` (p, 3) m.
    """
    y, facets, corners, triangle_edges, edge_triangles, around_start, around = mesh
    for q in range(len(x)):
        face = nearest[q]
        v, w, _ = triangle_weights(x, q, y, corners[face, 0], corners[face, 1], corners[face, 2])
        weights[q, 0], weights[q, 1], weights[q, 2] = 1.0 - v - w, v, w
        normal[q, 0], normal[q, 1], normal[q, 2], gap[q] = signed_direction(
            x, q, y, facets, corners, triangle_edges, edge_triangles, around_start, around, face, v, w
        )


@inline
def distance_to_all(
    x: FloatArray,
    p: int,
    y: FloatArray,
    facets: FloatArray,
    triangles: IntArray,
    triangle_edges: IntArray,
    edge_triangles: IntArray,
    around_start: IntArray,
    around: IntArray,
) -> float:
    """Signed distance (m) of x[p] from a closed mesh, by its nearest triangle among all."""
    best, face, best_v, best_w = np.inf, 0, 0.0, 0.0
    for t in range(len(triangles)):
        v, w, squared = triangle_weights(x, p, y, triangles[t, 0], triangles[t, 1], triangles[t, 2])
        if squared < best:
            best, face, best_v, best_w = squared, t, v, w
    _, _, _, gap = signed_direction(
        x, p, y, facets, triangles, triangle_edges, edge_triangles, around_start, around, face, best_v, best_w
    )
    return float(gap)


@inline
def signed_direction(
    x: FloatArray,
    p: int,
    y: FloatArray,
    facets: FloatArray,
    triangles: IntArray,
    triangle_edges: IntArray,
    edge_triangles: IntArray,
    around_start: IntArray,
    around: IntArray,
    face: int,
    v: float,
    w: float,
) -> tuple[float, float, float, float]:
    """Unit normal from the mesh to x[p] and signed distance (m), for the nearest point (v, w) on `face`. The arrays
    from `y` on are those of `Sides`, one by one: a call with a tuple of arrays counts all their references.

    The normal is the gradient of the signed distance: negative behind the surface, where it still points outward.
    """
    i, j, k = triangles[face, 0], triangles[face, 1], triangles[face, 2]
    u = 1.0 - v - w
    d0 = x[p, 0] - (u * y[i, 0] + v * y[j, 0] + w * y[k, 0])
    d1 = x[p, 1] - (u * y[i, 1] + v * y[j, 1] + w * y[k, 1])
    d2 = x[p, 2] - (u * y[i, 2] + v * y[j, 2] + w * y[k, 2])
    n0, n1, n2 = facets[face, 0], facets[face, 1], facets[face, 2]
    flat = n0 == 0.0 and n1 == 0.0 and n2 == 0.0
    if v > 0.0 and w > 0.0 and v + w < 1.0 and not flat:
        return n0, n1, n2, dot(n0, n1, n2, d0, d1, d2)
    length = np.sqrt(dot(d0, d1, d2, d0, d1, d2))
    size = abs(y[j, 0] - y[i, 0]) + abs(y[j, 1] - y[i, 1])
    size += abs(y[j, 2] - y[i, 2])
    corner = _corner_at(v, w)
    side = (
        0
        if corner < 0 or length <= _TOUCHING * size
        else _side_of_all(facets, around_start, around, triangles[face, corner], d0, d1, d2)
    )
    if side == 0:
        n0, n1, n2 = _border_normal(
            y, facets, triangles, triangle_edges, edge_triangles, around_start, around, face, v, w
        )
        if length <= _TOUCHING * size:
            norm = max(np.sqrt(dot(n0, n1, n2, n0, n1, n2)), 1e-300)
            n0, n1, n2 = n0 / norm, n1 / norm, n2 / norm
            return n0, n1, n2, dot(n0, n1, n2, d0, d1, d2)
        side = 1 if dot(n0, n1, n2, d0, d1, d2) >= 0.0 else -1
    signed = side * length
    return d0 / signed, d1 / signed, d2 / signed, signed


@inline
def _corner_at(v: float, w: float) -> int:
    """The corner of a triangle that is at (v, w), −1 for none."""
    return 0 if v == 0.0 and w == 0.0 else (1 if v == 1.0 else (2 if w == 1.0 else -1))


@inline
def _side_of_all(
    facets: FloatArray, around_start: IntArray, around: IntArray, p: int, d0: float, d1: float, d2: float
) -> int:
    """1 where d is in front of all triangles around point p, −1 where behind all, else 0: then angles decide."""
    front = behind = True
    for k in range(around_start[p], around_start[p + 1]):
        t = around[k]
        height = dot(facets[t, 0], facets[t, 1], facets[t, 2], d0, d1, d2)
        front &= height > 0.0
        behind &= height < 0.0
    return int(front) - int(behind)


@inline
def facing_direction(
    x: FloatArray,
    p: int,
    fan_start: IntArray,
    fan: IntArray,
    normals: FloatArray,
    y: FloatArray,
    facets: FloatArray,
    triangles: IntArray,
    triangle_edges: IntArray,
    edge_triangles: IntArray,
    around_start: IntArray,
    around: IntArray,
    face: int,
    v: float,
    w: float,
    beside: bool,
) -> tuple[float, float, float, float, int]:
    """`signed_direction`, but close to an edge or a corner the normal of the face there that x[p] faces; where `beside`
    is true, not if x[p] is in front of the surface and below that face: then it is beside the face. The last value is
    the face whose normal it is, `face` where it is of none.

    On a border the direction to a point is noise, or sideways after the least slip: flat bodies that stand flush on
    each other would be pushed apart. The face meant is the one whose normal is most opposed to a face around the point.
    """
    n0, n1, n2, gap = signed_direction(
        x, p, y, facets, triangles, triangle_edges, edge_triangles, around_start, around, face, v, w
    )
    if v > 0.0 and w > 0.0 and v + w < 1.0:
        return n0, n1, n2, gap, face
    i, j, k = triangles[face, 0], triangles[face, 1], triangles[face, 2]
    size = abs(y[j, 0] - y[i, 0]) + abs(y[j, 1] - y[i, 1])
    size += abs(y[j, 2] - y[i, 2])
    if abs(gap) > _FLUSH * size:
        return n0, n1, n2, gap, face
    best, chosen = _AGAINST, -1
    corner = _corner_at(v, w)
    if corner >= 0:
        first, last = around_start[triangles[face, corner]], around_start[triangles[face, corner] + 1]
    else:
        first, last = 0, 2
    side = 0 if w == 0.0 else (2 if v == 0.0 else 1)
    for m in range(first, last):
        t = around[m] if corner >= 0 else edge_triangles[triangle_edges[face, side], m]
        if t < 0:
            continue
        for o in range(fan_start[p], fan_start[p + 1]):
            f = fan[o]
            product = dot(normals[f, 0], normals[f, 1], normals[f, 2], facets[t, 0], facets[t, 1], facets[t, 2])
            if product < best - 1e-9:  # a tie within rounding keeps the first
                best, chosen = product, t
    if chosen < 0:
        return n0, n1, n2, gap, face
    u = 1.0 - v - w
    d0 = x[p, 0] - (u * y[i, 0] + v * y[j, 0] + w * y[k, 0])
    d1 = x[p, 1] - (u * y[i, 1] + v * y[j, 1] + w * y[k, 1])
    d2 = x[p, 2] - (u * y[i, 2] + v * y[j, 2] + w * y[k, 2])
    height = dot(facets[chosen, 0], facets[chosen, 1], facets[chosen, 2], d0, d1, d2)
    if beside and gap >= 0.0 and height < -_BELOW * size:
        return n0, n1, n2, gap, face
    return facets[chosen, 0], facets[chosen, 1], facets[chosen, 2], height, chosen


@inline
def is_nearest_around(
    x: FloatArray,
    p: int,
    y: FloatArray,
    facets: FloatArray,
    triangles: IntArray,
    triangle_edges: IntArray,
    edge_triangles: IntArray,
    around_start: IntArray,
    around: IntArray,
    face: int,
    v: float,
    w: float,
    squared: float,
) -> bool:
    """Whether x[p] is in front of no triangle around the edge or corner (v, w) of `face` that is nearer than that,
    `squared` (m²): else the pseudonormal there does not tell the side of x[p].
    """
    if v > 0.0 and w > 0.0 and v + w < 1.0:
        return True
    corner = _corner_at(v, w)
    edge = triangle_edges[face, 0 if w == 0.0 else (2 if v == 0.0 else 1)]
    first, last = 0, 2
    if corner >= 0:
        first, last = around_start[triangles[face, corner]], around_start[triangles[face, corner] + 1]
    for k in range(first, last):
        t = around[k] if corner >= 0 else edge_triangles[edge, k]
        if t >= 0:
            _, _, other = triangle_weights(x, p, y, triangles[t, 0], triangles[t, 1], triangles[t, 2])
            i = triangles[t, 0]
            d0, d1, d2 = x[p, 0] - y[i, 0], x[p, 1] - y[i, 1], x[p, 2] - y[i, 2]
            height = dot(facets[t, 0], facets[t, 1], facets[t, 2], d0, d1, d2)
            if other < (1.0 - 1e-9) * squared and height > _TOUCHING * np.sqrt(squared):
                return False
    return True


@inline
def _border_normal(
    y: FloatArray,
    facets: FloatArray,
    triangles: IntArray,
    triangle_edges: IntArray,
    edge_triangles: IntArray,
    around_start: IntArray,
    around: IntArray,
    face: int,
    v: float,
    w: float,
) -> tuple[float, float, float]:
    """Pseudonormal at the point (v, w) on the border of `face`, not of unit length."""
    corner = _corner_at(v, w)
    if corner >= 0:
        n0, n1, n2 = _corner_normal(y, facets, triangles, around_start, around, triangles[face, corner])
        return n0, n1, n2
    side = 0 if w == 0.0 else (2 if v == 0.0 else 1)
    edge = triangle_edges[face, side]
    f, g = edge_triangles[edge, 0], edge_triangles[edge, 1]
    n0, n1, n2 = facets[f, 0], facets[f, 1], facets[f, 2]
    if g >= 0:
        n0, n1, n2 = n0 + facets[g, 0], n1 + facets[g, 1], n2 + facets[g, 2]
    return n0, n1, n2


@inline
def _corner_normal(
    y: FloatArray, facets: FloatArray, triangles: IntArray, around_start: IntArray, around: IntArray, p: int
) -> tuple[float, float, float]:
    """Σ α n over the triangles around point p, α their angle at p."""
    n0, n1, n2 = 0.0, 0.0, 0.0
    for k in range(around_start[p], around_start[p + 1]):
        t = around[k]
        here = 0 if triangles[t, 0] == p else (1 if triangles[t, 1] == p else 2)
        q, r = triangles[t, (here + 1) % 3], triangles[t, (here + 2) % 3]
        u0, u1, u2 = y[q, 0] - y[p, 0], y[q, 1] - y[p, 1], y[q, 2] - y[p, 2]
        v0, v1, v2 = y[r, 0] - y[p, 0], y[r, 1] - y[p, 1], y[r, 2] - y[p, 2]
        lengths = np.sqrt(dot(u0, u1, u2, u0, u1, u2) * dot(v0, v1, v2, v0, v1, v2))
        cosine = dot(u0, u1, u2, v0, v1, v2) / lengths if lengths > 0.0 else 1.0
        angle = np.arccos(min(1.0, max(-1.0, cosine)))
        n0 += angle * facets[t, 0]
        n1 += angle * facets[t, 1]
        n2 += angle * facets[t, 2]
    return n0, n1, n2
