"""Points that look at triangles: the nearest of their group, the side they are on, open borders, and the memory."""

import numpy as np
import pytest

from pliant.collision import CollisionSurface, MeshObstacle
from pliant.collision.narrow.facing import FacingTable
from pliant.core.errors import InputError
from pliant.mesh import box

SQUARE = np.array([(0.0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)])
HALVES = np.array([(0, 1, 2), (0, 2, 3)])


def table_of(triangles, corners, point_count, *, groups=None):
    point_group, triangle_group = groups or (np.zeros(point_count, int), np.zeros(len(triangles), int))
    return FacingTable.build(CollisionSurface.build(triangles, corners), point_group, triangle_group)


def test_a_closed_surface_gives_the_distances_of_an_obstacle():
    surface = box((1.0, 1.0, 1.0), (3, 3, 3)).surface()
    points = np.random.default_rng(0).uniform(-0.5, 1.5, (400, 3))
    seen = table_of(surface.triangles, surface.points, 400).gaps(points, surface.points)
    wanted = MeshObstacle(surface.points, surface.triangles).distance(points)
    assert np.allclose(seen.gap, wanted.gap, atol=1e-12)
    nearest = np.einsum("pk,pki->pi", seen.weights, surface.points[surface.triangles[seen.face]])
    assert np.allclose(points - nearest, seen.gap[:, None] * seen.normal, atol=1e-12)
    assert 0.02 < (seen.gap < 0).mean() < 0.5


def test_the_last_nearest_triangle_changes_nothing_but_the_time():
    rng = np.random.default_rng(1)
    surface = box((1.0, 1.0, 1.0), (4, 4, 4)).surface()
    corners, points = surface.points + 0.02 * rng.normal(size=surface.points.shape), rng.uniform(-1, 2, (300, 3))
    table = table_of(surface.triangles, surface.points, 300)
    fresh = table.gaps(points, corners)
    for start in (fresh.face, rng.integers(0, len(surface.triangles), 300).astype(np.int32)):
        again = table.gaps(points, corners, start)
        assert np.allclose(again.gap, fresh.gap, atol=1e-14)


def test_points_see_their_own_group_alone():
    corners = np.vstack([SQUARE, SQUARE + np.array((0, 0, 1))])
    triangles = np.vstack([HALVES, HALVES + 4])
    points = np.array([(0.4, 0.5, 0.3), (0.4, 0.5, 0.3), (0.4, 0.5, 0.3)])
    table = table_of(triangles, corners, 3, groups=([7, 9, 7], [7, 7, 9, 9]))
    seen = table.gaps(points, corners)
    assert np.allclose(seen.gap, [0.3, -0.7, 0.3])
    assert set(seen.face[[0, 2]]) <= {0, 1}
    assert seen.face[1] in (2, 3)
    with pytest.raises(InputError, match="point 1 is of group 8, which has no triangle"):
        table_of(triangles, corners, 2, groups=([7, 8], [7, 7, 9, 9]))


def test_a_point_beyond_an_open_border_has_passed_by():
    points = np.array([(0.5, 0.3, -0.4), (1.3, 0.5, -0.4), (1.3, 0.5, 0.4), (1.3, 1.4, -1.2), (0.5, 0.5, -0.4)])
    seen = table_of(HALVES, SQUARE, 5).gaps(points, SQUARE)
    assert np.allclose(seen.gap, [-0.4, 0.5, 0.5, 1.3, -0.4])  # behind, beyond an edge twice, a corner, the diagonal
    assert np.allclose(seen.normal[[0, 4]], (0, 0, 1))
    assert np.allclose(seen.normal[1], (0.6, 0, -0.8))


def test_triangles_that_nobody_sees_close_a_border():
    surface = box((1.0, 1.0, 1.0), (1, 1, 1)).surface()
    top = (surface.points[surface.triangles][:, :, 2] > 0.5).all(axis=1)
    table = table_of(surface.triangles, surface.points, 3, groups=([0, 0, 0], np.where(top, 0, -1)))
    seen = table.gaps(np.array([(0.9, 0.5, 0.95), (1.1, 0.5, 0.7), (0.999, 0.5, -2.0)]), surface.points)
    assert np.allclose(seen.gap, [-0.05, np.hypot(0.1, 0.3), -3.0])
    assert top[seen.face].all()
