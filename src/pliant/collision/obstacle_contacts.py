"""Contacts of the vertices of a surface with a solid shape, which may move as a rigid body."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, key_base
from pliant.collision.obstacles import Obstacle
from pliant.core.checks import finite_array, positive
from pliant.core.types import FloatArray, IntArray


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
    nodes = np.asarray(nodes, dtype=np.int32)
    local = points[nodes] - position
    gap, normal, foot = obstacle.distance(local if rotation is None else local @ rotation)
    near = np.flatnonzero(gap <= positive("margin", margin, unit="m") + radius)
    check_capacity(len(near), capacity)
    normal, foot = normal[near], foot[near]
    if rotation is not None:
        normal, foot = normal @ rotation.T, foot @ rotation.T
    base = key_base(ContactKind.VERTEX_OBSTACLE, pair)
    own = radius[near] if isinstance(radius, np.ndarray) else radius
    return _as_set(points, nodes[near], normal, gap[near], foot + position, base, own)


def _as_set(
    points: FloatArray,
    nodes: IntArray,
    normal: FloatArray,
    gap: FloatArray,
    foot: FloatArray,
    base: int,
    radius: float | FloatArray,
) -> ContactSet:
    count = len(nodes)
    nodes_a, weights_a = np.full((count, 3), -1, dtype=np.int32), np.zeros((count, 3))
    nodes_a[:, 0], weights_a[:, 0] = nodes, 1.0
    return ContactSet(
        kind=np.full(count, ContactKind.VERTEX_OBSTACLE, dtype=np.uint8),
        nodes_a=nodes_a,
        weights_a=weights_a,
        nodes_b=np.full((count, 3), -1, dtype=np.int32),
        weights_b=np.zeros((count, 3)),
        normal=np.ascontiguousarray(normal),
        gap=gap - radius,
        point_a=points[nodes] - (radius[:, None] if isinstance(radius, np.ndarray) else radius) * normal,
        point_b=foot,
        key=base + nodes.astype(np.int64),
        face=np.full(count, -1, dtype=np.int32),
        point_count_a=len(points),
        point_count_b=0,
    )
