"""The state: immutable, saved and restored to the bit."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from scenes import DOWN, bar

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000.0)


def build(cells=(4, 2, 2)):
    scene, body = bar((0.2, 0.1, 0.1), cells, RUBBER, gravity=DOWN)
    return scene.compile(), body


def stepped(world, state, count, step=None):
    step = step or pl.ImplicitEuler(dt=0.01)
    for _ in range(count):
        state, _ = step(world, state)
    return state


def test_initial_state_is_rest():
    world, body = build()
    state = world.initial_state()
    assert state.time == 0.0
    np.testing.assert_array_equal(state.points(body), body.mesh.points)
    assert not state.velocities(body).any()
    assert not state.displacements(body).any()


def test_states_cannot_be_written():
    world, body = build()
    state = stepped(world, world.initial_state(), 1)
    for array in (state.points(body), state.velocities(body), state.lam):
        assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        state.points(body)[0, 0] = 1.0


def test_bodies_by_handle_name_and_number():
    world, body = build()
    state = world.initial_state()
    for key in (body, "volume", 0):
        assert state.points(key) is state.q[0]
    for stranger in ("arm", 1, -1, None):
        with pytest.raises(InputError, match="is not a body of this world; its bodies are 'volume'"):
            state.points(stranger)


@pytest.mark.parametrize("step", [pl.ImplicitEuler(dt=0.01), pl.ImplicitMidpoint(dt=0.01), pl.QuasiStatic()])
def test_a_restored_state_continues_to_the_bit(tmp_path, step):
    world, _ = build()
    middle = stepped(world, world.initial_state(), 5)
    loaded = world.load_state(middle.save(tmp_path / "middle.npz"))
    assert loaded.time == middle.time
    ends = [stepped(world, state, 5, step) for state in (middle, loaded)]
    np.testing.assert_array_equal(ends[0].q[0], ends[1].q[0])
    np.testing.assert_array_equal(ends[0].v[0], ends[1].v[0])


def test_runs_repeat_to_the_bit():
    """Determinism: another compilation, another run, the same bits."""
    ends = []
    for _ in range(2):
        world, _ = build()
        ends.append(stepped(world, world.initial_state(), 10))
    np.testing.assert_array_equal(ends[0].q[0], ends[1].q[0])
    np.testing.assert_array_equal(ends[0].v[0], ends[1].v[0])


def test_files_that_are_no_state(tmp_path):
    world, _ = build()
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(InputError, match=r"notes\.txt is not a saved state of this world"):
        world.load_state(text)
    with pytest.raises(InputError, match="is not a saved state"):
        world.load_state(tmp_path / "missing.npz")
    np.savez(tmp_path / "other.npz", time=0.0)
    with pytest.raises(InputError, match="is not a saved state"):
        world.load_state(tmp_path / "other.npz")


def test_a_state_of_another_mesh_is_refused(tmp_path):
    world, _ = build()
    other, _ = build((2, 1, 1))
    path = other.initial_state().save(tmp_path / "other.npz")
    with pytest.raises(InputError, match=r"other\.npz holds a state of another world"):
        world.load_state(path)


def test_states_of_files_without_a_header_still_load(tmp_path):
    world, _ = build()
    state = stepped(world, world.initial_state(), 3)
    with np.load(state.save(tmp_path / "state.npz")) as data:
        np.savez(tmp_path / "old.npz", **{name: data[name] for name in data.files if name != "header"})
    np.testing.assert_array_equal(world.load_state(tmp_path / "old.npz").q[0], state.q[0])


def test_states_that_are_made_cannot_be_written_either():
    """Positions, velocities, forces and histories, whoever made the arrays."""
    scene = pl.Scene()
    rubber = pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3)
    memory = pl.materials.Viscoelastic(rubber, [(0.3, 0.1)])
    scene.add(pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1)), memory))
    world = scene.compile()
    rest, _ = pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
    arrays = [np.array(one) for one in (rest.q[0], rest.v[0], rest.lam, rest.histories[0])]
    made = pl.State(world, 0.0, (arrays[0],), (arrays[1],), arrays[2], histories=(arrays[3],))
    for array in (*made.q, *made.v, made.lam, *made.histories):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
