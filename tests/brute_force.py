"""Distance, intersection and penetration of solids by brute force over all features, without any code of the library.

Signs come from exact predicates: orientations are evaluated in floating point with an error bound, and in rational
arithmetic where the bound does not decide. Distances are those of all pairs of features, in double precision.
Arrays of configurations have a leading axis: points (c, n, 3) over shared triangles (t, 3).
"""

from fractions import Fraction
from itertools import product

import numpy as np

_ORIENTATION_BOUND = 8e-16
"""Relative error of the floating-point determinant (Shewchuk 1997: 7.8e-16 times its permanent)."""


def edges_of(triangles):
    """Edges (e, 2) of `triangles` (t, 3), each once."""
    sides = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return np.unique(sides, axis=0)


def dots(a, b):
    """Scalar products along the last axis."""
    return np.einsum("...i,...i->...", a, b)


def point_segment(p, a, b):
    """Distance of points to segments, broadcast."""
    d = b - a
    t = np.clip(dots(p - a, d) / np.maximum(dots(d, d), 1e-300), 0.0, 1.0)
    return np.linalg.norm(p - a - t[..., None] * d, axis=-1)


def point_triangle(p, a, b, c):
    """Distance of points to triangles, broadcast: the plane where the foot is inside, else the nearest side."""
    n = np.cross(b - a, c - a)
    squared = np.maximum(dots(n, n), 1e-300)
    inside = np.ones(np.broadcast_shapes(p.shape, a.shape)[:-1], bool)
    for u, v in ((a, b), (b, c), (c, a)):
        inside &= dots(np.cross(v - u, p - u), n) >= 0.0
    sides = np.minimum(np.minimum(point_segment(p, a, b), point_segment(p, b, c)), point_segment(p, c, a))
    return np.where(inside, np.abs(dots(p - a, n)) / np.sqrt(squared), sides)


def segment_segment(a, b, c, d):
    """Distance of segments ab and cd, broadcast: an end and the other segment, or two inner points."""
    ends = np.minimum(
        np.minimum(point_segment(a, c, d), point_segment(b, c, d)),
        np.minimum(point_segment(c, a, b), point_segment(d, a, b)),
    )
    u, v, r = b - a, d - c, c - a
    n = np.cross(u, v)
    squared = dots(n, n)
    skew = squared > 1e-20 * dots(u, u) * dots(v, v)
    safe = np.where(skew, squared, 1.0)
    s, t = dots(np.cross(r, v), n) / safe, dots(np.cross(r, u), n) / safe
    inner = skew & (s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0)
    return np.where(inner, np.minimum(np.abs(dots(r, n)) / np.sqrt(safe), ends), ends)


def orientation(a, b, c, d):
    """Exact sign of (a − d) · ((b − d) × (c − d)), broadcast over arrays of points."""
    a, b, c, d = np.broadcast_arrays(a, b, c, d)
    u, v, w = a - d, b - d, c - d
    value = dots(u, np.cross(v, w))
    x, y, z = np.abs(u), np.abs(v), np.abs(w)
    permanent = sum(
        x[..., i] * (y[..., j] * z[..., k] + y[..., k] * z[..., j]) for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    )
    # differences are rounded too: their error is relative to the coordinates
    largest = np.maximum.reduce([np.abs(p).max(axis=-1) for p in (a, b, c, d)])
    spread = np.maximum.reduce([x.max(axis=-1), y.max(axis=-1), z.max(axis=-1)])
    bound = _ORIENTATION_BOUND * permanent + 1e-15 * largest * spread**2 * 6.0
    sign = np.array(np.sign(value), int)
    for index in map(tuple, np.argwhere(np.abs(value) <= bound)):
        sign[index] = _exact_orientation(*(p[index] for p in (a, b, c, d)))
    return sign


def _exact_orientation(a, b, c, d):
    rows = [[Fraction(float(p[k])) - Fraction(float(d[k])) for k in range(3)] for p in (a, b, c)]
    (a0, a1, a2), (b0, b1, b2), (c0, c1, c2) = rows
    value = a0 * (b1 * c2 - b2 * c1) - a1 * (b0 * c2 - b2 * c0) + a2 * (b0 * c1 - b1 * c0)
    return (value > 0) - (value < 0)


