"""Bodies that touch a floor but not each other: each finds its forces as if it were alone."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import pliant as pl


def cubes(count):
    """Soft cubes side by side on a floor with friction, pushed along it by gravity."""
    scene = pl.Scene(gravity=(4.0, 0.0, -9.81))
    floor = scene.add(pl.Obstacle.plane())
    rubber = pl.materials.Corotated(young=5e5, poisson=0.4, density=1000.0)
    for k in range(count):
        mesh = pl.mesh.box((0.03, 0.03, 0.03), (2, 2, 2)).translated((0.0, 0.05 * k, 0.0))
        scene.collide(scene.add(pl.Volume(mesh, rubber)), floor, friction=0.2 + 0.1 * k)
    return scene.compile()


def test_bodies_apart_move_as_alone():
    step = pl.ImplicitEuler(dt=0.01)
    together, one = cubes(5), cubes(1)
    states, alone = together.initial_state(), one.initial_state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the budget of the solver is met by every island
        for _ in range(10):
            states, info = step(together, states)
            alone, _ = step(one, alone)
    assert np.allclose(states.q[0], alone.q[0], rtol=0.0, atol=1e-9)
    assert info.constraint_residual < 1e-7
    slid = [np.mean(states.q[k][:, 0]) - np.mean(together.initial_state().q[k][:, 0]) for k in range(5)]
    assert all(a > b for a, b in pairwise(slid[:3]))  # less with more friction


def test_a_drive_that_contacts_block_is_named_in_its_island():
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    stiff = pl.materials.Corotated(young=2e9, poisson=0.3, density=1000.0)
    floor, cables = scene.add(pl.Obstacle.plane()), []
    for k in range(2):
        x = 0.1 * k
        block = scene.add(pl.Volume(pl.mesh.box((0.02, 0.02, 0.02), (1, 1, 2)).translated((x, 0, 0)), stiff))
        path, pull = [(x + 0.01, 0.01, 0.019)], (x + 0.01, 0.01, -0.05)
        cables.append(scene.add(pl.Cable(block, path, pull_point=pull, name=f"cable {k}")))
        scene.collide(block, floor, friction=0.5)
    world, step = scene.compile(), pl.ImplicitEuler(dt=0.01)
    state = world.initial_state()
    for _ in range(3):
        state, _ = step(world, state)
    with pytest.warns(pl.errors.PliantWarning, match="^'cable 1' cannot follow the command"):
        _, info = step(world, state, {cables[1]: pl.Displacement(0.005)})
    assert not info.constraint_status.ok
