"""Lists that last: no motion within their reach makes a pair of features that they do not hold, by brute force."""

import numpy as np
import pytest

from brute_force import point_triangle, segment_segment
from pliant.collision import CollisionSurface
from pliant.collision.broad.features import features_of
from pliant.collision.broad.lanes import reach_of
from pliant.collision.broad.lasting import lasting_pairs

MARGIN = 0.05
FACING = 0.25


def listed(a, b, reach, most):
    """Vertices of a with faces of b, of b with those of a, and edges, as sets of pairs; each stands there once."""
    sides = [(features_of(pose), (pose.surface.fan_start, pose.surface.fan)) for pose in (a, b)]
    wide = reach_of(a.bounds, b.bounds, reach, np.inf)
    found = lasting_pairs(*sides[0], *sides[0 if a is b else 1], a is b, wide, reach, FACING, most)
    pairs = [set(map(tuple, part.tolist())) for part in found]
    assert [len(part) for part in pairs] == [len(part) for part in found]
    return pairs


def facing(a, x, b, y):
    """Which triangles (t, u) of `a` at x and `b` at y face each other."""
    normals = []
    for surface, at in ((a, x), (b, y)):
        corners = at[surface.triangles]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals.append(normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300))
    return normals[0] @ normals[1].T < FACING


def near_vertices(a, x, b, y):
    """Vertices of `a` within the margin of faces of `b` that a triangle around them faces, without their own ones."""
    corners = y[b.triangles]
    near = point_triangle(x[:, None], *(corners[None, :, k] for k in range(3))) <= MARGIN
    if a is b:
        near[b.triangles.ravel(), np.repeat(np.arange(len(b.triangles)), 3)] = False
    around = np.zeros((len(x), len(a.triangles)))
    around[a.triangles.ravel(), np.repeat(np.arange(len(a.triangles)), 3)] = 1.0
    return set(map(tuple, np.argwhere(near & (around @ facing(a, x, b, y) > 0.0)).tolist()))


def near_edges(a, x, b, y):
    """Edges within the margin that face each other; of one surface those of triangles without a common point, or that
    make notches, the lower edge first.
    """
    ends, others = x[a.edges], y[b.edges]
    near = segment_segment(ends[:, None, 0], ends[:, None, 1], others[None, :, 0], others[None, :, 1]) <= MARGIN
    faces, allowed = facing(a, x, b, y), np.ones((len(a.triangles), len(b.triangles)), bool)
    if a is b:
        shared = (a.triangles[:, None, :, None] == a.triangles[None, :, None, :]).any(axis=(2, 3))
        allowed = (~shared | (a.notched[:, None] & a.notched[None])) & ~np.eye(len(a.triangles), dtype=bool)
        near &= np.arange(len(a.edges))[:, None] < np.arange(len(a.edges))[None]
    # the triangle that represents an edge decides which neighbours are left out
    first, second = (_representative(surface) for surface in (a, b))
    near &= allowed[first][:, second]
    found = np.zeros_like(near)
    for side in range(2):
        for other in range(2):
            s, t = a.edge_triangles[:, side], b.edge_triangles[:, other]
            found |= faces[s][:, t] & (s >= 0)[:, None] & (t >= 0)[None]
    return set(map(tuple, np.argwhere(near & found).tolist()))


def _representative(surface):
    chosen = np.full(len(surface.edges), -1)
    triangle, side = np.nonzero(surface.edge_mask[:, None] >> np.arange(3) & 1)
    chosen[surface.triangle_edges[triangle, side]] = triangle
    return chosen


def moved(rng, x, distance):
    """Each point moved by `distance` in a direction of its own, or all in one, or towards a common point."""
    way = rng.normal(size=x.shape)
    kind = rng.integers(3)
    if kind == 1:
        way[:] = way[0]
    elif kind == 2:
        way = x.mean(axis=0) + 0.3 * way[0] - x
    return x + distance * way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)


