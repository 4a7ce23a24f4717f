"""Broad phase: pairs of triangles whose boxes are near and whose normals may face each other, by descending two trees.

Reference: C. Ericson, "Real-Time Collision Detection", 2005, section 6.3 (simultaneous traversal).
"""

from __future__ import annotations

import numpy as np

from pliant.collision.surface import Pose
from pliant.collision.tree import may_face, near
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray

_STACK = 512
"""Depth of the traversal stack; trees of 2³⁰ leaves need 4 · 60."""

_LEVEL = 1e-3
"""Triangles stand in front of each other from this sine on; below they lie in one plane."""


def triangle_pairs(a: Pose, b: Pose, *, margin: float, facing: float) -> IntArray:
    """Candidate pairs (p, 2): a triangle of `a` and one of `b`.

    If `a` is `b`, each two triangles make one pair that share no point, or are the two sides of a notch at rest.
    """
    pairs = np.empty((4 * len(a.surface.order) + 4 * len(b.surface.order), 2), dtype=np.int32)
    while True:
        count = _find_pairs(
            a.bounds.nodes, a.bounds.boxes, a.surface.order, a.surface.leaf_start,
            b.bounds.nodes, b.bounds.boxes, b.surface.order, b.surface.leaf_start,
            a.surface.triangles, a.surface.rest, a.surface.rest_normals, a is b, margin, facing, pairs,
        )  # fmt: skip
        if count < len(pairs):
            return pairs[:count]
        pairs = np.empty((count + 1, 2), dtype=np.int32)


@kernel
def _find_pairs(
    nodes_a: FloatArray,
    boxes_a: FloatArray,
    order_a: IntArray,
    start_a: IntArray,
    nodes_b: FloatArray,
    boxes_b: FloatArray,
    order_b: IntArray,
    start_b: IntArray,
    triangles: IntArray,
    rest: FloatArray,
    rest_normals: FloatArray,
    same: bool,
    margin: float,
    facing: float,
    pairs: IntArray,
) -> int:
    """Write as many pairs as there is room for, and return how many there are."""
    leaf_a, leaf_b, count, top, last = len(start_a) - 2, len(start_b) - 2, 0, 1, len(pairs) - 1
    stack = np.zeros((_STACK, 2), dtype=np.int64)
    while top > 0:
        top -= 1
        i, j = stack[top]
        if not (near(nodes_a, i, nodes_b, j, margin) & may_face(nodes_a, i, nodes_b, j, facing)):
            continue
        if i >= leaf_a and j >= leaf_b:
            for p in range(start_a[i - leaf_a], start_a[i - leaf_a + 1]):
                first = p + 1 if same and i == j else start_b[j - leaf_b]
                for q in range(first, start_b[j - leaf_b + 1]):
                    # written in any case and kept if it counts: a branch here would be mispredicted half of the time
                    room = min(count, last)
                    pairs[room, 0], pairs[room, 1] = order_a[p], order_b[q]
                    count += near(boxes_a, p, boxes_b, q, margin) & may_face(boxes_a, p, boxes_b, q, facing)
        elif same and i == j:
            for k in range(3):
                stack[top + k, 0], stack[top + k, 1] = 2 * i + 1 + k // 2, 2 * i + 1 + (k + 1) // 2
            top += 3
        elif j >= leaf_b or (i < leaf_a and i <= j):
            stack[top, 0], stack[top, 1], stack[top + 1, 0], stack[top + 1, 1] = 2 * i + 1, j, 2 * i + 2, j
            top += 2
        else:
            stack[top, 0], stack[top, 1], stack[top + 1, 0], stack[top + 1, 1] = i, 2 * j + 1, i, 2 * j + 2
            top += 2
    return _drop_sharing(triangles, rest, rest_normals, pairs, count) if same and count < len(pairs) else count


@inline
def _drop_sharing(triangles: IntArray, rest: FloatArray, rest_normals: FloatArray, pairs: IntArray, count: int) -> int:
    """Drop the pairs of triangles that share a point from the first `count` unless they are the sides of a notch, and
    return how many are left.
    """
    kept = 0
    for k in range(count):
        i, j = pairs[k]
        pairs[kept, 0], pairs[kept, 1] = i, j
        kept += not _share_point(triangles, i, j) or _make_notch(triangles, rest, rest_normals, i, j)
    return kept


@inline
def _make_notch(triangles: IntArray, rest: FloatArray, normals: FloatArray, i: int, j: int) -> bool:
    """Whether two triangles stand in front of each other at rest, as the sides of a notch do from its bottom up."""
    towards_j = towards_i = squared = 0.0
    for axis in range(3):
        apart = 0.0
        for corner in range(3):
            apart += rest[triangles[j, corner], axis] - rest[triangles[i, corner], axis]
        towards_j += apart * normals[i, axis]
        towards_i -= apart * normals[j, axis]
        squared += apart * apart
    least = _LEVEL * np.sqrt(squared)
    return bool(towards_j > least and towards_i > least)


@inline
def _share_point(triangles: IntArray, i: int, j: int) -> bool:
    a, b, c = triangles[i, 0], triangles[i, 1], triangles[i, 2]
    d, e, f = triangles[j, 0], triangles[j, 1], triangles[j, 2]
    return bool((a == d) | (a == e) | (a == f) | (b == d) | (b == e) | (b == f) | (c == d) | (c == e) | (c == f))
