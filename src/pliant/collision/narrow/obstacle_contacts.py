"""Contacts of the vertices of a surface with a solid shape, which may move as a rigid body."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, key_base, no_side_b
from pliant.collision.solids.obstacles import Obstacle, Primitive
from pliant.collision.solids.shape_distance import point_distance
from pliant.core.arrays import frozen
from pliant.core.checks import finite_array, positive
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray

_NOT_TURNED: FloatArray = np.eye(3)


def obstacle_contacts(
    points: Any,
    nodes: IntArray,
    obstacle: Obstacle,
    *,
    margin: float,
    radius: float | FloatArray = 0.0,
    pair: int = 0,
    position: Any = (0.0, 0.0, 0.0),
    rotation: FloatArray | None = None,
    capacity: int | None = None,
) -> ContactSet:
    """Contacts of points[nodes], each with a ball of `radius` (m, one or one each (s,)), with `obstacle`: all that are
    nearer than `margin` (m) or inside at any depth.

    `points` (n, 3) m are side a; `nodes` (s,) ascending are those that may touch, e.g. `CollisionSurface.nodes`.
    `position` (3,) m and `rotation` (3, 3) place the shape: x = position + rotation · X.
    """
    points = finite_array("points", points, shape=(None, 3))
    position = finite_array("position", position, shape=(3,))
    turned = _NOT_TURNED if rotation is None else np.ascontiguousarray(rotation)
    nodes = np.asarray(nodes, dtype=np.int32)
    balls = frozen(np.atleast_1d(np.array(radius, np.float64)))
    margin = positive("margin", margin, unit="m")
    place = frozen(points), frozen(nodes), frozen(position), frozen(turned), balls
    near, gap, normal, foot = _near(obstacle, place, margin)
    count = len(near)
    check_capacity(count, capacity)
    nodes_a, weights_a, normals = np.empty((count, 3), np.int32), np.empty((count, 3)), np.empty((count, 3))
    gaps, point_a, point_b = np.empty(count), np.empty((count, 3)), np.empty((count, 3))
    key = np.empty(count, np.int64)
    _fill(
        *place, frozen(near), frozen(gap), frozen(normal), frozen(foot),
        key_base(ContactKind.VERTEX_OBSTACLE, pair), nodes_a, weights_a, normals, gaps, point_a, point_b, key,
    )  # fmt: skip
    return ContactSet(
        nodes_a=nodes_a,
        weights_a=weights_a,
        normal=normals,
        gap=gaps,
        point_a=point_a,
        point_b=point_b,
        key=key,
        point_count_a=len(points),
        point_count_b=0,
        face=_no_faces(count),
        **no_side_b(count, ContactKind.VERTEX_OBSTACLE),
    )


def _near(obstacle: Obstacle, place: tuple[Any, ...], margin: float) -> tuple[IndexArray, Any, Any, Any]:
    """Indices among the nodes of those that are near, and there, in the frame of the shape, gaps, normals and feet."""
    if isinstance(obstacle, Primitive):
        count = len(place[1])
        near, gap, normal, foot = np.empty(count, np.int64), np.empty(count), np.empty((count, 3)), np.empty((count, 3))
        count = int(_find_near(obstacle.kind, obstacle.numbers, *place, margin, near, gap, normal, foot))
        return near[:count], gap[:count], normal[:count], foot[:count]
    points, nodes, position, rotation, radius = place
    found = obstacle.distance((points[nodes] - position) @ rotation)
    near = (found.gap <= margin + radius).nonzero()[0]
    return near, found.gap[near], found.normal[near], found.point[near]


@kernel
def _find_near(
    kind: int, shape: FloatArray, points: FloatArray, nodes: IntArray, position: FloatArray, rotation: FloatArray,
    radius: FloatArray, margin: float, near: IndexArray, gap: FloatArray, normal: FloatArray, foot: FloatArray,
) -> int:  # fmt: skip
    """Indices among `nodes` of the points that are near the shape into `near`, and there, in the frame of the shape,
    their gaps, normals and feet; returns their number.
    """
    away, scratch, unit, local = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    count = 0
    for i in range(len(nodes)):
        for c in range(3):
            local[c] = 0.0
            for d in range(3):
                local[c] += (points[nodes[i], d] - position[d]) * rotation[d, c]
        distance = point_distance(kind, shape, local, away, scratch, unit)
        if distance > margin + (radius[i] if len(radius) > 1 else radius[0]):
            continue
        near[count], gap[count] = i, distance
        for c in range(3):
            normal[count, c], foot[count, c] = unit[c], local[c] - distance * unit[c]
        count += 1
    return count


@kernel
def _fill(
    points: FloatArray, nodes: IntArray, position: FloatArray, rotation: FloatArray, radius: FloatArray,
    near: IndexArray, gap: FloatArray, normal: FloatArray, foot: FloatArray, base: int, nodes_a: IntArray,
    weights_a: FloatArray, normals: FloatArray, gaps: FloatArray, point_a: FloatArray, point_b: FloatArray,
    key: IndexArray,
) -> None:  # fmt: skip
    """The arrays of a `ContactSet` for the points `near` among `nodes`, whose distances are in the frame of the
    shape.
    """
    for k in range(len(near)):
        node = nodes[near[k]]
        ball = radius[near[k]] if len(radius) > 1 else radius[0]
        nodes_a[k, 0], nodes_a[k, 1], nodes_a[k, 2] = node, -1, -1
        weights_a[k, 0], weights_a[k, 1], weights_a[k, 2] = 1.0, 0.0, 0.0
        gaps[k], key[k] = gap[k] - ball, base + node
        for c in range(3):
            n = place = 0.0
            for d in range(3):
                n += rotation[c, d] * normal[k, d]
                place += rotation[c, d] * foot[k, d]
            normals[k, c] = n
            point_a[k, c], point_b[k, c] = points[node, c] - ball * n, position[c] + place


@lru_cache(maxsize=256)
def _no_faces(count: int) -> IntArray:
    """Shared, since contact sets are never changed."""
    return np.full(count, -1, dtype=np.int32)
