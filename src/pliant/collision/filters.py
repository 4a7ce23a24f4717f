"""What is not a contact: neighbours in the mesh, features that are close at rest, the far side of a thin wall.

Two features of one surface are near at rest where the triangles around them share a point, or where their distance at
rest is below the rest distance. They are a contact only if they stood in front of each other at rest, as the sides of a
notch or a slot do, and have since come nearer than half that distance, or behind each other. Two features in
penetration are left out when they were behind each other at rest, within the reach of a thin wall: then the material
lies between them, and it is compressed, not in contact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.collision.closest import dot, segment_parameters
from pliant.collision.surface import Pose
from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IndexArray, IntArray

CLOSED_IN = 0.5
"""Two features that are near at rest count once their distance is below this fraction of that at rest: the sides of a
slot that nothing closes make no rows."""
_IN_FRONT = 1e-3
"""Sine from which on features stand in front of each other at rest; below they lie in one plane."""


class Limits(NamedTuple):
    """Limits of a query, for kernels.

    margin   m, largest distance of a contact
    rest     m, self-contact: pairs closer than this at rest count once they have closed in
    wall     m, self-contact: pairs behind each other and closer than this at rest do not penetrate
    facing   two triangles may touch where the product of their unit normals is below this
    against  a vertex may be touched along n where the product of n with a normal around it is below this
    flat     an edge whose two unit normals have a product above this is flat: two flat edges touch once crossed
    same     whether both sides are one surface
    """

    margin: float
    rest: float
    wall: float
    facing: float
    against: float
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
    closed: bool


class History(NamedTuple):
    """Contacts of the last step for kernels: ascending `keys` (m,), their `normals` (m, 3), and the `faces` (m,) of
    contacts of vertices, −1 where there is none.
    """

    keys: IndexArray
    normals: FloatArray
    faces: IntArray


def arrays_of(pose: Pose) -> Arrays:
    """The arrays of `pose` for kernels."""
    s = pose.surface
    return Arrays(
        pose.points, pose.bounds.normals, s.triangles, s.edges, s.triangle_edges, s.edge_triangles, s.fan_start, s.fan,
        s.ring_start, s.ring, s.vertex_mask, s.edge_mask, s.rest, s.rest_normals, s.closed,
    )  # fmt: skip


@inline
def place(history: History, key: int) -> int:
    """Where `key` is in the last step's contacts, or −1."""
    i = int(np.searchsorted(history.keys, key))
    return i if i < len(history.keys) and history.keys[i] == key else -1


@inline
def agreement(history: History, last: int, n0: float, n1: float, n2: float) -> float:
    """Product of a unit normal with the normal that contact `last` had."""
    return float(dot(n0, n1, n2, history.normals[last, 0], history.normals[last, 1], history.normals[last, 2]))


@inline
def vertex_faces(
    fan_start: IntArray, fan: IntArray, normals: FloatArray, vertex: int, n: FloatArray, face: int, facing: float
) -> bool:
    """Whether a triangle around `vertex` faces the normal n[face]: n·n′ < facing."""
    n0, n1, n2 = n[face, 0], n[face, 1], n[face, 2]
    for k in range(fan_start[vertex], fan_start[vertex + 1]):
        t = fan[k]
        if dot(normals[t, 0], normals[t, 1], normals[t, 2], n0, n1, n2) < facing:
            return True
    return False


@inline
def vertex_opposes(
    fan_start: IntArray, fan: IntArray, normals: FloatArray, vertex: int, n0: float, n1: float, n2: float, limit: float
) -> bool:
    """Whether a normal around `vertex`, or their mean, opposes the unit direction n: product < `limit`."""
    m0, m1, m2 = 0.0, 0.0, 0.0
    for k in range(fan_start[vertex], fan_start[vertex + 1]):
        t = fan[k]
        if dot(normals[t, 0], normals[t, 1], normals[t, 2], n0, n1, n2) < limit:
            return True
        m0, m1, m2 = m0 + normals[t, 0], m1 + normals[t, 1], m2 + normals[t, 2]
    return bool(dot(m0, m1, m2, n0, n1, n2) < limit * np.sqrt(dot(m0, m1, m2, m0, m1, m2)))


@inline
def is_extreme(
    x: FloatArray, vertex: int, ring_start: IntArray, ring: IntArray, n0: float, n1: float, n2: float
) -> bool:
    """Whether `vertex` is the point farthest against the unit direction n among those joined to it: a corner that may
    be touched along n, however sharp.
    """
    for k in range(ring_start[vertex], ring_start[vertex + 1]):
        q = ring[k]
        if dot(x[q, 0] - x[vertex, 0], x[q, 1] - x[vertex, 1], x[q, 2] - x[vertex, 2], n0, n1, n2) < 0.0:
            return False
    return True


