"""How far apart contact pairs find their contacts: margins, widened to what the sides can approach in a step."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.constraints.contact import APPROACH
from pliant.core.lie import rotation_exp

MESH = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))
RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)


def view_of(world, q, **options):
    return RowView.of(world.models, q, **{"time": 0.01, "dt": 0.01, **options})


def ball_above(height, *, floor, margin=1e-3, rising=0.0):
    """A ball of radius 2 cm, `height` (m) above an obstacle that rises at `rising` m/s, a rigid box or a volume."""
    ball = pl.RigidBody.sphere(radius=0.02, mass=0.1, position=(0.02, 0.02, 0.02 + height), name="ball")
    floors = {
        "plane": lambda: pl.Obstacle.plane(motion=(lambda t: ((0, 0, rising * t), (0, 0, 0))) if rising else None),
        "box": lambda: pl.RigidBody.box(size=(0.2, 0.2, 0.02), mass=1.0, position=(0.0, 0.0, -0.01)),
        "volume": lambda: pl.Volume(MESH.translated((0.0, 0.0, -0.04)), RUBBER),
    }
    scene = pl.Scene()
    scene.collide(scene.add(ball), scene.add(floors[floor]()), margin=margin)
    world = scene.compile()
    return world, world.constraints[0], list(world.initial_state().q)


@pytest.mark.parametrize("floor", ["plane", "box", "volume"])
@pytest.mark.parametrize(("speed", "of_floor", "gravity"), [(2.0, 0.0, 0.0), (0.0, 2.0, 0.0), (1.5, 0.5, 9.81)])
def test_contacts_are_found_as_far_ahead_as_the_sides_can_come_together(floor, speed, of_floor, gravity):
    """Beyond its margin a pair looks 1.2 h (|v| + h g) ahead, whoever moves; a quasi-static one does not."""
    h = 0.01
    reach = APPROACH * h * (speed + of_floor + h * gravity)
    for height, expected in ((0.999 * reach, True), (1.001 * reach, False)):
        world, constraint, q = ball_above(height, floor=floor, rising=of_floor)
        speeds = [np.zeros_like(model.initial()[1]) for model in world.models]
        for model, v in zip(world.models, speeds, strict=True):
            falls = model.handle.name == "ball"
            v[: 1 if isinstance(model.spec, pl.RigidBody) else len(v), 2] = -speed if falls else of_floor
        options = {"speeds": speeds, "gravity": gravity, "dt": h, "time": 0.0}
        assert bool(constraint.rows_at(view_of(world, q, **options))[0].count) == expected
        assert not constraint.rows_at(view_of(world, q, **options | {"dt": 0.0}))[0].count


@pytest.mark.parametrize("floor", ["plane", "box", "volume"])
def test_at_rest_contacts_are_found_within_the_margin(floor):
    for height, expected in ((0.999e-3, True), (1.001e-3, False)):
        world, constraint, q = ball_above(height, floor=floor, margin=1e-3)
        for dt in (0.0, 0.01):
            assert bool(constraint.rows_at(view_of(world, q, dt=dt))[0].count) == expected


@pytest.mark.parametrize("floor", ["plane", "box", "volume"])
def test_a_quasi_static_solve_looks_beyond_the_margin_as_far_as_it_says(floor):
    for height, expected in ((0.0049, True), (0.0051, False)):
        world, constraint, q = ball_above(height, floor=floor, margin=1e-3)
        assert bool(constraint.rows_at(view_of(world, q, dt=0.0, approach=0.005))[0].count) == expected


TURN, SHIFT = (0.2, -0.3, 0.5), (0.004, -0.003, 0.002)
SOLIDS = {
    "plane": lambda **o: pl.Obstacle.plane(point=(0, 0, -0.001), normal=(0.1, -0.2, 1.0), **o),
    "sphere": lambda **o: pl.Obstacle.sphere(center=(0.02, 0.015, -0.021), radius=0.02, **o),
    "box": lambda **o: pl.Obstacle.box(
        center=(0.021, 0.019, -0.0213), size=(0.05, 0.023, 0.04), rotation=(0.05, 0.03, 0.2), **o
    ),
    "capsule": lambda **o: pl.Obstacle.capsule(start=(-0.01, 0.01, -0.01), end=(0.05, 0.03, -0.011), radius=0.01, **o),
    "cylinder": lambda **o: pl.Obstacle.cylinder(start=(-0.01, 0, -0.01), end=(0.05, 0.03, -0.011), radius=0.01, **o),
}


@pytest.mark.parametrize("solid", SOLIDS)
@pytest.mark.parametrize("soft", [True, False])
def test_an_obstacle_that_has_moved_meets_a_body_that_has_moved_as_well_as_before(solid, soft):
    """One rigid motion of both: the same contacts and gaps, with points and normals turned along; gaps are those
    between the points along the normals.
    """
    rotation = rotation_exp(np.array(TURN))
    found = []
    for motion in (None, lambda t: (SHIFT, TURN)):
        scene = pl.Scene()
        body = pl.Volume(MESH, RUBBER) if soft else pl.RigidBody.box(size=(0.04,) * 3, mass=0.1, position=(0.02,) * 3)
        scene.collide(scene.add(body), scene.add(SOLIDS[solid](motion=motion)), margin=0.01, allow_overlap=True)
        world = scene.compile()
        q = world.initial_state().q[0]
        if motion is not None:
            q = np.vstack([rotation @ q[0] + SHIFT, rotation @ q[1:]]) if not soft else q @ rotation.T + SHIFT
        found.append(world.constraints[0].contact_set(RowView.of(world.models, [q]), None))
    still, moved = found
    assert moved.count == still.count > 0
    np.testing.assert_array_equal(moved.key, still.key)
    np.testing.assert_allclose(moved.gap, still.gap, atol=1e-9)
    np.testing.assert_allclose(moved.normal, still.normal @ rotation.T, atol=1e-6)
    for side in ("point_a", "point_b"):
        np.testing.assert_allclose(getattr(moved, side), getattr(still, side) @ rotation.T + SHIFT, atol=1e-6)
    for each in found:
        between = np.einsum("mi,mi->m", each.normal, each.point_a - each.point_b)
        np.testing.assert_allclose(between, each.gap, atol=1e-9)
