"""First crossing of two triangle surfaces whose points move on straight lines: vertices with faces, edges with edges.

A vertex at x(τ) crosses a face with corners y(τ) where the volume V(τ) = (x − y₀)·(y₁ − y₀) × (y₂ − y₀), a cubic in τ,
changes its sign while the foot is inside the face; two edges cross likewise. The plane is moved into its solid by the
tolerance: bodies that rest on each other do not cross. A crossing counts where the straight piece of motion also
ends behind the plane. A vertex crosses only as a tip and an edge as a ridge, behind which their own faces extend: what
else crosses entered with another feature before.

Reference: X. Provot, "Collision and self-collision handling in cloth model dedicated to design garments", 1997.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pliant.collision.continuous.simplex_distance import distances
from pliant.collision.continuous.swept_boxes import Boxes, near_boxes
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

_INFLATED = 1e-6
"""Barycentric slack of faces and edges: neighbours share their boundaries without a gap."""
_SIDE = 0.05
"""Product of a crossing direction with the normals beside two edges above which it tells inside from outside."""
_DEEPEST = 5.0
"""Multiple of the tolerance beyond which a feature that begins behind a plane belongs to another side of the solid."""
_SLACK = 0.25
"""Sine up to which what is around a vertex or an edge may rise over the plane that it crosses: that of
`ProximityOptions.facing`, so that what crosses has a contact. Beyond it the feature is no tip or ridge there: a corner
slides behind a face, or a face passes over the bottom of a pit.
"""
_DEEPER = 0.1
"""Fraction of what is left to the deepest by which a feature that begins behind a plane may go deeper: planes turn
within a part of a step, so that some do, and shorter parts turn them by the less."""
_PARALLEL = 1e-6
"""Sine of the angle of two edges below which they are parallel: their vertices cross faces instead."""


class Moving(NamedTuple):
    """A surface on a straight motion: points at the `start` and at the `end` (n, 3) m of it; triangles (t, 3) and edges
    (e, 2) that take part, mean unit normals (e, 3) beside the edges at the start, the corners (e, 2) of the triangles
    `beside` them that are not theirs, the vertices `nodes` (k,) that take part, and the points `ring` (…) joined to
    each point by an edge, CSR with `ring_start` (n + 1,).
    """

    start: FloatArray
    end: FloatArray
    triangles: IntArray
    edges: IntArray
    edge_normals: FloatArray
    beside: IntArray
    nodes: IntArray
    ring_start: IntArray
    ring: IntArray


class AtRest(NamedTuple):
    """Points at rest (n, 3) m of a surface that is tested with itself: features nearer than `reach` (m) there, or with
    a common vertex, do not cross.
    """

    points: FloatArray
    reach: float

    def apart(self, first: IntArray | IndexArray, second: IntArray | IndexArray) -> BoolArray:
        """Which pairs of features, vertices (m, k) and (m, l), count."""
        joined = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
        return np.asarray(~joined & (distances(self.points[first], self.points[second]) >= self.reach))


def first_crossing(a: Moving, b: Moving, tolerance: float, rest: AtRest | None = None) -> float:
    """Fraction of the motion at which `a` and `b` first pass into each other by more than `tolerance` (m); inf without.
    `rest` is that of a surface tested with itself.
    """
    found = [_vertices_with_faces(a, b, tolerance, rest), _edges_with_edges(a, b, tolerance, rest)]
    if rest is None:
        found.append(_vertices_with_faces(b, a, tolerance, rest))
    return min(found)


def _vertices_with_faces(a: Moving, b: Moving, tolerance: float, rest: AtRest | None) -> float:
    vertices, faces = a.nodes[:, None], b.triangles
    first = np.inf
    for i, j in near_boxes(_boxes(a, vertices), _boxes(b, faces), _DEEPEST * tolerance):
        node, corners = vertices[i, 0], faces[j]
        if rest is not None:
            apart = rest.apart(node[:, None], corners)
            node, corners = node[apart], corners[apart]
        if not len(node):
            continue
        x = a.start[node], a.end[node] - a.start[node]
        y = b.start[corners], b.end[corners] - b.start[corners]
        w = x[0] - y[0][:, 0], x[1] - y[1][:, 0]
        u, v = (tuple(each[:, k] - each[:, 0] for each in y) for k in (1, 2))
        area = np.linalg.norm(np.cross(u[0], v[0]), axis=1)
        cubic = _volume(w, u, v)
        allowed = _allowed(cubic[:, 0], area, tolerance)
        cubic[:, 0] += allowed * area
        last = a.end[node], b.end[corners]
        n = np.cross(last[1][:, 1] - last[1][:, 0], last[1][:, 2] - last[1][:, 0])
        ends_behind = np.einsum("mi,mi->m", last[0] - last[1][:, 0], n) < -allowed * np.linalg.norm(n, axis=1)
        for m, time in _falls(cubic, ends_behind & (cubic[:, 0] >= 0.0) & (area > 0.0)):
            place, one, two = w[0][m] + time * w[1][m], u[0][m] + time * u[1][m], v[0][m] + time * v[1][m]
            across = np.cross(one, two)
            squared = float(across @ across)
            if squared <= 0.0:
                continue
            second, third = (float(np.cross(p, q) @ across) / squared for p, q in ((place, two), (one, place)))
            slack = _INFLATED + tolerance / np.sqrt(np.sqrt(squared))
            if (
                time < first
                and min(second, third, 1.0 - second - third) >= -slack
                and _is_tip(a, node[m], across, time)
            ):
                first = time
    return first


def _edges_with_edges(a: Moving, b: Moving, tolerance: float, rest: AtRest | None) -> float:
    first = np.inf
    for i, j in near_boxes(_boxes(a, a.edges), _boxes(b, b.edges), _DEEPEST * tolerance):
        if rest is not None:
            i, j = i[i < j], j[i < j]
            apart = rest.apart(a.edges[i], b.edges[j])
            i, j = i[apart], j[apart]
        if not len(i):
            continue
        ends = [(side.start[side.edges[k]], side.end[side.edges[k]]) for side, k in ((a, i), (b, j))]
        (p, q) = ((s, e - s) for s, e in ends)
        w = p[0][:, 0] - q[0][:, 0], p[1][:, 0] - q[1][:, 0]
        u, v = (tuple(each[:, 1] - each[:, 0] for each in line) for line in (p, q))
        across = np.cross(u[0], v[0])
        size = np.linalg.norm(across, axis=1)
        long = np.linalg.norm(u[0], axis=1) * np.linalg.norm(v[0], axis=1)
        facing = np.einsum("mi,mi->m", across, b.edge_normals[j] - a.edge_normals[i])
        height = np.einsum("mi,mi->m", across, w[0])
        known = np.abs(facing) > _SIDE * size
        side = np.where(known, np.sign(facing), np.sign(height))
        cubic = side[:, None] * _volume(w, u, v)
        usable = (size > _PARALLEL * long) & (known | (np.abs(height) > tolerance * size))
        allowed = _allowed(cubic[:, 0], size, tolerance)
        cubic[:, 0] += allowed * size
        final = [each.end[each.edges[k]] for each, k in ((a, i), (b, j))]
        n = side[:, None] * np.cross(final[0][:, 1] - final[0][:, 0], final[1][:, 1] - final[1][:, 0])
        last = np.einsum("mi,mi->m", n, final[0][:, 0] - final[1][:, 0])
        ends_behind = last < -allowed * np.linalg.norm(n, axis=1)
        for m, time in _falls(cubic, usable & ends_behind & (cubic[:, 0] >= 0.0)):
            if time >= first:
                continue
            apart, one, two = (part[0][m] + time * part[1][m] for part in (w, u, v))
            n = side[m] * np.cross(one, two)
            if _cross(apart, one, two) and _is_ridge(a, i[m], one, n, time) and _is_ridge(b, j[m], two, -n, time):
                first = time
    return first


def _allowed(volume: FloatArray, size: FloatArray, tolerance: float) -> FloatArray:
    """Depths (m,) m at which pairs cross: those that begin deep may go deeper still, by less the deeper they are."""
    depth = -volume / np.maximum(size, 1e-300)
    deepest = _DEEPEST * tolerance
    allowed: FloatArray = np.clip(depth + _DEEPER * (deepest - depth), tolerance, deepest)
    return allowed


def _cross(w: FloatArray, u: FloatArray, v: FloatArray) -> bool:
    """Whether the nearest points of two lines, `w` apart at their starts, are within the edges `u` and `v`."""
    n = np.cross(u, v)
    squared = float(n @ n)
    if squared <= (_PARALLEL * _PARALLEL) * float(u @ u) * float(v @ v):
        return False
    s, t = -float(np.cross(w, v) @ n) / squared, -float(np.cross(w, u) @ n) / squared
    return min(s, t) >= -_INFLATED and max(s, t) <= 1.0 + _INFLATED


def _is_tip(side: Moving, vertex: int, n: FloatArray, time: float) -> bool:
    """Whether all that is joined to a vertex extends to the side of `n` at `time`."""
    others = side.ring[side.ring_start[vertex] : side.ring_start[vertex + 1]]
    first, last = side.start[others] - side.start[vertex], side.end[others] - side.end[vertex]
    d = first + time * (last - first)
    return bool((d @ n >= -_SLACK * np.linalg.norm(d, axis=1) * float(np.linalg.norm(n))).all())


def _is_ridge(side: Moving, edge: int, along: FloatArray, n: FloatArray, time: float) -> bool:
    """Whether the faces beside an edge with the direction `along` extend to the side of `n` at `time`."""
    end, corners = side.edges[edge, 0], side.beside[edge]
    first, last = side.start[corners] - side.start[end], side.end[corners] - side.end[end]
    d = first + time * (last - first)
    d -= np.outer(d @ along / max(float(along @ along), 1e-300), along)
    limit = -_SLACK * np.linalg.norm(d, axis=1) * float(np.linalg.norm(n))
    return bool(((d @ n >= limit) | (corners < 0)).all())


def _volume(
    w: tuple[FloatArray, ...], u: tuple[FloatArray, ...], v: tuple[FloatArray, ...]
) -> FloatArray:  # fmt: skip
    """Coefficients (m, 4) of w·(u × v) by powers of τ, for w, u, v linear in it: values at 0 and slopes (m, 3)."""
    made = np.zeros((len(w[0]), 4))
    for i in (0, 1):
        for j in (0, 1):
            cross = np.cross(u[i], v[j])
            for k in (0, 1):
                made[:, i + j + k] += np.einsum("mi,mi->m", w[k], cross)
    return made


def _falls(cubic: FloatArray, which: BoolArray) -> Iterator[tuple[int, float]]:
    """Indices and times in [0, 1] at which the cubics (m, 4) of `which` (m,) fall through zero."""
    c = cubic
    # values at the control points of Bézier's form bound the cubic
    bezier = np.stack([c[:, 0], c[:, 0] + c[:, 1] / 3.0, c[:, 0] + (2.0 * c[:, 1] + c[:, 2]) / 3.0, c.sum(axis=1)], 1)
    for m in np.flatnonzero(which & (bezier.min(axis=1) < 0.0)):
        roots = np.roots(np.trim_zeros(c[m, ::-1], "f")) if c[m, 1:].any() else np.zeros(0)
        real = np.sort(roots.real[np.abs(roots.imag) <= 1e-7 * (1.0 + np.abs(roots.real))])
        for time in real[(real >= -1e-12) & (real <= 1.0)]:
            if c[m, 1] + time * (2.0 * c[m, 2] + 3.0 * time * c[m, 3]) <= 0.0:
                yield int(m), max(float(time), 0.0)


def _boxes(side: Moving, features: IntArray | IndexArray) -> Boxes:
    both = np.concatenate([side.start[features], side.end[features]], axis=1)
    return Boxes(both.min(axis=1), both.max(axis=1))
