"""Batches: the bits of stepping each copy alone, its own numbers and controls, and what bad input says."""

import dataclasses
import gc
import os
import signal

import numpy as np
import pytest

import pliant as pl
from pliant.batch import Batch
from pliant.world.changed import changed
from tests.scenes import DOWN, RUBBER, bar

P = pl.parameters
EULER = pl.ImplicitEuler(dt=0.01)


def volume():
    """A finger with a cable, self-contact and a ball on a floor with friction."""
    scene = pl.Scene(gravity=DOWN)
    finger = scene.add(pl.robots.finger())
    ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.02, position=(0.08, 0, -0.0151)))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.0305), normal=(0, 0, 1)))
    scene.collide(finger, ball, friction=0.6)
    scene.collide(ball, floor, friction=0.5)
    scene.collide(finger, finger)
    world = scene.compile()
    vary = {P.Material(finger.body, "young"): [3e5, 4e5, 6e5], P.Friction(finger.body, ball): [0.2, 0.6, 0.9]}
    return world, EULER, vary, lambda k, step: {finger.cable: pl.Displacement(0.002 * (k + 1) * step)}


def rod():
    scene = pl.Scene(gravity=DOWN)
    body = scene.add(pl.Rod(0.2, 4, section=pl.sections.Circle(0.005), young=1e6, poisson=0.4, density=1e3))
    cable = scene.add(pl.Cable(body, [(x, 0.0, 0.008) for x in (0.01, 0.1, 0.19)], reach=0.02))
    vary = {P.Material(body, "young"): [5e5, 1e6, 2e6], P.Gravity(): [DOWN, (0, -9.81, 0), (0, 0, 9.81)]}
    return scene.compile(), pl.ImplicitMidpoint(dt=0.01), vary, lambda k, step: {cable: pl.Displacement(1e-3 * step)}


def reduced():
    scene = pl.Scene(gravity=DOWN)
    robot = scene.add(pl.robots.finger())
    world = scene.compile()
    fast = pl.reduction.reduce(world, pl.reduction.ramps(world, amplitude=0.01, steps=20), motion_tolerance=0.01)
    return fast, EULER, {P.Material(robot.body, "young"): [3e5, 4e5, 6e5]}, lambda k, step: {robot.cable: pl.Force(k)}


def inverse():
    scene, body = bar(cells=(6, 1, 1))
    cable = scene.add(pl.Cable(body, [(x, 0.011, 0.003) for x in (0.01, 0.05, 0.09)]))
    tip = pl.Effector(body, points=[(0.1, 0.01, 0.01)], directions=[(0, 0, 1)])
    stepper = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[tip], actuators=[cable]))
    vary = {P.Route(cable): [[(x, 0.011, 0.003 + 5e-4 * k) for x in (0.01, 0.05, 0.09)] for k in range(3)]}
    return scene.compile(), stepper, vary, lambda k, step: {tip: [(0, 0, 0.009 - 1e-3 * k)]}


KINDS = {"volume": volume, "rod": rod, "reduced": reduced, "inverse": inverse}


