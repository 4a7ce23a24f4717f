"""Shapes and brute-force oracles, written without any code of the library."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest


def segment_foot(p, a, b):
    """Point of segment ab nearest to p."""
    d = b - a
    t = np.clip((p - a) @ d / (d @ d), 0, 1) if d @ d > 0 else 0.0
    return a + t * d


def segment_point(p, a, b):
    """Distance of point p to segment ab."""
    return np.linalg.norm(p - segment_foot(p, a, b))


def triangle_foot(p, a, b, c):
    """Point of triangle abc nearest to p: in the plane where that is inside, else the best of the three edges."""
    feet = [segment_foot(p, *ends) for ends in ((a, b), (b, c), (c, a))]
    n = np.cross(b - a, c - a)
    if n @ n > 0:
        foot = p - ((p - a) @ n) / (n @ n) * n
        if all(np.cross(v - u, foot - u) @ n >= 0 for u, v in ((a, b), (b, c), (c, a))):
            feet.append(foot)
    return min(feet, key=lambda foot: np.linalg.norm(p - foot))


def point_triangle(p, a, b, c):
    """Distance of point p to triangle abc."""
    return np.linalg.norm(p - triangle_foot(p, a, b, c))


def crossing(a, b, c, d):
    """Parameters of the nearest points of the lines ab and cd, or None where they are parallel."""
    u, v, r = b - a, d - c, c - a
    matrix = np.array([[u @ u, -u @ v], [u @ v, -v @ v]])
    if abs(np.linalg.det(matrix)) <= 1e-4 * (u @ u) * (v @ v):
        return None
    return np.linalg.solve(matrix, [u @ r, v @ r])


def segment_segment(a, b, c, d):
    """Distance of two segments: an end with the other segment, or two inner points."""
    best = min(segment_point(a, c, d), segment_point(b, c, d), segment_point(c, a, b), segment_point(d, a, b))
    u, v = b - a, d - c
    n = np.cross(u, v)
    if n @ n > 1e-14 * (u @ u) * (v @ v):
        s, t = np.linalg.lstsq(np.column_stack([u, -v]), c - a, rcond=None)[0]
        if 0 <= s <= 1 and 0 <= t <= 1:
            best = min(best, abs((c - a) @ n) / np.sqrt(n @ n))
    return best


def soup(seed, count, size=0.4):
    """`count` triangles that share no point, in the unit cube."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(count, 1, 3)) + size * rng.uniform(-1, 1, size=(count, 3, 3))
    return points.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def box(size=(1.0, 1.0, 1.0), cells=(1, 1, 1)):
    """Points and outward triangles of the surface of a box with a corner at the origin."""
    shape = np.array(cells) + 1
    grid = np.array(list(product(*(range(n) for n in shape))))
    number = {tuple(g): i for i, g in enumerate(grid)}
    triangles = []
    for axis, end in product(range(3), (0, 1)):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for i, j in product(range(cells[u]), range(cells[v])):
            corners = []
            for du, dv in ((0, 0), (1, 0), (1, 1), (0, 1)):
                g = np.zeros(3, dtype=int)
                g[axis], g[u], g[v] = end * cells[axis], i + du, j + dv
                corners.append(number[tuple(g)])
            p, q, r, s = corners
            triangles += [(p, q, r), (p, r, s)] if end else [(p, r, q), (p, s, r)]
    triangles = np.array(triangles)
    used, triangles = np.unique(triangles, return_inverse=True)
    return grid[used] * (np.array(size) / cells), triangles.reshape(-1, 3)


def sphere(subdivisions=2, radius=1.0):
    """Points and outward triangles of a sphere from a subdivided octahedron."""
    points = [np.array(p, float) for p in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    triangles = [(a, b, c) for a, b, c in product((0, 1), (2, 3), (4, 5))]
    triangles = [(a, b, c) if (a + b + c) % 2 == 0 else (a, c, b) for a, b, c in triangles]
    for _ in range(subdivisions):
        middle, finer = {}, []
        for t in triangles:
            m = []
            for a, b in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0])):
                key = (min(a, b), max(a, b))
                if key not in middle:
                    x = points[a] + points[b]
                    points.append(x / np.linalg.norm(x))
                    middle[key] = len(points) - 1
                m.append(middle[key])
            finer += [(t[0], m[0], m[2]), (m[0], t[1], m[1]), (m[2], m[1], t[2]), tuple(m)]
        triangles = finer
    return radius * np.array(points), np.array(triangles)


def sheet(count, size=1.0):
    """Points and triangles of a square grid in the plane z = 0, normals up, centered on the origin."""
    x = np.linspace(-size / 2, size / 2, count + 1)
    points = np.array([(a, b, 0.0) for a in x for b in x])
    n = count + 1
    corner = np.array([i * n + j for i in range(count) for j in range(count)])
    a, b, c, d = corner, corner + n, corner + n + 1, corner + 1
    return points, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def unit_normals(points, triangles):
    n = np.cross(*(points[triangles[:, k]] - points[triangles[:, 0]] for k in (1, 2)))
    return n / np.linalg.norm(n, axis=1, keepdims=True)


@pytest.fixture(scope="session")
def oracle():
    return SimpleNamespace(
        point_triangle=point_triangle,
        triangle_foot=triangle_foot,
        segment_segment=segment_segment,
        crossing=crossing,
        unit_normals=unit_normals,
    )


@pytest.fixture(scope="session")
def shapes():
    return SimpleNamespace(soup=soup, box=box, sphere=sphere, sheet=sheet)
