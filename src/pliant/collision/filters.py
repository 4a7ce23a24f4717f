"""What is not a contact: neighbours in the mesh, features that are close at rest, the far side of a thin wall.

A pair of features of one surface is left out when they share a point or are joined by an edge, or when their distance
at rest is below the rest distance. Two features in penetration are left out when they were behind each other at rest,
within the reach of a thin wall: then the material lies between them, and it is compressed, not in contact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.collision.closest import dot, segment_parameters, triangle_weights
from pliant.collision.surface import Pose
from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IndexArray, IntArray


class Limits(NamedTuple):
    """Limits of a query, for kernels.

    margin   m, largest distance of a contact
    rest     m, self-contact: pairs closer than this at rest are left out
    wall     m, self-contact: pairs behind each other and closer than this at rest do not penetrate
    facing   two triangles may touch where the product of their unit normals is below this
    flat     an edge whose two unit normals have a product above this is flat, and makes no edge–edge contact
    same     whether both sides are one surface
    """

    margin: float
    rest: float
    wall: float
    facing: float
    flat: float
    same: bool


class Arrays(NamedTuple):
    """A pose for kernels: the arrays of `CollisionSurface` that narrow phases read, with points and normals."""

    points: FloatArray
    normals: FloatArray
    triangles: IntArray
    edges: IntArray
    triangle_edges: IntArray
    edge_triangles: IntArray
    fan_start: IntArray
    fan: IntArray
    ring_start: IntArray
    ring: IntArray
    vertex_mask: NDArray[np.uint8]
    edge_mask: NDArray[np.uint8]
    rest: FloatArray
    rest_normals: FloatArray


class History(NamedTuple):
    """Contacts of the last step for kernels: ascending `keys` (m,) and their `normals` (m, 3)."""

    keys: IndexArray
    normals: FloatArray


def arrays_of(pose: Pose) -> Arrays:
    """The arrays of `pose` for kernels."""
    s = pose.surface
    return Arrays(
        pose.points, pose.bounds.normals, s.triangles, s.edges, s.triangle_edges, s.edge_triangles, s.fan_start, s.fan,
        s.ring_start, s.ring, s.vertex_mask, s.edge_mask, s.rest, s.rest_normals,
    )  # fmt: skip


@inline
def place(history: History, key: int) -> int:
    """Where `key` is in the last step's contacts, or −1."""
    i = np.searchsorted(history.keys, key)
    return i if i < len(history.keys) and history.keys[i] == key else -1


@inline
def touches(a: Arrays, p: int, q: int) -> bool:
    """Whether points p and q are one or joined by an edge."""
    for k in range(a.ring_start[p], a.ring_start[p + 1]):
        if a.ring[k] == q:
            return True
    return p == q


@inline
def vertex_faces(a: Arrays, vertex: int, b: Arrays, face: int, facing: float) -> bool:
    """Whether a triangle around `vertex` faces `face`: n·n′ < facing."""
    n0, n1, n2 = b.normals[face]
    for k in range(a.fan_start[vertex], a.fan_start[vertex + 1]):
        if dot(a.normals[a.fan[k], 0], a.normals[a.fan[k], 1], a.normals[a.fan[k], 2], n0, n1, n2) < facing:
            return True
    return False


@inline
def edge_faces(a: Arrays, edge_a: int, b: Arrays, edge_b: int, facing: float) -> bool:
    """Whether a triangle of `edge_a` faces a triangle of `edge_b`."""
    for f in a.edge_triangles[edge_a]:
        for g in b.edge_triangles[edge_b]:
            if f >= 0 and g >= 0:
                n0, n1, n2 = a.normals[f]
                if dot(n0, n1, n2, b.normals[g, 0], b.normals[g, 1], b.normals[g, 2]) < facing:
                    return True
    return False


@inline
def vertex_is_neighbour(a: Arrays, vertex: int, face: int, rest: float) -> bool:
    """Whether the mesh or the rest shape keeps `vertex` and `face` of one surface from being a contact."""
    i, j, k = a.triangles[face]
    if touches(a, vertex, i) or touches(a, vertex, j) or touches(a, vertex, k):
        return True
    _, _, squared = triangle_weights(a.rest, vertex, a.rest, i, j, k)
    return bool(squared < rest * rest)


@inline
def edge_is_neighbour(a: Arrays, edge: int, other: int, rest: float) -> bool:
    """Whether the mesh or the rest shape keeps two edges of one surface from being a contact."""
    i, j = a.edges[edge]
    k, m = a.edges[other]
    if touches(a, i, k) or touches(a, i, m) or touches(a, j, k) or touches(a, j, m):
        return True
    _, _, squared, _ = segment_parameters(a.rest, i, j, a.rest, k, m)
    return bool(squared < rest * rest)


@inline
def vertex_behind_at_rest(a: Arrays, vertex: int, face: int, wall: float) -> bool:
    """Whether `vertex` lies behind `face` at rest, through at most `wall` (m) of material."""
    i, j, k = a.triangles[face]
    v, w, squared = triangle_weights(a.rest, vertex, a.rest, i, j, k)
    height = 0.0
    for axis in range(3):
        foot = (1.0 - v - w) * a.rest[i, axis] + v * a.rest[j, axis] + w * a.rest[k, axis]
        height += (a.rest[vertex, axis] - foot) * a.rest_normals[face, axis]
    return bool(height < 0.0 and squared < wall * wall)


@inline
def edge_behind_at_rest(a: Arrays, edge: int, other: int, wall: float) -> bool:
    """Whether two edges lie behind each other at rest, through at most `wall` (m) of material."""
    i, j = a.edges[edge]
    k, m = a.edges[other]
    s, t, squared, _ = segment_parameters(a.rest, i, j, a.rest, k, m)
    height = 0.0
    for axis in range(3):
        apart = a.rest[i, axis] + s * (a.rest[j, axis] - a.rest[i, axis])
        apart -= a.rest[k, axis] + t * (a.rest[m, axis] - a.rest[k, axis])
        height += apart * (outward(a, a.rest_normals, other, axis) - outward(a, a.rest_normals, edge, axis))
    return bool(height < 0.0 and squared < wall * wall)


@inline
def outward(a: Arrays, normals: FloatArray, edge: int, axis: int) -> float:
    """One component of the sum of the unit normals at an edge."""
    f, g = a.edge_triangles[edge]
    return float(normals[f, axis] + (normals[g, axis] if g >= 0 else 0.0))