def assert_same(one, other):
    for a, b in zip((*one.q, *one.v, one.lam), (*other.q, *other.v, other.lam), strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.time == other.time


@pytest.mark.parametrize(("kind", "workers"), [("volume", 2), ("rod", 1), ("reduced", 1), ("inverse", 2)])
def test_bits_are_those_of_each_copy_alone(kind, workers):
    world, stepper, vary, controls = KINDS[kind]()
    count, steps = 3, 6
    with Batch(world, count, vary=vary, workers=workers) as batch:
        assert batch.workers == workers
        states, middle = batch.initial_states(), None
        for step in range(1, steps + 1):
            states, infos = stepper(batch, states, [controls(k, step) for k in range(count)])
            middle = states if step == 3 else middle
        again, _ = stepper(batch, middle, [controls(k, 4) for k in range(count)])  # older states are still there
        for k in range(count):
            alone = changed(world, {number: values[k] for number, values in vary.items()})
            state = alone.initial_state()
            for step in range(1, steps + 1):
                state, info = stepper(alone, state, controls(k, step))
                if step == 4:
                    assert_same(again[k], state)
            assert_same(states[k], state)
            np.testing.assert_array_equal(states.points(0)[k], state.points(0))
            np.testing.assert_array_equal(states.velocities(0)[k], state.velocities(0))
            assert infos[k].status is info.status
            assert infos[k].iterations == info.iterations
            assert infos[k].residual == info.residual
            handle = next(iter(world.handles))
            assert infos[k].actuation(handle) == info.actuation(handle)
            assert states.times[k] == state.time
        assert not np.array_equal(states.points(0)[0], states.points(0)[1])


def test_contacts_are_read_and_one_dictionary_is_for_all_copies():
    world, stepper, _, controls = volume()
    finger, ball = world.thing("finger"), world.thing("sphere")
    with Batch(world, 2, workers=1) as batch:
        states = batch.initial_states()
        for step in range(8):
            states, infos = batch.step(stepper, states, controls(3, step))
        np.testing.assert_array_equal(states.points(finger)[0], states.points(finger)[1])
        one, other = infos.each("contact_force", ball, world.thing("plane"))
        np.testing.assert_array_equal(one, other)
        assert one[2] > 0.0
        states, _ = stepper(world, world.initial_state(), controls(3, 1))
        assert states.points(finger).shape == batch.initial_states().points(finger)[0].shape


def test_states_are_given_and_taken_over():
    world, stepper, vary, controls = rod()
    given = [world.initial_state().with_velocities(0, 0.01 * k * np.ones((10, 3))) for k in range(3)]
    with Batch(world, 3, vary=vary, workers=1) as batch, Batch(world, 3, workers=1) as other:
        states, _ = stepper(batch, batch.states(given), controls(0, 1))
        for k in range(3):
            assert_same(states[k], stepper(batch.world_of(k), batch.world_of(k).adopt(given[k]), controls(0, 1))[0])
        with pytest.raises(pl.InputError, match="belong to another batch"):
            stepper(other, states, controls(0, 1))
        assert_same(other.states(list(states))[1], states[1])


def test_states_that_nobody_uses_are_forgotten():
    scene, body = bar(gravity=DOWN)
    batch = Batch(scene.compile(), 2, workers=1)
    states = batch.initial_states()
    for _ in range(5):
        states, infos = EULER(batch, states)
    gc.collect()
    states, infos = EULER(batch, states)
    assert len(batch._parts[0]._states) <= 3
    assert infos.errors == {}
    assert states.points(body).shape == (2, body.mesh.node_count, 3)


@pytest.mark.parametrize(("workers", "errors"), [(1, "raise"), (2, "keep")])
def test_a_copy_that_fails(workers, errors):
    scene, body = bar(material=pl.materials.StVenantKirchhoff(young=1e5, poisson=0.3, density=1e3))
    push = scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0, 0, 0)))
    static = pl.QuasiStatic()
    controls = [{push: pl.Force((0, 0, 0.001))}, {push: pl.Force((-100.0, 0, 0))}, {push: pl.Force((0, 0, 0.002))}]
    with Batch(scene.compile(), 3, workers=workers, errors=errors) as batch:
        start = batch.initial_states()
        if errors == "raise":
            with pytest.raises(pl.ConvergenceError, match="copy 1 of 3"):
                static(batch, start, controls)
            controls[1] = controls[0]
        states, infos = static(batch, start, controls)  # the batch goes on
        assert states.points(body)[2, -1, 2] > states.points(body)[0, -1, 2]
        if errors == "keep":
            assert list(infos.errors) == [1]
            assert infos[1].status is None
            np.testing.assert_array_equal(states.points(body)[1], start.points(body)[1])
            with pytest.raises(pl.InputError, match="copy 1 failed"):
                _ = infos[1].residual


