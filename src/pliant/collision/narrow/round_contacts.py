"""Contacts of the edges and faces of a surface with a round solid: a sphere, a capsule, a cylinder, a pipe.

The vertices of a coarse surface do not see a solid between them. The signed distance φ of a convex solid is convex, so
along an edge it has one minimum, where ∇φ·(x_j − x_i) changes its sign: it is a contact where it lies well below the
line between the values at the ends. Faces are touched by the ends of a capsule, and by the rims of a cylinder: by
points at fixed angles, on which a flat end rests, and by the point of a rim that is extreme towards a tilted face.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.collision.closest import dot
from pliant.collision.contacts import ContactKind, ContactSet, key_base, no_side_b
from pliant.collision.narrow.ball_faces import ball_face_contacts
from pliant.collision.narrow.sphere_faces import other_face_contacts, sphere_face_contact
from pliant.collision.solids.obstacles import Capsule, Cylinder, Distance, Pipe, Sphere, across
from pliant.collision.solids.shape_distance import point_distance
from pliant.collision.surface import EDGE_LIMIT, CollisionSurface
from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

ROUND = (Sphere, Capsule, Cylinder, Pipe)
"""Solids whose contacts with edges and faces are found here."""
CONVEX = (Sphere, Capsule, Cylinder)
"""Those among them that a coarse surface may rock and roll on; edges do not dip into the wall around them."""
DIP = 0.05
"""Fraction of its length by which an edge dips between its ends before it has a contact of its own: that of an edge of
0.4 radii on a sphere. Shorter ones are bounded by their vertices; they penetrate by 2 % of the radius at most."""
COARSE_DIP = 0.25
"""The same of edges longer than a sphere is wide, for a quasi-static solve that finds no rest on shorter ones: on
facets a free body rolls or slides to where they form a pit, and there may be none within reach.
"""
_END = 1e-9
"""Weight of a corner below which a point is on the opposite edge."""
_BISECTIONS = 25
"""Halvings of an edge in the search for its lowest point: 1e-9 of its length."""
_UPRIGHT = 0.3
"""Sine of the angle between a face's normal and the axis of a cylinder below which no point of a rim is extreme: the
direction of the tilt would be noise, and the fixed points are as near."""
_STRAIGHT = 0.99
"""Component of a normal along the axis of a cylinder above which it is that of a flat end: 8 degrees."""
_NO_KEYS: IndexArray = np.zeros(0, np.int64)
_RIM_POINTS = (6, 36)
"""Fewest and most fixed points of a rim; between, two to the longest edge of the surface."""


def edge_contacts(
    surface: CollisionSurface,
    points: FloatArray,
    solid: Any,
    pose: FloatArray,
    *,
    margin: float,
    pair: int,
    previous: ContactSet | None = None,
    dip: float = DIP,
) -> ContactSet:
    """Contacts of edges of `surface` at `points` (n, 3) m with `solid` at `pose` (4, 3), nearer than `margin` (m);
    an edge counts where it dips by the fraction `dip` of its length between its ends, and those of the `previous` solve
    stay until they dip half as far.
    """
    local = np.ascontiguousarray((points - pose[0]) @ pose[1:])
    ends = solid.distance(local)
    edges = surface.taking_part_edges
    chosen = np.empty(len(edges), np.int32)
    count = _find_dips(frozen(local), surface.edges, edges, frozen(ends.gap), frozen(ends.normal), margin, dip, chosen)
    if not count:
        return ContactSet.empty(len(points), 0)
    nodes, weights, gap = np.empty((count, 3), np.int32), np.empty((count, 3)), np.empty(count)
    normal, point_a, point_b = np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3))
    key = np.empty(count, np.int64)
    known = _NO_KEYS if previous is None else previous.key
    kept = _fill_edges(
        solid.kind, solid.numbers, frozen(points), frozen(local), surface.edges, frozen(chosen[:count]),
        frozen(ends.gap), margin, dip, key_base(ContactKind.EDGE_EDGE, pair), frozen(known), frozen(pose),
        nodes, weights, normal, gap, point_a, point_b, key,
    )  # fmt: skip
    return ContactSet(
        nodes_a=nodes[:kept],
        weights_a=weights[:kept],
        normal=normal[:kept],
        gap=gap[:kept],
        point_a=point_a[:kept],
        point_b=point_b[:kept],
        key=key[:kept],
        face=np.full(kept, -1, np.int32),
        point_count_a=len(points),
        point_count_b=0,
        **no_side_b(kept, ContactKind.EDGE_EDGE),
    )


def on_listed_edge(nearest: ContactSet, edges: ContactSet) -> bool:
    """Whether the contact `nearest` of a sphere lies on an edge that has one among the contacts `edges` already."""
    if not nearest.count or not edges.count or (nearest.weights_a[0] > _END).all():
        return False
    ends = np.sort(nearest.nodes_a[0][nearest.weights_a[0] > _END])
    return len(ends) == 2 and bool((np.sort(edges.nodes_a[:, :2], axis=1) == ends).all(axis=1).any())


def sphere_contacts(
    surface: CollisionSurface,
    points: FloatArray,
    solid: Sphere | Capsule,
    pose: FloatArray,
    start: tuple[FloatArray, FloatArray],
    listed: ContactSet,
    *,
    margin: float,
    pair: int,
    previous: ContactSet | None,
    dip: float,
    steps: bool,
) -> list[ContactSet]:
    """Contacts of a sphere, or of both ends of a capsule, at `pose` (4, 3) with faces of `surface` at `points` (n, 3)
    m, beside those `listed` of edges. `start` are points and pose at the start of the step. Dynamic `steps` choose the
    points of the material there, a quasi-static solve lets them travel, and contacts of its `previous` linear solve
    stay.
    """
    found = []
    for feature, center in enumerate(solid.centers):
        now, then = (place[0] + place[1:] @ center for place in (pose, start[1]))
        given = surface, points, now, float(solid.radius)
        options: dict[str, Any] = {"margin": margin, "pair": pair, "feature": feature, "dip": dip}
        if not steps:
            found.append(ball_face_contacts(*given, listed, previous=previous, **options))
            continue
        options["start"] = start[0], then
        nearest = sphere_face_contact(*given, **options)
        found.append(nearest if not on_listed_edge(nearest, listed) else nearest.selected(slice(0)))
        found.append(other_face_contacts(*given, **options))
    return found


def rim_contacts(
    surface: CollisionSurface, points: FloatArray, solid: Cylinder, pose: FloatArray, *, margin: float, pair: int
) -> ContactSet:
    """Contacts of the rims of a cylinder at `pose` (4, 3) with faces of `surface` at `points` (n, 3) m."""
    local = (points - pose[0]) @ pose[1:]
    ends, axis = np.array([solid.start, solid.end]), solid.end - solid.start
    axis = axis / np.linalg.norm(axis)
    reach = solid.radius + margin
    faces = surface.order
    corners = local[surface.triangles[faces]]
    near = ((corners.min(axis=1) <= ends.max(axis=0) + reach) & (corners.max(axis=1) >= ends.min(axis=0) - reach)).all(
        1
    )
    if not near.any():
        return ContactSet.empty(len(points), 0)
    faces, corners = faces[near], corners[near]
    crossed = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(crossed, axis=1)
    faces, corners, normal = faces[area > 0.0], corners[area > 0.0], (crossed[area > 0.0].T / area[area > 0.0]).T
    spacing = np.pi * solid.radius / max(surface.longest_edge, 1e-300)
    count = int(np.clip(np.ceil(4.0 * spacing), *_RIM_POINTS))
    rims, tilted = _rim_points(ends, axis, solid.radius, normal, count)
    weights, height = _feet(corners, normal, rims)
    valid = (weights >= 0.0).all(axis=-1) & (np.abs(height) <= margin)
    valid[:, :, 0] &= tilted[:, None]
    features = 2 * (count + 1)
    cost = np.where(valid, np.abs(height), np.inf).reshape(len(faces), features)
    best = cost.argmin(axis=0)
    feature = np.flatnonzero(cost[best, np.arange(features)] < np.inf)
    face, gap = best[feature], height.reshape(len(faces), features)[best[feature], feature]
    foot = rims.reshape(len(faces), features, 3)[face, feature]
    key = key_base(ContactKind.FACE_VERTEX, pair) + feature
    chosen = weights.reshape(len(faces), features, 3)[face, feature]
    distance = Distance(gap, -normal[face], foot)
    nodes = surface.triangles[faces[face]]
    return _contact_set(ContactKind.FACE_VERTEX, points, nodes, chosen, distance, pose, key, faces[face])


def through_entered_side(
    contacts: ContactSet, solid: Cylinder, pose: FloatArray, start: FloatArray, start_pose: FloatArray
) -> ContactSet:
    """`contacts` of vertices and edges inside a cylinder at `pose` (4, 3) with the side through which they came.

    `start` (m, 3) m are their points at the start of the step, outside the cylinder at `start_pose`. Near a rim the
    nearest side is the wrong one as soon as they are deeper than far from it. Edges that came through an end are left
    to its rim.
    """
    axis = (solid.end - solid.start) / np.linalg.norm(solid.end - solid.start)
    edge = np.flatnonzero(contacts.kind == ContactKind.EDGE_EDGE)
    if len(edge):
        before = solid.distance((start[edge] - start_pose[0]) @ start_pose[1:])
        kept = np.ones(contacts.count, bool)
        kept[edge] = np.abs(before.normal @ axis) < 1.0 - _STRAIGHT
        contacts, start = contacts.selected(kept), start[kept]
    inside = np.flatnonzero((contacts.gap < 0.0) & (contacts.kind != ContactKind.FACE_VERTEX))
    if not len(inside):
        return contacts
    came = solid.distance((start[inside] - start_pose[0]) @ start_pose[1:])
    along = came.normal @ axis
    local = (contacts.point_a[inside] - pose[0]) @ pose[1:]
    from_start = local - solid.start
    radial = from_start - (from_start @ axis)[:, None] * axis
    radius = np.linalg.norm(radial, axis=1)
    normal, gap = np.array(contacts.normal), np.array(contacts.gap)
    for sign, end in ((-1.0, solid.start), (1.0, solid.end)):
        chosen = (came.gap >= 0.0) & (sign * along > _STRAIGHT)
        normal[inside[chosen]] = sign * pose[1:] @ axis
        gap[inside[chosen]] = sign * (local[chosen] - end) @ axis
    chosen = (came.gap >= 0.0) & (np.abs(along) < 1.0 - _STRAIGHT) & (radius > 0.0)
    normal[inside[chosen]] = (radial[chosen] / radius[chosen, None]) @ pose[1:].T
    gap[inside[chosen]] = radius[chosen] - solid.radius
    return replace(contacts, normal=normal, gap=gap, point_b=contacts.point_a - gap[:, None] * normal)


def _rim_points(
    ends: FloatArray, axis: FloatArray, radius: float, normal: FloatArray, count: int
) -> tuple[FloatArray, BoolArray]:
    """Points (f, 2, 1 + count, 3) m of both rims: that which is extreme against `normal` (f, 3), and `count` fixed
    ones; whether faces (f,) are tilted so far that the first one means anything.
    """
    radial = -(normal - (normal @ axis)[:, None] * axis)
    length = np.linalg.norm(radial, axis=1, keepdims=True)
    first = across(axis)
    radial = np.where(length > _UPRIGHT, radial / np.maximum(length, 1e-300), first)
    angles = 2.0 * np.pi / count * np.arange(count)
    fixed = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * np.cross(axis, first)
    circle = np.concatenate([radial[:, None], np.broadcast_to(fixed, (len(normal), count, 3))], axis=1)
    points: FloatArray = ends[:, None] + radius * circle[:, None]
    return points, length[:, 0] > _UPRIGHT


def _feet(corners: FloatArray, normal: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (f, 2, k, 3) of the corners at the feet of `points` (f, 2, k, 3) on the planes of triangles (f, 3, 3),
    and heights (f, 2, k) m above them.
    """
    away = points - corners[:, None, None, 0]
    height = np.einsum("frki,fi->frk", away, normal)
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    twice = np.einsum("fi,fi->f", np.cross(u, v), normal)[:, None, None]
    second = np.einsum("frki,fi->frk", np.cross(away, v[:, None, None]), normal) / twice
    third = np.einsum("frki,fi->frk", np.cross(u[:, None, None], away), normal) / twice
    return np.stack([1.0 - second - third, second, third], axis=-1), height


