"""A state belongs to its world: nothing that is not of its shape reaches a kernel."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from archives import rewritten

STEPPERS = [pl.ImplicitEuler(dt=0.01), pl.ImplicitMidpoint(dt=0.01), pl.DampedMidpoint(dt=0.01), pl.QuasiStatic()]


def rod(sections, young=1e8):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    section = pl.sections.Circle(1e-3)
    scene.add(pl.Rod(0.1, sections, section=section, young=young, poisson=0.3, density=1e3, name="rod"))
    return scene.compile()


def finger():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    robot = scene.add(pl.robots.finger(contact_points=24))
    return scene.compile(), robot.cable


@pytest.mark.parametrize("stepper", STEPPERS, ids=lambda stepper: type(stepper).__name__)
@pytest.mark.parametrize("sections", [4, 40])
def test_a_state_of_another_world_is_refused(stepper, sections):
    world, other = rod(8), rod(sections)
    with pytest.raises(pl.InputError, match="belongs to another world"):
        stepper(world, other.initial_state())


def test_equal_shapes_are_not_enough_and_adopting_is():
    soft, stiff = rod(4), rod(4, young=2e8)
    state, _ = pl.ImplicitEuler(dt=0.01)(soft, soft.initial_state())
    with pytest.raises(pl.InputError, match="adopt"):
        pl.ImplicitEuler(dt=0.01)(stiff, state)
    with pytest.raises(pl.InputError, match="another world"):
        stiff.energy(state)
    taken = stiff.adopt(state)
    assert taken.time == state.time
    assert pl.ImplicitEuler(dt=0.01)(stiff, taken)[0].time == pytest.approx(0.02)


def test_a_world_compiled_from_an_equal_scene_is_the_same():
    one, other = rod(4), rod(4)
    assert one.fingerprint == other.fingerprint != rod(5).fingerprint
    there, _ = pl.ImplicitEuler(dt=0.01)(one, other.initial_state())
    here, _ = pl.ImplicitEuler(dt=0.01)(one, one.initial_state())
    assert np.array_equal(there.q[0], here.q[0])


def test_what_is_no_state_is_refused():
    world = rod(4)
    for wrong in (world, None, world.initial_state().q):
        with pytest.raises(pl.InputError, match=r"world\.initial_state"):
            pl.ImplicitEuler(dt=0.01)(world, wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: {"q": s.q[:0]}, "positions of 1 bodies, got 0"),
        (lambda s: {"q": (s.q[0][:-1],)}, "positions of 'rod'"),
        (lambda s: {"v": (s.v[0].astype(np.float32),)}, "velocities of 'rod'.*float64.*float32"),
        (lambda s: {"v": (np.full_like(s.v[0], np.nan),)}, "velocities of 'rod'.*finite"),
        (lambda s: {"q": (s.q[0].tolist(),)}, "got list"),
        (lambda s: {"lam": np.zeros((2, 2))}, "multipliers"),
        (lambda s: {"keys": np.zeros(3, np.int64)}, "keys"),
        (lambda s: {"time": np.nan}, "time"),
        (lambda s: {"memories": (None, None)}, "memories of 0 constraints, got 2"),
    ],
)
def test_arrays_of_a_state_are_checked(change, message):
    state = rod(4).initial_state()
    with pytest.raises(pl.InputError, match=message):
        replace(state, **change(state))


@pytest.fixture(scope="module")
def touched(tmp_path_factory):
    """A world with a facing, and the file of a state in which it has a memory."""
    world, cable = finger()
    state = world.initial_state()
    for _ in range(3):
        state, _ = pl.ImplicitEuler(dt=0.01)(world, state, {cable: pl.Displacement(0.02)})
    return world, state.save(tmp_path_factory.mktemp("state") / "state.npz")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("v_0", lambda a: a[: len(a) // 2]),
        ("nearest", lambda a: a[:0]),
        ("nearest", lambda a: np.full_like(a, 2**30)),
        ("nearest", lambda a: a - 2**20),
        ("least", lambda a: a[:0]),
        ("place_a", lambda a: a[:, :0]),
        ("nodes_a", lambda a: a + 2**30),
        ("frames", lambda a: np.zeros((len(a) + 1, 3, 3))),
    ],
)
def test_a_changed_file_of_a_state_is_refused(touched, name, change, tmp_path):
    world, path = touched

    def damage(header, arrays):
        key = next(key for key in arrays if key.endswith(name))
        arrays[key] = change(arrays[key])

    rewritten(path, tmp_path / "changed.npz", damage)
    with pytest.raises(pl.InputError, match=r"changed\.npz"):
        world.load_state(tmp_path / "changed.npz")


def test_a_history_has_the_shape_of_its_body():
    base = pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000)
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1))
    scene.add(pl.Volume(mesh, pl.materials.Viscoelastic(base, branches=[(0.3, 0.1)]), name="arm"))
    world = scene.compile()
    state, _ = pl.ImplicitEuler(dt=0.01)(world, world.initial_state())
    for wrong in ((state.histories[0][:-1],), (state.histories[0].astype(np.float32),)):
        with pytest.raises(pl.InputError, match="history of 'arm'"):
            replace(state, histories=wrong)
    rigid = rod(4).initial_state()
    with pytest.raises(pl.InputError, match="remembers nothing"):
        replace(rigid, histories=(np.zeros(3),))


def test_a_file_of_another_world_with_the_same_shapes_is_refused(tmp_path):
    path = rod(4).initial_state().save(tmp_path / "state.npz")
    with pytest.raises(pl.InputError, match="another world"):
        rod(4, young=2e8).load_state(path)
    assert rod(4).load_state(path).time == 0.0


def test_a_pickled_state_belongs_to_its_world():
    world = rod(4)
    state = pickle.loads(pickle.dumps(world.initial_state()))
    assert pl.ImplicitEuler(dt=0.01)(world, state)[0].time == pytest.approx(0.01)
