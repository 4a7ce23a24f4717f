"""The recorder keeps numbers: no reports of steps, no matrices, no states; it hands them over where a step fails."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import pliant as pl
from pliant.record import Recorder


@pytest.fixture(scope="module")
def grasp():
    """A finger bent by its cable until it touches a ball."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.02, position=(0.06, 0, -0.02), name="ball"))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.036), name="floor"))
    scene.collide(finger, ball, friction=0.6)
    scene.collide(ball, floor, friction=0.6)
    return scene.compile(), finger, ball


def stepped(world, finger, count):
    """(state, info, controls) of each of `count` steps."""
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for k in range(count):
        controls = {finger.cable: pl.Displacement(0.0005 * k)}
        state, info = step(world, state, controls)
        yield state, info, controls


def test_nothing_of_a_step_outlives_the_next(grasp):
    world, finger, _ = grasp
    recorder = Recorder(world, world.initial_state())
    past = []
    for state, info, controls in stepped(world, finger, 6):
        recorder.add(state, info, controls)
        past += [weakref.ref(info), weakref.ref(state)]
    del state, info
    gc.collect()
    assert [alive() for alive in past] == [None] * len(past)
    assert len(recorder.run().times) == 7


def test_memory_grows_by_what_is_recorded(grasp):
    world, finger, _ = grasp
    recorder, grown = Recorder(world, world.initial_state()), []
    numbers = sum(x.nbytes for x in (*world.initial_state().q, *world.initial_state().v))
    tracemalloc.start()
    try:
        for k, (state, info, controls) in enumerate(stepped(world, finger, 50)):
            recorder.add(state, info, controls)
            if k in (19, 49):
                gc.collect()
                grown.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    a_step = (grown[1] - grown[0]) / 30
    assert a_step < 2.0 * numbers, f"a step takes {a_step:.0f} bytes, its numbers {numbers}"


def test_numbers_are_those_of_the_steps(grasp):
    world, finger, ball = grasp
    recorder, steps = Recorder(world, world.initial_state()), list(stepped(world, finger, 25))
    for state, info, controls in steps:
        recorder.add(state, info, controls)
    run = recorder.run()
    infos = [info for _, info, _ in steps]
    np.testing.assert_array_equal(run.iterations, [info.iterations for info in infos])
    np.testing.assert_array_equal(run.linear_residual, [info.linear_residual for info in infos])
    displacement, force = run.actuation(finger.cable)
    assert (displacement[0], force[0]) == (0.0, 0.0)
    np.testing.assert_array_equal(np.stack([displacement, force], 1)[1:], [i.actuation(finger.cable) for i in infos])
    np.testing.assert_array_equal(run.contact_force(finger, ball)[1:], [i.contact_force(finger, ball) for i in infos])
    assert np.abs(run.contact_force(ball, "floor")).max() > 0.0
    assert [c[finger.cable].value for c in run.controls] == [c[finger.cable].value for _, _, c in steps]


def test_a_simulation_that_fails_hands_over_what_it_recorded(grasp):
    world, finger, _ = grasp

    def control(t, state):
        return {finger.cable: pl.Displacement(0.0 if t < 0.035 else np.nan)}

    with pytest.raises(pl.InputError) as caught:
        pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.1, control=control)
    run = caught.value.run
    np.testing.assert_allclose(run.times, [0.0, 0.01, 0.02, 0.03])
    assert "3 of 10 steps" in caught.value.__notes__[0]
    assert pl.InputError("elsewhere").run is None


@pytest.mark.parametrize("where", ["control", "callback"])
def test_errors_of_the_functions_of_a_run_name_the_step(grasp, where):
    """They keep their kind, so that they can be caught; the run up to them is not lost."""
    world, finger, _ = grasp

    def fails(*given):
        time = given[0].time if where == "callback" else given[0]
        if time > 0.025:
            raise ZeroDivisionError("a mistake of the user")
        return {finger.cable: pl.Displacement(0.0)}

    with pytest.raises(ZeroDivisionError, match="a mistake of the user") as caught:
        pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.05, **{where: fails})
    done = 3 if where == "callback" else 2
    assert caught.value.__notes__ == [
        f"in step 3 of the simulation, which ends at 0.03 s; `error.run` holds the run so far, {done} of 5 steps"
    ]
    assert len(caught.value.run.times) == 1 + done
