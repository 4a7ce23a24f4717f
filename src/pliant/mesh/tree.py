"""A bounding-box tree over boxes that do not move, in flat arrays for kernels.

The items are sorted along a Morton curve; node v of the complete binary tree has the children 2v + 1 and 2v + 2. Leaves
have up to `LEAF` items. It locates points in meshes at rest; moving surfaces have a tree of their own in `collision`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray

LEAF = 4
"""Items of a leaf: few enough to test one by one, and a tree four times smaller."""
STACK = 128
"""Depth of the stack of a traversal; a tree of n leaves needs log₂ n + 1."""


@dataclass(frozen=True, eq=False)
class BoxTree:
    """Boxes of the tree nodes (v, 3) m each and `order` (n,), the items in the order of the leaves."""

    lower: FloatArray
    upper: FloatArray
    order: IntArray

    @property
    def first_leaf(self) -> int:
        """Index of the first leaf node; leaf i contains the items order[LEAF i : LEAF (i + 1)]."""
        return len(self.lower) // 2


def build_tree(lower: FloatArray, upper: FloatArray) -> BoxTree:
    """A tree over the boxes from `lower` (n, 3) to `upper` (n, 3), m."""
    order = np.argsort(_morton(0.5 * (lower + upper)), kind="stable").astype(np.int32)
    leaf_count = 1
    while leaf_count * LEAF < len(order):
        leaf_count *= 2
    node_lower = np.full((2 * leaf_count - 1, 3), np.inf)
    node_upper = np.full((2 * leaf_count - 1, 3), -np.inf)
    _fill(lower, upper, order, leaf_count, node_lower, node_upper)
    return BoxTree(node_lower, node_upper, order)


def _morton(centers: FloatArray) -> NDArray[np.uint64]:
    """Position of each center along a Z curve of 2⁶³ cells in the cube around them."""
    extent = max(float(np.ptp(centers, axis=0).max()), np.finfo(float).tiny)
    cells = np.minimum((centers - centers.min(axis=0)) / extent * 2**21, 2**21 - 1).astype(np.uint64)
    for shift, mask in (
        (32, 0x1F00000000FFFF),
        (16, 0x1F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):
        cells = (cells | (cells << np.uint64(shift))) & np.uint64(mask)
    code: NDArray[np.uint64] = cells[:, 0] << np.uint64(2) | cells[:, 1] << np.uint64(1) | cells[:, 2]
    return code


@kernel
def _fill(
    lower: FloatArray,
    upper: FloatArray,
    order: IntArray,
    leaf_count: int,
    node_lower: FloatArray,
    node_upper: FloatArray,
) -> None:
    for position in range(len(order)):
        node, item = leaf_count - 1 + position // LEAF, order[position]
        for axis in range(3):
            node_lower[node, axis] = min(node_lower[node, axis], lower[item, axis])
            node_upper[node, axis] = max(node_upper[node, axis], upper[item, axis])
    for node in range(leaf_count - 2, -1, -1):
        for axis in range(3):
            node_lower[node, axis] = min(node_lower[2 * node + 1, axis], node_lower[2 * node + 2, axis])
            node_upper[node, axis] = max(node_upper[2 * node + 1, axis], node_upper[2 * node + 2, axis])


@inline
def holds(lower: FloatArray, upper: FloatArray, node: int, point: FloatArray) -> bool:
    """Whether the box of `node` holds `point` (3,)."""
    x, y, z = point[0], point[1], point[2]
    within_x = lower[node, 0] <= x <= upper[node, 0]
    within_y = lower[node, 1] <= y <= upper[node, 1]
    return bool(within_x and within_y and lower[node, 2] <= z <= upper[node, 2])


@inline
def squared_distance(lower: FloatArray, upper: FloatArray, node: int, point: FloatArray) -> float:
    """Squared distance of `point` (3,) to the box of `node`, m²; 0 inside, ∞ for an empty box."""
    total = 0.0
    for axis in range(3):
        outside = max(lower[node, axis] - point[axis], point[axis] - upper[node, axis])
        if outside > 0.0:
            total += outside * outside
    return total
