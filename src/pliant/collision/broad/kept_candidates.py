"""Candidates that last from query to query: valid until a point has moved too far, see `lasting`.

What is kept is more than the tree finds at each step, and the narrow phase finds the same contacts in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.collision.broad.features import features_of
from pliant.collision.broad.lanes import reach_of
from pliant.collision.broad.lasting import lasting_pairs
from pliant.collision.filters import Limits
from pliant.collision.surface import Pose
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray

SKIN = 0.25
"""Skin as a fraction of the margin: a wider one lasts longer and lists more pairs."""
_SERVED = 4
"""Queries that a list has to serve to be worth its making, about three of the tree's searches."""
_REST = 16
"""Queries for which the tree is used after a list that served fewer."""
_ROUNDING = 1e-6
"""Fraction of the skin that is given away to rounding."""


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
        on_a, fan_a = features_of(a), (a.surface.fan_start, a.surface.fan)
        on_b, fan_b = (on_a, fan_a) if a is b else (features_of(b), (b.surface.fan_start, b.surface.fan))
        reach = limits.margin + skin
        largest = (reach - self.least) * (0.5 if a is b else 1.0)
        wide = reach_of(a.bounds, b.bounds, reach, np.inf)
        pairs = lasting_pairs(on_a, fan_a, on_b, fan_b, a is b, wide, reach, limits.facing, largest)
        places = a.points.copy(), b.points if a is b else b.points.copy()
        return _Made(pairs, places, reach - _ROUNDING * skin)


def _moved(a: Pose, b: Pose, places: tuple[FloatArray, FloatArray]) -> float:
    """How far the two sides have moved against each other at most since they were at `places`, m."""
    moved = farthest(a.points, places[0])
    return float(moved + (moved if a is b else farthest(b.points, places[1])))


@kernel
def farthest(x: FloatArray, y: FloatArray) -> float:
    """Largest distance (m) between points of the same index, (n, 3) m."""
    most = 0.0
    for k in range(len(x)):
        d0, d1, d2 = x[k, 0] - y[k, 0], x[k, 1] - y[k, 1], x[k, 2] - y[k, 2]
        most = max(most, d0 * d0 + d1 * d1 + d2 * d2)
    return float(np.sqrt(most))
