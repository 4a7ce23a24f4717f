"""Distances of points, segments and triangles from each other, for arrays of pairs."""

from __future__ import annotations

import numpy as np

from pliant.core.types import BoolArray, FloatArray


def distances(x: FloatArray, y: FloatArray) -> FloatArray:
    """Distances (m,) m of points, segments or triangles x (m, k, 3) from y (m, l, 3)."""
    best: FloatArray = np.full(len(x), np.inf)
    for one, other in ((x, y), (y, x)):
        if other.shape[1] == 3:
            for k in range(one.shape[1]):
                best = np.minimum(best, _from_triangle(one[:, k], other))
        if other.shape[1] == 1 and one.shape[1] == 1:
            best = np.minimum(best, np.linalg.norm(one[:, 0] - other[:, 0], axis=1))
    for e in _sides(x):
        for f in _sides(y):
            best = np.minimum(best, _segments(e, f))
    for one, other in ((x, y), (y, x)):
        if other.shape[1] == 3 and one.shape[1] > 1:
            for start, end in _sides(one):
                best[_pierces(start, end, other)] = 0.0
    return best


def _pierces(start: FloatArray, end: FloatArray, y: FloatArray) -> BoolArray:
    """Which segments pass through their triangle."""
    u, v = y[:, 1] - y[:, 0], y[:, 2] - y[:, 0]
    n = np.cross(u, v)
    first, second = (np.einsum("mi,mi->m", p - y[:, 0], n) for p in (start, end))
    crosses = first * second < 0.0
    fraction = np.where(crosses, first / np.where(crosses, first - second, 1.0), 0.0)
    foot = start + fraction[:, None] * (end - start)
    return np.asarray(crosses & np.isfinite(_from_triangle(foot, y)))


def _sides(x: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    if x.shape[1] == 1:
        return [(x[:, 0], x[:, 0])]
    if x.shape[1] == 2:
        return [(x[:, 0], x[:, 1])]
    return [(x[:, k], x[:, (k + 1) % 3]) for k in range(3)]


def _from_triangle(p: FloatArray, y: FloatArray) -> FloatArray:
    """Distance of points from the planes of triangles where the foot is inside, else inf; sides are tested apart."""
    u, v, w = y[:, 1] - y[:, 0], y[:, 2] - y[:, 0], p - y[:, 0]
    n = np.cross(u, v)
    squared = np.maximum(np.einsum("mi,mi->m", n, n), 1e-300)
    second = np.einsum("mi,mi->m", np.cross(w, v), n) / squared
    third = np.einsum("mi,mi->m", np.cross(u, w), n) / squared
    inside = (second >= 0.0) & (third >= 0.0) & (second + third <= 1.0)
    made: FloatArray = np.where(inside, np.abs(np.einsum("mi,mi->m", w, n)) / np.sqrt(squared), np.inf)
    return made


def _segments(e: tuple[FloatArray, FloatArray], f: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Distances (m,) m of segments; a point is one of length 0."""
    u, v, w = e[1] - e[0], f[1] - f[0], e[0] - f[0]
    uu, vv, uv = (np.einsum("mi,mi->m", s, t) for s, t in ((u, u), (v, v), (u, v)))
    uw, vw = (np.einsum("mi,mi->m", s, w) for s in (u, v))
    det = uu * vv - uv * uv
    s = np.where(det > 1e-12 * uu * vv, (uv * vw - vv * uw) / np.maximum(det, 1e-300), 0.0).clip(0.0, 1.0)
    t = np.where(vv > 0.0, (uv * s + vw) / np.maximum(vv, 1e-300), 0.0).clip(0.0, 1.0)
    s = np.where(uu > 0.0, (uv * t - uw) / np.maximum(uu, 1e-300), 0.0).clip(0.0, 1.0)
    made: FloatArray = np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=1)
    return made
