"""Scenes of one robot, and short runs of it."""

import pytest

import pliant as pl


@pytest.fixture(scope="session")
def settle():
    """`settle(robot, control, steps)` → the last state and info of a run with `control` of the ramp 0…1."""

    def run(robot, control, *, steps=60, dt=0.02, gravity=(0, 0, 0), touching=False):
        scene = pl.Scene(gravity=gravity)
        scene.add(robot)
        if touching:
            scene.collide(robot, robot, margin=robot.margin)
        world = scene.compile()
        state, step = world.initial_state(), pl.ImplicitEuler(dt=dt)
        for number in range(steps):
            state, info = step(world, state, control(min(1.0, 1.5 * (number + 1) / steps)))
        return state, info

    return run