def edges_cross_faces(points, edges, others, triangles):
    """Whether an edge runs properly through a triangle, from its one side to the other and inside it, (c,)."""
    p, q = (points[:, edges[:, k], None] for k in range(2))
    a, b, c = (others[:, None, triangles[:, k]] for k in range(3))
    near = _boxes_meet(
        np.minimum(p, q), np.maximum(p, q), np.minimum(a, np.minimum(b, c)), np.maximum(a, np.maximum(b, c))
    )
    shape = near.shape
    p, q, a, b, c = (np.broadcast_to(x, (*shape, 3))[near] for x in (p, q, a, b, c))
    sides = orientation(a, b, c, p) * orientation(a, b, c, q)
    turns = [orientation(p, q, u, v) for u, v in ((a, b), (b, c), (c, a))]
    inside = (turns[0] == turns[1]) & (turns[1] == turns[2]) & (turns[0] != 0)
    found = np.zeros(shape, bool)
    found[near] = (sides < 0) & inside
    return found.any(axis=(1, 2))


def _boxes_meet(low, high, other_low, other_high):
    return ((low <= other_high) & (other_low <= high)).all(axis=-1)


def winding_number(p, points, triangles):
    """How often closed surfaces (c, n, 3) wind around points p (c, k, 3): 1 inside, 0 outside (van Oosterom 1983)."""
    a, b, c = (points[:, None, triangles[:, k]] - p[:, :, None] for k in range(3))
    x, y, z = (np.linalg.norm(v, axis=-1) for v in (a, b, c))
    below = x * y * z + dots(a, b) * z + dots(b, c) * x + dots(c, a) * y
    return np.arctan2(dots(a, np.cross(b, c)), below).sum(axis=-1) / (2.0 * np.pi)


def distance_to_surface(p, points, triangles):
    """Distance of points p (c, k, 3) to the nearest triangle, (c, k)."""
    a, b, c = (points[:, None, triangles[:, k]] for k in range(3))
    return point_triangle(p[:, :, None], a, b, c).min(axis=-1)


def surface_distance(points, triangles, others, other_triangles):
    """Distance of two surfaces, (c,): of all vertices and triangles, and of all edges. Not 0 where they cross."""
    one = distance_to_surface(points, others, other_triangles).min(axis=1)
    two = distance_to_surface(others, points, triangles).min(axis=1)
    e, f = edges_of(triangles), edges_of(other_triangles)
    ends = (points[:, e[:, k], None] for k in range(2))
    other_ends = (others[:, None, f[:, k]] for k in range(2))
    three = segment_segment(*ends, *other_ends).min(axis=(1, 2))
    return np.minimum(np.minimum(one, two), three)


def solids_intersect(points, triangles, others, other_triangles):
    """Whether the insides of two solids meet, (c,): surfaces that cross, or a vertex well inside the other."""
    meet = edges_cross_faces(points, edges_of(triangles), others, other_triangles)
    meet |= edges_cross_faces(others, edges_of(other_triangles), points, triangles)
    for p, q, t in ((points, others, other_triangles), (others, points, triangles)):
        size = np.ptp(q, axis=1).max(axis=1)[:, None]
        inside = (winding_number(p, q, t) > 0.5) & (distance_to_surface(p, q, t) > 1e-9 * size)
        meet |= inside.any(axis=1)
    return meet


def penetration(points, triangles, others, other_triangles, *, samples=12):
    """How deep either solid stands in the other, (c,), m: the largest distance from the surface of one to points of
    the surface of the other inside of it, and the diameter of the largest ball in both, on a grid of samples.
    """
    deepest = np.zeros(len(points))
    grid = [(i, j, samples - i - j) for i, j in product(range(samples + 1), repeat=2) if i + j <= samples]
    weights = np.array(grid) / samples
    for p, t, q, s in ((points, triangles, others, other_triangles), (others, other_triangles, points, triangles)):
        x = np.einsum("gk,ctki->ctgi", weights, p[:, t]).reshape(len(p), -1, 3)
        inside = winding_number(x, q, s) > 0.5
        deepest = np.maximum(deepest, np.where(inside, distance_to_surface(x, q, s), 0.0).max(axis=1))
    low, high = (np.maximum(points.min(1), others.min(1)), np.minimum(points.max(1), others.max(1)))
    steps = np.array(list(product((np.arange(samples) + 0.5) / samples, repeat=3)))
    x = low[:, None] + np.maximum(high - low, 0.0)[:, None] * steps
    depths = []
    for q, s in ((points, triangles), (others, other_triangles)):
        depths.append(np.where(winding_number(x, q, s) > 0.5, distance_to_surface(x, q, s), 0.0))
    return np.maximum(deepest, 2.0 * np.minimum(*depths).max(axis=1))
