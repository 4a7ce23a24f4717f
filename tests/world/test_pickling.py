"""Pickled worlds and states, as processes of multiprocessing get them: the same bits, and as immutable."""

import copy
import pickle

import numpy as np
import pytest

import pliant as pl
from scenes import chamber_world, hollow_box, swinging_bar


def bar():
    scene, body, cable = swinging_bar()
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=(0.05, 0.01, 0.031)))
    scene.collide(body, ball, friction=0.3)
    return scene.compile(), cable, pl.Displacement(0.002)


def chamber():
    world, _, cavity = chamber_world(plate=pl.Obstacle.plane(point=(0, 0, 0.0215), normal=(0, 0, -1)), friction=0.2)
    return world, cavity, pl.Pressure(500.0)


def steps(world, stepper, handle, value, state=None, count=4):
    state = world.initial_state() if state is None else state
    for _ in range(count):
        state, _ = stepper(world, state, {handle: value})
    return state


def same(a, b):
    return all(np.array_equal(p, q) for p, q in zip((*a.q, *a.v, a.lam), (*b.q, *b.v, b.lam), strict=True))


@pytest.mark.parametrize("make", [bar, chamber])
@pytest.mark.parametrize("copied", [lambda thing: pickle.loads(pickle.dumps(thing)), copy.deepcopy])
def test_a_copied_world_steps_with_the_same_bits(make, copied):
    world, handle, value = make()
    stepper = pl.ImplicitEuler(0.01)
    state = steps(world, stepper, handle, value)
    there, own, began, other = copied((world, handle, state, stepper))
    assert began.world is there, "what is pickled together belongs together"
    assert there.fingerprint == world.fingerprint
    assert same(steps(world, stepper, handle, value, state), steps(there, other, own, value, began))


@pytest.mark.parametrize("make", [bar, chamber])
def test_a_state_alone_brings_its_world(make):
    world, handle, value = make()
    stepper = pl.ImplicitEuler(0.01)
    state = steps(world, stepper, handle, value)
    back = pickle.loads(pickle.dumps(state))
    assert same(stepper(world, state)[0], stepper(back.world, back)[0])
    assert same(stepper(world, state)[0], stepper(world, back)[0]), "the worlds are equal: it belongs to both"
    scene = pl.Scene()
    scene.add(hollow_box())
    with pytest.raises(pl.InputError, match="belongs to another world"):
        stepper(scene.compile(), back)


def test_copies_are_as_immutable_as_the_originals():
    world, handle, value = bar()
    state = steps(world, pl.ImplicitEuler(0.01), handle, value)
    back = pickle.loads(pickle.dumps(state))
    for array in (*back.q, *back.v, back.lam, back.world.models[0].mesh.points, back.world.models[0].mesh.cells):
        assert not array.flags.writeable
    mesh = pickle.loads(pickle.dumps(pl.mesh.box((1, 1, 1), (1, 1, 1))))
    assert not mesh.points.flags.writeable
