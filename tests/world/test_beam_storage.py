"""Worlds, states and runs with beams in files, bit for bit."""

import numpy as np
import pytest

import pliant as pl


def build():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    points = np.array([(0, 0, 0), (0.1, 0, 0), (0.2, 0, 0), (0.15, 0.08, 0)])
    beam = scene.add(
        pl.Beam(
            points,
            edges=[(0, 1), (1, 2), (1, 3)],
            section=pl.sections.Tube(0.004, 0.002),
            young=1e7,
            poisson=0.3,
            density=1e3,
            damping=pl.Rayleigh(stiffness=0.01),
            name="fork",
        ),
        position=(0, 0, 0.006),
        rotation=(0, 0, 0.3),
    )
    base = scene.add(pl.Support(beam, [0], rotation=(0, 0, 0)))
    push = scene.add(pl.PointLoad(beam, pl.regions.nodes([2]), (0, 0, 0.01), (0.001, 0, 0)))
    floor = scene.add(pl.Obstacle.plane())
    pipe = scene.add(pl.Obstacle.tubes([[(-1, 0, 0), (1, 0, 0)], [(0, 0, 0), (0, 1, 0)]], radius=0.5))
    scene.collide(beam, floor, friction=0.4)
    scene.collide(beam, pipe)
    cube = scene.add(pl.RigidBody.box(size=(0.01,) * 3, mass=0.002, position=beam_tip(points[3])))
    scene.attach(beam, cube, points=[beam_tip(points[3])], frames=True)
    return scene.compile(), beam, base, push


def beam_tip(point):
    c, s = np.cos(0.3), np.sin(0.3)
    return np.array([c * point[0] - s * point[1], s * point[0] + c * point[1], 0.006])


def control_of(base, push):
    return lambda t, state: {
        base: pl.Placement([(0, 0, 0.01 * t), (0, 0.2 * t, 0)]),
        push: pl.Wrench([(0, 0, 0.01), (0.001 * t, 0, 0)]),
    }


def test_a_saved_run_with_beams_replays_bit_for_bit(tmp_path):
    world, beam, base, push = build()
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.2, control=control_of(base, push))
    loaded = pl.load(run.save(tmp_path / "run.npz"))
    again = loaded.replay()
    for first, second in zip(run.positions, again.positions, strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(loaded.points("fork"), run.points(beam))
    np.testing.assert_array_equal(loaded.frames("fork"), run.frames(beam))
    np.testing.assert_array_equal(loaded.surface_points("fork"), run.surface_points(beam))
    assert run.points(beam).shape == (21, 4, 3)
    assert run.frames(beam).shape == (21, 4, 3, 3)
    with pytest.raises(pl.InputError, match="no frames"):
        run.frames("box")


def test_a_state_with_beams_continues_bit_for_bit(tmp_path):
    world, _, base, push = build()
    step, control = pl.ImplicitEuler(dt=0.01), control_of(base, push)
    state = world.initial_state()
    for k in range(8):
        state, _ = step(world, state, control(0.01 * k, state))
    restored = world.load_state(state.save(tmp_path / "state.npz"))
    for k in range(8, 12):
        state, _ = step(world, state, control(0.01 * k, state))
        restored, _ = step(world, restored, control(0.01 * k, restored))
    for a, b in zip((*state.q, *state.v, state.lam), (*restored.q, *restored.v, restored.lam), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_loaded_world_has_the_same_beams(tmp_path):
    world, beam, _, _ = build()
    loaded = pl.load(world.save(tmp_path / "world.npz"))
    other = loaded.thing("fork")
    assert other.section == beam.section
    for a, b in zip(world.initial_state().q, loaded.initial_state().q, strict=True):
        np.testing.assert_array_equal(a, b)


def test_beams_are_exported_as_surfaces(tmp_path):
    meshio = pytest.importorskip("meshio")
    world, beam, _, _ = build()
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.02)
    run.export(tmp_path / "series.pvd", every=2)
    written = meshio.read(tmp_path / "series" / "0_000002.vtu")
    np.testing.assert_allclose(written.points, run.surface_points(beam)[2])
    assert written.cells[0].type == "triangle"


def test_read_outs_that_a_body_does_not_have_are_refused():
    world, beam, _, _ = build()
    state = world.initial_state()
    with pytest.raises(pl.InputError, match="'fork' is not a deformable volume"):
        state.stress(beam)
    with pytest.raises(pl.InputError, match="'box' is not a beam"):
        state.section_forces("box")
