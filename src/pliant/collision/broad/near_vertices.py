"""Candidates of vertices and faces from pairs of leaves; a vertex is compared with all triangles of a leaf at once.

Each test appends what passes to a list, without a branch, and the next test reads that list: about half of the branches
would be mispredicted, which costs more than the tests.
"""

from __future__ import annotations

import numpy as np

from pliant.collision.broad.features import Features
from pliant.collision.broad.lanes import LOWEST, Reach, above
from pliant.collision.broad.tree import LEAF
from pliant.core.kernels import inline
from pliant.core.types import IntArray

CHUNK = 32
"""Pairs of leaves per pass: the lists of one pass fit into the cache."""
ROOM = 16
"""Candidates per pair of leaves for which there is room at first; a search that finds more is repeated."""


@inline
def find_vertices(leaves: IntArray, column: int, a: Features, b: Features, same: bool, reach: Reach) -> IntArray:
    """Candidates (m, 2) of vertices of `a` and faces of `b`, from pairs of `leaves` (k, 2) with the leaves of `a` in
    `column`.
    """
    room = ROOM * len(leaves) + LEAF
    while True:
        found = np.empty((room, 2), np.int32)
        count = _write_vertices(leaves, column, a, b, same, reach, found)
        if count <= room:
            return found[:count]
        room = count


@inline
def _write_vertices(
    leaves: IntArray, column: int, a: Features, b: Features, same: bool, reach: Reach, found: IntArray
) -> int:
    """Write the candidates that `found` has room for, and return how many there are."""
    # arrays are passed one by one: a call with a tuple of arrays counts the references of each
    vertices, leaf_first, numbers = a.vertices, a.leaf_first, a.leaf_vertices
    nodes, boxes, corners, order, start = b.nodes, b.boxes, b.corners, b.order, b.leaf_start
    count, room, near, leaf = 0, len(found) - 1, reach.near, len(nodes) - len(boxes)
    close, hits = np.empty((6 * LEAF * CHUNK, 2), np.int32), np.empty((6 * LEAF * CHUNK, 3), np.int32)
    for begin in range(0, len(leaves), CHUNK):
        close_count = hit_count = 0
        for m in range(begin, min(begin + CHUNK, len(leaves))):
            for turn in range(2 if same and leaves[m, 0] != leaves[m, 1] else 1):
                i, j = leaves[m, (column + turn) % 2], leaves[m, (column + turn + 1) % 2]
                l0, l1, l2 = nodes[leaf + j, 0] - near, nodes[leaf + j, 1] - near, nodes[leaf + j, 2] - near
                h0, h1, h2 = nodes[leaf + j, 3] + near, nodes[leaf + j, 4] + near, nodes[leaf + j, 5] + near
                for k in range(leaf_first[i], leaf_first[i + 1]):
                    x0, x1, x2 = vertices[k, 0], vertices[k, 1], vertices[k, 2]
                    close[close_count, 0], close[close_count, 1] = k, j
                    close_count += (x0 >= l0) & (x1 >= l1) & (x2 >= l2) & (x0 <= h0) & (x1 <= h1) & (x2 <= h2)
        for m in range(close_count):
            k, j = close[m, 0], close[m, 1]
            x = vertices[k, 0], vertices[k, 1], vertices[k, 2]
            spread = vertices[k, 3], vertices[k, 4], vertices[k, 5], vertices[k, 6], vertices[k, 7], vertices[k, 8]
            own = numbers[k] if same else np.int32(-1)
            bits = above(own, x, spread, boxes, corners, j, reach)
            hits[hit_count, 0], hits[hit_count, 1], hits[hit_count, 2] = numbers[k], start[j], bits
            hit_count += bits != 0
        for m in range(hit_count):
            bits = hits[m, 2]
            while bits:
                at = min(count, room)
                found[at, 0], found[at, 1] = hits[m, 0], order[hits[m, 1] + LOWEST[bits]]
                count += 1
                bits &= bits - 1
    return count
