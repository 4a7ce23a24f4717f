"""Bands of equal colour: a surface with a value at each vertex, cut along the lines where the colour changes.

The browser takes one colour per mesh, so a coloured surface is one mesh for each band. Values are linear on a triangle,
so a band cuts it into a polygon of at most five corners. Cut points are shared between neighbouring triangles: smooth
shading sees the same surface as without the cuts.
"""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray, IndexArray

Band = tuple[FloatArray, IndexArray]
"""Points (n, 3) m and triangles (t, 3) of one band."""


def color_bands(points: FloatArray, triangles: IndexArray, fractions: FloatArray, count: int) -> list[Band]:
    """The surface of `points` (n, 3) m and `triangles` (t, 3), cut where `fractions` (n,), clamped to 0…1, pass a
    multiple of 1/`count`: its `count` bands from the lowest up, some without triangles.
    """
    # the very top belongs to the highest band, as every other level does to the band above it
    levels = np.clip(fractions, 0.0, 1.0 - 1e-9) * count
    ordered, flipped = _by_level(triangles, levels)
    low = np.floor(levels[ordered[:, 0]]).astype(np.int64)
    high = np.maximum(np.ceil(levels[ordered[:, 2]]).astype(np.int64), low + 1)
    pieces = high - low
    owner = np.repeat(np.arange(len(ordered)), pieces)
    band = low[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    corners, flip = ordered[owner], flipped[owner]

    cut_points = _CutPoints(points, levels, count)
    along = [cut_points.along_edge(corners, (0, 2), band + k) for k in (0, 1)]
    around = [cut_points.along_chain(corners, band + k) for k in (0, 1)]
    middle = cut_points.middle(corners, band, around[0])
    fans = ((along[0], along[1], around[1]), (along[0], around[1], middle), (along[0], middle, around[0]))
    cut = np.concatenate([np.stack(fan, axis=1) for fan in fans])
    cut = np.where(np.tile(flip, 3)[:, None], cut[:, ::-1], cut)
    proper = (cut[:, 0] != cut[:, 1]) & (cut[:, 1] != cut[:, 2]) & (cut[:, 2] != cut[:, 0])
    return _separate(cut_points, cut[proper], np.tile(band, 3)[proper], count)


class _CutPoints:
    """Points where edges cross integer levels, each with one integer key (vertex, vertex, level) shared by neighbours.

    A vertex itself is (a, a, 0).
    """

    def __init__(self, points: FloatArray, levels: FloatArray, count: int) -> None:
        self._points, self._levels, self._base = points, levels, count + 1

    def along_edge(self, corners: IndexArray, ends: tuple[int, int], level: IndexArray) -> IndexArray:
        """Keys where the edge of two `corners` (p, 3), the lower first, crosses `level`, or of its nearer end."""
        a, b = corners[:, ends[0]], corners[:, ends[1]]
        name = self._name(np.minimum(a, b), np.maximum(a, b), level)
        name = np.where(level >= self._levels[b], self._name(b, b, 0 * level), name)
        return np.where(level <= self._levels[a], self._name(a, a, 0 * level), name)

    def along_chain(self, corners: IndexArray, level: IndexArray) -> IndexArray:
        """The same along the other two edges, through the middle corner."""
        below = level <= self._levels[corners[:, 1]]
        return np.where(below, self.along_edge(corners, (0, 1), level), self.along_edge(corners, (1, 2), level))

    def middle(self, corners: IndexArray, band: IndexArray, otherwise: IndexArray) -> IndexArray:
        """The middle corner where it lies in the band, else `otherwise`."""
        corner = corners[:, 1]
        inside = (self._levels[corner] >= band) & (self._levels[corner] <= band + 1)
        return np.where(inside, self._name(corner, corner, 0 * band), otherwise)

    def points(self, names: IndexArray) -> FloatArray:
        """Positions (n, 3) m."""
        pair, level = np.divmod(names, self._base)
        a, b = np.divmod(pair, len(self._points))
        rise = self._levels[b] - self._levels[a]
        fraction = np.where(a == b, 0.0, (level - self._levels[a]) / np.where(rise == 0.0, 1.0, rise))
        return np.asarray(self._points[a] + fraction[:, None] * (self._points[b] - self._points[a]))

    def _name(self, a: IndexArray, b: IndexArray, level: IndexArray) -> IndexArray:
        return np.asarray((a * len(self._points) + b) * self._base + level, np.int64)


def _by_level(triangles: IndexArray, levels: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Corners (t, 3) in order of level, and whether that flips the triangle, (t,)."""
    order = np.argsort(levels[triangles], axis=1, kind="stable")
    turned = (order[:, 1] - order[:, 0]) % 3 != 1
    # the fans of a band run from the long edge to the other two, against the order of the corners
    return np.take_along_axis(triangles, order, axis=1), ~turned


def _separate(cut_points: _CutPoints, cut: IndexArray, band: IndexArray, count: int) -> list[Band]:
    bands = []
    for index in range(count):
        used, triangles = np.unique(cut[band == index], return_inverse=True)
        bands.append((cut_points.points(used), triangles.reshape(-1, 3).astype(np.int64)))
    return bands
