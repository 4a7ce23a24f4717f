"""Worlds and runs in files: saved whole, loaded, replayed bit for bit."""

import numpy as np
import pytest

import pliant as pl
from scenes import DOWN, RUBBER, bar


def build():
    rubber = pl.materials.Ogden(m=5e4, a=3.0, density=1e3)
    stiff = pl.materials.NeoHookean(young=1e6, poisson=0.4, density=1.1e3)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.06, 0.02, 0.02), (4, 1, 1))
    clamp = pl.regions.plane(axis="x", at=0.0) | (pl.regions.nodes([0]) & ~pl.regions.sphere((1, 1, 1), 0.1))
    soft = pl.Volume(
        mesh, rubber, clamp=clamp, inclusions=[(pl.regions.box((0.04, 0, 0), (1, 1, 1)), stiff)], name="arm"
    )
    arm = scene.add(soft, position=(0, 0, 0.02), rotation=(0, 0.1, 0))
    cable = scene.add(pl.Cable(arm, [(0.005, 0.01, 0.018), (0.055, 0.01, 0.018)], max_force=50.0))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.01, position=(0.05, 0.01, 0.055)))
    rock = scene.add(
        pl.Obstacle.mesh(pl.mesh.box((0.1, 0.1, 0.01), (1, 1, 1)).translated((0, 0, -0.02)).surface(), name="rock")
    )
    scene.add(pl.PointLoad(arm, pl.regions.plane(axis="x", at=0.06), (0, 0.01, 0)))
    scene.collide(arm, ball, friction=0.4)
    scene.collide(ball, rock, friction=0.4)
    return scene.compile(), arm, cable, ball


def control_of(cable):
    return lambda t, state: {cable: pl.Displacement(0.02 * t), "gravity": (0.0, 0.0, -9.81 * min(1.0, 5 * t))}


def test_a_saved_run_replays_bit_for_bit(tmp_path):
    world, arm, cable, ball = build()
    run = pl.simulate(world, pl.ImplicitEuler(dt=0.01), until=0.2, control=control_of(cable))
    loaded = pl.load(run.save(tmp_path / "run.npz"))
    again = loaded.replay()
    for first, second in zip(run.positions, again.positions, strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(run.contact_force(arm, ball), again.contact_force("arm", "sphere"))
    np.testing.assert_array_equal(run.actuation(cable)[1], loaded.actuation("cable")[1])
    assert run.actuation(cable)[1][-1] > 0.0


def test_a_loaded_world_is_the_same_world(tmp_path):
    world, *_ = build()
    loaded = pl.load(world.save(tmp_path / "world.npz"))
    step = pl.ImplicitEuler(dt=0.01)
    states = [world.initial_state(), loaded.initial_state()]
    for _ in range(10):
        states = [step(w, s)[0] for w, s in zip((world, loaded), states, strict=True)]
    for a, b in zip(states[0].q, states[1].q, strict=True):
        np.testing.assert_array_equal(a, b)
    assert loaded.thing("arm").name == "arm"
    with pytest.raises(pl.InputError, match="no object of this world has the name 'leg'"):
        loaded.thing("leg")


def test_a_state_in_contact_continues_bit_for_bit(tmp_path):
    world, _, cable, _ = build()
    step, control = pl.ImplicitEuler(dt=0.01), control_of(cable)
    state = world.initial_state()
    for k in range(12):
        state, _ = step(world, state, control(0.01 * k, state))
    restored = world.load_state(state.save(tmp_path / "state.npz"))
    for k in range(12, 20):
        state, _ = step(world, state, control(0.01 * k, state))
        restored, _ = step(world, restored, control(0.01 * k, restored))
    for a, b in zip((*state.q, *state.v, state.lam), (*restored.q, *restored.v, restored.lam), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_motion_given_by_a_function_cannot_be_saved(tmp_path):
    scene = pl.Scene()
    scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1))
    scene.add(pl.Obstacle.plane(motion=lambda t: ((0, 0, t), (0, 0, 0))))
    with pytest.raises(pl.InputError, match="cannot be saved"):
        scene.compile().save(tmp_path / "world.npz")


