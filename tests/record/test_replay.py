"""Replays from any first state, of runs in memory and in files: bit for bit, with multipliers and memories."""

import numpy as np
import pytest

import pliant as pl
from pliant.record import Recorder


def assert_replays(run, tmp_path):
    """`run` and its file give the same bits again."""
    loaded = pl.load(run.save(tmp_path / "run.npz"))
    for again in (run.replay(), loaded.replay()):
        for name in ("positions", "motions"):
            for first, second in zip(getattr(run, name), getattr(again, name), strict=True):
                np.testing.assert_array_equal(first, second)
        for first, second in zip(run.forces, again.forces, strict=True):
            np.testing.assert_array_equal(first.values, second.values)
    return loaded


def test_a_run_from_a_state_in_contact(tmp_path):
    """Forces of the last step stiffen cables and warm-start the next: without them the bits differ."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    ball = scene.add(pl.RigidBody.sphere(radius=0.015, mass=0.02, position=(0.06, 0, -0.02), name="ball"))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.036), name="floor"))
    scene.collide(finger, ball, friction=0.6)
    scene.collide(ball, floor, friction=0.6)
    world, step = scene.compile(), pl.ImplicitEuler(dt=0.01)
    state = world.initial_state()
    for k in range(15):
        state, _ = step(world, state, {finger.cable: pl.Displacement(0.0005 * k)})
    run = pl.simulate(
        world, step, until=0.25, start=state, control=lambda t, _: {finger.cable: pl.Displacement(0.05 * t)}
    )
    assert run.start.keys is not None
    loaded = assert_replays(run, tmp_path)
    np.testing.assert_array_equal(loaded.start.lam, state.lam)


def test_a_cut_cable_stays_cut(tmp_path):
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
    clamp = pl.regions.plane(axis="x", at=0.0)
    arm = scene.add(pl.Volume(pl.mesh.box((0.06, 0.02, 0.02), (4, 1, 1)), rubber, clamp=clamp, name="arm"))
    cable = scene.add(pl.Cable(arm, [(0.005, 0.01, 0.018), (0.055, 0.01, 0.018)]))
    world, step = scene.compile(), pl.ImplicitEuler(dt=0.01)
    state, _ = step(world, world.initial_state(), {cable: pl.Displacement(0.005)})
    state, _ = step(world, state, {cable: pl.Cut()})
    run = pl.simulate(world, step, until=0.1, start=state, control=lambda t, _: {cable: pl.Force(3.0)})
    assert not run.actuation(cable)[1].any()
    loaded = assert_replays(run, tmp_path)
    assert not loaded.replay().actuation("cable")[1].any()


def test_a_hinge_keeps_its_turns(tmp_path):
    scene = pl.Scene()
    arm = scene.add(pl.RigidBody.box(size=(0.2, 0.05, 0.05), mass=0.5, position=(0.1, 0, 0), name="arm"))
    hinge = scene.add(pl.Hinge(arm, axis=(0, 1, 0), point=(0, 0, 0), name="hinge"))
    world, step = scene.compile(), pl.ImplicitEuler(dt=0.01)
    state = world.initial_state()
    for k in range(1, 41):
        state, info = step(world, state, {hinge: pl.Angle(0.2 * k)})
    assert info.actuation(hinge)[0] == pytest.approx(8.0)  # more than a turn
    run = pl.simulate(
        world, step, until=0.5, start=state, control=lambda t, _: {hinge: pl.Angle(8.0 + 20.0 * (t - 0.4))}
    )
    loaded = assert_replays(run, tmp_path)
    assert loaded.replay().actuation("hinge")[0][-1] == pytest.approx(10.0)


def test_static_runs_replay_from_a_file(tmp_path):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    finger = scene.add(pl.robots.finger())
    world, step = scene.compile(), pl.QuasiStatic(newton_iterations=1)
    state = world.initial_state()
    recorder = Recorder(world, state, step)
    for k in range(4):
        controls = {finger.cable: pl.Displacement(0.001 * k)}
        state, info = step(world, state, controls)
        recorder.add(state, info, controls)
    assert_replays(recorder.run(), tmp_path)
