"""Edges that may touch edges, from pairs of leaves: edges that bend with all others, and smooth ones that may have run
through each other. One triangle of each edge stands for it; two of one surface that share a point are left out, unless
they are the sides of a notch. As with vertices, lists stand for branches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.collision.features import Features, Smooth
from pliant.collision.lanes import LOWEST, Corners, Reach, Single, beside, box_of, crossing
from pliant.collision.near_vertices import CHUNK
from pliant.collision.notches import make_notch
from pliant.collision.tree import LEAF, SingleArray, may_face
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IntArray


@kernel
def find_bent(
    leaves: IntArray,
    column: int,
    a: Features,
    b: Features,
    same: bool,
    reach: Reach,
    rest: FloatArray,
    rest_normals: FloatArray,
    notched: BoolArray,
    found: IntArray,
) -> int:
    """Write edges of `a` that bend and edges of `b` that they may touch, as many as there is room for, from pairs of
    `leaves` (m, 2) whose `column` names those of `a`; returns how many there are. Two edges that both bend make one
    pair: within a surface with the lower as the first, between two for column 0.
    """
    first, numbers, lanes, around, ends = _bent_of_leaves(
        a.points, a.normals, a.edges, a.edge_triangles, a.edge_mask, a.triangle_edges, a.order, a.leaf_start, a.bends
    )
    triangles, corners_a, order_a, start_a, bends, edge_mask = (
        a.triangles,
        a.corners,
        a.order,
        a.leaf_start,
        b.bends,
        b.edge_mask,
    )
    nodes, boxes, planes, corners, order, start = b.nodes, b.boxes, b.planes, b.corners, b.order, b.leaf_start
    sides, count, room, near, leaf = b.triangle_edges, 0, len(found) - 1, reach.near, len(boxes) - 1
    close, hits = np.empty((6 * LEAF * CHUNK, 3), np.int32), np.empty((6 * LEAF * CHUNK, 5), np.int32)
    for begin in range(0, len(leaves), CHUNK):
        close_count = hit_count = 0
        for m in range(begin, min(begin + CHUNK, len(leaves))):
            for turn in range(2 if same and leaves[m, 0] != leaves[m, 1] else 1):
                i, j = leaves[m, (column + turn) % 2], leaves[m, (column + turn + 1) % 2]
                for k in range(first[i], first[i + 1]):
                    close[close_count, 0], close[close_count, 1], close[close_count, 2] = i, k, j
                    close_count += _near_box(around, k, nodes, leaf + j, near)
        for m in range(close_count):
            i, k, j = close[m, 0], close[m, 1], close[m, 2]
            corner = _own_corners(corners_a, i, lanes[k], same)
            bits, shared = beside(around, ends, k, corner, boxes, planes, corners, j, reach)
            own = order_a[start_a[i] + lanes[k]]
            hits[hit_count, 0], hits[hit_count, 1], hits[hit_count, 2] = own, numbers[k], start[j]
            hits[hit_count, 3], hits[hit_count, 4] = bits, shared
            hit_count += (bits != 0) | (shared != 0 and notched[own])
        for m in range(hit_count):
            e, bits = hits[m, 1], hits[m, 3]
            if hits[m, 4]:
                bits |= _notches(triangles, rest, rest_normals, notched, hits[m, 0], order, hits[m, 2], hits[m, 4])
            while bits:
                t = order[hits[m, 2] + LOWEST[bits]]
                for other in range(3):
                    f, at = sides[t, other], min(count, room)
                    found[at, 0], found[at, 1] = (f, e) if column == 1 or (same and f < e) else (e, f)
                    once = (e < f) if same else (column == 0)
                    count += ((edge_mask[t] >> other) & 1) & (once | (not bends[f]))
                bits &= bits - 1
    return count


@kernel
def find_crossing(
    leaves: IntArray,
    a: Features,
    b: Features,
    same: bool,
    reach: Reach,
    smooth: Smooth,
    rest: FloatArray,
    rest_normals: FloatArray,
    notched: BoolArray,
    found: IntArray,
) -> int:
    """Write edges of `a` and of `b` that do not bend and may touch, as many as there is room for, from pairs of
    `leaves` (m, 2); returns how many there are. Within a surface the lower is the first.
    """
    x, triangles, nodes_a, boxes_a, planes_a, corners_a = a.points, a.triangles, a.nodes, a.boxes, a.planes, a.corners
    order_a, start_a, bends_a, mask_a, sides_a = a.order, a.leaf_start, a.bends, a.edge_mask, a.triangle_edges
    nodes_b, boxes_b, planes_b, corners_b = b.nodes, b.boxes, b.planes, b.corners
    order_b, start_b, bends_b, mask_b, sides_b = b.order, b.leaf_start, b.bends, b.edge_mask, b.triangle_edges
    count, room, near, leaf_a, leaf_b = 0, len(found) - 1, reach.near, len(boxes_a) - 1, len(boxes_b) - 1
    close, hits = np.empty((LEAF * CHUNK, 3), np.int32), np.empty((LEAF * CHUNK, 4), np.int32)
    for begin in range(0, len(leaves), CHUNK):
        close_count = hit_count = 0
        for m in range(begin, min(begin + CHUNK, len(leaves))):
            i, j = leaves[m, 0], leaves[m, 1]
            if may_face(nodes_a, leaf_a + i, nodes_b, leaf_b + j, smooth.opposed):
                for p in range(start_a[i + 1] - start_a[i]):
                    close[close_count, 0], close[close_count, 1], close[close_count, 2] = i, p, j
                    close_count += _near_column(boxes_a, i, p, nodes_b, leaf_b + j, near)
        for m in range(close_count):
            i, p, j = close[m, 0], close[m, 1], close[m, 2]
            t = order_a[start_a[i] + p]
            normal = planes_a[i, 0, p], planes_a[i, 1, p], planes_a[i, 2, p]
            bits, shared = crossing(
                box_of(boxes_a, i, p), normal, _places(x, triangles, t), _own_corners(corners_a, i, p, same), boxes_b,
                planes_b, corners_b, j, reach, smooth.opposed, smooth.front,
            )  # fmt: skip
            after = p + 1 if same and i == j else 0
            bits, shared = (bits >> after) << after, (shared >> after) << after
            hits[hit_count, 0], hits[hit_count, 1], hits[hit_count, 2] = t, start_b[j], bits
            hits[hit_count, 3] = shared
            hit_count += (bits != 0) | (shared != 0 and notched[t])
        for m in range(hit_count):
            t, bits = hits[m, 0], hits[m, 2]
            if hits[m, 3]:
                bits |= _notches(triangles, rest, rest_normals, notched, t, order_b, hits[m, 1], hits[m, 3])
            while bits:
                q = order_b[hits[m, 1] + LOWEST[bits]]
                for side in range(3):
                    e = sides_a[t, side]
                    if not ((mask_a[t] >> side) & (not bends_a[e])) & 1:
                        continue
                    for other in range(3):
                        f, at = sides_b[q, other], min(count, room)
                        found[at, 0], found[at, 1] = (f, e) if same and f < e else (e, f)
                        count += ((mask_b[q] >> other) & 1) & (not bends_b[f])
                bits &= bits - 1
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
) -> tuple[IntArray, IntArray, IntArray, SingleArray, SingleArray]:
    """Edges that bend by leaves, CSR, the lanes of the triangles that represent them, their boxes (m, 12) around ends
    and normals beside, and their ends (m, 6) m.
    """
    start, most = np.empty(len(leaf_start), np.int32), int(bends.sum())
    numbers, lanes = np.empty(most, np.int32), np.empty(most, np.int32)
    boxes, ends = np.empty((most, 12), np.float32), np.empty((most, 6), np.float32)
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
                    ends[count, axis], ends[count, 3 + axis] = points[i, axis], points[j, axis]
                numbers[count], lanes[count] = e, item - leaf_start[leaf]
                count += 1
        start[leaf + 1] = count
    return start, numbers, lanes, boxes, ends


@inline
def _own_corners(corners: IntArray, i: int, k: int, same: bool) -> Corners:
    """Corners of triangle k of block i; none that the other side could have where that is another surface."""
    none = np.int32(-1)
    return (corners[i, 0, k], corners[i, 1, k], corners[i, 2, k]) if same else (none, none, none)


@inline
def _places(x: FloatArray, triangles: IntArray, t: int) -> Single:
    """Where the corners of a triangle are, (9,) m."""
    i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    return (
        np.float32(x[i, 0]), np.float32(x[i, 1]), np.float32(x[i, 2]),
        np.float32(x[j, 0]), np.float32(x[j, 1]), np.float32(x[j, 2]),
        np.float32(x[k, 0]), np.float32(x[k, 1]), np.float32(x[k, 2]),
    )  # fmt: skip


@inline
def _near_box(a: SingleArray, i: int, b: SingleArray, j: int, near: float) -> int:
    """1 where box a[i] is within `near` (m) of box b[j] along each axis, else 0, without a branch."""
    below = (a[i, 0] - b[j, 3] <= near) & (a[i, 1] - b[j, 4] <= near) & (a[i, 2] - b[j, 5] <= near)
    above = (b[j, 0] - a[i, 3] <= near) & (b[j, 1] - a[i, 4] <= near) & (b[j, 2] - a[i, 5] <= near)
    return int(below & above)


@inline
def _near_column(a: SingleArray, i: int, k: int, b: SingleArray, j: int, near: float) -> int:
    """1 where column k of block i of the boxes `a` is within `near` (m) of box b[j], else 0."""
    below = (a[i, 0, k] - b[j, 3] <= near) & (a[i, 1, k] - b[j, 4] <= near) & (a[i, 2, k] - b[j, 5] <= near)
    above = (b[j, 0] - a[i, 3, k] <= near) & (b[j, 1] - a[i, 4, k] <= near) & (b[j, 2] - a[i, 5, k] <= near)
    return int(below & above)


@inline
def _notches(
    triangles: IntArray,
    rest: FloatArray,
    rest_normals: FloatArray,
    notched: BoolArray,
    t: int,
    order: IntArray,
    first: int,
    shared: int,
) -> int:
    """Those of the `shared` lanes from `first` on that make a notch with triangle t."""
    kept = 0
    for lane in range(LEAF if notched[t] else 0):
        if (shared >> lane) & 1 and make_notch(triangles, rest, rest_normals, t, order[first + lane]):
            kept |= 1 << lane
    return kept
