"""The bounding-volume tree of a surface: built once by median splits, refitted bottom-up whenever the points move.

The tree is complete and implicit: node v has the children 2v + 1 and 2v + 2. A node of the last level ("twig") holds
up to eight leaves, a leaf up to eight consecutive triangles. A node bounds the points of its triangles and, with a
second box, the unit normals of all triangles at these points. Two nodes without opposed normals cannot touch, which
excludes most pairs of a self-query.

References: C. Ericson, "Real-Time Collision Detection", 2005, chapter 6; P. Volino and N. Magnenat-Thalmann,
"Efficient self-collision detection on smoothly discretized surface animations", Eurographics 1994.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IntArray

SingleArray = NDArray[np.float32]

LEAF = 8
"""Most triangles of a leaf: as many as are compared at once."""
_THIN = 1e-10
"""Least sin² of the first angle of a triangle; below, rounding of the normal makes distances from its plane useless."""


class Bounds(NamedTuple):
    """Boxes of one pose, single precision. A box is its lower and upper corner (m), then the lower and upper normals.
    What is compared at once stands together: the boxes of a block as its columns, empty ones where there is nothing.

    nodes     (v, 12) boxes of the nodes of the tree, then those of the leaves
    leaves    (b, 12, LEAF) boxes of the leaves of each node that holds leaves
    boxes     (l, 16, LEAF) boxes of the triangles of each leaf, then their planes: unit normals n and heights n·x (m);
              a height is NaN where a triangle is thin
    facets    (l, 6) lower and upper normals of the triangles of each leaf alone
    vertices  (s, 9) the vertices of the leaves: place (m), lower and upper normals of the triangles around
    normals   (t, 3) unit normals of all triangles, double precision; 0 where there is no area
    thin      (t,) triangles without a plane
    """

    nodes: SingleArray
    leaves: SingleArray
    boxes: SingleArray
    facets: SingleArray
    vertices: SingleArray
    normals: FloatArray
    thin: BoolArray


def median_order(centers: FloatArray) -> tuple[IntArray, IntArray]:
    """Items in the order of the leaves (k,), and the first item of each leaf (leaves + 1,), from `centers` (k, 3) m.

    Every node is split in half across the longest side of the box around its centers.
    """
    count, twigs = len(centers), twig_count(len(centers))
    leaf_count = twigs * -(-count // (twigs * LEAF))
    leaf_start = np.arange(leaf_count + 1) * count // leaf_count
    order, bounds = np.arange(count), np.array([0, leaf_count])
    while len(bounds) <= leaf_count:
        start = leaf_start[bounds]
        part = np.repeat(np.arange(len(start) - 1), np.diff(start))
        sorted_centers = centers[order]
        upper = np.maximum.reduceat(sorted_centers, start[:-1])
        lower = np.minimum.reduceat(sorted_centers, start[:-1])
        axis = np.argmax(upper - lower, axis=1)
        order = order[np.lexsort((order, sorted_centers[np.arange(count), axis[part]], part))]
        bounds = np.union1d(bounds, (bounds[1:] + bounds[:-1]) // 2)
    return order.astype(np.int32), leaf_start.astype(np.int32)


@kernel
def twig_count(count: int) -> int:
    """Number of nodes that hold leaves, a power of two: each holds up to LEAF leaves of LEAF of `count` items."""
    twigs = 1
    while twigs * LEAF * LEAF < count:
        twigs *= 2
    return twigs


@kernel
def refit(
    points: FloatArray, triangles: IntArray, order: IntArray, leaf_start: IntArray, leaf_vertices: IntArray
) -> Bounds:
    """Bounds of the surface at `points` (n, 3) m, in O(n)."""
    leaf_count, twigs = len(leaf_start) - 1, twig_count(len(order))
    nodes, leaves = np.empty((2 * twigs - 1 + leaf_count, 12), np.float32), np.empty((twigs, 12, LEAF), np.float32)
    boxes, facets = np.empty((leaf_count, 16, LEAF), np.float32), np.empty((leaf_count, 6), np.float32)
    vertices = np.empty((len(leaf_vertices), 9), np.float32)
    normals, thin = np.empty((len(triangles), 3)), np.empty(len(triangles), np.bool_)
    spread = np.empty((len(points), 6), np.float32)
    _refit(
        points, triangles, order, leaf_start, leaf_vertices, spread, nodes, leaves, boxes, facets, vertices, normals,
        thin,
    )  # fmt: skip
    return Bounds(nodes, leaves, boxes, facets, vertices, normals, thin)


@inline
def _refit(
    points: FloatArray,
    triangles: IntArray,
    order: IntArray,
    leaf_start: IntArray,
    leaf_vertices: IntArray,
    spread: SingleArray,
    nodes: SingleArray,
    leaves: SingleArray,
    boxes: SingleArray,
    facets: SingleArray,
    vertices: SingleArray,
    normals: FloatArray,
    thin: BoolArray,
) -> None:
    spread[:, :3], spread[:, 3:] = np.inf, -np.inf
    for t in range(len(triangles)):
        thin[t] = _fill_normal(points, triangles, t, normals)
        for corner in range(3):
            p = triangles[t, corner]
            for axis in range(3):
                component = np.float32(normals[t, axis])
                spread[p, axis] = min(spread[p, axis], component)
                spread[p, 3 + axis] = max(spread[p, 3 + axis], component)
    for k in range(len(leaf_vertices)):
        for axis in range(3):
            vertices[k, axis] = points[leaf_vertices[k], axis]
            vertices[k, 3 + axis] = spread[leaf_vertices[k], axis]
            vertices[k, 6 + axis] = spread[leaf_vertices[k], 3 + axis]
    for leaf in range(len(boxes)):
        first, size = leaf_start[leaf], leaf_start[leaf + 1] - leaf_start[leaf]
        for lane in range(size):
            t = order[first + lane]
            a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            height = 0.0
            for axis in range(3):
                boxes[leaf, axis, lane] = min(points[a, axis], points[b, axis], points[c, axis])
                boxes[leaf, 3 + axis, lane] = max(points[a, axis], points[b, axis], points[c, axis])
                boxes[leaf, 6 + axis, lane] = min(spread[a, axis], spread[b, axis], spread[c, axis])
                boxes[leaf, 9 + axis, lane] = max(spread[a, 3 + axis], spread[b, 3 + axis], spread[c, 3 + axis])
                boxes[leaf, 12 + axis, lane] = normals[t, axis]
                height += normals[t, axis] * points[a, axis]
            boxes[leaf, 15, lane] = np.nan if thin[t] else height
        for axis in range(3):
            facets[leaf, axis] = boxes[leaf, 12 + axis, :size].min()
            facets[leaf, 3 + axis] = boxes[leaf, 12 + axis, :size].max()
        _clear(boxes, leaf, size)
        boxes[leaf, 12:, size:] = 0.0
    twigs, width = len(leaves), len(boxes) // len(leaves)
    for twig in range(twigs):
        for lane in range(width):
            leaf = width * twig + lane
            for bound in range(12):
                extreme = _outermost(boxes, leaf, bound)
                leaves[twig, bound, lane], nodes[2 * twigs - 1 + leaf, bound] = extreme, extreme
        _clear(leaves, twig, width)
        for bound in range(12):
            nodes[twigs - 1 + twig, bound] = _outermost(leaves, twig, bound)
    for node in range(twigs - 2, -1, -1):
        for bound in range(12):
            nodes[node, bound] = _outer(nodes[2 * node + 1, bound], nodes[2 * node + 2, bound], bound)


@inline
def _clear(blocks: SingleArray, block: int, size: int) -> None:
    """Make the boxes of a block from `size` on empty: lower bounds ∞, upper bounds −∞."""
    for bound in range(12):
        blocks[block, bound, size:] = np.inf if bound // 3 % 2 == 0 else -np.inf


@inline
def _outermost(blocks: SingleArray, block: int, bound: int) -> float:
    """The bound of all boxes of a block."""
    extreme = blocks[block, bound, 0]
    for lane in range(1, LEAF):
        extreme = _outer(extreme, blocks[block, bound, lane], bound)
    return float(extreme)


@inline
def _outer(a: float, b: float, bound: int) -> float:
    """The smaller of two lower bounds, or the larger of two upper bounds."""
    return min(a, b) if bound // 3 % 2 == 0 else max(a, b)


@inline
def _fill_normal(points: FloatArray, triangles: IntArray, t: int, normals: FloatArray) -> bool:
    """Write the unit normal of a triangle; returns whether the triangle is thin."""
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    u0, u1, u2 = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1], points[b, 2] - points[a, 2]
    v0, v1, v2 = points[c, 0] - points[a, 0], points[c, 1] - points[a, 1], points[c, 2] - points[a, 2]
    n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
    squared = n0 * n0 + n1 * n1 + n2 * n2
    length = np.sqrt(squared)
    scale = 1.0 / length if length > 0.0 else 0.0
    normals[t, 0], normals[t, 1], normals[t, 2] = scale * n0, scale * n1, scale * n2
    return bool(squared <= _THIN * (u0 * u0 + u1 * u1 + u2 * u2) * (v0 * v0 + v1 * v1 + v2 * v2))


@inline
def near(a: SingleArray, i: int, b: SingleArray, j: int, reach: float) -> bool:
    """Whether box a[i] is within `reach` (m) of box b[j] along each axis."""
    x = max(a[i, 0] - b[j, 3], b[j, 0] - a[i, 3])
    y = max(a[i, 1] - b[j, 4], b[j, 1] - a[i, 4])
    z = max(a[i, 2] - b[j, 5], b[j, 2] - a[i, 5])
    return bool(max(x, y, z) <= reach)


@inline
def may_face(a: SingleArray, i: int, b: SingleArray, j: int, facing: float) -> bool:
    """Whether there may be normals n in box a[i] and n′ in box b[j] with n·n′ < `facing`."""
    least = np.float32(0.0)
    for axis in range(3):
        low, high = a[i, 6 + axis], a[i, 9 + axis]
        other_low, other_high = b[j, 6 + axis], b[j, 9 + axis]
        least += min(low * other_low, low * other_high, high * other_low, high * other_high)
    return bool(least < facing)
