"""Pairs of leaves and of triangles whose boxes are near and whose normals may face each other, by two trees.

Reference: C. Ericson, "Real-Time Collision Detection", 2005, section 6.3 (simultaneous traversal).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.collision.broad.lanes import LOWEST, Reach, box_of, near_facing, reach_of
from pliant.collision.broad.notches import share_point
from pliant.collision.broad.tree import SingleArray, may_face, near
from pliant.collision.surface import Pose
from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.types import IntArray

_STACK = 512
"""Depth of the traversal stack; trees of 2³⁰ leaves need 4 · 60."""


def leaf_pairs(a: Pose, b: Pose, reach: Reach) -> IntArray:
    """Pairs of leaves (m, 2) that may hold near triangles; where `a` is `b`, each pair once, with itself too."""
    x, y = a.bounds, b.bounds
    found: IntArray = near_leaves(x.nodes, x.leaves, y.nodes, y.leaves, a is b, reach.near, reach.facing)
    return found


def triangle_pairs(a: Pose, b: Pose, *, margin: float, facing: float) -> IntArray:
    """Pairs (p, 2) of triangles of `a` and `b`; where `a` is `b`, each pair without a common point once."""
    reach = reach_of(a.bounds, b.bounds, margin, facing)
    leaves = frozen(leaf_pairs(a, b, reach))
    first, second = ((p.bounds.boxes, p.surface.order, p.surface.leaf_start) for p in (a, b))
    sides = *first, *second, a.surface.triangles
    return written(_find_pairs, 4 * len(leaves) + 8, leaves, *sides, a is b, reach.near, reach.facing)


@kernel
def near_leaves(
    nodes_a: SingleArray,
    leaves_a: SingleArray,
    nodes_b: SingleArray,
    leaves_b: SingleArray,
    same: bool,
    reach: float,
    facing: float,
) -> IntArray:
    """The pairs of leaves (m, 2) of `leaf_pairs`, from the boxes of two `Bounds`."""
    room = 8 * (len(nodes_a) + len(nodes_b))
    while True:
        pairs = np.empty((room + 1, 2), np.int32)
        count = _find_leaves(nodes_a, leaves_a, nodes_b, leaves_b, same, reach, facing, pairs)
        if count <= room:
            return pairs[:count]
        room = count


@inline
def _find_leaves(
    nodes_a: SingleArray,
    leaves_a: SingleArray,
    nodes_b: SingleArray,
    leaves_b: SingleArray,
    same: bool,
    reach: float,
    facing: float,
    pairs: IntArray,
) -> int:
    """Write as many pairs as there is room for, and return how many there are."""
    twig_a, twig_b, count, top, room = len(leaves_a) - 1, len(leaves_b) - 1, 0, 1, len(pairs) - 1
    width_a = (len(nodes_a) - 2 * twig_a - 1) // len(leaves_a)
    width_b = (len(nodes_b) - 2 * twig_b - 1) // len(leaves_b)
    stack = np.zeros((_STACK, 2), dtype=np.int64)
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        if not (near(nodes_a, i, nodes_b, j, reach) & may_face(nodes_a, i, nodes_b, j, facing)):
            continue
        if i >= twig_a and j >= twig_b:
            for p in range(width_a):
                found = near_facing(box_of(leaves_a, i - twig_a, p), leaves_b, j - twig_b, reach, facing)
                if same and i == j:
                    found = (found >> p) << p
                while found:
                    at = min(count, room)
                    pairs[at, 0] = width_a * (i - twig_a) + p
                    pairs[at, 1] = width_b * (j - twig_b) + LOWEST[found]
                    count += 1
                    found &= found - 1
        elif same and i == j:
            for k in range(3):
                stack[top + k, 0], stack[top + k, 1] = 2 * i + 1 + k // 2, 2 * i + 1 + (k + 1) // 2
            top += 3
        elif j >= twig_b or (i < twig_a and i <= j):
            stack[top, 0], stack[top, 1], stack[top + 1, 0], stack[top + 1, 1] = 2 * i + 1, j, 2 * i + 2, j
            top += 2
        else:
            stack[top, 0], stack[top, 1], stack[top + 1, 0], stack[top + 1, 1] = i, 2 * j + 1, i, 2 * j + 2
            top += 2
    return count


@kernel
def _find_pairs(
    leaves: IntArray,
    boxes_a: SingleArray,
    order_a: IntArray,
    start_a: IntArray,
    boxes_b: SingleArray,
    order_b: IntArray,
    start_b: IntArray,
    triangles: IntArray,
    same: bool,
    reach: float,
    facing: float,
    pairs: IntArray,
) -> int:
    """Write as many pairs as there is room for, and return how many there are."""
    count, room = 0, len(pairs) - 1
    for m in range(len(leaves)):
        i, j = leaves[m, 0], leaves[m, 1]
        for p in range(start_a[i + 1] - start_a[i]):
            found = near_facing(box_of(boxes_a, i, p), boxes_b, j, reach, facing)
            if same and i == j:
                found = (found >> (p + 1)) << (p + 1)
            while found:
                at, s, t = min(count, room), order_a[start_a[i] + p], order_b[start_b[j] + LOWEST[found]]
                pairs[at, 0], pairs[at, 1] = s, t
                count += 1 - (same and share_point(triangles, s, t))
                found &= found - 1
    return count


def written(find: Callable[..., int], room: int, *arguments: Any) -> IntArray:
    """The pairs (m, 2) that `find` writes; it is called again where there are more than `room`. One additional row
    takes writes that are not counted.
    """
    while True:
        pairs = np.empty((room + 1, 2), np.int32)
        count = find(*arguments, pairs)
        if count <= room:
            return pairs[:count]
        room = count