@inline
def touches(ring_start: IntArray, ring: IntArray, p: int, i: int, j: int, k: int) -> bool:
    """Whether point p is joined to point i, j or k by an edge."""
    for m in range(ring_start[p], ring_start[p + 1]):
        q = ring[m]
        if (q == i) | (q == j) | (q == k):
            return True
    return False


@inline
def edge_faces(
    beside: IntArray,
    normals: FloatArray,
    edge: int,
    beside_b: IntArray,
    normals_b: FloatArray,
    other: int,
    facing: float,
) -> bool:
    """Whether a triangle beside[edge] faces a triangle beside_b[other]: n·n′ < facing."""
    for side in range(2):
        for other_side in range(2):
            f, g = beside[edge, side], beside_b[other, other_side]
            if f >= 0 and g >= 0:
                n0, n1, n2 = normals[f, 0], normals[f, 1], normals[f, 2]
                if dot(n0, n1, n2, normals_b[g, 0], normals_b[g, 1], normals_b[g, 2]) < facing:
                    return True
    return False


@inline
def edges_touch(triangles: IntArray, beside: IntArray, edge: int, other: int) -> bool:
    """Whether a triangle of one edge and a triangle of the other share a point."""
    for k in range(4):
        f, g = beside[edge, k // 2], beside[other, k % 2]
        if f >= 0 and g >= 0:
            for m in range(9):
                if triangles[f, m // 3] == triangles[g, m % 3]:
                    return True
    return False


@inline
def height_at_rest(
    rest: FloatArray, normals: FloatArray, vertex: int, face: int, i: int, j: int, k: int, v: float, w: float
) -> float:
    """Height (m) at rest of `vertex` above `face`, whose nearest point has weights (v, w) at its corners j and k."""
    height = 0.0
    for axis in range(3):
        foot = (1.0 - v - w) * rest[i, axis] + v * rest[j, axis] + w * rest[k, axis]
        height += (rest[vertex, axis] - foot) * normals[face, axis]
    return height


@inline
def closed_in(height: float, rest_squared: float, squared: float, penetrates: bool, lasts: bool) -> bool:
    """Whether features that are near at rest, their distance² `rest_squared` (m²) there and `squared` now, count: they
    stood in front of each other by `height` (m) and have come closer since. A contact that `lasts` needs less.
    """
    if height <= _IN_FRONT * np.sqrt(rest_squared):
        return False
    fraction = 1.0 if lasts else CLOSED_IN * CLOSED_IN
    return bool(penetrates or squared < fraction * rest_squared)


@inline
def edge_height_at_rest(
    rest: FloatArray, rest_normals: FloatArray, edges: IntArray, beside: IntArray, edge: int, other: int
) -> tuple[float, float]:
    """Height (m) of two edges above each other at rest, negative behind each other, and their distance² (m²)."""
    i, j, k, m = edges[edge, 0], edges[edge, 1], edges[other, 0], edges[other, 1]
    s, t, squared, _ = segment_parameters(rest, i, j, rest, k, m)
    height = 0.0
    for axis in range(3):
        apart = rest[i, axis] + s * (rest[j, axis] - rest[i, axis])
        apart -= rest[k, axis] + t * (rest[m, axis] - rest[k, axis])
        facing = outward(beside, rest_normals, other, axis)
        height += 0.25 * apart * (facing - outward(beside, rest_normals, edge, axis))
    return height, squared


@inline
def fill_inset(
    x: FloatArray, vertex: int, fan_start: IntArray, fan: IntArray, normals: FloatArray, inset: float, spot: FloatArray
) -> None:
    """Write the point `inset` (m) inside the body at `vertex`, along the mean of the normals around it, to spot[0]."""
    m0, m1, m2 = 0.0, 0.0, 0.0
    for k in range(fan_start[vertex], fan_start[vertex + 1]):
        t = fan[k]
        m0, m1, m2 = m0 + normals[t, 0], m1 + normals[t, 1], m2 + normals[t, 2]
    scale = inset / max(np.sqrt(dot(m0, m1, m2, m0, m1, m2)), 1e-300)
    spot[0, 0] = x[vertex, 0] - scale * m0
    spot[0, 1] = x[vertex, 1] - scale * m1
    spot[0, 2] = x[vertex, 2] - scale * m2


@inline
def outward(beside: IntArray, normals: FloatArray, edge: int, axis: int) -> float:
    """One component of the sum of the unit normals at an edge."""
    f, g = beside[edge, 0], beside[edge, 1]
    return float(normals[f, axis] + (normals[g, axis] if g >= 0 else 0.0))
