"""Signed distances of points from the triangles of their own group, at any distance.

The potential contacts are fixed, one for each point. The distance from the triangle that was nearest in the last query
bounds the search; bounding spheres exclude most of the others.

A boundary edge of the triangles has no inside: a point whose nearest point lies on it has passed the surface, and its
distance is positive below the triangles too. The same holds at an edge to triangles of another group, unless the point
is behind those as well. A group therefore needs triangles of one orientation only, and a point pushed through them,
however deep, is pushed back along their normals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.collision.narrow.pseudonormal import Sides, signed_direction
from pliant.collision.surface import CollisionSurface
from pliant.core.arrays import frozen
from pliant.core.errors import InputError
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

_FLUSH = 0.05
"""Distance beyond a boundary, relative to the triangle, up to which a point is given the normal of the triangle: where
two surfaces end together, the direction to the boundary is tangential after the least slip.
"""


@dataclass(frozen=True, eq=False)
class FacingTable:
    """Points and triangles in groups; a point is measured from the triangles of its own group.

    surface      triangles over the corners, with their neighbourhoods
    group        (p,) index of each point's group, 0 … g − 1
    start, order  triangles of each group, CSR
    open_corner  (c,) whether a corner lies on a boundary
    member       (t,) index of each triangle's group, −1 where it is in none
    """

    surface: CollisionSurface
    group: IntArray
    start: IntArray
    order: IntArray
    open_corner: BoolArray
    member: IntArray

    @classmethod
    def build(cls, surface: CollisionSurface, point_group: Any, triangle_group: Any) -> FacingTable:
        """The table of points with `point_group` (p,) and triangles with `triangle_group` (t,), matched by value.

        Triangles of a negative group are measured by no point; they only close the boundary of their neighbours.
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

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.start) - 1

    @cached_property
    def whole(self) -> Glance:
        """All groups, with all points and corners."""
        everyone = np.ones(self.group_count, np.bool_)
        return Glance(everyone, np.arange(len(self.group)), np.arange(len(self.surface.rest)))

    def glance(self, groups: BoolArray) -> Glance:
        """The groups that are True in `groups` (g,): their points, and the corners that their distances depend on."""
        if groups.all():
            return self.whole
        corner, group = self._needs
        needed = np.zeros(len(self.surface.rest), np.bool_)
        needed[corner[groups[group]]] = True
        return Glance(groups, np.flatnonzero(groups[self.group]), np.flatnonzero(needed))

    @cached_property
    def seen_corners(self) -> tuple[IndexArray, IndexArray]:
        """Corners of the triangles of each group, and the group, as pairs (k,) and (k,)."""
        return _pairs(self.surface.triangles[self.order], np.repeat(np.arange(self.group_count), np.diff(self.start)))

    @cached_property
    def _needs(self) -> tuple[IndexArray, IndexArray]:
        """The same with the corners of all triangles around these corners, which determine the side of a point."""
        corner, group = self.seen_corners
        first, count = self.surface.fan_start[corner], np.diff(self.surface.fan_start)[corner]
        within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        around = self.surface.fan[np.repeat(first, count) + within]
        return _pairs(self.surface.triangles[around], np.repeat(group, count))

    def gaps(
        self,
        points: FloatArray,
        corners: FloatArray,
        nearest: IntArray | None = None,
        *,
        glance: Glance | None = None,
        into: FacingGaps | None = None,
    ) -> FacingGaps:
        """Signed distances of `points` (p, 3) m from triangles over `corners` (c, 3) m; `nearest` (p,) are the nearest
        triangles of the last query.

        With a `glance`, `points` (k, 3) and `corners` (l, 3) are those of it only. The gaps of the other points are
        infinite, or remain as they are in `into`, which is written to.
        """
        s, at = self.surface, self.whole if glance is None else glance
        found = FacingGaps.blank(len(self.group), self.group_count, nearest) if into is None else into
        found.points[at.points] = points
        y = np.zeros((len(s.rest), 3))
        y[at.corners] = corners
        table = (self.group, self.start, self.order, self.open_corner, self.member)
        tables = (s.triangles, s.triangle_edges, s.edge_triangles, s.fan_start, s.fan)
        out = (found.face, found.weights, found.normal, found.gap, found.least)
        _look(found.points, y, frozen(at.points), table, tables, out)
        return found


@dataclass(frozen=True, eq=False)
class Glance:
    """A part of the groups, True in `groups` (g,), with their `points` (k,) and the `corners` (l,) needed for them."""

    groups: BoolArray
    points: IndexArray
    corners: IndexArray


@dataclass(frozen=True, eq=False)
class FacingGaps:
    """Of p points at `points` (p, 3) m: `face` (p,) the nearest triangle, `weights` (p, 3) of its corners at the
    nearest point, unit `normal` (p, 3) from there to the point, `gap` (p,) m, negative behind the triangle. `least`
    (g,) m is the smallest gap of each group. Points outside of the glance have an infinite gap, else void entries.
    """

    points: FloatArray
    face: IntArray
    weights: FloatArray
    normal: FloatArray
    gap: FloatArray
    least: FloatArray

    @classmethod
    def blank(cls, count: int, group_count: int, nearest: IntArray | None) -> FacingGaps:
        """Before the first query of `count` points; `nearest` (p,) are the triangles to begin with."""
        face = np.full(count, -1, np.int32) if nearest is None else nearest.copy()
        places, weights, normal = (np.empty((count, 3)) for _ in range(3))
        return cls(places, face, weights, normal, np.full(count, np.inf), np.full(group_count, np.inf))


def _pairs(corners: IntArray, groups: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Distinct pairs of a corner of triangles (t, 3) and the group (t,) of the triangle."""
    distinct = np.unique(np.column_stack([np.repeat(groups, 3), corners.ravel()]), axis=0)
    return distinct[:, 1], distinct[:, 0]


@kernel
def _look(x, y, which, table, tables, out):  # type: ignore[no-untyped-def]
    """Nearest triangle, weights, normal and gap of the points `which`, and the least gap of their groups."""
    group, start, order, open_corner, member = table
    nearest, weights, normal, gap, least = out
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
    for p in which:
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
        n0, n1, n2, distance = signed_direction(
            x, p, y, normals, triangles, triangle_edges, edge_triangles, fan_start, fan, face, v, w
        )
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
        least[group[p]] = min(least[group[p]], distance)


@inline
def _border(b, member, open_corner, edge, point, d0, d1, d2):  # type: ignore[no-untyped-def]
    """Whether `edge` or `point` (the other is −1) is a boundary of a group, and whether d, from there to a measured
    point, leads past it: at a boundary of the surface always, at one to other groups where it leads out of any triangle
    there.
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