def test_bad_input_is_said():
    scene, body = bar(gravity=DOWN)
    cable = scene.add(pl.Cable(body, [(0.01, 0.01, 0.003), (0.09, 0.01, 0.003)]))
    world = scene.compile()
    young = P.Material(body, "young")
    for options, message in (
        ({"count": 0}, "count"),
        ({"count": 2, "vary": {young: [1e5]}}, "needs 2 values"),
        ({"count": 2, "vary": {young: 1e5}}, "needs 2 values"),
        ({"count": 2, "vary": {"young": [1e5, 2e5]}}, "vary takes pl.parameters"),
        ({"count": 2, "vary": {P.Control(cable): [1.0, 2.0]}}, "vary takes pl.parameters"),
        ({"count": 2, "vary": {young: [1e5, -1.0]}}, "copy 1 of 2: young"),
        ({"count": 2, "vary": {young: [1e5, -1.0]}, "workers": 2}, "copy 1 of 2: young"),
        ({"count": 2, "workers": 0}, "workers"),
    ):
        with pytest.raises(pl.InputError, match=message):
            Batch(world, **options)
    batch = Batch(world, 2, workers=1)
    states = batch.initial_states()
    stranger = pl.Cable(body, [(0.01, 0.01, 0.003), (0.09, 0.01, 0.003)], name="stranger")
    for given, controls, message in (
        (world.initial_state(), None, "stepped from its states"),
        (states, [{}], "takes as many controls"),
        (states, "gravity", "dictionary for all copies"),
        (states, {stranger: pl.Force(1.0)}, "stranger"),
        (states, [{}, {cable: 1.0}], "cable"),
    ):
        with pytest.raises(pl.InputError, match=message):
            EULER(batch, given, controls)
    with pytest.raises(pl.InputError, match="takes as many states"):
        batch.states([world.initial_state()])
    assert EULER(batch, states, [{}, {cable: pl.Force(0.1)}])[1].status[0] is not None


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of Unix")
def test_a_killed_worker_is_named():
    scene, _ = bar(gravity=DOWN)
    batch = Batch(scene.compile(), 2, workers=2)
    states = batch.initial_states()
    os.kill(batch._parts[1]._process.pid, signal.SIGKILL)
    with pytest.raises(pl.PliantError, match="1 copies ended"):
        EULER(batch, states)
    batch.close()
    with pytest.raises(pl.PliantError, match="closed"):
        EULER(batch, states)


def test_what_materials_remember_belongs_to_each_copy():
    viscous = pl.materials.Viscoelastic(RUBBER, [(0.4, 0.05)])
    scene, _ = bar(material=viscous, gravity=DOWN)
    with Batch(scene.compile(), 2, workers=1) as batch:
        states = batch.initial_states()
        for _ in range(3):
            states, _ = EULER(batch, states)
        whole = states[1]
        assert whole.histories[0] is not None
        assert_same(EULER(batch, states)[0][1], EULER(batch.world, whole)[0])


def carried(state, world):
    """The state with its contact forces and memories in a world with other numbers."""
    return dataclasses.replace(state, world=world)


@pytest.mark.parametrize("workers", [1, 2])
def test_some_copies_restart_with_other_numbers(workers):
    world, stepper, vary, controls = volume()
    (young, moduli), (friction, _) = vary.items()
    with Batch(world, 3, vary={young: moduli}, workers=workers) as batch:
        first, _ = stepper(batch, batch.initial_states(), [controls(k, 1) for k in range(3)])
        start, _ = stepper(world, world.initial_state(), controls(1, 2))
        again = batch.restarted(first, {1: start}, {1: {young: 5e5, friction: 0.1}})
        assert_same(again[0], first[0])
        assert_same(again[1], start)
        after, _ = stepper(batch, again, [controls(k, 3) for k in range(3)])
        own = changed(world, {young: 5e5, friction: 0.1})
        assert_same(after[1], stepper(own, carried(start, own), controls(1, 3))[0])
        assert young.value(after[1].world) == young.value(batch.world_of(1)) == 5e5
        older, _ = stepper(batch, first, [controls(k, 3) for k in range(3)])  # it keeps its numbers
        before = changed(world, {young: moduli[1]})
        assert_same(older[1], stepper(before, carried(first[1], before), controls(1, 3))[0])
        assert young.value(older[1].world) == moduli[1]
        assert_same(batch.restarted(after, {0: start})[2], after[2])
        for starts, changes, said in (
            ({3: start}, None, "copy 3 must be one of 0 … 2"),
            ({0: start}, {1: {}}, "that has a start"),
            ({0: "there"}, None, "must be a State"),
        ):
            with pytest.raises(pl.InputError, match=said):
                batch.restarted(after, starts, changes)
