"""Signed distance to closed meshes, against shapes whose distance is known."""

import numpy as np
import pytest

from pliant.collision import Box, MeshObstacle
from pliant.core.errors import MeshError


@pytest.fixture(scope="module")
def queries():
    return np.random.default_rng(0).uniform(-0.7, 1.9, size=(2000, 3))


@pytest.mark.parametrize("cells", [(1, 1, 1), (3, 2, 4)])
def test_box(shapes, queries, cells):
    size = np.array([1.0, 0.8, 1.2])
    points, triangles = shapes.box(size, cells)
    found, known = MeshObstacle(points, triangles).distance(queries), Box(size / 2, size).distance(queries)
    np.testing.assert_allclose(found.gap, known.gap, atol=1e-12)
    clear = np.abs(known.gap) > 1e-6
    ridge = known.gap < 0  # inside, two walls may be as near: then both normals are right
    np.testing.assert_allclose(found.normal[clear & ~ridge], known.normal[clear & ~ridge], atol=1e-9)
    assert (np.abs(found.normal[ridge] - known.normal[ridge]).max(axis=1) < 1e-9).mean() > 0.99


def test_sign_by_the_winding_number(shapes, queries):
    """A star-like, strongly concave closed mesh: the side must agree with the solid angle of all triangles."""
    points, triangles = shapes.sphere(2)
    points = points * (0.7 + 0.5 * np.cos(5 * np.arctan2(points[:, 1], points[:, 0])) ** 2)[:, None]
    gap = MeshObstacle(points, triangles).distance(queries).gap
    a, b, c = (points[triangles[:, k]][None] - queries[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    top = np.einsum("qti,qti->qt", a, np.cross(b, c))
    dots = [np.einsum("qti,qti->qt", u, v) for u, v in ((a, b), (b, c), (c, a))]
    angle = 2 * np.arctan2(top, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb)
    np.testing.assert_array_equal(gap < 0, angle.sum(axis=1) > 2 * np.pi)
    assert 50 < (gap < 0).sum() < 1500


def test_normal_is_the_gradient(shapes, queries):
    points, triangles = shapes.sphere(2)
    mesh = MeshObstacle(points * [1.0, 0.6, 1.3], triangles)
    _, normal, foot = mesh.distance(queries)
    h = 1e-7
    gradient = np.stack(
        [(mesh.distance(queries + s).gap - mesh.distance(queries - s).gap) / (2 * h) for s in h * np.eye(3)], 1
    )
    smooth = np.abs(np.linalg.norm(gradient, axis=1) - 1) < 1e-5
    assert smooth.mean() > 0.99
    np.testing.assert_allclose(normal[smooth], gradient[smooth], atol=1e-4)
    np.testing.assert_allclose(mesh.distance(foot).gap, 0.0, atol=1e-12)


def test_points_on_the_mesh_have_unit_normals(shapes):
    points, triangles = shapes.box(cells=(2, 2, 2))
    on_it = np.concatenate([points, points[triangles].mean(axis=1), points[triangles[:, :2]].mean(axis=1)])
    gap, normal, _ = MeshObstacle(points, triangles).distance(on_it)
    np.testing.assert_allclose(gap, 0.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    corner = np.flatnonzero((on_it == 1.0).all(axis=1))
    np.testing.assert_allclose(normal[corner], np.full((1, 3), 3**-0.5), atol=1e-12)


def test_an_inside_out_mesh_is_turned(shapes):
    points, triangles = shapes.box()
    inside = np.array([[0.5, 0.5, 0.9]])
    assert MeshObstacle(points, triangles[:, ::-1]).distance(inside).gap[0] == pytest.approx(-0.1)


def test_open_and_badly_oriented_meshes_are_errors(shapes):
    points, triangles = shapes.box()
    with pytest.raises(MeshError, match="open"):
        MeshObstacle(points, triangles[1:])
    wrong = triangles.copy()
    wrong[0] = wrong[0, ::-1]
    with pytest.raises(MeshError, match="opposite orientations"):
        MeshObstacle(points, wrong)
