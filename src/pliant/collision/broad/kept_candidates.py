"""Candidates that last: pairs of features within the margin and a skin, valid until a point has moved too far.

A vertex and a face, or two edges, that are farther apart than `reach` are farther apart than the margin as long as no
point of side a has moved by more than d_a and none of side b by more than d_b, with d_a + d_b ≤ reach − margin: the
distance of two features changes by no more than the motions of their points. Pairs whose normals cannot face each other
within these motions are left out too. A triangle with sides u and v and N = u × v, whose points move by d, has

    |ΔN| ≤ 2d (|u| + |v|) + 4d²,   |Δn| ≤ √2 |ΔN| / |N|  where |ΔN| < |N|,

and a product of two unit normals changes by at most |Δn| + |Δn′|. What is kept is thus more than the tree finds at each
step, and the narrow phase finds the same contacts in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.collision.broad.lanes import reach_of
from pliant.collision.broad.notches import share_point
from pliant.collision.broad.pairs import near_leaves
from pliant.collision.closest import dot, segment_parameters, triangle_weights
from pliant.collision.filters import Limits
from pliant.collision.surface import Pose
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray

SKIN = 0.25
"""Skin as a fraction of the margin: a wider one lasts longer and lists more pairs."""
_SERVED = 4
"""Queries that a list has to serve to be worth its making, about three of the tree's searches."""
_REST = 16
"""Queries for which the tree is used after a list that served fewer."""
_ROUNDING = 1e-6
"""Fraction of the skin that is given away to rounding."""


class Side(NamedTuple):
    """One side for kernels: names as in `CollisionSurface` and `Bounds`."""

    points: FloatArray
    normals: FloatArray
    triangles: IntArray
    edges: IntArray
    triangle_edges: IntArray
    edge_triangles: IntArray
    fan_start: IntArray
    fan: IntArray
    vertex_mask: NDArray[np.uint8]
    edge_mask: NDArray[np.uint8]
    order: IntArray
    leaf_start: IntArray
    notched: NDArray[np.bool_]


class _Made(NamedTuple):
    """Candidates, the points of both sides (n, 3) m where they were found, and the distance (m) that they cover."""

    pairs: tuple[IntArray, IntArray, IntArray]
    places: tuple[FloatArray, FloatArray]
    reach: float


class KeptCandidates:
    """Candidates of a pair of surfaces, made where they are worth it; `least` (m) is the smallest margin asked for.

    `find` answers None where the tree is cheaper: while bodies move so far from query to query that a list would not
    serve long enough.
    """

    def __init__(self, least: float) -> None:
        self.least = least
        self.made: _Made | None = None
        self.served = _SERVED
        self.resting = 0
        self.last: tuple[FloatArray, FloatArray] | None = None  # points at the last query without a list

    def find(self, a: Pose, b: Pose, limits: Limits) -> tuple[IntArray, IntArray, IntArray] | None:
        """Vertices of a with faces of b, vertices of b with faces of a, and edges, (m, 2) each."""
        made = self.made  # read once: another thread may replace it
        if made is not None:
            if limits.margin + _moved(a, b, made.places) <= made.reach:
                self.served += 1
                return made.pairs
            self.made = None
            self.resting = 0 if self.served >= _SERVED else _REST
        last, self.last = self.last, (a.points.copy(), b.points if a is b else b.points.copy())
        if self.resting > 0:
            self.resting -= 1
            return None
        if last is not None and _SERVED * _moved(a, b, last) > SKIN * self.least:
            return None
        made = self._listed(a, b, limits)
        self.made, self.served, self.last = made, 1, None
        return made.pairs

    def _listed(self, a: Pose, b: Pose, limits: Limits) -> _Made:
        """Candidates within the margin and the skin at the present points."""
        skin = SKIN * self.least
        on_a = _side(a)
        on_b = on_a if a is b else _side(b)
        reach = limits.margin + skin
        largest = (reach - self.least) * (0.5 if a is b else 1.0)
        x, y = a.bounds, b.bounds
        wide = reach_of(x, y, reach, np.inf)
        leaves = near_leaves(x.nodes, x.leaves, y.nodes, y.leaves, a is b, wide.near, wide.facing)
        pairs = _list(leaves, on_a, on_b, a is b, reach, limits.facing, largest)
        places = a.points.copy(), b.points if a is b else b.points.copy()
        return _Made(pairs, places, reach - _ROUNDING * skin)


