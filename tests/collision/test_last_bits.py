"""Rounding chooses no contact: steps from positions that differ in their last bits end at positions that hardly differ.

Bodies of symmetric meshes have vertices below an edge that two facets of other planes share, at equal distances.
"""

import numpy as np
import pytest

import pliant as pl
from pliant.core.immutable import evolve

STEPS, STEPPER = 5, pl.ImplicitEuler(dt=0.01)


def tower():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.tower())
    scene.collide(robot, robot)
    return scene.compile(), lambda t: {robot.cavities[0]: pl.Pressure(2e3 * t)}


def gripper():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.gripper())
    robot.collide(scene)
    return scene.compile(), lambda t: {cable: pl.Displacement(0.01 * t) for cable in robot.cables}


@pytest.mark.parametrize("make", [tower, gripper])
def test_rounding_of_positions_chooses_no_contact(make):
    world, controls = make()
    ends = []
    for size in (0.0, 1e-15):  # m
        rng, state = np.random.default_rng(0), world.initial_state()
        for k in range(STEPS):
            q = list(state.q)
            for index, model in enumerate(world.models):
                if model in world.volumes:
                    q[index] = q[index] + np.where(model.constrained, 0.0, size * rng.standard_normal(q[index].shape))
            state, info = STEPPER(world, evolve(state, q=tuple(q)), controls((k + 1) / STEPS))
        ends.append(np.concatenate([q.ravel() for q in state.q]))
    assert len(info.lam) > 60
    assert np.abs(ends[1] - ends[0]).max() < 1e-11  # m; 5e-6 where rounding chose between planes