def test_sensors_read_length_and_volume():
    scene = pl.Scene()
    body = scene.add(
        pl.Volume(pl.mesh.shell(0.01, 0.02, cells=(1, 4)), pl.materials.Linear(young=1e5, poisson=0.3, density=1e3))
    )
    cavity = scene.add(pl.Cavity(body))
    cable = scene.add(pl.Cable(body, [(0.011, 0.0, 0.0), (0.019, 0.0, 0.0)], reach=1e-3))
    state = scene.compile().initial_state()
    assert state.length(cable) == pytest.approx(0.008)
    hollow = body.mesh.surface().components()[1]
    assert state.volume(cavity) == pytest.approx(-hollow.volume(), rel=1e-12)


def test_a_world_keeps_the_scene_as_it_was_compiled(tmp_path):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0, 0, 0.02), name="ball"))
    world = scene.compile()
    before = pl.load(world.save(tmp_path / "before.npz"))
    floor = scene.add(pl.Obstacle.plane(name="floor"))
    scene.collide(ball, floor)
    scene.gravity[:] = 0.0
    after = pl.load(world.save(tmp_path / "after.npz"))
    for loaded in (before, after):
        assert [thing.name for thing, _ in loaded.source.things] == ["ball"]
        assert not loaded.source.pairs
        np.testing.assert_array_equal(loaded.gravity, (0, 0, -9.81))
    with pytest.raises(pl.InputError, match="no object of this world has the name 'floor'"):
        world.thing("floor")
    assert [thing.name for thing, _ in scene.compile().source.things] == ["ball", "floor"]


def colliding(gravity=(0.1, 0.0, -3.0), **options):
    """Two blocks that overlap by 1 mm, with every option of their collision and of their limits set."""
    scene = pl.Scene(gravity=gravity)
    blocks = [
        scene.add(pl.Volume(pl.mesh.box((0.02,) * 3, (2, 2, 2)), RUBBER, name=name),
                  position=(0, 0, height))
        for name, height in (("low", 0.0), ("high", 0.019))
    ]  # fmt: skip
    scene.collide(*blocks, friction=0.3, margin=2.5e-3, capacity=7, continuous=True, allow_overlap=True, **options)
    return scene.compile()


def test_every_option_of_a_collision_is_saved(tmp_path):
    """The pair is as it was given: friction, margin, exclusions, capacity, overlap, continuous; and gravity."""
    world = colliding(exclude=pl.regions.plane(axis="z", at=0.0))
    loaded = pl.load(world.save(tmp_path / "world.npz"))
    (one,), (other,) = world.source.pairs, loaded.source.pairs
    for name in ("friction", "margin", "capacity", "allow_overlap", "continuous"):
        assert getattr(one, name) == getattr(other, name) is not None, name
    points = np.random.default_rng(0).uniform(0.0, 0.02, (50, 3)) * (1, 1, 0)
    assert other.exclude.select(points).all()
    assert not other.exclude.select(points + 0.01).any()
    np.testing.assert_array_equal(loaded.gravity, (0.1, 0.0, -3.0))
    assert loaded.fingerprint == world.fingerprint


def test_a_body_of_several_things_is_restored_once_and_limits_stay_infinite(tmp_path):
    world, *_ = build()
    loaded = pl.load(world.save(tmp_path / "world.npz"))
    restored = loaded.thing("cable")
    assert restored.body is loaded.thing("arm")
    assert (restored.max_force, restored.max_displacement) == (50.0, np.inf)


def test_a_state_at_speed_continues_and_one_of_another_world_is_refused(tmp_path):
    world = colliding()
    state = world.initial_state().with_velocities("low", np.full((27, 3), 0.25))
    path = state.save(tmp_path / "state.npz")
    np.testing.assert_array_equal(world.load_state(path).v[0], state.v[0])
    assert world.load_state(path).time == state.time
    with pytest.raises(pl.InputError, match="a state of another world"):
        colliding(gravity=(0, 0, 0)).load_state(path)


def test_a_material_with_memory_remembers_in_a_file(tmp_path):
    rubber = pl.materials.Viscoelastic(
        pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3), branches=[(0.5, 0.1)]
    )
    scene, _ = bar((0.04, 0.02, 0.02), (2, 1, 1), rubber, gravity=DOWN)
    world, step = scene.compile(), pl.ImplicitEuler(dt=0.02)
    state = world.initial_state()
    for _ in range(3):
        state, _ = step(world, state)
    restored = world.load_state(state.save(tmp_path / "state.npz"))
    np.testing.assert_array_equal(restored.histories[0], state.histories[0])
    np.testing.assert_array_equal(step(world, restored)[0].q[0], step(world, state)[0].q[0])
