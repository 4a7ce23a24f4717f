"""The side of a triangle mesh that a point is on, from its nearest triangle, exact for closed meshes.

Inside a face the sign comes from the normal; on an edge from the sum of the two normals; at a corner from the normals
of all triangles around it, weighted by their angle there.

Reference: J. A. Bærentzen and H. Aanæs, "Signed distance computation using the angle weighted pseudonormal", IEEE
TVCG 11, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.closest import dot
from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IntArray

_TOUCHING = 1e-9
"""Below this distance, relative to the triangle, the direction to a point is noise and the pseudonormal is used."""


_FLUSH = 1e-2
"""Within this distance of a border, relative to the triangle, the faces there are told apart by what faces them."""
_AGAINST = -0.7
"""Two faces are against each other below this product of their normals."""


class Sides(NamedTuple):
    """What the side of a mesh is read from: names as in `CollisionSurface`, `normals` (t, 3) the current unit ones."""

    points: FloatArray
    normals: FloatArray
    triangles: IntArray
    triangle_edges: IntArray
    edge_triangles: IntArray
    fan_start: IntArray
    fan: IntArray


@inline
def signed_direction(
    x: FloatArray, p: int, b: Sides, face: int, v: float, w: float
) -> tuple[float, float, float, float]:
    """Unit normal from the mesh to x[p] and signed distance (m), for the nearest point (v, w) on `face`.

    The normal is the gradient of the signed distance: negative behind the surface, where it still points outward.
    """
    i, j, k = b.triangles[face]
    u = 1.0 - v - w
    d0 = x[p, 0] - (u * b.points[i, 0] + v * b.points[j, 0] + w * b.points[k, 0])
    d1 = x[p, 1] - (u * b.points[i, 1] + v * b.points[j, 1] + w * b.points[k, 1])
    d2 = x[p, 2] - (u * b.points[i, 2] + v * b.points[j, 2] + w * b.points[k, 2])
    n0, n1, n2 = b.normals[face]
    flat = n0 == 0.0 and n1 == 0.0 and n2 == 0.0
    if v > 0.0 and w > 0.0 and v + w < 1.0 and not flat:
        return n0, n1, n2, dot(n0, n1, n2, d0, d1, d2)
    n0, n1, n2 = _border_normal(b, face, v, w)
    length = np.sqrt(dot(d0, d1, d2, d0, d1, d2))
    size = abs(b.points[j, 0] - b.points[i, 0]) + abs(b.points[j, 1] - b.points[i, 1])
    size += abs(b.points[j, 2] - b.points[i, 2])
    if length <= _TOUCHING * size:
        norm = max(np.sqrt(dot(n0, n1, n2, n0, n1, n2)), 1e-300)
        n0, n1, n2 = n0 / norm, n1 / norm, n2 / norm
        return n0, n1, n2, dot(n0, n1, n2, d0, d1, d2)
    signed = length if dot(n0, n1, n2, d0, d1, d2) >= 0.0 else -length
    return d0 / signed, d1 / signed, d2 / signed, signed


@inline
def facing_direction(
    x: FloatArray,
    p: int,
    fan_start: IntArray,
    fan: IntArray,
    normals: FloatArray,
    b: Sides,
    face: int,
    v: float,
    w: float,
) -> tuple[float, float, float, float]:
    """`signed_direction`, but close to an edge or a corner the normal of the face there that x[p] faces.

    On a border the direction to a point is noise, or sideways after the least slip: flat bodies that stand flush on
    each other would be pushed apart. The face meant is the one whose normal is most opposed to a face around the point.
    """
    n0, n1, n2, gap = signed_direction(x, p, b, face, v, w)
    if v > 0.0 and w > 0.0 and v + w < 1.0:
        return n0, n1, n2, gap
    i, j, k = b.triangles[face]
    size = abs(b.points[j, 0] - b.points[i, 0]) + abs(b.points[j, 1] - b.points[i, 1])
    size += abs(b.points[j, 2] - b.points[i, 2])
    if abs(gap) > _FLUSH * size:
        return n0, n1, n2, gap
    best, chosen = _AGAINST, -1
    corner = 0 if v == 0.0 and w == 0.0 else (1 if v == 1.0 else (2 if w == 1.0 else -1))
    if corner >= 0:
        first, last = b.fan_start[b.triangles[face, corner]], b.fan_start[b.triangles[face, corner] + 1]
    else:
        first, last = 0, 2
    side = 0 if w == 0.0 else (2 if v == 0.0 else 1)
    for m in range(first, last):
        t = b.fan[m] if corner >= 0 else b.edge_triangles[b.triangle_edges[face, side], m]
        if t < 0:
            continue
        for o in range(fan_start[p], fan_start[p + 1]):
            f = fan[o]
            product = dot(
                normals[f, 0], normals[f, 1], normals[f, 2], b.normals[t, 0], b.normals[t, 1], b.normals[t, 2]
            )
            if product < best - 1e-9:
                best, chosen = product, t
    if chosen < 0:
        return n0, n1, n2, gap
    n0, n1, n2 = b.normals[chosen]
    u = 1.0 - v - w
    d0 = x[p, 0] - (u * b.points[i, 0] + v * b.points[j, 0] + w * b.points[k, 0])
    d1 = x[p, 1] - (u * b.points[i, 1] + v * b.points[j, 1] + w * b.points[k, 1])
    d2 = x[p, 2] - (u * b.points[i, 2] + v * b.points[j, 2] + w * b.points[k, 2])
    return n0, n1, n2, dot(n0, n1, n2, d0, d1, d2)


@inline
def _border_normal(b: Sides, face: int, v: float, w: float) -> tuple[float, float, float]:
    """Pseudonormal at the point (v, w) on the border of `face`, not of unit length."""
    corner = 0 if v == 0.0 and w == 0.0 else (1 if v == 1.0 else (2 if w == 1.0 else -1))
    if corner >= 0:
        n0, n1, n2 = _corner_normal(b, b.triangles[face, corner])
        return n0, n1, n2
    side = 0 if w == 0.0 else (2 if v == 0.0 else 1)
    f, g = b.edge_triangles[b.triangle_edges[face, side]]
    n0, n1, n2 = b.normals[f]
    if g >= 0:
        n0, n1, n2 = n0 + b.normals[g, 0], n1 + b.normals[g, 1], n2 + b.normals[g, 2]
    return n0, n1, n2


@inline
def _corner_normal(b: Sides, p: int) -> tuple[float, float, float]:
    """Σ α n over the triangles around point p, α their angle at p."""
    n0, n1, n2 = 0.0, 0.0, 0.0
    for k in range(b.fan_start[p], b.fan_start[p + 1]):
        t = b.fan[k]
        here = 0 if b.triangles[t, 0] == p else (1 if b.triangles[t, 1] == p else 2)
        q, r = b.triangles[t, (here + 1) % 3], b.triangles[t, (here + 2) % 3]
        u0, u1, u2 = b.points[q, 0] - b.points[p, 0], b.points[q, 1] - b.points[p, 1], b.points[q, 2] - b.points[p, 2]
        v0, v1, v2 = b.points[r, 0] - b.points[p, 0], b.points[r, 1] - b.points[p, 1], b.points[r, 2] - b.points[p, 2]
        lengths = np.sqrt(dot(u0, u1, u2, u0, u1, u2) * dot(v0, v1, v2, v0, v1, v2))
        cosine = dot(u0, u1, u2, v0, v1, v2) / lengths if lengths > 0.0 else 1.0
        angle = np.arccos(min(1.0, max(-1.0, cosine)))
        n0 += angle * b.normals[t, 0]
        n1 += angle * b.normals[t, 1]
        n2 += angle * b.normals[t, 2]
    return n0, n1, n2
