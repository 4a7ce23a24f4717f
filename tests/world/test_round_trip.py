"""Random scenes in files: every field of what was compiled, every state and every run come back, and step the same."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import pliant as pl
from benchmarks.fuzz.scenes import PARTS, random_scene

SEEDS = range(6)
MORE = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 60)]
STEP = pl.ImplicitEuler(dt=0.005)


def assert_same(one, other, where, seen):
    """Every field, every array to the bit, and the same things at the same places."""
    assert type(one) is type(other) or {type(one), type(other)} <= {list, tuple}, where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other), where
        for k, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}[{k}]", seen)
    elif is_dataclass(one):
        assert seen.setdefault(id(one), id(other)) == id(other), f"{where} is another thing than before"
        for item in fields(one):
            assert_same(getattr(one, item.name), getattr(other, item.name), f"{where}.{item.name}", seen)
    elif hasattr(one, "__dict__"):
        assert_same_objects(one, other, where, seen)
    else:
        assert one == other or (one != one and other != other), where


def assert_same_objects(one, other, where, seen):
    assert vars(one).keys() == vars(other).keys(), where
    for name in vars(one):
        assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}", seen)


def assert_same_states(one, other):
    assert one.time == other.time
    for name in ("q", "v", "histories"):
        assert_same(getattr(one, name), getattr(other, name), name, {})
    assert_same(one.lam, other.lam, "lam", {})
    assert_same(one.keys, other.keys, "keys", {})
    assert len(one.memories) == len(other.memories)
    for k, (mine, read) in enumerate(zip(one.memories, other.memories, strict=True)):
        assert (mine is None) == (read is None), f"memory {k}"
        if mine is not None:
            mine, read = mine.arrays(), read.arrays()
            assert mine.keys() == read.keys()
            for name in mine:
                np.testing.assert_array_equal(mine[name], read[name], err_msg=f"memory {k}: {name}")


def stepped(world, state, controls, count):
    for _ in range(count):
        state, _ = STEP(world, state, controls)
    return state


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [*SEEDS, *MORE])
def test_what_was_compiled_what_it_did_and_what_it_does_next(tmp_path, seed):
    scene, controls = random_scene(np.random.default_rng(seed))
    world = scene.compile()
    spoil(scene)
    loaded = pl.load(world.save(tmp_path / "world.npz"))
    assert_same(world.source, loaded.source, "source", {})
    assert loaded.fingerprint == world.fingerprint
    assert_same(world.gravity, loaded.gravity, "gravity", {})

    state = stepped(world, world.initial_state(), controls, 4)
    restored = loaded.load_state(state.save(tmp_path / "state.npz"))
    assert_same_states(state, restored)
    same = {thing: other for (thing, _), (other, _) in zip(world.source.things, loaded.source.things, strict=True)}
    theirs = {same[handle]: value for handle, value in controls.items()}
    assert_same_states(stepped(world, state, controls, 1), stepped(loaded, restored, theirs, 1))

    run = pl.simulate(world, STEP, until=state.time + 0.01, start=state, control=lambda t, _: controls, progress=False)
    read = pl.load(run.save(tmp_path / "run.npz"))
    assert_same_states(run.start, read.start)
    again = read.replay()
    for name in ("positions", "motions"):
        assert_same(getattr(run, name), getattr(again, name), name, {})
    for mine, theirs in zip(run.forces, again.forces, strict=True):
        np.testing.assert_array_equal(mine.values, theirs.values)


def spoil(scene):
    """Change the scene after it was compiled."""
    scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(5, 5, 5), name="later"))
    scene.gravity[:] = 7.0


def test_scenes_hold_every_class_that_a_file_may_hold():
    """A class without a scene is one whose fields nobody compares."""
    from pliant.models.kinds import stored_kinds
    from pliant.world import codec

    found = set()

    def collect(value):
        if isinstance(value, (tuple, list)):
            for item in value:
                collect(item)
        elif is_dataclass(value) or type(value).__name__ == "MeshObstacle":
            found.add(type(value).__name__)
            for item in fields(value) if is_dataclass(value) else ():
                collect(getattr(value, item.name))

    for index, part in enumerate(PARTS):
        for seed in range(20):
            scene = pl.Scene()
            part(scene, np.random.default_rng(1000 * index + seed), np.zeros(3))
            source = [*scene._bodies, *(thing for kind in scene._parts.values() for thing in kind), *scene._pairs]
            collect([list(pair.__dict__.values()) if hasattr(pair, "exclude") else pair for pair in source])
    own = {
        name for name, kind in stored_kinds().items() if kind.__module__.startswith("pliant.")
    }  # examples add others
    missing = {*codec._CLASSES, *own} - found
    assert missing <= ELSEWHERE, f"no scene has a {', '.join(sorted(missing - ELSEWHERE))}"


ELSEWHERE = {"Subspace", "ContactBasis", "ContactPoints", "Training"}
"""Reductions: their files are compared in tests/reduced and tests/reduction."""