def random_surface(shapes, rng):
    """A crumpled box, a folded sheet with slivers, or a soup of triangles, and where its points are."""
    kind = rng.integers(3)
    if kind == 0:
        rest, triangles = shapes.box(cells=(3, 2, 2))
    elif kind == 1:
        rest, triangles = shapes.sheet(5)
        rest[:, 2] = 0.5 * np.abs(rest[:, 0])
    else:
        rest = rng.normal(size=(16, 1, 3)) * 0.4 + 0.15 * rng.normal(size=(16, 3, 3))
        rest, triangles = rest.reshape(-1, 3), np.arange(48).reshape(-1, 3)
    at = rest * rng.uniform(0.05, 1.0, size=3) + 0.08 * rng.random() * rng.normal(size=rest.shape)
    return CollisionSurface.build(triangles, rest), at


@pytest.mark.parametrize("seed", range(6))
def test_no_motion_within_the_reach_makes_a_pair_that_is_not_listed(shapes, seed):
    rng = np.random.default_rng(seed)
    count = 0
    for same in (True, False, True, False):
        skin = MARGIN * rng.choice([0.05, 0.25, 1.0])
        a, x = random_surface(shapes, rng)
        b, y = (a, x) if same else random_surface(shapes, rng)
        pose = a.at(x)
        most = 0.5 * skin if same else skin
        vertices, others, edges = listed(pose, pose if same else b.at(y), MARGIN + skin, most)
        for _ in range(3):
            part = 0.5 if same else rng.random()
            p = moved(rng, x, part * skin)
            q = p if same else moved(rng, y, (1.0 - part) * skin)
            wanted = near_vertices(a, p, b, q), near_edges(a, p, b, q)
            assert wanted[0] <= vertices
            assert wanted[1] <= edges
            count += len(wanted[0]) + len(wanted[1])
            if not same:
                assert near_vertices(b, q, a, p) <= others
    assert count > 50


def turned(x, away, distance):
    """A triangle (3, 3) turned away from the direction `away`: each point moved by `distance` along the normal, to the
    side that turns most.
    """
    best, least = x, np.inf
    for signs in np.indices((2, 2, 2)).reshape(3, -1).T * 2 - 1:
        normal = np.cross(x[1] - x[0], x[2] - x[0])
        at = x + distance * signs[:, None] * normal / np.linalg.norm(normal)
        normal = np.cross(at[1] - at[0], at[2] - at[0])
        product = normal @ away / np.linalg.norm(normal)
        if product < least:
            best, least = at, product
    return best


def test_triangles_that_turn_towards_each_other_are_listed():
    """Single triangles in pairs far apart, whose normals face each other only after their points have moved."""
    rng = np.random.default_rng(0)
    most, pairs = 0.5 * MARGIN, 150
    places, moves = np.empty((2, pairs, 3, 3)), np.empty((2, pairs, 3, 3))
    for k in range(pairs):
        x = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-1.0, 0.0)
        bent = rng.uniform(0.6, 1.6) * np.linalg.norm(x - x.mean(axis=0), axis=1).mean()
        y = x[:, ::-1] * [1, 1, -1] if rng.random() < 0.2 else x + bent * rng.normal(size=(3, 3))
        y = y - y.mean(axis=0) + x.mean(axis=0) + 0.2 * MARGIN * rng.normal(size=3)
        normal = [np.cross(p[1] - p[0], p[2] - p[0]) for p in (x, y)]
        offset = np.array([100.0 * k, 0.0, 0.0])
        places[:, k] = x + offset, y + offset
        moves[:, k] = turned(x, normal[1], most) + offset, turned(y, normal[0], most) + offset
    triangles = np.arange(3 * pairs).reshape(-1, 3)
    x, y = places.reshape(2, -1, 3)
    p, q = moves.reshape(2, -1, 3)
    a, b = (CollisionSurface.build(triangles, points) for points in (x, y))
    found = listed(a.at(x), b.at(y), MARGIN + 2.0 * most, most)
    wanted = near_vertices(a, p, b, q), near_vertices(b, q, a, p), near_edges(a, p, b, q)
    before = facing(a, x, b, y)
    for part, pairs_of in zip(found, wanted, strict=True):
        assert pairs_of <= part
    turned_towards = {int(t) for _, t in wanted[0] if not before[t, t]}
    assert len(turned_towards) > 5