def _contact_set(
    kind: ContactKind, points: FloatArray, nodes: IntArray, weights: FloatArray, found: Distance, pose: FloatArray,
    key: Any, face: Any,
) -> ContactSet:  # fmt: skip
    """Contacts of points of `surface` with a solid at `pose`; `found` is in the frame of the solid."""
    count = len(key)
    used = np.where(nodes >= 0, nodes, 0)
    return ContactSet(
        kind=np.full(count, kind, dtype=np.uint8),
        nodes_a=nodes,
        weights_a=weights,
        nodes_b=np.full((count, 3), -1, dtype=np.int32),
        weights_b=np.zeros((count, 3)),
        normal=found.normal @ pose[1:].T,
        gap=found.gap,
        point_a=np.einsum("mk,mki->mi", weights, points[used]),
        point_b=pose[0] + found.point @ pose[1:].T,
        key=np.asarray(key, np.int64),
        face=np.asarray(face, np.int32),
        point_count_a=len(points),
        point_count_b=0,
    )


@kernel
def _find_dips(
    points: FloatArray, edges: IntArray, chosen: IntArray, gap: FloatArray, normal: FloatArray, margin: float,
    dip: float, found: IntArray,
) -> int:  # fmt: skip
    """Write which of the `chosen` edges may dip between their ends, and return how many they are."""
    count = 0
    for m in range(len(chosen)):
        i, j = edges[chosen[m], 0], edges[chosen[m], 1]
        d0, d1, d2 = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
        fall = dot(normal[i, 0], normal[i, 1], normal[i, 2], d0, d1, d2)
        rise = dot(normal[j, 0], normal[j, 1], normal[j, 2], d0, d1, d2)
        if fall >= 0.0 or rise <= 0.0:
            continue
        # the tangents at both ends meet below the lowest point of a convex function
        t = (gap[j] - rise - gap[i]) / (fall - rise)
        least = gap[i] + t * fall
        length = np.sqrt(dot(d0, d1, d2, d0, d1, d2))
        if least <= margin and (1.0 - t) * gap[i] + t * gap[j] - least > dip * length:
            found[count] = chosen[m]
            count += 1
    return count


