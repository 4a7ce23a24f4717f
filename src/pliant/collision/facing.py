"""Points that look at triangles of their own group: the nearest of them, always, and on which side of it they are.

The potential contacts are fixed, one for each point, and their gaps are known however far the point is. The triangle
that was nearest last time bounds the search, so that most others are dismissed by the balls around them.

An open border of the triangles is an edge, not a side: a point beyond it has passed by, and its distance is positive
below the triangles too. So it is beyond a border where triangles go on that the point does not see, unless it is
behind those as well. Triangles that face one way are therefore enough, and a point pushed through them, however
deep, is pushed back the way it came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.collision.pseudonormal import Sides, signed_direction
from pliant.collision.surface import CollisionSurface
from pliant.core.arrays import frozen
from pliant.core.errors import InputError
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IntArray

_FLUSH = 0.05
"""A point no farther beyond a border than this, relative to the triangle, still faces the triangle there: where two
surfaces end together the direction to the border is sideways after the least slip.
"""


@dataclass(frozen=True, eq=False)
class FacingTable:
    """Who sees whom.

    surface      triangles over the corners, with their neighbourhoods
    group        (p,) number of each point's group, 0 … g − 1
    start, order  triangles of each group, CSR
    open_corner  (c,) whether a corner lies on an open border
    member       (t,) number of each triangle's group, −1 where nobody sees it
    """

    surface: CollisionSurface
    group: IntArray
    start: IntArray
    order: IntArray
    open_corner: BoolArray
    member: IntArray

    @classmethod
    def build(cls, surface: CollisionSurface, point_group: Any, triangle_group: Any) -> FacingTable:
        """The table of points with `point_group` (p,) and triangles with `triangle_group` (t,): equal ones meet.

        Triangles of a negative group are seen by nobody, but their neighbours have no open border there.
        """
        points, taking_part = np.asarray(point_group), np.flatnonzero(np.asarray(triangle_group) >= 0)
        names, numbers = np.unique(np.asarray(triangle_group)[taking_part], return_inverse=True)
        places = np.minimum(np.searchsorted(names, points), len(names) - 1)
        blind = np.flatnonzero(names[places] != points)
        if len(blind):
            raise InputError(
                f"point {blind[0]} is of group {points[blind[0]]}, which has no triangle; its groups are {names}"
            )
        start = np.concatenate([[0], np.cumsum(np.bincount(numbers.ravel(), minlength=len(names)))])
        open_corner = np.zeros(len(surface.rest), np.bool_)
        open_corner[surface.edges[surface.edge_triangles[:, 1] < 0]] = True
        order = taking_part[np.argsort(numbers.ravel(), kind="stable")]
        member = np.full(len(surface.triangles), -1)
        member[taking_part] = numbers.ravel()
        parts = (places.astype(np.int32), start.astype(np.int32), order.astype(np.int32), open_corner)
        made = cls(surface, *parts, member.astype(np.int32))
        for array in (made.group, made.start, made.order, made.open_corner, made.member):
            array.setflags(write=False)
        return made

    def gaps(self, points: FloatArray, corners: FloatArray, nearest: IntArray | None = None) -> FacingGaps:
        """What points at `points` (p, 3) m see of triangles over `corners` (c, 3) m; `nearest` (p,) was so before."""
        count, s = len(points), self.surface
        found = np.full(count, -1, np.int32) if nearest is None else nearest.copy()
        weights, normal, gap = np.empty((count, 3)), np.empty((count, 3)), np.empty(count)
        table = (self.group, self.start, self.order, self.open_corner, self.member)
        tables = (s.triangles, s.triangle_edges, s.edge_triangles, s.fan_start, s.fan)
        _look(frozen(points), frozen(corners), table, tables, found, weights, normal, gap)
        return FacingGaps(points, found, weights, normal, gap)


@dataclass(frozen=True, eq=False)
class FacingGaps:
    """What p points at `points` (p, 3) m see: `face` (p,) the nearest triangle, `weights` (p, 3) of its corners at the
    nearest point, unit `normal` (p, 3) from there to the point, `gap` (p,) m, negative behind the triangle.
    """

    points: FloatArray
    face: IntArray
    weights: FloatArray
    normal: FloatArray
    gap: FloatArray


@kernel
def _look(x, y, table, tables, nearest, weights, normal, gap):  # type: ignore[no-untyped-def]
    """Nearest triangle, weights, normal and gap of every point."""
    group, start, order, open_corner, member = table
    triangles, triangle_edges, edge_triangles, fan_start, fan = tables
    ball, normals = np.empty((len(order), 4)), np.empty((len(triangles), 3))
    for t in range(len(triangles)):
        i, j, m = triangles[t]
        u0, u1, u2 = y[j, 0] - y[i, 0], y[j, 1] - y[i, 1], y[j, 2] - y[i, 2]
        v0, v1, v2 = y[m, 0] - y[i, 0], y[m, 1] - y[i, 1], y[m, 2] - y[i, 2]
        n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
        length = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        scale = 1.0 / length if length > 0.0 else 0.0
        normals[t, 0], normals[t, 1], normals[t, 2] = n0 * scale, n1 * scale, n2 * scale
    for k in range(len(order)):  # in the order of the groups, so that a point reads its balls in one go
        i, j, m = triangles[order[k]]
        square = 0.0
        for axis in range(3):
            ball[k, axis] = (y[i, axis] + y[j, axis] + y[m, axis]) / 3.0
        for corner in (i, j, m):
            away = (y[corner, 0] - ball[k, 0]) ** 2 + (y[corner, 1] - ball[k, 1]) ** 2
            square = max(square, away + (y[corner, 2] - ball[k, 2]) ** 2)
        ball[k, 3] = np.sqrt(square)
    sides = Sides(y, normals, triangles, triangle_edges, edge_triangles, fan_start, fan)
    for p in range(len(x)):
        best, reach, face, v, w = np.inf, np.inf, nearest[p], 0.0, 0.0
        if face >= 0:
            v, w, best = triangle_weights(x, p, y, triangles[face, 0], triangles[face, 1], triangles[face, 2])
            reach = np.sqrt(best)
        own = face
        for k in range(start[group[p]], start[group[p] + 1]):
            away = (x[p, 0] - ball[k, 0]) ** 2 + (x[p, 1] - ball[k, 1]) ** 2 + (x[p, 2] - ball[k, 2]) ** 2
            if away > (reach + ball[k, 3]) ** 2 or order[k] == own:
                continue
            t = order[k]
            tv, tw, square = triangle_weights(x, p, y, triangles[t, 0], triangles[t, 1], triangles[t, 2])
            if square < best or (square == best and t < face):
                best, reach, face, v, w = square, np.sqrt(square), t, tv, tw
        nearest[p] = face
        weights[p, 0], weights[p, 1], weights[p, 2] = 1.0 - v - w, v, w
        n0, n1, n2, distance = signed_direction(x, p, sides, face, v, w)
        if not (v > 0.0 and w > 0.0 and v + w < 1.0):
            corner = 0 if v == 0.0 and w == 0.0 else (1 if v == 1.0 else (2 if w == 1.0 else -1))
            edge = -1 if corner >= 0 else triangle_edges[face, 0 if w == 0.0 else (2 if v == 0.0 else 1)]
            point = -1 if corner < 0 else triangles[face, corner]
            d0, d1, d2 = distance * n0, distance * n1, distance * n2
            border, passed = _border(sides, member, open_corner, edge, point, d0, d1, d2)
            i, j = triangles[face, 0], triangles[face, 1]
            size = abs(y[j, 0] - y[i, 0]) + abs(y[j, 1] - y[i, 1]) + abs(y[j, 2] - y[i, 2])
            above = dot(normals[face, 0], normals[face, 1], normals[face, 2], d0, d1, d2)
            if border and distance * distance - above * above <= (_FLUSH * size) ** 2:
                n0, n1, n2, distance = normals[face, 0], normals[face, 1], normals[face, 2], above
            elif passed and distance < 0.0:
                n0, n1, n2, distance = -n0, -n1, -n2, -distance
        normal[p, 0], normal[p, 1], normal[p, 2], gap[p] = n0, n1, n2, distance


@inline
def _border(b, member, open_corner, edge, point, d0, d1, d2):  # type: ignore[no-untyped-def]
    """Whether `edge` or `point` (the other is −1) is a border of what a point may see, and whether d, from there to
    that point, leads past it: by an open border always, by one where unseen triangles go on when out of any of them.
    """
    if (edge >= 0 and b.edge_triangles[edge, 1] < 0) or (point >= 0 and open_corner[point]):
        return True, True
    first, last = (0, 2) if edge >= 0 else (b.fan_start[point], b.fan_start[point + 1])
    own, out, mixed = -2, False, False
    for k in range(first, last):
        t = b.edge_triangles[edge, k] if edge >= 0 else b.fan[k]
        mixed = mixed or (own > -2 and member[t] != own)
        own = member[t]
        out = out or dot(b.normals[t, 0], b.normals[t, 1], b.normals[t, 2], d0, d1, d2) > 0.0
    return mixed, mixed and out
