"""First crossing of balls and capsules with triangles and with each other, by conservative advancement.

Two features with distance d(τ) and radii r meet where d = r. No point moves faster against the other feature than the
largest relative velocity of their corners, so that a time (d − r)/speed passes without a contact. Penetrations up to a
tenth of the radius are left to the contacts of the step.

Reference: B. Mirtich, "Impulse-based dynamic simulation of rigid body systems", 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.collision.continuous.simplex_distance import distances
from pliant.collision.continuous.swept_boxes import Boxes, near_boxes
from pliant.core.types import BoolArray, FloatArray, IndexArray

ALLOWED = 0.1
"""Fraction of the radius by which a round feature may pass into another before it counts as crossing."""
_ADVANCES = 400
"""Most advances of a pair; one that needs more counts as crossing at the time that is reached."""
_SAMPLES = 32
"""Evaluations along a motion of the distance from a solid that is not convex."""
_HALVINGS = 40


def first_meeting(
    a: tuple[FloatArray, FloatArray],
    b: tuple[FloatArray, FloatArray],
    radius: FloatArray,
    skip: Callable[[IndexArray, IndexArray], BoolArray] | None = None,
) -> float:
    """Fraction of the motion at which features of `a` and `b` first come nearer than `radius` (na,) m; inf without.

    Each side has points at the start and at the end, (n, k, 3) m: k is 1 for points, 2 for segments, 3 for triangles.
    `skip` tells pairs of indices that do not count.
    """
    boxes = []
    for (start, end), grown in ((a, radius), (b, np.zeros(len(b[0])))):
        both = np.concatenate([start, end], axis=1)
        boxes.append(Boxes(both.min(axis=1) - grown[:, None], both.max(axis=1) + grown[:, None]))
    first = np.inf
    for i, j in near_boxes(boxes[0], boxes[1], 0.0):
        if skip is not None:
            kept = ~skip(i, j)
            i, j = i[kept], j[kept]
        if len(i):
            ends = [(side[0][k], side[1][k]) for side, k in ((a, i), (b, j))]
            first = min(first, _advance(ends[0], ends[1], (1.0 - ALLOWED) * radius[i], 0.1 * ALLOWED * radius[i]))
    return first


def _advance(
    a: tuple[FloatArray, FloatArray], b: tuple[FloatArray, FloatArray], reach: FloatArray, slack: FloatArray
) -> float:
    """First time at which pairs (m, k, 3) are nearer than `reach` + `slack` (m,) m, of those apart at the start."""
    move = (a[1] - a[0])[:, :, None] - (b[1] - b[0])[:, None]
    speed = np.linalg.norm(move, axis=-1).max(axis=(1, 2))
    time = np.zeros(len(reach))
    # what begins deeper may go a little deeper still, down to half the reach
    reach = np.maximum(np.minimum(reach, distances(a[0], b[0]) - 2.0 * slack), 0.5 * reach)
    alive = speed > 0.0
    first = np.inf
    for _ in range(_ADVANCES):
        k = np.flatnonzero(alive)
        if not len(k):
            return first
        x, y = (s[0][k] + time[k, None, None] * (s[1][k] - s[0][k]) for s in (a, b))
        free = distances(x, y) - reach[k]
        met = free <= slack[k]
        if met.any():
            first = min(first, float(time[k[met]].min()))
        time[k] += np.maximum(free, slack[k]) / speed[k]
        alive[k[met]] = False
        alive &= time < min(1.0, first)
    return min(first, float(time[alive].min()))


def first_entry(
    distance: Callable[[FloatArray], FloatArray], start: FloatArray, end: FloatArray, radius: FloatArray,
    tolerance: FloatArray, *, convex: bool,
) -> float:  # fmt: skip
    """Fraction of the motion from `start` to `end` (n, 3) m, in the frame of a solid, at which balls of `radius` (n,) m
    first are deeper in it than `tolerance` (n,) m; inf without. `distance` is the signed one from the solid.
    """

    def depth(time: FloatArray, k: Any) -> FloatArray:
        deep: FloatArray = radius[k] - distance(start[k] + time[:, None] * (end[k] - start[k])) - tolerance[k]
        return deep

    every = np.arange(len(start))
    length = np.linalg.norm(end - start, axis=1)
    none = np.zeros(len(start))
    # what begins deeper may go a little deeper still, down to five times the tolerance
    tolerance = np.clip(depth(none, every) + 1.5 * tolerance, tolerance, 5.0 * tolerance)
    outside = depth(none, every)
    every = every[(outside <= 0.0) & (outside > -length)]
    if not len(every):
        return np.inf
    if convex:  # the distance along a line has one minimum
        low: FloatArray = np.zeros(len(every))
        high: FloatArray = np.ones(len(every))
        for _ in range(_HALVINGS):
            one, two = low + (high - low) / 3.0, high - (high - low) / 3.0
            right = depth(one, every) < depth(two, every)
            low, high = np.where(right, one, low), np.where(right, high, two)
        deepest: FloatArray = 0.5 * (low + high)
    else:
        grid = np.linspace(0.0, 1.0, _SAMPLES + 1)
        depths = np.stack([depth(np.full(len(every), t), every) for t in grid])
        deepest = grid[(depths > 0.0).argmax(axis=0)]
    hit = depth(deepest, every) > 0.0
    every, high = every[hit], deepest[hit]
    if not len(every):
        return np.inf
    low = np.zeros(len(every), np.float64)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        inside = depth(middle, every) > 0.0
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return float(low.min())
