"""Tests of one feature against all triangles of a leaf at once; bit k of the result stands for triangle k.

The loops have a fixed length and no branches, and accumulate in a register: compilers turn them into SIMD instructions.
Blocks of boxes and corners are those of `Bounds` and `CollisionSurface`. Single precision is conservative: limits are
widened by more than its rounding errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.broad.tree import LEAF, Bounds, SingleArray
from pliant.core.kernels import inline
from pliant.core.types import IntArray

Single = tuple[np.float32, ...]

_ROUNDING = 2.0**-22
"""Bound of the rounding error of a distance of two boxes in single precision, relative to the largest coordinate: two
coordinates of 24 bits. The error of a height above a plane, a sum of four terms, is below eight times as much."""
_NORMALS = 1e-6
"""Bound of the rounding error of the product of two unit normals in single precision."""
LOWEST = np.array([0] + [(bits & -bits).bit_length() - 1 for bits in range(1, 1 << LEAF)], np.uint8)
"""Index of the lowest set bit of up to LEAF bits."""


class Reach(NamedTuple):
    """Limits for single precision: `near` (m) of boxes, `plane` (m) of heights, the least height `front` (m) in front
    of a plane, `facing` of products of normals.
    """

    near: np.float32
    plane: np.float32
    front: np.float32
    facing: np.float32


class Smooth(NamedTuple):
    """Limits of edges that do not bend: most that the unit normals of their faces may have as a product, and the height
    (m) above the plane of the other face from which they cannot touch.
    """

    opposed: np.float32
    front: np.float32


def reach_of(a: Bounds, b: Bounds, margin: float, facing: float) -> Reach:
    """`margin` (m) and `facing` for boxes of `a` and `b`, widened by the bounds of rounding errors."""
    largest = margin + max(map(abs, a.nodes[0, :6].tolist() + b.nodes[0, :6].tolist()))
    off = _ROUNDING * largest
    return Reach(*map(np.float32, (margin + off, margin + 8.0 * off, 8.0 * off, facing + _NORMALS)))


@inline
def box_of(boxes: SingleArray, i: int, k: int) -> Single:
    """Column k of block i of `boxes`."""
    return (
        boxes[i, 0, k], boxes[i, 1, k], boxes[i, 2, k], boxes[i, 3, k], boxes[i, 4, k], boxes[i, 5, k],
        boxes[i, 6, k], boxes[i, 7, k], boxes[i, 8, k], boxes[i, 9, k], boxes[i, 10, k], boxes[i, 11, k],
    )  # fmt: skip


@inline
def _least(a: np.float32, b: np.float32, c: np.float32, d: np.float32) -> np.float32:
    """The least product of a number in [a, b] and one in [c, d]."""
    return min(min(a * c, a * d), min(b * c, b * d))


@inline
def near_facing(box: Single, boxes: SingleArray, j: int, near: np.float32, facing: np.float32) -> int:
    """Triangles of block j whose boxes are near `box` and hold a normal that may face one in it."""
    l0, l1, l2, h0, h1, h2, m0, m1, m2, n0, n1, n2 = box
    l0, l1, l2, h0, h1, h2 = l0 - near, l1 - near, l2 - near, h0 + near, h1 + near, h2 + near
    found = 0
    for lane in range(LEAF):
        is_near = (boxes[j, 0, lane] <= h0) & (boxes[j, 1, lane] <= h1) & (boxes[j, 2, lane] <= h2)
        is_near &= (boxes[j, 3, lane] >= l0) & (boxes[j, 4, lane] >= l1) & (boxes[j, 5, lane] >= l2)
        least = _least(m0, n0, boxes[j, 6, lane], boxes[j, 9, lane])
        least += _least(m1, n1, boxes[j, 7, lane], boxes[j, 10, lane])
        least += _least(m2, n2, boxes[j, 8, lane], boxes[j, 11, lane])
        found += (1 << lane) if is_near & (least < facing) else 0
    return found


@inline
def above(vertex: int, x: Single, spread: Single, boxes: SingleArray, corners: IntArray, j: int, reach: Reach) -> int:
    """Triangles of block j without the point `vertex` at x (m) whose box and whose plane are near it, and whose
    normal may face one of those in the box `spread` around it.
    """
    x0, x1, x2 = x
    near, far = reach.near, reach.plane
    l0, l1, l2, h0, h1, h2 = x0 - near, x1 - near, x2 - near, x0 + near, x1 + near, x2 + near
    m0, m1, m2, n0, n1, n2 = spread
    found = 0
    for lane in range(LEAF):
        is_near = (boxes[j, 0, lane] <= h0) & (boxes[j, 1, lane] <= h1) & (boxes[j, 2, lane] <= h2)
        is_near &= (boxes[j, 3, lane] >= l0) & (boxes[j, 4, lane] >= l1) & (boxes[j, 5, lane] >= l2)
        p0, p1, p2 = boxes[j, 12, lane], boxes[j, 13, lane], boxes[j, 14, lane]
        height = p0 * x0 + p1 * x1 + p2 * x2 - boxes[j, 15, lane]
        is_far = (height > far) | (height < -far)  # neither where the triangle is thin
        is_far |= (corners[j, 0, lane] == vertex) | (corners[j, 1, lane] == vertex) | (corners[j, 2, lane] == vertex)
        least = min(m0 * p0, n0 * p0) + min(m1 * p1, n1 * p1) + min(m2 * p2, n2 * p2)
        found += (1 << lane) if is_near & (not is_far) & (least < reach.facing) else 0
    return found


@inline
def crossing(box: Single, plane: Single, boxes: SingleArray, j: int, reach: Reach, smooth: Smooth) -> int:
    """Triangles of block j near `box` that are opposed to `plane` (3 + 9,), a normal and three corners (m), and whose
    own plane is neither out of reach of all corners nor behind them.
    """
    near, far = reach.near, reach.plane
    l0, l1, l2, h0, h1, h2 = box[0] - near, box[1] - near, box[2] - near, box[3] + near, box[4] + near, box[5] + near
    n0, n1, n2 = plane[0], plane[1], plane[2]
    opposed, above = smooth.opposed, min(smooth.front, far)
    x0, x1, x2, y0, y1, y2, z0, z1, z2 = plane[3:]
    found = 0
    for lane in range(LEAF):
        is_near = (boxes[j, 0, lane] <= h0) & (boxes[j, 1, lane] <= h1) & (boxes[j, 2, lane] <= h2)
        is_near &= (boxes[j, 3, lane] >= l0) & (boxes[j, 4, lane] >= l1) & (boxes[j, 5, lane] >= l2)
        p0, p1, p2, height = boxes[j, 12, lane], boxes[j, 13, lane], boxes[j, 14, lane], boxes[j, 15, lane]
        x = p0 * x0 + p1 * x1 + p2 * x2 - height
        y = p0 * y0 + p1 * y1 + p2 * y2 - height
        z = p0 * z0 + p1 * z1 + p2 * z2 - height
        is_far = (x > above) & (y > above) & (z > above)  # not where the triangle is thin, nor below
        is_far |= (x < -far) & (y < -far) & (z < -far)
        found += (1 << lane) if is_near & (not is_far) & (p0 * n0 + p1 * n1 + p2 * n2 <= opposed) else 0
    return found


@inline
def beside(around: SingleArray, k: int, boxes: SingleArray, j: int, reach: Reach) -> int:
    """Triangles of block j whose boxes are near the box around[k] and hold a normal that may face one in it, and whose
    plane is not out of reach of both ends, around[k, 12:] m.
    """
    near, far = reach.near, reach.plane
    l0, l1, l2 = around[k, 0] - near, around[k, 1] - near, around[k, 2] - near
    h0, h1, h2 = around[k, 3] + near, around[k, 4] + near, around[k, 5] + near
    m0, m1, m2, n0, n1, n2 = around[k, 6], around[k, 7], around[k, 8], around[k, 9], around[k, 10], around[k, 11]
    x0, x1, x2, y0, y1, y2 = around[k, 12], around[k, 13], around[k, 14], around[k, 15], around[k, 16], around[k, 17]
    found = 0
    for lane in range(LEAF):
        is_near = (boxes[j, 0, lane] <= h0) & (boxes[j, 1, lane] <= h1) & (boxes[j, 2, lane] <= h2)
        is_near &= (boxes[j, 3, lane] >= l0) & (boxes[j, 4, lane] >= l1) & (boxes[j, 5, lane] >= l2)
        least = _least(m0, n0, boxes[j, 6, lane], boxes[j, 9, lane])
        least += _least(m1, n1, boxes[j, 7, lane], boxes[j, 10, lane])
        least += _least(m2, n2, boxes[j, 8, lane], boxes[j, 11, lane])
        p0, p1, p2, height = boxes[j, 12, lane], boxes[j, 13, lane], boxes[j, 14, lane], boxes[j, 15, lane]
        x = p0 * x0 + p1 * x1 + p2 * x2 - height
        y = p0 * y0 + p1 * y1 + p2 * y2 - height
        is_far = ((x > far) & (y > far)) | ((x < -far) & (y < -far))  # neither where the triangle is thin
        found += (1 << lane) if is_near & (not is_far) & (least < reach.facing) else 0
    return found


@inline
def opposing(
    boxes: SingleArray, i: int, nodes: SingleArray, facets: SingleArray, leaf: int, j: int, near: np.float32,
    opposed: np.float32,
) -> int:  # fmt: skip
    """Triangles of block i near leaf j of another surface, whose box is nodes[leaf + j], with a normal that may have a
    product of at most `opposed` with one of facets[j].
    """
    node = leaf + j
    l0, l1, l2 = nodes[node, 0] - near, nodes[node, 1] - near, nodes[node, 2] - near
    h0, h1, h2 = nodes[node, 3] + near, nodes[node, 4] + near, nodes[node, 5] + near
    m0, m1, m2, n0, n1, n2 = facets[j, 0], facets[j, 1], facets[j, 2], facets[j, 3], facets[j, 4], facets[j, 5]
    found = 0
    for lane in range(LEAF):
        is_near = (boxes[i, 0, lane] <= h0) & (boxes[i, 1, lane] <= h1) & (boxes[i, 2, lane] <= h2)
        is_near &= (boxes[i, 3, lane] >= l0) & (boxes[i, 4, lane] >= l1) & (boxes[i, 5, lane] >= l2)
        p0, p1, p2 = boxes[i, 12, lane], boxes[i, 13, lane], boxes[i, 14, lane]
        least = min(m0 * p0, n0 * p0) + min(m1 * p1, n1 * p1) + min(m2 * p2, n2 * p2)
        found += (1 << lane) if is_near & (least <= opposed) else 0
    return found


@inline
def opposing_boxes(a: SingleArray, i: int, b: SingleArray, j: int, opposed: np.float32) -> bool:
    """Whether normals in a[i] and b[j], lower and upper ones, may have a product of at most `opposed`."""
    least = _least(a[i, 0], a[i, 3], b[j, 0], b[j, 3]) + _least(a[i, 1], a[i, 4], b[j, 1], b[j, 4])
    return bool(least + _least(a[i, 2], a[i, 5], b[j, 2], b[j, 5]) <= opposed)
