"""Contacts of the vertices of a surface with a solid shape, which may move as a rigid body."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pliant.collision.contacts import ContactKind, ContactSet, check_capacity, key_base
from pliant.collision.solids.obstacles import Obstacle
from pliant.core.arrays import frozen
from pliant.core.checks import finite_array, positive
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray


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
    near = (gap <= positive("margin", margin, unit="m") + radius).nonzero()[0]
    check_capacity(len(near), capacity)
    count = len(near)
    nodes_a, weights_a, normals = np.empty((count, 3), np.int32), np.empty((count, 3)), np.empty((count, 3))
    gaps, point_a, point_b = np.empty(count), np.empty((count, 3)), np.empty((count, 3))
    key = np.empty(count, np.int64)
    _fill(
        frozen(points), frozen(nodes), near, frozen(gap), frozen(normal), frozen(foot), frozen(position),
        frozen(np.ascontiguousarray(np.eye(3) if rotation is None else rotation)),
        np.atleast_1d(np.array(radius, np.float64)),
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
        **_without_side_b(count),
    )


@kernel
def _fill(
    points: FloatArray, nodes: IntArray, near: IndexArray, gap: FloatArray, normal: FloatArray, foot: FloatArray,
    position: FloatArray, rotation: FloatArray, radius: FloatArray, base: int, nodes_a: IntArray, weights_a: FloatArray,
    normals: FloatArray, gaps: FloatArray, point_a: FloatArray, point_b: FloatArray, key: IndexArray,
) -> None:  # fmt: skip
    """The arrays of a `ContactSet` for the points `near` among `nodes`, whose distances are in the frame of the
    shape.
    """
    for k in range(len(near)):
        i = near[k]
        node = nodes[i]
        ball = radius[i] if len(radius) > 1 else radius[0]
        nodes_a[k, 0], nodes_a[k, 1], nodes_a[k, 2] = node, -1, -1
        weights_a[k, 0], weights_a[k, 1], weights_a[k, 2] = 1.0, 0.0, 0.0
        gaps[k], key[k] = gap[i] - ball, base + node
        for c in range(3):
            n = place = 0.0
            for d in range(3):
                n += rotation[c, d] * normal[i, d]
                place += rotation[c, d] * foot[i, d]
            normals[k, c] = n
            point_a[k, c], point_b[k, c] = points[node, c] - ball * n, position[c] + place


@lru_cache(maxsize=256)
def _without_side_b(count: int) -> dict[str, Any]:
    """What is the same of all contacts with an obstacle; shared, since contact sets are never changed."""
    return {
        "kind": np.full(count, ContactKind.VERTEX_OBSTACLE, dtype=np.uint8),
        "nodes_b": np.full((count, 3), -1, dtype=np.int32),
        "weights_b": np.zeros((count, 3)),
        "face": np.full(count, -1, dtype=np.int32),
    }
