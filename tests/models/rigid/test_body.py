"""Rigid bodies and obstacles as a person writes them: mass properties, poses, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import PliantError
from pliant.core.lie import rotation_exp
from pliant.models.rigid.inertia import box_triangles, solid_moments


def test_inertia_of_box_and_sphere():
    a, b, c, m = 0.1, 0.2, 0.3, 1.2
    box = pl.RigidBody.box(size=(a, b, c), mass=m)
    np.testing.assert_allclose(box.inertia, m / 12 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2]))
    ball = pl.RigidBody.sphere(radius=a, mass=m)
    np.testing.assert_allclose(ball.inertia, 0.4 * m * a**2 * np.eye(3))


def test_moments_of_a_box_surface_are_those_of_the_box():
    """Exact, wherever the box stands and however it is turned."""
    size, turn, shift = np.array([0.1, 0.2, 0.3]), rotation_exp(np.array([0.3, 0.5, -0.8])), np.array([1.0, -2.0, 0.5])
    corners, triangles = box_triangles(size)
    volume, centroid, inertia = solid_moments(corners @ turn.T + shift, triangles)
    assert volume == pytest.approx(size.prod())
    np.testing.assert_allclose(centroid, shift, atol=1e-12)
    squares = size**2
    expected = turn @ np.diag(size.prod() / 12 * (squares.sum() - squares)) @ turn.T
    np.testing.assert_allclose(inertia, expected, atol=1e-12)


def test_a_mesh_body_stands_at_its_centre_of_mass():
    """Inertia of the solid inside: exact for a box, within 3 % for a faceted ball."""
    surface = pl.mesh.box((0.1, 0.2, 0.3), (2, 2, 2)).surface()
    body = pl.RigidBody.mesh(surface, mass=1.2)
    np.testing.assert_allclose(body.inertia, pl.RigidBody.box(size=(0.1, 0.2, 0.3), mass=1.2).inertia, atol=1e-14)
    np.testing.assert_allclose(body.shape.points.min(axis=0), [-0.05, -0.1, -0.15], atol=1e-14)
    ball = pl.mesh.shell(0.001, 0.1, cells=(1, 6)).surface().components()[0]
    made, exact = pl.RigidBody.mesh(ball, mass=1.0).inertia, 0.4 * 0.1**2
    np.testing.assert_allclose(made, exact * np.eye(3), atol=0.03 * exact)


def test_pose_at_the_start():
    body = pl.RigidBody.box(size=(0.1, 0.1, 0.1), mass=1.0, position=(1, 2, 3), rotation=(0, 0, np.pi / 2))
    np.testing.assert_allclose(body.pose(), [[1, 2, 3], [0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_box_triangles_face_outward():
    corners, triangles = box_triangles(np.array([0.1, 0.2, 0.3]))
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    outward = np.einsum("ti,ti->t", np.cross(b - a, c - a), a + b + c)
    assert (outward > 0.0).all()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: pl.RigidBody.sphere(radius=-1.0, mass=1.0), "radius"),
        (lambda: pl.RigidBody.sphere(radius=0.1, mass=0.0), "mass of 'sphere'"),
        (lambda: pl.RigidBody.box(size=(0.1, 0.1), mass=1.0), "size of a box"),
        (lambda: pl.RigidBody.box(size=(0.1, 0.1, -0.1), mass=1.0), "size"),
        (lambda: pl.RigidBody.box(size=(0.1, 0.1, 0.1), mass=np.nan), "mass of 'box'"),
        (lambda: pl.RigidBody.sphere(radius=0.1, mass=1.0, position=(0, 0)), "position of 'sphere'"),
        (lambda: pl.RigidBody.sphere(radius=0.1, mass=1.0, spin=(0, 0, np.inf)), "spin of 'sphere'"),
        (lambda: pl.RigidBody.mesh(pl.mesh.box((1, 1, 1), (1, 1, 1)).surface().flipped(), mass=1.0), "flip"),
        (lambda: pl.Obstacle.plane(normal=(0, 0, 0)), "normal"),
        (lambda: pl.Obstacle.sphere(center=(0, 0, 0), radius=0.0), "radius"),
        (lambda: pl.Obstacle.capsule(start=(0, 0, 0), end=(0, 0, 0), radius=0.1), "start and end"),
        (lambda: pl.Obstacle.cylinder(start=(0, 0, 0), end=(0, 0, 1), radius=-0.1), "radius"),
        (lambda: pl.Obstacle.pipe(start=(0, 0, 0), end=(0, 0, 1), radius=0.1, thickness=0.0), "thickness"),
        (lambda: pl.Obstacle.box(center=(0, 0, 0), size=(1, 1, 0)), "size"),
    ],
)
def test_bad_input_names_what_is_wrong(make, text):
    with pytest.raises(PliantError, match=text):
        make()


def test_an_open_surface_is_no_solid():
    surface = pl.mesh.box((1, 1, 1), (1, 1, 1)).surface()
    opened = surface.selected(np.arange(1, len(surface.facets)))
    with pytest.raises(PliantError, match="open at 3 of its edges"):
        pl.RigidBody.mesh(opened, mass=1.0)


def test_moving_obstacles_report_their_pose():
    fixed = pl.Obstacle.plane()
    np.testing.assert_array_equal(fixed.pose(3.0), np.vstack([np.zeros(3), np.eye(3)]))
    moving = pl.Obstacle.sphere(center=(0, 0, 0), radius=0.1, motion=lambda t: ((t, 0, 0), (0, 0, t)))
    np.testing.assert_allclose(moving.pose(0.5)[0], [0.5, 0, 0])
    np.testing.assert_allclose(moving.pose(0.5)[1:], rotation_exp(np.array([0, 0, 0.5])))
    broken = pl.Obstacle.plane(motion=lambda t: ((t, 0), (0, 0, 0)), name="wall")
    with pytest.raises(PliantError, match="'wall'"):
        broken.pose(1.0)
