"""The bounding-volume tree of a surface: built once by median splits, refitted bottom-up whenever the points move.

The tree is complete and implicit: node v has the children 2v + 1 and 2v + 2, and the leaves hold two to four triangles
each, in a row. A node bounds the points of its triangles and, as a second box, the unit normals of all triangles that
touch them: two nodes whose normals all point the same way cannot touch, which spares a self-query most of its work.

References: C. Ericson, "Real-Time Collision Detection", 2005, chapter 6; P. Volino and N. Magnenat-Thalmann,
"Efficient self-collision detection on smoothly discretized surface animations", Eurographics 1994.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray

LEAF = 4
"""Most triangles of a leaf."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Boxes of one pose. A row holds the lower and upper corner (m), then the lower and upper normals.

    nodes    (v, 12) boxes of the tree nodes
    boxes    (k, 12) boxes of the triangles in the order of the tree
    normals  (t, 3) unit normals of all triangles; 0 where there is no area
    """

    nodes: FloatArray
    boxes: FloatArray
    normals: FloatArray


def median_order(centers: FloatArray) -> tuple[IntArray, IntArray]:
    """Items in the order of the leaves (k,), and where each leaf begins (leaves + 1,), from `centers` (k, 3) m.

    Every node is split in half across the longest side of the box around its centers.
    """
    count, leaf_count = len(centers), 1
    while leaf_count * LEAF < count:
        leaf_count *= 2
    order, parts = np.arange(count), 1
    while parts < leaf_count:
        start = np.arange(parts + 1) * count // parts
        part = np.repeat(np.arange(parts), np.diff(start))
        sorted_centers = centers[order]
        upper = np.maximum.reduceat(sorted_centers, start[:-1])
        lower = np.minimum.reduceat(sorted_centers, start[:-1])
        axis = np.argmax(upper - lower, axis=1)
        order = order[np.lexsort((order, sorted_centers[np.arange(count), axis[part]], part))]
        parts *= 2
    return order.astype(np.int32), (np.arange(leaf_count + 1) * count // leaf_count).astype(np.int32)


def refit(points: FloatArray, triangles: IntArray, order: IntArray, leaf_start: IntArray) -> Bounds:
    """Bounds of the surface at `points` (n, 3) m; O(n), no search."""
    bounds = Bounds(
        nodes=np.empty((2 * len(leaf_start) - 3, 12)),
        boxes=np.empty((len(order), 12)),
        normals=np.empty((len(triangles), 3)),
    )
    _refit(points, triangles, order, leaf_start, np.empty((len(points), 6)), bounds.normals, bounds.boxes, bounds.nodes)
    return bounds


@kernel
def _refit(
    points: FloatArray,
    triangles: IntArray,
    order: IntArray,
    leaf_start: IntArray,
    spread: FloatArray,
    normals: FloatArray,
    boxes: FloatArray,
    nodes: FloatArray,
) -> None:
    spread[:, :3], spread[:, 3:] = np.inf, -np.inf
    for t in range(len(triangles)):
        _fill_normal(points, triangles, t, normals)
        for corner in range(3):
            p = triangles[t, corner]
            for axis in range(3):
                spread[p, axis] = min(spread[p, axis], normals[t, axis])
                spread[p, 3 + axis] = max(spread[p, 3 + axis], normals[t, axis])
    for item in range(len(order)):
        a, b, c = triangles[order[item], 0], triangles[order[item], 1], triangles[order[item], 2]
        for axis in range(3):
            boxes[item, axis] = min(points[a, axis], points[b, axis], points[c, axis])
            boxes[item, 3 + axis] = max(points[a, axis], points[b, axis], points[c, axis])
            boxes[item, 6 + axis] = min(spread[a, axis], spread[b, axis], spread[c, axis])
            boxes[item, 9 + axis] = max(spread[a, 3 + axis], spread[b, 3 + axis], spread[c, 3 + axis])
    first_leaf = len(leaf_start) - 2
    for leaf in range(len(leaf_start) - 1):
        nodes[first_leaf + leaf] = boxes[leaf_start[leaf]]
        for item in range(leaf_start[leaf] + 1, leaf_start[leaf + 1]):
            _join(boxes, item, nodes, first_leaf + leaf)
    for node in range(first_leaf - 1, -1, -1):
        nodes[node] = nodes[2 * node + 1]
        _join(nodes, 2 * node + 2, nodes, node)


@inline
def _fill_normal(points: FloatArray, triangles: IntArray, t: int, normals: FloatArray) -> None:
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    u0, u1, u2 = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1], points[b, 2] - points[a, 2]
    v0, v1, v2 = points[c, 0] - points[a, 0], points[c, 1] - points[a, 1], points[c, 2] - points[a, 2]
    n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
    length = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    scale = 1.0 / length if length > 0.0 else 0.0
    normals[t, 0], normals[t, 1], normals[t, 2] = scale * n0, scale * n1, scale * n2


@inline
def _join(source: FloatArray, i: int, target: FloatArray, j: int) -> None:
    """Grow the box target[j] to hold source[i]."""
    for axis in range(3):
        target[j, axis] = min(target[j, axis], source[i, axis])
        target[j, 3 + axis] = max(target[j, 3 + axis], source[i, 3 + axis])
        target[j, 6 + axis] = min(target[j, 6 + axis], source[i, 6 + axis])
        target[j, 9 + axis] = max(target[j, 9 + axis], source[i, 9 + axis])


@inline
def near(a: FloatArray, i: int, b: FloatArray, j: int, margin: float) -> bool:
    """Whether box a[i] is within `margin` (m) of box b[j] along each axis."""
    x = max(a[i, 0] - b[j, 3], b[j, 0] - a[i, 3])
    y = max(a[i, 1] - b[j, 4], b[j, 1] - a[i, 4])
    z = max(a[i, 2] - b[j, 5], b[j, 2] - a[i, 5])
    return bool(max(x, y, z) <= margin)


@inline
def may_face(a: FloatArray, i: int, b: FloatArray, j: int, facing: float) -> bool:
    """Whether there may be normals n in box a[i] and n′ in box b[j] with n·n′ < `facing`."""
    least = 0.0
    for axis in range(3):
        low, high = a[i, 6 + axis], a[i, 9 + axis]
        other_low, other_high = b[j, 6 + axis], b[j, 9 + axis]
        least += min(low * other_low, low * other_high, high * other_low, high * other_high)
    return bool(least < facing)
