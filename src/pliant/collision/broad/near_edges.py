"""Candidates of edges and edges from pairs of leaves: sharp edges with all others, and smooth edges that may have
passed through each other. Each edge is represented by one of its triangles. Two triangles of one surface with a common
point are excluded, unless they form a notch. Lists replace branches as in `near_vertices`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.collision.broad.features import Features
from pliant.collision.broad.lanes import (
    LOWEST,
    Reach,
    Single,
    Smooth,
    beside,
    box_of,
    crossing,
    opposing,
    opposing_boxes,
)
from pliant.collision.broad.near_vertices import CHUNK, ROOM
from pliant.collision.broad.notches import share_point
from pliant.collision.broad.tree import LEAF, SingleArray
from pliant.collision.closest import may_cross, segment_parameters
from pliant.core.kernels import inline
from pliant.core.types import BoolArray, FloatArray, IntArray


@inline
def find_bent(
    leaves: IntArray,
    column: int,
    a: Features,
    bends_a: BoolArray,
    b: Features,
    bends_b: BoolArray,
    same: bool,
    reach: Reach,
    margin: float,
    ends: bool,
) -> IntArray:
    """Candidates (m, 2) of sharp edges of `a` with edges of `b`, from pairs of `leaves` (k, 2) with those of `a` in
    `column`. Two sharp edges make one pair: within a surface with the lower index first, between two surfaces for
    column 0. `bends_a` and `bends_b` (e,) are the sharp edges. With `ends` edges are candidates wherever they are
    within `margin` (m), else where the nearest points of their lines are inside both.
    """
    room = ROOM * len(leaves) + LEAF
    while True:
        found = np.empty((room + 1, 2), np.int32)  # the last row takes what does not count
        count = _write_bent(leaves, column, a, bends_a, b, bends_b, same, reach, margin, ends, found)
        if count <= room:
            return found[:count]
        room = count


@inline
def find_crossing(
    leaves: IntArray,
    a: Features,
    bends_a: BoolArray,
    b: Features,
    bends_b: BoolArray,
    same: bool,
    reach: Reach,
    smooth: Smooth,
    margin: float,
) -> IntArray:
    """Candidates (m, 2) of smooth edges of `a` and `b`, from pairs of `leaves` (k, 2); within a surface the lower index
    is first.
    """
    room = ROOM * len(leaves) + LEAF
    while True:
        found = np.empty((room + 1, 2), np.int32)
        count = _write_crossing(leaves, a, bends_a, b, bends_b, same, reach, smooth, margin, found)
        if count <= room:
            return found[:count]
        room = count


@inline
def _write_bent(
    leaves: IntArray,
    column: int,
    a: Features,
    bends_a: BoolArray,
    b: Features,
    bends_b: BoolArray,
    same: bool,
    reach: Reach,
    margin: float,
    ends: bool,
    found: IntArray,
) -> int:
    """Write the candidates that `found` has room for, and return how many there are."""
    first, numbers, lanes, around = _bent_of_leaves(
        a.points, a.normals, a.edges, a.edge_triangles, a.edge_mask, a.triangle_edges, a.order, a.leaf_start, bends_a
    )
    notched = a.notched
    x, y, edges_a, edges_b, triangles = a.points, b.points, a.edges, b.edges, b.triangles
    order_a, start_a, sides, edge_mask = a.order, a.leaf_start, b.triangle_edges, b.edge_mask
    smooth = _smooth_sides(edge_mask, sides, bends_b)
    nodes, boxes, order, start = b.nodes, b.boxes, b.order, b.leaf_start
    count, room, near, leaf = 0, len(found) - 1, reach.near, len(nodes) - len(boxes)
    close, hits = np.empty((6 * LEAF * CHUNK, 3), np.int32), np.empty((6 * LEAF * CHUNK, 4), np.int32)
    pairs = np.empty((3 * LEAF * len(hits) + 1, 2), np.int32)
    for begin in range(0, len(leaves), CHUNK):
        close_count = hit_count = pair_count = 0
        for m in range(begin, min(begin + CHUNK, len(leaves))):
            for turn in range(2 if same and leaves[m, 0] != leaves[m, 1] else 1):
                i, j = leaves[m, (column + turn) % 2], leaves[m, (column + turn + 1) % 2]
                for k in range(first[i], first[i + 1]):
                    close[close_count, 0], close[close_count, 1], close[close_count, 2] = start_a[i], k, j
                    close_count += _near_box(around, k, nodes, leaf + j, near)
        for m in range(close_count):
            k, j = close[m, 1], close[m, 2]
            bits = beside(around, k, boxes, j, reach)
            hits[hit_count, 0], hits[hit_count, 1] = order_a[close[m, 0] + lanes[k]], numbers[k]
            hits[hit_count, 2], hits[hit_count, 3] = start[j], bits
            hit_count += bits != 0
        for m in range(hit_count):
            own, e, bits = hits[m, 0], hits[m, 1], hits[m, 3]
            while bits:
                t = order[hits[m, 2] + LOWEST[bits]]
                bits &= bits - 1
                shared = same and share_point(triangles, own, t)
                if shared and (own == t or not (notched[own] and notched[t])):
                    continue
                for other in range(3):
                    f = sides[t, other]
                    pairs[pair_count, 0], pairs[pair_count, 1] = e, f
                    taken = edge_mask[t] if (e < f if same else column == 0) else smooth[t]
                    pair_count += (taken >> other) & 1
        for m in range(pair_count):
            e, f = pairs[m, 0], pairs[m, 1]
            at = min(count, room)
            found[at, 0], found[at, 1] = (f, e) if column == 1 or (same and f < e) else (e, f)
            if ends:
                _, _, squared, _ = segment_parameters(x, edges_a[e, 0], edges_a[e, 1], y, edges_b[f, 0], edges_b[f, 1])
                count += squared <= margin * margin
                continue
            count += may_cross(x, edges_a[e, 0], edges_a[e, 1], y, edges_b[f, 0], edges_b[f, 1], margin)
    return count


@inline
def _write_crossing(
    leaves: IntArray,
    a: Features,
    bends_a: BoolArray,
    b: Features,
    bends_b: BoolArray,
    same: bool,
    reach: Reach,
    smooth: Smooth,
    margin: float,
    found: IntArray,
) -> int:
    """Write the candidates that `found` has room for, and return how many there are."""
    notched = a.notched
    x, y, edges_a, edges_b, triangles = a.points, b.points, a.edges, b.edges, a.triangles
    facets_a, boxes_a, nodes_b, facets_b, boxes_b = a.facets, a.boxes, b.nodes, b.facets, b.boxes
    order_a, start_a, sides_a = a.order, a.leaf_start, a.triangle_edges
    order_b, start_b, sides_b = b.order, b.leaf_start, b.triangle_edges
    smooth_a = _smooth_sides(a.edge_mask, sides_a, bends_a)
    smooth_b = smooth_a if same else _smooth_sides(b.edge_mask, sides_b, bends_b)
    count, room, near, leaf = 0, len(found) - 1, reach.near, len(nodes_b) - len(boxes_b)
    close, hits = np.empty((LEAF * CHUNK, 3), np.int32), np.empty((LEAF * CHUNK, 3), np.int32)
    pairs = np.empty((9 * LEAF * len(hits) + 1, 2), np.int32)
    for begin in range(0, len(leaves), CHUNK):
        close_count = hit_count = pair_count = 0
        for m in range(begin, min(begin + CHUNK, len(leaves))):
            i, j = leaves[m, 0], leaves[m, 1]
            if opposing_boxes(facets_a, i, facets_b, j, smooth.opposed):
                bits = opposing(boxes_a, i, nodes_b, facets_b, leaf, j, near, smooth.opposed)
                while bits:
                    close[close_count, 0], close[close_count, 1], close[close_count, 2] = i, LOWEST[bits], j
                    close_count += 1
                    bits &= bits - 1
        for m in range(close_count):
            i, p, j = close[m, 0], close[m, 1], close[m, 2]
            t = order_a[start_a[i] + p]
            bits = crossing(box_of(boxes_a, i, p), _plane(boxes_a, i, p, x, triangles, t), boxes_b, j, reach, smooth)
            after = p + 1 if same and i == j else 0
            bits = (bits >> after) << after
            hits[hit_count, 0], hits[hit_count, 1], hits[hit_count, 2] = t, start_b[j], bits
            hit_count += bits != 0
        for m in range(hit_count):
            t, bits = hits[m, 0], hits[m, 2]
            while bits:
                q = order_b[hits[m, 1] + LOWEST[bits]]
                bits &= bits - 1
                shared = same and share_point(triangles, t, q)
                if shared and not (notched[t] and notched[q]):
                    continue
                for k in range(9):
                    side, other = k // 3, k % 3
                    pairs[pair_count, 0], pairs[pair_count, 1] = sides_a[t, side], sides_b[q, other]
                    pair_count += (smooth_a[t] >> side) & (smooth_b[q] >> other) & 1
        for m in range(pair_count):
            e, f = pairs[m, 0], pairs[m, 1]
            at = min(count, room)
            found[at, 0], found[at, 1] = (f, e) if same and f < e else (e, f)
            count += may_cross(x, edges_a[e, 0], edges_a[e, 1], y, edges_b[f, 0], edges_b[f, 1], margin)
    return count


@inline
def _bent_of_leaves(
    points: FloatArray,
    normals: FloatArray,
    edges: IntArray,
    edge_triangles: IntArray,
    edge_mask: NDArray[np.uint8],
    triangle_edges: IntArray,
    order: IntArray,
    leaf_start: IntArray,
    bends: BoolArray,
) -> tuple[IntArray, IntArray, IntArray, SingleArray]:
    """Sharp edges by leaves, CSR, the lanes of the triangles that represent them, and (m, 12 + 6) m: boxes around their
    ends and around the normals of their faces, and the ends.
    """
    start, most = np.empty(len(leaf_start), np.int32), int(bends.sum())
    numbers, lanes = np.empty(most, np.int32), np.empty(most, np.int32)
    boxes = np.empty((most, 18), np.float32)
    start[0] = count = 0
    for leaf in range(len(leaf_start) - 1):
        for item in range(leaf_start[leaf], leaf_start[leaf + 1]):
            t = order[item]
            for side in range(3):
                e = triangle_edges[t, side]
                if not ((edge_mask[t] >> side) & 1 and bends[e]):
                    continue
                i, j, f, g = edges[e, 0], edges[e, 1], edge_triangles[e, 0], edge_triangles[e, 1]
                g = f if g < 0 else g
                for axis in range(3):
                    boxes[count, axis] = min(points[i, axis], points[j, axis])
                    boxes[count, 3 + axis] = max(points[i, axis], points[j, axis])
                    boxes[count, 6 + axis] = min(normals[f, axis], normals[g, axis])
                    boxes[count, 9 + axis] = max(normals[f, axis], normals[g, axis])
                    boxes[count, 12 + axis], boxes[count, 15 + axis] = points[i, axis], points[j, axis]
                numbers[count], lanes[count] = e, item - leaf_start[leaf]
                count += 1
        start[leaf + 1] = count
    return start, numbers, lanes, boxes


@inline
def _smooth_sides(edge_mask: NDArray[np.uint8], triangle_edges: IntArray, bends: BoolArray) -> NDArray[np.uint8]:
    """The mask of represented edges without the sharp ones, (t,)."""
    mask = edge_mask.copy()
    for t in range(len(mask)):
        for side in range(3):
            mask[t] &= ~(np.uint8(bends[triangle_edges[t, side]]) << np.uint8(side))
    return mask


@inline
def _plane(boxes: SingleArray, i: int, k: int, x: FloatArray, triangles: IntArray, t: int) -> Single:
    """Normal of triangle k of block i, which has the index t, and its corners, (3 + 9,) m."""
    c, d, e = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    return (
        boxes[i, 12, k], boxes[i, 13, k], boxes[i, 14, k],
        np.float32(x[c, 0]), np.float32(x[c, 1]), np.float32(x[c, 2]),
        np.float32(x[d, 0]), np.float32(x[d, 1]), np.float32(x[d, 2]),
        np.float32(x[e, 0]), np.float32(x[e, 1]), np.float32(x[e, 2]),
    )  # fmt: skip


@inline
def _near_box(a: SingleArray, i: int, b: SingleArray, j: int, near: float) -> int:
    """1 where box a[i] is within `near` (m) of box b[j] along each axis, else 0, without a branch."""
    below = (a[i, 0] - b[j, 3] <= near) & (a[i, 1] - b[j, 4] <= near) & (a[i, 2] - b[j, 5] <= near)
    above = (b[j, 0] - a[i, 3] <= near) & (b[j, 1] - a[i, 4] <= near) & (b[j, 2] - a[i, 5] <= near)
    return int(below & above)
