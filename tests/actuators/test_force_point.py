"""Force points: the same as a dead load at the node, displacement control, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import PliantError

MESH = pl.mesh.box((0.1, 0.02, 0.02), (6, 2, 2))
RUBBER = pl.materials.Corotated(young=1e6, poisson=0.3, density=1e3)
END = (0.1, 0.01, 0.01)


def pushed(**options):
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    push = scene.add(pl.ForcePoint(body, END, direction=(0, 3, -4), **options))
    return scene.compile(), body, push


def test_it_is_a_point_load_along_its_direction():
    world, body, push = pushed()
    state, info = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state(), {push: pl.Force(0.5)})
    scene = pl.Scene()
    other = scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    scene.add(pl.PointLoad(other, pl.regions.sphere(END, 1e-6), (0.0, 0.3, -0.4)))
    loaded = scene.compile()
    expected, _ = pl.QuasiStatic(tolerance=1e-10)(loaded, loaded.initial_state())
    np.testing.assert_allclose(state.points(body), expected.points(other), atol=1e-9)
    node = int(np.argmin(np.linalg.norm(MESH.points - END, axis=1)))
    assert info.actuation(push)[0] == pytest.approx(state.displacements(body)[node] @ [0, 0.6, -0.8], rel=1e-6)


def test_pushed_to_a_place_it_reports_the_force():
    """Displacement control meets force control, and stops at the largest force."""
    world, _, push = pushed(max_force=0.5)
    stepper = pl.QuasiStatic(tolerance=1e-10)
    _, info = stepper(world, world.initial_state(), {push: pl.Force(0.3)})
    _, back = stepper(world, world.initial_state(), {push: pl.Displacement(info.actuation(push)[0])})
    assert back.actuation(push)[1] == pytest.approx(0.3, rel=1e-6)
    _, most = stepper(world, world.initial_state(), {push: pl.Displacement(0.05)})
    assert most.actuation(push)[1] == pytest.approx(0.5)


def test_it_pushes_rigid_bodies():
    scene = pl.Scene()
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.2, position=(1, 0, 0)))
    push = scene.add(pl.ForcePoint(ball, (0, 0, 0.01), direction=(1, 0, 0)))
    world = scene.compile()
    state, _ = pl.ImplicitEuler(dt=0.01)(world, world.initial_state(), {push: pl.Force(0.2)})
    np.testing.assert_allclose(state.v[0][0], [0.01, 0, 0], atol=1e-12)
    assert state.v[0][1][1] > 0.0  # off the centre it turns the ball


def test_what_is_refused():
    with pytest.raises(PliantError, match="direction of 'force' must not be zero"):
        pl.ForcePoint(None, END, direction=(0, 0, 0))
    with pytest.raises(PliantError, match="max_force of 'force'"):
        pushed(min_force=1.0, max_force=0.0)
    world, _, push = pushed()
    with pytest.raises(PliantError, match=r"pl\.Displacement"):
        pl.QuasiStatic()(world, world.initial_state(), {push: pl.Pressure(1.0)})
