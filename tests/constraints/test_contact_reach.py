"""How far apart contact pairs find their contacts: margins, widened to what the sides can approach in a step."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView
from pliant.constraints.contact import APPROACH

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
