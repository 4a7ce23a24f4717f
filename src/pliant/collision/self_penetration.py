"""How deep a closed surface stands in its own solid, m: what `info.penetration` reports of self-contact.

Samples are the vertices, the middles of the edges and the centres of the triangles. A sample is moved out of its own
solid by a small offset. The winding number of the surface there is 0 outside, and at least 1 where the sample stands in
another part of the solid. It is the signed number of triangles that a ray crosses. The depth is the distance from the
nearest triangle that has no vertex in common with the sample, or that the sample was in front of at rest, as the sides
of a notch are.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from pliant.collision.closest import dot, triangle_weights
from pliant.collision.surface import CollisionSurface, Pose
from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IntArray

_OFFSET = 1e-6
"""Offset out of the solid as a fraction of the longest edge: above what solvers leave of a penetration in contact."""
_IN_FRONT = 0.02
"""Sine from which on a sample counts as in front of a triangle at rest that shares a vertex with it."""
_OPEN = 0.5
"""Least product of the mean normal at the bottom of a notch with those of its sides from which on the offset leaves
them: sides at 120 degrees and more. Sides that have closed or crossed hold the sample between them."""
_CELLS_PER_TRIANGLE = 1.0
"""Cells of the grid across the rays for each triangle: a ray meets about ten triangles in its cell."""


def self_penetration(pose: Pose) -> float:
    """Largest depth of samples of the surface `pose` in other parts of its own solid, m; 0 where none is inside.

    Samples of triangles that take no part, and samples nearest to such triangles, do not count. The surface is closed.
    """
    s = pose.surface
    samples = samples_of(s)
    # a direction that no structured mesh has, so that rays do not run along its edges
    axis = np.array([0.4811, 0.3137, 0.8186])
    axis /= np.linalg.norm(axis)
    first = np.cross(axis, (1.0, 0.0, 0.0))
    first /= np.linalg.norm(first)
    frame = np.ascontiguousarray(np.column_stack([first, np.cross(axis, first), axis]))
    turned = np.ascontiguousarray(pose.points @ frame)
    offset = _OFFSET * s.longest_edge
    lowest, highest = turned[s.nodes].min(axis=0), turned[s.nodes].max(axis=0)
    count = max(1, int(np.sqrt(_CELLS_PER_TRIANGLE * len(s.triangles))))
    size = np.maximum(highest[:2] - lowest[:2], 1e-300) / count
    start, members = _grid(frozen(turned), s.triangles, lowest, size, count)
    inside = np.zeros(len(samples), bool)
    _find_inside(
        samples, pose.points, frozen(turned), frozen(frame), pose.bounds.normals, s.triangles, s.notched, s.fan_start,
        s.fan, start, members, lowest, size, count, offset, inside,
    )  # fmt: skip
    if not inside.any():
        return 0.0
    return deepest(pose, samples[inside])


def deepest(pose: Pose, samples: IntArray, among: BoolArray | None = None) -> float:
    """Largest distance (m) of `samples` (k, 3), which are inside, from the nearest triangle that they may have run
    through, `among` all or the marked ones (t,).
    """
    s = pose.surface
    taking_part: BoolArray = np.zeros(len(s.triangles), bool)
    taking_part[s.order] = True
    triangles, normals = s.triangles, s.rest_normals
    if among is not None:
        triangles, normals, taking_part = frozen(triangles[among]), frozen(normals[among]), taking_part[among]
    return float(_deepest(frozen(samples), pose.points, triangles, s.rest, normals, frozen(taking_part)))


def samples_of(surface: CollisionSurface) -> IntArray:
    """Vertices of each sample (s, 3), −1 beyond the last: the sample is their mean."""
    triangles, edges = surface.triangles[surface.order], surface.edges[surface.taking_part_edges]
    nodes = surface.nodes
    none = -np.ones((len(nodes), 2), np.int32)
    middles = np.column_stack([edges, -np.ones(len(edges), np.int32)])
    samples: IntArray = np.concatenate([np.column_stack([nodes, none]), middles, triangles]).astype(np.int32)
    return cast(IntArray, frozen(samples))


@kernel
def _grid(
    turned: FloatArray, triangles: IntArray, lowest: FloatArray, size: FloatArray, count: int
) -> tuple[IntArray, IntArray]:
    """Triangles of each cell of a grid across the third axis, CSR."""
    start = np.zeros(count * count + 1, np.int32)
    for turn in range(2):
        if turn == 1:
            for cell in range(count * count):
                start[cell + 1] += start[cell]
            members = np.empty(start[-1], np.int32)
            filled = start[:-1].copy()
        for t in range(len(triangles)):
            i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            low0 = _cell(min(turned[i, 0], turned[j, 0], turned[k, 0]), lowest[0], size[0], count)
            high0 = _cell(max(turned[i, 0], turned[j, 0], turned[k, 0]), lowest[0], size[0], count)
            low1 = _cell(min(turned[i, 1], turned[j, 1], turned[k, 1]), lowest[1], size[1], count)
            high1 = _cell(max(turned[i, 1], turned[j, 1], turned[k, 1]), lowest[1], size[1], count)
            for row in range(low0, high0 + 1):
                for column in range(low1, high1 + 1):
                    cell = row * count + column
                    if turn == 0:
                        start[cell + 1] += 1
                    else:
                        members[filled[cell]] = t
                        filled[cell] += 1
    return start, members


@inline
def _cell(x: float, lowest: float, size: float, count: int) -> int:
    return min(count - 1, max(0, int((x - lowest) / size)))


@kernel
def _find_inside(
    samples: IntArray,
    points: FloatArray,
    turned: FloatArray,
    frame: FloatArray,
    normals: FloatArray,
    triangles: IntArray,
    notched: BoolArray,
    fan_start: IntArray,
    fan: IntArray,
    start: IntArray,
    members: IntArray,
    lowest: FloatArray,
    size: FloatArray,
    count: int,
    offset: float,
    inside: BoolArray,
) -> None:
    x, p = np.empty((1, 3)), np.empty(3)
    for m in range(len(samples)):
        out = _place_outside(samples, m, points, normals, triangles, notched, fan_start, fan, offset, x)
        for axis in range(3):
            p[axis] = x[0, 0] * frame[0, axis] + x[0, 1] * frame[1, axis] + x[0, 2] * frame[2, axis]
        cell = _cell(p[0], lowest[0], size[0], count) * count + _cell(p[1], lowest[1], size[1], count)
        winding = 0
        for k in range(start[cell], start[cell + 1]):
            winding += _crossed(turned, triangles, members[k], p)
        if winding < 1:
            continue
        # the bottom of a notch that has closed: its own sides meet there, and count once
        inside[m] = winding >= (1 if out else 2)


@inline
def _place_outside(
    samples: IntArray,
    m: int,
    points: FloatArray,
    normals: FloatArray,
    triangles: IntArray,
    notched: BoolArray,
    fan_start: IntArray,
    fan: IntArray,
    offset: float,
    x: FloatArray,
) -> bool:
    """Write sample m, moved by `offset` (m) along the mean normal of the triangles that hold it, to x[0]; whether that
    is certainly in front of each of them.
    """
    i, j, k = samples[m, 0], samples[m, 1], samples[m, 2]
    n0, n1, n2 = 0.0, 0.0, 0.0
    for q in range(fan_start[i], fan_start[i + 1]):
        t = fan[q]
        if _holds(triangles, t, j) and _holds(triangles, t, k):
            n0, n1, n2 = n0 + normals[t, 0], n1 + normals[t, 1], n2 + normals[t, 2]
    scale = 1.0 / max(np.sqrt(dot(n0, n1, n2, n0, n1, n2)), 1e-300)
    n0, n1, n2 = scale * n0, scale * n1, scale * n2
    least, in_notch = 1.0, False
    for q in range(fan_start[i], fan_start[i + 1]):
        t = fan[q]
        if _holds(triangles, t, j) and _holds(triangles, t, k):
            least = min(least, dot(n0, n1, n2, normals[t, 0], normals[t, 1], normals[t, 2]))
            in_notch |= notched[t]
    count = 1 + (j >= 0) + (k >= 0)
    for axis in range(3):
        x[0, axis] = 0.0
        for c in range(count):
            x[0, axis] += points[samples[m, c], axis] / count
    x[0, 0] += offset * n0
    x[0, 1] += offset * n1
    x[0, 2] += offset * n2
    return bool(not in_notch or least > _OPEN)


@inline
def _holds(triangles: IntArray, t: int, vertex: int) -> bool:
    """Whether triangle t has the `vertex`, or that is −1."""
    return bool((vertex < 0) | (triangles[t, 0] == vertex) | (triangles[t, 1] == vertex) | (triangles[t, 2] == vertex))


@inline
def _crossed(turned: FloatArray, triangles: IntArray, t: int, p: FloatArray) -> int:
    """1 where the ray from p along the third axis leaves through triangle t, −1 where it enters, else 0. An edge of two
    triangles is on the same side of the ray in both.
    """
    i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    a, b, c = _side(turned, i, j, p), _side(turned, j, k, p), _side(turned, k, i, p)
    if not (((a >= 0.0) & (b >= 0.0) & (c >= 0.0)) | ((a < 0.0) & (b < 0.0) & (c < 0.0))):
        return 0
    total = a + b + c
    if total == 0.0:
        return 0
    height = (b * turned[i, 2] + c * turned[j, 2] + a * turned[k, 2]) / total
    if height <= p[2]:
        return 0
    return 1 if a >= 0.0 else -1


@inline
def _side(turned: FloatArray, i: int, j: int, p: FloatArray) -> float:
    """Twice the signed area of p and the edge from i to j across the ray, with the same digits in both directions."""
    sign = 1.0
    if i > j:
        i, j, sign = j, i, -1.0
    u0, u1 = turned[i, 0] - p[0], turned[i, 1] - p[1]
    v0, v1 = turned[j, 0] - p[0], turned[j, 1] - p[1]
    return float(sign * (u0 * v1 - u1 * v0))


@kernel
def _deepest(
    samples: IntArray,
    points: FloatArray,
    triangles: IntArray,
    rest: FloatArray,
    rest_normals: FloatArray,
    taking_part: BoolArray,
) -> float:
    """Largest distance (m) of `samples` (s, 3) from the nearest triangle that they may have run through."""
    x, before, deepest = np.empty((1, 3)), np.empty((1, 3)), 0.0
    for m in range(len(samples)):
        count = 1 + (samples[m, 1] >= 0) + (samples[m, 2] >= 0)
        x[0], before[0] = 0.0, 0.0
        for c in range(count):
            x[0] += points[samples[m, c]] / count
            before[0] += rest[samples[m, c]] / count
        best, counts = np.inf, False
        for t in range(len(triangles)):
            i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            shared = 0
            for c in range(count):
                v = samples[m, c]
                shared += (i == v) | (j == v) | (k == v)
            if shared == count:
                continue
            if shared:
                apart = before[0] - rest[i]
                height = np.dot(apart, rest_normals[t])
                if height <= _IN_FRONT * np.sqrt(np.dot(apart, apart)):
                    continue
            _, _, squared = triangle_weights(x, 0, points, i, j, k)
            if squared < best:
                best, counts = squared, taking_part[t]
        if counts:
            deepest = max(deepest, np.sqrt(best))
    return deepest
