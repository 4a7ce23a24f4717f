"""Bound of the relative motion of embedded points from the motion of their bodies alone.

Points come in groups, each with points of two sides that may meet, as the two flanks of a gap. A rigid motion changes
no distance: from the motion of the carriers of a group since `then`, that of the group's first carrier is subtracted,
with the rotation of its frame where it has one. The rest bounds the change of any distance between the two sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray
from pliant.models.point_map import PointMap


@dataclass(frozen=True, eq=False)
class EmbeddedGroups:
    """One side of g groups: the carriers that its embedded points follow, and bounds of how they amplify that motion.

    pieces        (m, e) carriers of a group's points, those of group k from `start[k]` on: two nodes of a beam, one
                  node of a volume, the frame of a rigid body, on a rod the point itself
    stretch       (g,) largest motion of a point when all carriers move by one
    arm           (g,) m, the same when the frames of the carriers rotate by one
    bow           what the longest element adds to the arm, as a fraction of its length
    """

    map: PointMap
    start: IntArray
    pieces: IntArray
    stretch: FloatArray
    arm: FloatArray
    bow: float

    @classmethod
    def build(cls, points_map: PointMap, points: Any, groups: Any, count: int) -> EmbeddedGroups:
        """Point `points[j]` of the map `points_map` belongs to group `groups[j]` of `count`, or to several."""
        which, own = np.asarray(points, np.int64), np.asarray(groups, np.int64)
        bound = points_map.carrier_bound(which)
        ends, stretch, arm = bound.carriers, bound.stretch, bound.arm
        repeats = len(ends) // max(len(which), 1)
        distinct = np.unique(np.column_stack([np.repeat(own, repeats), ends]), axis=0)
        start = np.searchsorted(distinct[:, 0], np.arange(count + 1)).astype(np.int32)
        widest, longest = np.zeros(count), np.zeros(count)
        np.maximum.at(widest, own, stretch)
        np.maximum.at(longest, own, arm)
        return cls(points_map, start, np.ascontiguousarray(distinct[:, 1:], np.int32), widest, longest, bound.bow)

    def ends(self, q: FloatArray) -> FloatArray:
        """Positions and, where there are any, frames (k = 4, else 1) of the carriers, (m, e, k, 3), m."""
        return np.asarray(self.map.carriers(q)[self.pieces])

    def updated(self, then: FloatArray, q: FloatArray, groups: Any) -> FloatArray:
        """`then`, but as `ends` of the body at q for the `groups` (g,) that are True."""
        rows = np.repeat(groups, np.diff(self.start))
        return np.where(rows[:, None, None, None], self.ends(q), then)

    def parts(self, q: FloatArray, then: FloatArray) -> tuple[Any, ...]:
        """What the kernel reads."""
        return (
            frozen(self.map.carriers(q)),
            frozen(then),
            frozen(self.start),
            frozen(self.pieces),
            frozen(self.stretch),
            frozen(self.arm),
            self.bow,
        )


def approach_bound(
    sides: tuple[EmbeddedGroups, EmbeddedGroups],
    now: tuple[FloatArray, FloatArray],
    then: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """(g,) m: no point of one side of a group has come nearer to one of the other by more than this since `then`.

    `now` are the positions q of the two bodies, `then` what `ends` gave of them.
    """
    bound = np.empty(len(sides[0].stretch))
    first, second = (side.parts(q, ends) for side, q, ends in zip(sides, now, then, strict=True))
    lead = 1 if then[0].shape[2] < then[1].shape[2] else 0
    _bound(first, second, lead, bound)
    return bound


@kernel
def _bound(first, second, lead, bound):  # type: ignore[no-untyped-def]
    turn, shift = np.empty((3, 3)), np.empty(3)
    for g in range(len(bound)):
        if first[2][g] == first[2][g + 1] or second[2][g] == second[2][g + 1]:
            bound[g] = 0.0
            continue
        if lead == 0:
            _carry(first, g, turn, shift)
        else:
            _carry(second, g, turn, shift)
        bound[g] = _farthest(first, g, turn, shift) + _farthest(second, g, turn, shift)


@inline
def _carry(side, g, turn, shift):  # type: ignore[no-untyped-def]
    """The rigid motion x ↦ turn x + shift of the first end of group g."""
    nodes, then, start, pieces = side[0], side[1], side[2], side[3]
    now, before = nodes[pieces[start[g], 0]], then[start[g], 0]
    for r in range(3):
        for c in range(3):
            turn[r, c] = 1.0 if r == c else 0.0
            if len(before) > 1:
                turn[r, c] = now[1 + r, 0] * before[1 + c, 0]
                turn[r, c] += now[1 + r, 1] * before[1 + c, 1] + now[1 + r, 2] * before[1 + c, 2]
    for r in range(3):
        shift[r] = now[0, r] - (turn[r, 0] * before[0, 0] + turn[r, 1] * before[0, 1] + turn[r, 2] * before[0, 2])


@inline
def _farthest(side, g, turn, shift):  # type: ignore[no-untyped-def]
    """How far a point of group g can be from where that motion alone would have brought it, m."""
    nodes, then, start, pieces, stretch, arm, bow = side
    moved = turned = longest = 0.0
    for m in range(start[g], start[g + 1]):
        for e in range(pieces.shape[1]):
            now, before = nodes[pieces[m, e]], then[m, e]
            away = 0.0
            for r in range(3):
                x = turn[r, 0] * before[0, 0] + turn[r, 1] * before[0, 1] + turn[r, 2] * before[0, 2]
                away += (now[0, r] - x - shift[r]) ** 2
            moved = max(moved, away)
            if len(before) > 1:
                away = 0.0
                for r in range(3):
                    for c in range(3):
                        x = turn[r, 0] * before[1, c] + turn[r, 1] * before[2, c] + turn[r, 2] * before[3, c]
                        away += (now[1 + r, c] - x) ** 2
                turned = max(turned, 0.5 * away)  # the 2-norm of a difference of rotations, from that of Frobenius
        if pieces.shape[1] > 1:
            i, j = pieces[m, 0], pieces[m, 1]
            chord = (nodes[i, 0, 0] - nodes[j, 0, 0]) ** 2 + (nodes[i, 0, 1] - nodes[j, 0, 1]) ** 2
            longest = max(longest, chord + (nodes[i, 0, 2] - nodes[j, 0, 2]) ** 2)
    return stretch[g] * np.sqrt(moved) + (arm[g] + bow * np.sqrt(longest)) * np.sqrt(turned)