@kernel
def _fill_edges(
    kind: int, shape: FloatArray, points: FloatArray, local: FloatArray, edges: IntArray, chosen: IntArray,
    ends: FloatArray, margin: float, dip: float, base: int, known: IndexArray, pose: FloatArray, nodes: IntArray,
    weights: FloatArray, normal: FloatArray, gap: FloatArray, point_a: FloatArray, point_b: FloatArray,
    key: IndexArray,
) -> int:  # fmt: skip
    """The arrays of a `ContactSet` for those of the `chosen` edges that dip far enough; returns their number. `local`
    are the points in the frame of the shape and `ends` their gaps; `known` are the keys of the previous contacts.

    The lowest point of an edge is found by bisection of the slope of the gap, and a secant at last: weights of the ends
    are known to round-off, as their derivatives have to be.
    """
    away, scratch, unit, place, step = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    count = 0
    for m in range(len(chosen)):
        e = chosen[m]
        i, j = edges[e, 0], edges[e, 1]
        for c in range(3):
            step[c] = local[j, c] - local[i, c]
        low, high, fall, rise = 0.0, 1.0, 0.0, 0.0
        for _ in range(_BISECTIONS):
            t = 0.5 * (low + high)
            for c in range(3):
                place[c] = local[i, c] + t * step[c]
            point_distance(kind, shape, place, away, scratch, unit)
            slope = dot(unit[0], unit[1], unit[2], step[0], step[1], step[2])
            if slope < 0.0:
                low, fall = t, slope
            else:
                high, rise = t, slope
        t = (low * rise - high * fall) / (rise - fall) if fall < 0.0 < rise else 0.5 * (low + high)
        for c in range(3):
            place[c] = local[i, c] + t * step[c]
        lowest = point_distance(kind, shape, place, away, scratch, unit)
        least = dip * np.sqrt(dot(step[0], step[1], step[2], step[0], step[1], step[2]))
        name = base + np.int64(e) * EDGE_LIMIT
        at = np.searchsorted(known, name)
        if at < len(known) and known[at] == name:
            least *= 0.5
        if lowest > margin or (1.0 - t) * ends[i] + t * ends[j] - lowest <= least:
            continue
        nodes[count, 0], nodes[count, 1], nodes[count, 2] = i, j, -1
        weights[count, 0], weights[count, 1], weights[count, 2] = 1.0 - t, t, 0.0
        gap[count], key[count] = lowest, name
        for c in range(3):
            n = foot = 0.0
            for d in range(3):
                n += pose[1 + c, d] * unit[d]
                foot += pose[1 + c, d] * (place[d] - lowest * unit[d])
            normal[count, c], point_b[count, c] = n, pose[0, c] + foot
            point_a[count, c] = (1.0 - t) * points[i, c] + t * points[j, c]
        count += 1
    return count
