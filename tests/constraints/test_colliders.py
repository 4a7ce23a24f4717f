"""Colliders: what of a body or obstacle can touch, and how rows reach its unknowns."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.constraints.colliders import Collider

MESH = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))
RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)


@pytest.fixture(scope="module")
def world():
    scene = pl.Scene()
    scene.add(pl.Volume(MESH, RUBBER))
    scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.1, position=(1, 0, 0)))
    scene.add(pl.RigidBody.box(size=(0.02, 0.04, 0.06), mass=0.1, position=(2, 0, 0), rotation=(0.0, 0.0, 0.5)))
    return scene.compile()


def view_of(world, **options):
    return RowView.of(world.models, list(world.initial_state().q), **options)


def test_a_volume_touches_with_its_surface(world):
    side = Collider.of(world.models[0].spec, world.models)
    assert side.index == 0
    assert len(side.nodes) == 26  # all but the centre node
    assert side.radius == 0.0
    assert side.surface is not None
    assert side.name == "volume"


def test_an_excluded_region_loses_its_triangles(world):
    top = pl.regions.plane(axis="z", at=0.04)
    side = Collider.of(world.models[0].spec, world.models, exclude=top)
    assert (MESH.points[side.nodes][:, 2] < 0.04).all()
    assert len(side.nodes) == 17


def test_a_ball_touches_with_its_centre_and_radius(world):
    side = Collider.of(world.models[1].spec, world.models)
    assert side.index == 1
    assert len(side.nodes) == 1
    assert side.radius == 0.02
    assert side.surface is None


def test_a_box_touches_with_its_corners(world):
    side = Collider.of(world.models[2].spec, world.models)
    assert side.index == 2
    assert len(side.nodes) == 8
    assert side.surface is not None


def test_obstacles_have_no_unknowns(world):
    side = Collider.of(pl.Obstacle.plane(name="floor"), world.models)
    assert side.index is None
    assert len(side.nodes) == 0
    assert side.surface is None
    assert side.name == "floor"


def test_an_obstacle_stands_where_it_is_at_the_end_of_the_step(world):
    moving = pl.Obstacle.plane(motion=lambda t: ((t, 0, 0), (0, 0, 0)))
    side = Collider.of(moving, world.models)
    np.testing.assert_allclose(side.q(view_of(world, time=0.3, dt=0.1))[0], [0.3, 0, 0])


def test_drift_is_the_motion_of_material_points_in_the_step(world):
    def motion(t):
        return (t, 0.0, 0.0), (0.0, 0.0, 0.5 * t)

    side = Collider.of(pl.Obstacle.plane(motion=motion), world.models)
    view = view_of(world, time=0.3, dt=0.1)
    local = np.random.default_rng(0).normal(size=(5, 3))

    def at(t):
        pose = pl.Obstacle.plane(motion=motion).pose(t)
        return pose[0] + local @ pose[1:].T

    np.testing.assert_allclose(side.drift(view, at(0.3)), at(0.3) - at(0.2), atol=1e-14)
    fixed = Collider.of(pl.Obstacle.plane(), world.models)
    np.testing.assert_array_equal(fixed.drift(view, local), 0.0)


def test_pull_at_world_points_is_the_wrench_about_the_centre(world):
    side = Collider.of(world.models[2].spec, world.models)
    points = np.random.default_rng(0).normal(size=(4, 3))
    force = np.random.default_rng(1).normal(size=(4, 3))
    wrench = side.pull_at(view_of(world), points, np.broadcast_to(np.eye(3), (4, 3, 3))).T @ force.ravel()
    np.testing.assert_allclose(wrench[:3], force.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(wrench[3:], np.cross(points - (2, 0, 0), force).sum(axis=0), atol=1e-12)
