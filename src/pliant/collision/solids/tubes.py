"""Pipes with bends and forks: everything is solid but the inside of a set of tubes.

The free space is the union of tubes around segments, so that a ball passes a junction where one tube opens into
another. Of a point p, with d_s(p) its distance from segment s of radius R_s,

    gap(p) = max_s (R_s − d_s(p)),        normal = from p to the nearest point of that segment.

The gap is exact inside a single tube and at bends, and a lower bound where tubes overlap. Beyond the entrances there is
no wall: a point that is past the end plane of an open end and nearer to that end than to the rest touches nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pliant.collision.solids.obstacles import Distance, _store, across
from pliant.collision.solids.shape_distance import EPS
from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class Tubes:
    """The solid around tubes from `starts` (s, 3) to `ends` (s, 3) m of inner `radii` (s,) or one for all, m.

    `openings` (k, 2, 3) are entrances: a point (m) on the end plane of a tube and the direction that leads out of it.
    """

    starts: FloatArray
    ends: FloatArray
    radii: FloatArray
    openings: FloatArray | None = None

    def __post_init__(self) -> None:
        starts = np.array(finite_array("starts of Tubes", self.starts, shape=(None, 3)))
        ends = np.array(finite_array("ends of Tubes", self.ends, shape=(len(starts), 3)))
        radii = np.array(np.broadcast_to(finite_array("radii of Tubes", self.radii), (len(starts),)))
        if not len(starts):
            raise InputError("Tubes needs at least one segment")
        short = np.flatnonzero((starts == ends).all(axis=1))
        if len(short):
            raise InputError(f"segment {short[0]} of Tubes starts where it ends, at {starts[short[0]]} m")
        if (radii <= 0.0).any():
            raise InputError(f"radii of Tubes must be > 0 (in m), got {radii.min():g}")
        given = np.zeros((0, 2, 3)) if self.openings is None else self.openings
        openings = np.array(finite_array("openings of Tubes", given, shape=(None, 2, 3)))
        lengths = np.linalg.norm(openings[:, 1], axis=1, keepdims=True)
        if (lengths == 0.0).any():
            raise InputError("the direction of an opening of Tubes must not be zero")
        openings[:, 1] /= lengths
        _store(self, starts=starts, ends=ends, radii=radii, openings=openings)

    @classmethod
    def along(cls, paths: list[FloatArray], radii: list[float], *, open_ends: bool) -> Tubes:
        """Tubes along polylines (k, 3) m; `open_ends` opens every end that no other path touches."""
        starts = np.concatenate([path[:-1] for path in paths])
        ends = np.concatenate([path[1:] for path in paths])
        sizes = np.repeat(radii, [len(path) - 1 for path in paths])
        tubes = cls(starts, ends, sizes)
        if not open_ends:
            return tubes
        tips = [
            (path[k], path[k] - path[n], number) for number, path in enumerate(paths) for k, n in ((0, 1), (-1, -2))
        ]
        openings = [(tip, away) for tip, away, number in tips if not _joined(tip, number, paths, radii)]
        return cls(starts, ends, sizes, np.array(openings).reshape(-1, 2, 3))

    def distance(self, points: FloatArray) -> Distance:
        """Signed distance of `points` (p, 3) m."""
        rows = np.arange(len(points))
        axis = self.ends - self.starts
        away = points[:, None] - self.starts
        along = np.clip(np.einsum("psi,si->ps", away, axis) / np.einsum("si,si->s", axis, axis), 0.0, 1.0)
        outward = away - along[:, :, None] * axis
        length = np.linalg.norm(outward, axis=2)
        best = np.argmax(self.radii - length, axis=1)
        gap, outward, length = self.radii[best] - length[rows, best], outward[rows, best], length[rows, best]
        clear = length > EPS * self.radii[best]
        normal = -outward / np.where(clear, length, 1.0)[:, None]
        if not clear.all():
            normal[~clear] = self._sideways[best[~clear]]
        gap = np.where(self._outside(points), np.inf, gap)
        foot = points - np.where(np.isfinite(gap), gap, 0.0)[:, None] * normal
        return Distance(gap, normal, foot)

    @cached_property
    def _sideways(self) -> FloatArray:
        """A direction across each segment, (s, 3): where points on the axis are pushed to."""
        return np.array([across(axis) for axis in self.ends - self.starts])

    def _outside(self, points: FloatArray) -> FloatArray:
        """Which points (p, 3) are past an entrance."""
        assert self.openings is not None
        if not len(self.openings):
            return np.zeros(len(points), bool)
        away = points[:, None] - self.openings[:, 0]
        nearest = np.argmin(np.linalg.norm(away, axis=2), axis=1)
        rows = np.arange(len(points))
        past: FloatArray = np.einsum("pi,pi->p", away[rows, nearest], self.openings[nearest, 1]) > 0.0
        return past


def _joined(tip: FloatArray, number: int, paths: list[FloatArray], radii: list[float]) -> bool:
    """Whether the end of path `number` lies inside the tube of another path."""
    for other, path in enumerate(paths):
        if other != number:
            axis = path[1:] - path[:-1]
            along = np.clip(np.einsum("si,si->s", tip - path[:-1], axis) / np.einsum("si,si->s", axis, axis), 0.0, 1.0)
            away = np.linalg.norm(tip - path[:-1] - along[:, None] * axis, axis=1)
            if away.min() < radii[other]:
                return True
    return False
