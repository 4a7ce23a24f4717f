"""Thickness of the walls of a closed surface: chords along the inward normals, between faces that are opposite.

A chord starts at a random point of a triangle, chosen by area, and ends where the inward normal leaves the body. It
measures a wall where the face at its end is parallel within 45°: a chord that ends at the side of a wedge or a step
does not. The inside is found by counting the crossings of the whole line: triangles need no orientation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.types import BoolArray, FloatArray
from pliant.mesh.surface import Surface

SAMPLES = 1500
"""Chords of a measurement: the fifth percentile of the thickness then varies by a few percent with the seed."""
_WORK = 8e6
"""Pairs of lines and triangles at most: a second. A surface of more triangles gets fewer chords."""
_CHUNK = 2_000_000
"""Pairs of one array operation: 50 MB for each temporary."""
_PARALLEL = 0.7
"""Least cosine between the chord and the normal at its end."""
_START = 1e-7
"""Crossings nearer to the start than this, relative to the size of the surface, are the start itself."""


class Chords(NamedTuple):
    """Starts (k, 3) m of the chords, inward directions (k, 3), lengths (k,) m, infinite where there is no wall, the
    least extent of the shell that each starts at, (k,) m, and the fraction of the surface that each stands for (k,).
    """

    starts: FloatArray
    directions: FloatArray
    lengths: FloatArray
    extents: FloatArray
    weights: FloatArray

    def quantile(self, fraction: float) -> float:
        """The thickness, m, that `fraction` of the walls are below; infinite without walls."""
        order = np.argsort(self.lengths)
        order = order[np.isfinite(self.lengths[order])]
        if not len(order):
            return np.inf
        below = np.cumsum(self.weights[order]) / self.weights[order].sum()
        return float(self.lengths[order[min(int(np.searchsorted(below, fraction)), len(order) - 1)]])


def wall_chords(surface: Surface, *, samples: int = SAMPLES, seed: int = 0) -> Chords:
    """Chords through the walls of the closed `surface` at random points; fewer than `samples` on fine surfaces."""
    corners = surface.points[surface.triangles]
    vectors = surface.area_vectors()
    areas = np.linalg.norm(vectors, axis=1)
    random = np.random.default_rng(seed)
    count = int(np.clip(_WORK / len(corners), 100, samples))
    _, shell = surface._shells
    owner = shell[surface.triangle_facets]
    # half of the chords are shared equally by the shells: by area alone a small hollow would have none
    share = areas / areas.sum() + areas / np.bincount(owner, areas)[owner] / (1 + owner.max())
    which = random.choice(len(areas), count, p=share / share.sum())
    weights = random.dirichlet((1.0, 1.0, 1.0), count)
    starts = np.einsum("kj,kji->ki", weights, corners[which])
    normals = vectors[which] / areas[which, None]
    size = float(np.ptp(surface.points[surface.nodes], axis=0).max())
    lengths, inward, found = np.full(count, np.inf), normals.copy(), np.zeros(count, dtype=bool)
    for part in np.array_split(np.arange(count), max(1, int(count * len(corners) / _CHUNK))):
        _measure(part, starts, normals, corners, vectors, _START * size, lengths, inward, found)
    shells = [np.ptp(corners[owner == i].reshape(-1, 3), axis=0).min() for i in range(1 + owner.max())]
    kept = which[found]
    weights = (areas / share)[kept]
    extents = np.array(shells)[owner[kept]]
    return Chords(starts[found], inward[found], lengths[found], extents, weights / weights.sum())


def _measure(
    part: FloatArray,
    starts: FloatArray,
    normals: FloatArray,
    corners: FloatArray,
    vectors: FloatArray,
    near: float,
    lengths: FloatArray,
    inward: FloatArray,
    found: BoolArray,
) -> None:
    """Fill lengths and inward directions of the lines `part`; `found` where both sides have consistent crossings."""
    at = crossings(starts[part], normals[part], corners)
    for row, k in enumerate(part):
        places = at[row]
        ahead, behind = places > near, places < -near
        if ahead.sum() % 2 == behind.sum() % 2:  # the line meets an edge of a triangle: no verdict
            continue
        side = 1.0 if ahead.sum() % 2 else -1.0
        distance = np.where(ahead if side > 0.0 else behind, np.abs(places), np.inf)
        end = int(distance.argmin())
        cosine = abs(vectors[end] @ normals[k]) / np.linalg.norm(vectors[end])
        found[k], inward[k] = True, side * normals[k]
        lengths[k] = distance[end] if cosine > _PARALLEL else np.inf


def crossings(starts: FloatArray, directions: FloatArray, corners: FloatArray) -> FloatArray:
    """Where lines from `starts` (k, 3) along `directions` (k, 3) cross triangles (t, 3, 3): (k, t), NaN where not.

    T. Möller and B. Trumbore, Fast, minimum storage ray–triangle intersection, J. Graphics Tools 2, 1997.
    """
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(directions[:, None], second[None])
    determinant = np.einsum("kti,ti->kt", p, first)
    offset = starts[:, None] - corners[None, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("kti,kti->kt", offset, p) / determinant
        q = np.cross(offset, first[None])
        v = np.einsum("kti,ki->kt", q, directions) / determinant
        at = np.einsum("kti,ti->kt", q, second) / determinant
        inside = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & np.isfinite(at)
    return np.where(inside, at, np.nan)
