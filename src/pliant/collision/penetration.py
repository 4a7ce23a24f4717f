"""How deep two solids stand in each other, m: what `info.penetration` reports, and where.

    d(A, B) = max( max −φ_B over ∂A,  max −φ_A over ∂B,  2 max min(−φ_A, −φ_B) )

φ is the signed distance of a solid. The first two are the deepest point of either surface inside the other solid: a
vertex, or a point of an edge or of a face where all vertices overhang. The third is the diameter of the largest ball
inside both, which sees solids whose surfaces coincide. Maxima are found on samples and refined by a pattern search.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from pliant.collision.solids.surface_distance import SurfaceDistance
from pliant.collision.surface import Pose
from pliant.core.types import FloatArray, IntArray

_SPLIT = 4
"""Samples of a triangle divide its sides by this."""
_REFINED = 8
"""Deepest samples from which the search goes on: more than the medial sheets of a solid that meet in one place."""
_ROUNDS = 24
"""Moves or halvings of the pattern search; twelve halvings of a quarter of a side leave 6e-5 of it."""
_GRID = 6
"""Samples along each side of the box that both solids share."""

_WEIGHTS = np.array([(i, j, _SPLIT - i - j) for i, j in product(range(_SPLIT + 1), repeat=2) if i + j <= _SPLIT])
_MOVES = np.array([(i, j, -i - j) for i, j in product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=2) if i or j])

Depth = Callable[[FloatArray], FloatArray]
"""Depth (p,) m of points (p, 3) m inside a solid, negative outside."""


class Deepest(NamedTuple):
    """The deepest point of a surface in a solid: its depth, m (≤ 0: none is inside), triangle and weights (3,)."""

    depth: float
    triangle: int
    weights: FloatArray


def deepest_point(points: FloatArray, triangles: IntArray, depth: Depth) -> Deepest:
    """The deepest point of `triangles` (t, 3) over `points` (n, 3) m in the solid of `depth`."""
    corners = points[triangles]
    center = corners.mean(axis=1)
    radius = np.linalg.norm(corners - center[:, None], axis=2).max(axis=1, initial=0.0)
    near = np.flatnonzero(depth(center) > -radius)
    if not len(near):
        return Deepest(-np.inf, -1, np.full(3, 1.0 / 3.0))
    weights = np.tile(_WEIGHTS / _SPLIT, (len(near), 1))
    index = np.repeat(near, len(_WEIGHTS))
    value = depth(np.einsum("sk,ski->si", weights, corners[index]))
    best = np.argsort(-value, kind="stable")[:_REFINED]
    weights, index, value = weights[best], index[best], value[best]
    step = np.full(len(best), 1.0 / _SPLIT)
    for _ in range(_ROUNDS):
        trial = weights[:, None] + step[:, None, None] * _MOVES
        inside = (trial >= 0.0).all(axis=2)
        x = np.einsum("sdk,ski->sdi", trial, corners[index])
        found = np.where(inside, depth(x.reshape(-1, 3)).reshape(len(best), -1), -np.inf)
        move = found.argmax(axis=1)
        rows = np.arange(len(best))
        better = found[rows, move] > value
        weights[better], value[better] = trial[rows, move][better], found[rows, move][better]
        step[~better] *= 0.5
    first = int(value.argmax())
    return Deepest(float(value[first]), int(index[first]), weights[first])


def largest_common_ball(lower: FloatArray, upper: FloatArray, depths: tuple[Depth, Depth]) -> float:
    """Diameter (m) of the largest ball inside two solids, whose common box is from `lower` to `upper` (3,) m."""
    size = upper - lower
    if (size <= 0.0).any():
        return 0.0
    steps = (np.arange(_GRID) + 0.5) / _GRID
    x = lower + size * np.array(list(product(steps, repeat=3)))
    value = np.minimum(depths[0](x), depths[1](x))
    if value.max() <= -0.5 / _GRID * np.linalg.norm(size):
        return 0.0
    best = np.argsort(-value, kind="stable")[:_REFINED]
    x, value, step = x[best], value[best], np.full(len(best), 0.5 / _GRID)
    moves = np.vstack([np.eye(3), -np.eye(3), list(product((-1.0, 1.0), repeat=3))])
    for _ in range(_ROUNDS):
        trial = x[:, None] + step[:, None, None] * size * moves
        flat = trial.reshape(-1, 3)
        found = np.minimum(depths[0](flat), depths[1](flat)).reshape(len(best), -1)
        move, rows = found.argmax(axis=1), np.arange(len(best))
        better = found[rows, move] > value
        x[better], value[better] = trial[rows, move][better], found[rows, move][better]
        step[~better] *= 0.5
    return 2.0 * max(0.0, float(value.max()))


class SurfaceOverlap(NamedTuple):
    """How deep two surfaces stand in each other: `depth` m, and the deepest point of each in the other solid."""

    depth: float
    of_a: Deepest
    of_b: Deepest


def surface_overlap(a: Pose, b: Pose) -> SurfaceOverlap | None:
    """How deep the solids inside two closed surfaces stand in each other; None where their boxes are apart.

    Triangles that take no part, and points whose nearest triangle takes no part, do not count.
    """
    boxes = [(p.points[p.surface.nodes].min(axis=0), p.points[p.surface.nodes].max(axis=0)) for p in (a, b)]
    if (boxes[0][0] >= boxes[1][1]).any() or (boxes[1][0] >= boxes[0][1]).any():
        return None
    inside = [SurfaceDistance(pose) for pose in (a, b)]
    depths = [_depth_in(distance) for distance in inside]
    deepest = [_deepest_of(pose, depth) for pose, depth in ((a, depths[1]), (b, depths[0]))]
    lower, upper = np.maximum(*(s.lower for s in inside)), np.minimum(*(s.upper for s in inside))
    ball = largest_common_ball(lower, upper, (depths[0], depths[1]))
    return SurfaceOverlap(max(0.0, ball, *(d.depth for d in deepest)), deepest[0], deepest[1])


def overlap_with_solid(pose: Pose, depth: Depth) -> float:
    """How deep the surface `pose` stands in a solid, m; 0 where it does not."""
    return max(0.0, _deepest_of(pose, depth).depth)


def _deepest_of(pose: Pose, depth: Depth) -> Deepest:
    taking_part = pose.surface.order
    found = deepest_point(pose.points, pose.surface.triangles[taking_part], depth)
    return found._replace(triangle=int(taking_part[found.triangle])) if found.triangle >= 0 else found


def _depth_in(distance: Callable[[FloatArray], Any]) -> Depth:
    def depth(points: FloatArray) -> FloatArray:
        found = distance(points)
        inside: FloatArray = np.where(found.takes_part | (found.gap >= 0.0), -found.gap, 0.0)
        return inside

    return depth