def _moved(a: Pose, b: Pose, places: tuple[FloatArray, FloatArray]) -> float:
    """How far the two sides have moved against each other at most since they were at `places`, m."""
    moved = farthest(a.points, places[0])
    return float(moved + (moved if a is b else farthest(b.points, places[1])))


def _side(pose: Pose) -> Side:
    s = pose.surface
    return Side(
        pose.points, pose.bounds.normals, s.triangles, s.edges, s.triangle_edges, s.edge_triangles, s.fan_start, s.fan,
        s.vertex_mask, s.edge_mask, s.order, s.leaf_start, s.notched,
    )  # fmt: skip


@kernel
def farthest(x: FloatArray, y: FloatArray) -> float:
    """Largest distance (m) between points of the same index, (n, 3) m."""
    most = 0.0
    for k in range(len(x)):
        d0, d1, d2 = x[k, 0] - y[k, 0], x[k, 1] - y[k, 1], x[k, 2] - y[k, 2]
        most = max(most, d0 * d0 + d1 * d1 + d2 * d2)
    return float(np.sqrt(most))


@kernel
def _list(
    leaves: IntArray, a: Side, b: Side, same: bool, reach: float, facing: float, largest: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Pairs of features of near leaves that are within `reach` (m) and may face each other after motions up to
    `largest` (m).
    """
    # arrays taken out of their tuples: a call with a whole tuple counts all its references
    x, y, corners_a, corners_b, order_a, order_b = a.points, b.points, a.triangles, b.triangles, a.order, b.order
    start_a, start_b, notched = a.leaf_start, b.leaf_start, a.notched
    turns_a = _turns(x, corners_a, largest)
    turns_b = turns_a if same else _turns(y, corners_b, largest)
    beside_a = a.edges, a.triangle_edges, a.edge_triangles, a.edge_mask
    beside_b = b.edges, b.triangle_edges, b.edge_triangles, b.edge_mask
    fan_a, fan_b = (a.vertex_mask, a.fan_start, a.fan), (b.vertex_mask, b.fan_start, b.fan)
    room = 64
    while True:
        vertices, others = np.empty((room, 2), np.int32), np.empty((room, 2), np.int32)
        edges, counts = np.empty((room, 2), np.int32), np.zeros(3, np.int64)
        for m in range(len(leaves)):
            i, j = leaves[m, 0], leaves[m, 1]
            for k in range(start_a[i], start_a[i + 1]):
                s = order_a[k]
                for n in range(k if same and i == j else start_b[j], start_b[j + 1]):
                    t = order_b[n]
                    if _apart(x, corners_a, s, y, corners_b, t, reach):
                        continue
                    counts[0] = _add_vertices(
                        x, corners_a, a.normals, turns_a, *fan_a, s, y, corners_b, b.normals, turns_b, t, same, reach,
                        facing, vertices, counts[0],
                    )  # fmt: skip
                    if not same:
                        counts[1] = _add_vertices(
                            y, corners_b, b.normals, turns_b, *fan_b, t, x, corners_a, a.normals, turns_a, s, same,
                            reach, facing, others, counts[1],
                        )  # fmt: skip
                    elif s != t:
                        counts[0] = _add_vertices(
                            y, corners_b, b.normals, turns_b, *fan_b, t, x, corners_a, a.normals, turns_a, s, same,
                            reach, facing, vertices, counts[0],
                        )  # fmt: skip
                    if not same or (s != t and (not share_point(corners_a, s, t) or (notched[s] and notched[t]))):
                        counts[2] = _add_edges(
                            x, a.normals, turns_a, *beside_a, s, y, b.normals, turns_b, *beside_b, t, same, reach,
                            facing, edges, counts[2],
                        )  # fmt: skip
        most = max(counts[0], counts[1], counts[2])
        if most <= room:
            return vertices[: counts[0]].copy(), others[: counts[1]].copy(), edges[: counts[2]].copy()
        room = most


@inline
def _turns(points: FloatArray, triangles: IntArray, d: float) -> FloatArray:
    """Bound of the change |Δn| of each unit normal (t,) under motions of the points up to d (m)."""
    turns = np.full(len(triangles), 2.0)
    for t in range(len(triangles)):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        u0, u1, u2 = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
        v0, v1, v2 = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
        n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
        area = np.sqrt(dot(n0, n1, n2, n0, n1, n2))
        sides = np.sqrt(dot(u0, u1, u2, u0, u1, u2)) + np.sqrt(dot(v0, v1, v2, v0, v1, v2))
        change = 2.0 * d * sides + 4.0 * d * d
        if change < area:
            turns[t] = 1.4143 * change / area
    return turns


@inline
def _apart(x: FloatArray, corners: IntArray, s: int, y: FloatArray, others: IntArray, t: int, reach: float) -> bool:
    """Whether the boxes around two triangles are farther apart than `reach` (m) along an axis."""
    for axis in range(3):
        p, q, r = x[corners[s, 0], axis], x[corners[s, 1], axis], x[corners[s, 2], axis]
        i, j, k = y[others[t, 0], axis], y[others[t, 1], axis], y[others[t, 2], axis]
        if min(p, q, r) - max(i, j, k) > reach or min(i, j, k) - max(p, q, r) > reach:
            return True
    return False


@inline
def _add_vertices(
    x: FloatArray, corners: IntArray, normals: FloatArray, turns: FloatArray, mask: NDArray[np.uint8],
    fan_start: IntArray, fan: IntArray, s: int, y: FloatArray, faces: IntArray, facets: FloatArray,
    face_turns: FloatArray, t: int, same: bool, reach: float, facing: float, found: IntArray, count: int,
) -> int:  # fmt: skip
    """Add the vertices that triangle s of one side represents with triangle t of the other; returns the new count, also
    where there is no room.
    """
    i, j, k = faces[t, 0], faces[t, 1], faces[t, 2]
    for corner in range(3):
        p = corners[s, corner]
        if not (mask[s] >> corner) & 1 or (same and ((p == i) | (p == j) | (p == k))):
            continue
        _, _, squared = triangle_weights(x, p, y, i, j, k)
        if squared > reach * reach:
            continue
        for z in range(fan_start[p], fan_start[p + 1]):
            f = fan[z]
            if _product(normals, f, facets, t) < facing + turns[f] + face_turns[t]:
                if count < len(found):
                    found[count, 0], found[count, 1] = p, t
                count += 1
                break
    return count


@inline
def _add_edges(
    x: FloatArray, normals_a: FloatArray, turns_a: FloatArray, edges_a: IntArray, sides_a: IntArray, beside_a: IntArray,
    mask_a: NDArray[np.uint8], s: int, y: FloatArray, normals_b: FloatArray, turns_b: FloatArray, edges_b: IntArray,
    sides_b: IntArray, beside_b: IntArray, mask_b: NDArray[np.uint8], t: int, same: bool, reach: float, facing: float,
    found: IntArray, count: int,
) -> int:  # fmt: skip
    """Add the pairs of edges that triangle s of one side and triangle t of the other represent, as above."""
    for side in range(3):
        e = sides_a[s, side]
        for other in range(3):
            f = sides_b[t, other]
            if not (mask_a[s] >> side) & (mask_b[t] >> other) & 1 or (same and e == f):
                continue
            _, _, squared, _ = segment_parameters(x, edges_a[e, 0], edges_a[e, 1], y, edges_b[f, 0], edges_b[f, 1])
            if squared > reach * reach:
                continue
            faces = False
            for k in range(4):
                g, h = beside_a[e, k // 2], beside_b[f, k % 2]
                if g >= 0 and h >= 0:
                    faces |= _product(normals_a, g, normals_b, h) < facing + turns_a[g] + turns_b[h]
            if faces:
                if count < len(found):
                    found[count, 0], found[count, 1] = (f, e) if same and f < e else (e, f)
                count += 1
    return count


@inline
def _product(n: FloatArray, i: int, m: FloatArray, j: int) -> float:
    """Scalar product of n[i] and m[j]."""
    return float(dot(n[i, 0], n[i, 1], n[i, 2], m[j, 0], m[j, 1], m[j, 2]))
