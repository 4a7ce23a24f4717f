"""The finger's own collision model: points on one flank of every notch, triangles on the other."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints.facing import FacingPair


def curled(robot, pull, *, collide=False, steps=60):
    scene = pl.Scene()
    scene.add(robot)
    if collide:
        scene.collide(robot, robot)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(0.02)
    for number in range(steps):
        state, info = step(world, state, {robot.cable: pl.Displacement(pull * min(1.0, 1.3 * number / steps))})
    return state, info


def test_the_published_model_has_495_points_that_see_across_the_notch():
    robot = pl.robots.finger(contact_points=495)
    scene = pl.Scene()
    scene.add(robot)
    world = scene.compile()
    constraint = next(constraint for constraint in world.constraints if isinstance(constraint, FacingPair))
    q = world.initial_state().q[0]
    seen = constraint.table.gaps(constraint.a.map.points(q), constraint.b.map.points(q))
    assert constraint.count == 495
    opening, depth = 0.005, 0.010
    # the near flank rises by half the opening over the depth; a point a share s down stands s × opening away along x
    share = 1.0 - np.asarray(robot.facings[0].points)[:, 2] / depth
    across = opening * share * np.cos(np.arctan(0.5 * opening / depth))
    inner = np.abs(np.asarray(robot.facings[0].points)[:, 1]) < 0.007
    plane = inner & (share * (1.0 - 2.0 * (0.5 * opening / depth) ** 2) > 0.12)
    assert np.allclose(seen.gap[plane], across[plane], rtol=1e-6)
    assert seen.gap.min() > constraint.margin


def test_it_curls_as_with_the_contacts_of_its_surface():
    own = pl.robots.finger(contact_points=3 * 4 * 5)
    plain = pl.robots.finger()
    with_points, info = curled(own, 0.03)
    with_surface, _ = curled(plain, 0.03, collide=True)
    free, _ = curled(plain, 0.03)
    apart = np.linalg.norm(own.tip.at(with_points) - plain.tip.at(with_surface))
    assert apart < 0.35 * np.linalg.norm(plain.tip.at(free) - plain.tip.at(with_surface))
    assert info.penetration < 1e-6
    assert info.contacts(own.facings[0]).forces[:, 0].max() > 0.05


def test_fingers_of_a_gripper_take_it_along():
    grip = pl.robots.gripper(contact_points=60)
    scene = pl.Scene()
    scene.add(grip)
    world = scene.compile()
    assert sum(isinstance(constraint, FacingPair) and constraint.count == 60 for constraint in world.constraints) == 3


@pytest.mark.parametrize("count", [7, 100, 3 * 13])
def test_other_numbers_are_refused(count):
    with pytest.raises(pl.InputError, match="contact_points must be a grid in each of the 3 notches"):
        pl.robots.finger(contact_points=count)
