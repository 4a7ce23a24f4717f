"""The contact of a sphere at the point of a surface nearest to its centre: what the vertices do not see.

A sphere between the vertices of a triangle penetrates it before any vertex is near. The point of the surface that is
nearest to the centre is a contact of its own, within a face or on an edge, as if a vertex stood there. Next to a
vertex it is left to the contact of that vertex, and on faces that are small beside the sphere to those of all: there
the nearest point of equal ones would change from step to step.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.collision.contacts import ContactKind, ContactSet, key_base
from pliant.collision.surface import CollisionSurface
from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray

_TOUCHING = 1e-9  # below this fraction of the radius the direction from the centre is noise, and the face's is used
_INSIDE = 0.05  # weight that every corner has at a point well within a face
_AT_VERTEX = 0.02  # fraction of the radius: a vertex nearer to the point than this is at most 2e-4 radii farther away

_EQUAL = 0.05  # fraction of the radius by which other faces are farther at most: as deep as edges of 0.4 radii dip
_MOST_FACES = 16  # faces beside the nearest one: more than meet at a vertex


def sphere_face_contact(
    surface: CollisionSurface,
    points: FloatArray,
    center: FloatArray,
    radius: float,
    *,
    margin: float,
    pair: int = 0,
    start: tuple[FloatArray, FloatArray] | None = None,
    feature: int = 0,
    on_edges: bool = True,
    dip: float = 0.0,
) -> ContactSet:
    """The contact of `surface` at `points` (n, 3) m, side a, with a sphere of `radius` m at `center` (3,) m, if any.

    `start` holds points and centre at the start of the step: the point of the surface is chosen there, and keeps to the
    material while the step is solved. By default it is chosen where everything is now. `feature` tells the spheres of
    one solid apart, such as both ends of a capsule. Without `on_edges` a contact has to be well within its face. The
    longest edge of the face has to dip by more than the fraction `dip` of its length between ends that touch.
    """
    before, middle = (points, center) if start is None else start
    found = np.empty(4)
    face = _nearest_face(frozen(before), surface.triangles, surface.order, frozen(middle[None]), radius + margin, found)
    weights = np.array([1.0 - found[0] - found[1], found[0], found[1]])
    if face < 0:
        return ContactSet.empty(len(points), 0)
    nodes = surface.triangles[face]
    longest = np.linalg.norm(before[nodes] - before[np.roll(nodes, 1)], axis=1).max()
    if longest <= 8.0 * dip * radius:
        return ContactSet.empty(len(points), 0)
    if not on_edges and weights.min() < _INSIDE:
        return ContactSet.empty(len(points), 0)
    if np.linalg.norm(before[nodes] - weights @ before[nodes], axis=1).min() < _AT_VERTEX * radius:
        return ContactSet.empty(len(points), 0)
    place = weights @ points[nodes]
    away = place - center
    distance = float(np.linalg.norm(away))
    outward = np.cross(points[nodes[1]] - points[nodes[0]], points[nodes[2]] - points[nodes[0]])
    if distance > _TOUCHING * radius:
        normal = away / distance
    else:
        normal = -outward / np.linalg.norm(outward)
    return ContactSet(
        kind=np.full(1, ContactKind.FACE_VERTEX, dtype=np.uint8),
        nodes_a=nodes[None],
        weights_a=weights[None],
        nodes_b=np.full((1, 3), -1, dtype=np.int32),
        weights_b=np.zeros((1, 3)),
        normal=normal[None],
        gap=np.array([distance - radius]),
        point_a=place[None],
        point_b=(center + radius * normal)[None],
        key=np.array([key_base(ContactKind.FACE_VERTEX, pair) + feature]),
        face=np.array([face], np.int32),
        point_count_a=len(points),
        point_count_b=0,
    )


def other_face_contacts(
    surface: CollisionSurface,
    points: FloatArray,
    center: FloatArray,
    radius: float,
    *,
    margin: float,
    pair: int = 0,
    start: tuple[FloatArray, FloatArray] | None = None,
    feature: int = 0,
    dip: float = 0.0,
) -> ContactSet:
    """Contacts of the sphere within faces that are hardly farther from it than the nearest one, as in the pit that it
    presses: without them the nearest of two equal faces changes from step to step. The arguments are those of
    `sphere_face_contact`.
    """
    before, middle = (points, center) if start is None else start
    most = _MOST_FACES
    listed, weights = np.empty(most, np.int32), np.empty((most, 3))
    count = _faces_around(
        frozen(before), surface.triangles, surface.order, frozen(middle[None]), radius + margin, _EQUAL * radius,
        8.0 * dip * radius, listed, weights,
    )  # fmt: skip
    if not count:
        return ContactSet.empty(len(points), 0)
    faces = listed[:count].copy()
    nodes, weight = surface.triangles[faces], np.ascontiguousarray(weights[:count])
    place: FloatArray = np.einsum("mk,mki->mi", weight, points[nodes])
    away = place - center
    distance = np.maximum(np.linalg.norm(away, axis=1), _TOUCHING * radius)
    normal: FloatArray = away / distance[:, None]
    key = key_base(ContactKind.FACE_VERTEX, pair) + feature + 2 * (1 + faces.astype(np.int64))
    return ContactSet(
        kind=np.full(count, ContactKind.FACE_VERTEX, dtype=np.uint8),
        nodes_a=nodes,
        weights_a=weight,
        nodes_b=np.full((count, 3), -1, dtype=np.int32),
        weights_b=np.zeros((count, 3)),
        normal=normal,
        gap=distance - radius,
        point_a=place,
        point_b=center + radius * normal,
        key=key,
        face=faces,
        point_count_a=len(points),
        point_count_b=0,
    )


@kernel
def _faces_around(
    points: FloatArray, triangles: IntArray, order: IntArray, center: FloatArray, reach: float, equal: float,
    longest: float, faces: IntArray, weights: FloatArray,
) -> int:  # fmt: skip
    """Write the triangles of `order` whose foot below the point lies within them, at most `equal` (m) farther than the
    nearest point of all, without the one that has it, and the weights there; returns their number. They have an edge
    longer than `longest` (m) and are seen from outside.
    """
    found = np.empty(4)
    nearest = _nearest_face(points, triangles, order, center, reach, found)
    if nearest < 0:
        return 0
    limit = min(np.sqrt(found[2]) + equal, reach)
    count = 0
    for t in order:
        if t == nearest or count == len(faces):
            continue
        i, j, k = triangles[t]
        outside = False
        for c in range(3):
            low = min(points[i, c], points[j, c], points[k, c])
            high = max(points[i, c], points[j, c], points[k, c])
            outside = outside or max(low - center[0, c], center[0, c] - high) > limit
        if outside:
            continue
        v, w, squared = triangle_weights(center, 0, points, i, j, k)
        if squared > limit * limit or not (v > 0.0 and w > 0.0 and v + w < 1.0):
            continue
        size = max(_squared(points, i, j), _squared(points, j, k), _squared(points, k, i))
        if size <= longest * longest or not _is_seen(points, i, j, k, center):
            continue
        faces[count] = t
        weights[count, 0], weights[count, 1], weights[count, 2] = 1.0 - v - w, v, w
        count += 1
    return count


@inline
def _squared(points: FloatArray, i: int, j: int) -> float:
    """Squared distance of two points."""
    d0, d1, d2 = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1], points[i, 2] - points[j, 2]
    return float(dot(d0, d1, d2, d0, d1, d2))


@inline
def _is_seen(points: FloatArray, i: int, j: int, k: int, center: FloatArray) -> bool:
    """Whether the point is in front of a triangle."""
    a0, a1, a2 = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
    b0, b1, b2 = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
    n0, n1, n2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    d0, d1, d2 = center[0, 0] - points[i, 0], center[0, 1] - points[i, 1], center[0, 2] - points[i, 2]
    return bool(dot(n0, n1, n2, d0, d1, d2) > 0.0)


@kernel
def _nearest_face(
    points: FloatArray, triangles: IntArray, order: IntArray, center: FloatArray, reach: float, found: FloatArray
) -> int:
    """The triangle of `order` nearest to the point and nearer than `reach` (m), or −1; v, w and the squared distance
    into `found`.
    """
    best, face = reach * reach, -1
    for t in order:
        i, j, k = triangles[t]
        outside = False
        for c in range(3):
            low = min(points[i, c], points[j, c], points[k, c])
            high = max(points[i, c], points[j, c], points[k, c])
            gap = max(low - center[0, c], center[0, c] - high)
            outside = outside or (gap > 0.0 and gap * gap > best)
        if outside:
            continue
        v, w, squared = triangle_weights(center, 0, points, i, j, k)
        if squared < best:
            best, face = squared, t
            found[0], found[1], found[2] = v, w, squared
    if face < 0:
        found[:] = 0.0
    return face
