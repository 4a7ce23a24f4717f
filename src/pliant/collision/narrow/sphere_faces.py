"""The contact of a sphere at the point of a surface nearest to its centre: what the vertices do not see.

A sphere between the vertices of a triangle penetrates it before any vertex is near. The point of the surface that is
nearest to the centre is a contact of its own, within a face or on an edge, as if a vertex stood there. Next to a
vertex it is left to the contact of that vertex, and on faces that are small beside the sphere to those of all: there
the nearest point of equal ones would change from step to step.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.collision.contacts import ContactKind, ContactSet, key_base, no_side_b
from pliant.collision.surface import CollisionSurface
from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray

_TOUCHING = 1e-9  # below this fraction of the radius the direction from the centre is noise, and the face's is used
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
    dip: float = 0.0,
) -> ContactSet:
    """The contact of `surface` at `points` (n, 3) m, side a, with a sphere of `radius` m at `center` (3,) m, if any.

    `start` holds points and centre at the start of the step: the point of the surface is chosen there, and keeps to the
    material while the step is solved. By default it is chosen where everything is now. `feature` tells the spheres of
    one solid apart, such as both ends of a capsule. The longest edge of the face has to dip by more than the fraction
    `dip` of its length between ends that touch.
    """
    before, middle = (points, center) if start is None else start
    nodes, place, normal = np.empty((1, 3), np.int32), np.empty((2, 3)), np.empty((1, 3))
    weights, gap = np.empty((1, 3)), np.empty(1)
    face = _nearest_contact(
        frozen(before), frozen(points), surface.triangles, surface.order, frozen(middle[None]), frozen(center[None]),
        radius, margin, dip, nodes, weights, normal, gap, place,
    )  # fmt: skip
    if face < 0:
        return ContactSet.empty(len(points), 0)
    return ContactSet(
        nodes_a=nodes,
        weights_a=weights,
        normal=normal,
        gap=gap,
        point_a=place[:1],
        point_b=place[1:],
        key=np.array([key_base(ContactKind.FACE_VERTEX, pair) + feature]),
        face=np.array([face], np.int32),
        point_count_a=len(points),
        point_count_b=0,
        **no_side_b(1, ContactKind.FACE_VERTEX),
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
    faces, weight = listed[:count].copy(), weights[:count].copy()
    nodes, place, gap = np.empty((count, 3), np.int32), np.empty((2, count, 3)), np.empty(count)
    normal = np.empty((count, 3))
    _fill_faces(
        frozen(points), surface.triangles, frozen(faces), frozen(center[None]), radius, frozen(weight), nodes, normal,
        gap, place,
    )  # fmt: skip
    return ContactSet(
        nodes_a=nodes,
        weights_a=weight,
        normal=normal,
        gap=gap,
        point_a=place[0],
        point_b=place[1],
        key=key_base(ContactKind.FACE_VERTEX, pair) + feature + 2 * (1 + faces.astype(np.int64)),
        face=faces,
        point_count_a=len(points),
        point_count_b=0,
        **no_side_b(count, ContactKind.FACE_VERTEX),
    )


@kernel
def _nearest_contact(
    before: FloatArray, points: FloatArray, triangles: IntArray, order: IntArray, middle: FloatArray,
    center: FloatArray, radius: float, margin: float, dip: float, nodes: IntArray, weights: FloatArray,
    normal: FloatArray, gap: FloatArray, place: FloatArray,
) -> int:  # fmt: skip
    """The face nearest to `middle` (1, 3) among points `before`, or −1 where `sphere_face_contact` leaves it to others;
    its contact at `points` with the sphere around `center` (1, 3): `place` are the points of side a and of side b.
    """
    found = np.empty(4)
    face = _nearest_face(before, triangles, order, middle, radius + margin, found)
    if face < 0:
        return -1
    weights[0, 0], weights[0, 1], weights[0, 2] = 1.0 - found[0] - found[1], found[0], found[1]
    i, j, k = triangles[face]
    longest = np.sqrt(max(_squared(before, i, k), _squared(before, j, i), _squared(before, k, j)))
    if longest <= 8.0 * dip * radius:
        return -1
    nearest = np.inf
    for corner in (i, j, k):
        squares = 0.0
        for c in range(3):
            foot = weights[0, 0] * before[i, c] + weights[0, 1] * before[j, c] + weights[0, 2] * before[k, c]
            squares += (before[corner, c] - foot) ** 2
        nearest = min(nearest, squares)
    if np.sqrt(nearest) < _AT_VERTEX * radius:
        return -1
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = i, j, k
    squares = 0.0
    for c in range(3):
        place[0, c] = weights[0, 0] * points[i, c] + weights[0, 1] * points[j, c] + weights[0, 2] * points[k, c]
        normal[0, c] = place[0, c] - center[0, c]
        squares += normal[0, c] ** 2
    distance = np.sqrt(squares)
    gap[0] = distance - radius
    if distance <= _TOUCHING * radius:  # against the face, whose normal points outward
        _face_normal(points, i, j, k, normal)
        distance = -np.sqrt(normal[0, 0] ** 2 + normal[0, 1] ** 2 + normal[0, 2] ** 2)
    for c in range(3):
        normal[0, c] /= distance
        place[1, c] = center[0, c] + radius * normal[0, c]
    return int(face)


@inline
def _face_normal(points: FloatArray, i: int, j: int, k: int, normal: FloatArray) -> None:
    """Normal (1, 3) of a triangle, twice as long as its area."""
    a0, a1, a2 = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
    b0, b1, b2 = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
    normal[0, 0], normal[0, 1], normal[0, 2] = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@kernel
def _fill_faces(
    points: FloatArray, triangles: IntArray, faces: IntArray, center: FloatArray, radius: float, weights: FloatArray,
    nodes: IntArray, normal: FloatArray, gap: FloatArray, place: FloatArray,
) -> None:  # fmt: skip
    """Contacts of a sphere around `center` (1, 3) with `faces` (m,) at the points of the given `weights` (m, 3)."""
    for m in range(len(faces)):
        squares = 0.0
        for c in range(3):
            total = 0.0
            for k in range(3):
                nodes[m, k] = triangles[faces[m], k]
                total += weights[m, k] * points[nodes[m, k], c]
            place[0, m, c] = total
            normal[m, c] = total - center[0, c]
            squares += normal[m, c] ** 2
        distance = max(np.sqrt(squares), _TOUCHING * radius)
        gap[m] = distance - radius
        for c in range(3):
            normal[m, c] /= distance
            place[1, m, c] = center[0, c] + radius * normal[m, c]


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


@inline
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
