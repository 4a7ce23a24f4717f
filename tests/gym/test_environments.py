"""Environments: Gymnasium's own checker, the same bits in vectors, seeds, failures, and what bad input says."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import pliant as pl
import pliant.gym as pg
from pliant.core.errors import InputError
from pliant.gym import Environment, Modes, NoTwin, VectorEnvironment
from pliant.gym.twins import reduced_world, task_of


def actions_for(env, steps, seed=0):
    """Random actions that hold for five steps."""
    rng = np.random.default_rng(seed)
    held = rng.uniform(-1.0, 1.0, (-(-steps // 5), *env.action_space.shape))
    return np.repeat(held, 5, axis=0)[:steps].astype(np.float32)


@pytest.mark.parametrize("name", pg.TASKS)
def test_gymnasium_accepts_it(name):
    env = gymnasium.make(f"Pliant/{name}-v0", render_mode="rgb_array", size=(64, 48))
    assert env.spec.max_episode_steps == pg.TASKS[name].steps
    check_env(env.unwrapped)  # warnings are errors here: see pyproject.toml
    picture = env.unwrapped.render()
    assert picture.shape == (48, 64, 3)
    assert picture.std() > 1.0
    varied = Environment(name, randomize=True)
    _, info = varied.reset(seed=1)
    assert info["randomized"].keys() == {each.name for each in env.unwrapped.task.variations}
    assert varied.world is not varied.task.world
    assert np.isfinite(varied.step(varied.action_space.sample())[0]).all()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vectors_have_the_bits_of_single_environments(mode):
    count, limit = 3, 4
    options = {"randomize": {"modulus": (0.8, 1.2)}}
    wrapped = gymnasium.make_vec(
        "Pliant/Reach-v0", count, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    for env in wrapped.envs:
        env._max_episode_steps = limit  # of TimeLimit, so that episodes end within the test
    workers = 2 if mode is AutoresetMode.NEXT_STEP else 1  # processes take a second to start
    native = gymnasium.make_vec(
        "Pliant/Reach-v0", count, autoreset_mode=mode, max_episode_steps=limit, workers=workers, **options
    )
    try:
        assert native.metadata["autoreset_mode"] is mode
        assert native.action_space == wrapped.action_space
        assert native.observation_space == wrapped.observation_space
        same(native.reset(seed=7), wrapped.reset(seed=7))
        for step, actions in enumerate(actions_for(native, 11)):
            same(native.step(actions), wrapped.step(actions), step)
    finally:
        native.close()
        wrapped.close()


def same(one, other, where=""):
    """Equal to the last bit, whatever is nested in dictionaries and arrays of objects."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            same(one[key], other[key], f"{where} {key}")
    elif isinstance(one, (tuple, list)) or (isinstance(one, np.ndarray) and one.dtype == object):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            same(a, b, f"{where} {k}")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=str(where))
    else:
        assert one == other, where


@pytest.fixture
def reach():
    env = Environment("Reach")
    env.reset(seed=4)
    return env


def test_the_same_seed_is_the_same_episode(reach):
    def played(env):
        first = env.reset(seed=11)
        return [first, *(env.step(action) for action in actions_for(env, 4))]

    other = Environment("Reach")
    same(played(reach), played(reach))
    same(played(reach), played(other))
    assert not np.array_equal(reach.reset(seed=12)[0], reach.reset(seed=11)[0])


def test_numbers_of_the_world_are_drawn_anew():
    env = Environment("Push", randomize={"modulus": (0.5, 0.6), "friction": (2.0, 3.0)})
    moduli = []
    for seed in (None, None, 5, 5):
        _, info = env.reset(seed=seed)
        assert info["randomized"].keys() == {"modulus", "friction"}
        young = pl.parameters.Material(env.task.finger.body, "young")
        found = young.value(env.world) / young.value(env.task.world)
        assert found == pytest.approx(info["randomized"]["modulus"])
        assert 0.5 <= found <= 0.6
        friction = pl.parameters.Friction(env.task.box, env.task.floor).value(env.world)
        assert friction == pytest.approx(0.3 * info["randomized"]["friction"])
        moduli.append(found)
    assert moduli[0] != moduli[1]
    assert moduli[2] == moduli[3]


def test_actions_come_as_arrays_of_jax(reach):
    jax = pytest.importorskip("jax")
    action = np.array([0.5, -0.5, 0.1, 0.0], np.float32)
    expected = reach.step(action)
    reach.reset(seed=4)
    same(reach.step(jax.numpy.asarray(action)), expected)
    assert np.array_equal(np.asarray(jax.dlpack.from_dlpack(expected[0])), expected[0])


def test_actions_come_as_tensors_of_torch(reach):
    torch = pytest.importorskip("torch")
    action = np.array([0.5, -0.5, 0.1, 0.0], np.float32)
    expected = reach.step(action)
    reach.reset(seed=4)
    same(reach.step(torch.from_numpy(action)), expected)
    with pytest.raises(InputError, match="without gradients"):
        reach.step(torch.zeros(4, requires_grad=True))


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ([0.0, np.nan, 0.0, 0.0], "its number 1 is nan"),
        ([0.0, 0.0, 0.0, np.inf], "its number 3 is inf"),
        ([0.0, 0.0], r"shape \(4,\), got \(2,\)"),
        ("left", "must be an array"),
        ([None] * 4, "finite|array"),
    ],
)
def test_bad_actions_change_nothing(reach, action, said):
    state, command = reach.state, reach._episodes.command.copy()
    with pytest.raises(InputError, match=said):
        reach.step(action)
    assert reach.state is state
    assert np.array_equal(reach._episodes.command, command)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"randomize": {"colour": (0.5, 1.0)}}, "cannot vary 'colour', only modulus, mass"),
        ({"randomize": {"mass": (1.2, 0.8)}}, "0 < low ≤ high"),
        ({"randomize": {"mass": "much"}}, "0 < low ≤ high"),
        ({"randomize": 3}, "True, False or ranges"),
        ({"render_mode": "human"}, "rgb_array"),
        ({"size": (0, 10), "render_mode": "rgb_array"}, "size"),
    ],
)
def test_bad_options(options, said):
    with pytest.raises(InputError, match=said):
        Environment("Reach", **options)


def test_bad_names_and_calls():
    with pytest.raises(InputError, match="there is no task 'Fly'; the tasks are Reach"):
        Environment("Fly")
    with pytest.raises(InputError, match="call reset"):
        Environment("Reach").step(np.zeros(4))
    with pytest.raises(InputError, match="num_envs"):
        VectorEnvironment("Reach", 0)
    with pytest.raises(InputError, match="autoreset_mode"):
        VectorEnvironment("Reach", 1, autoreset_mode="sometimes")


def test_a_task_without_twin_says_why():
    class Alone(task_of("Reach").__class__):
        twin = NoTwin("nobody made one")

    with pytest.raises(InputError, match="Alone has no reduced twin: nobody made one"):
        task_of(Alone, reduced=True)


def fails_after(count):
    """A stepper that finds no step after the first `count`."""

    class Failing(pl.ImplicitEuler):
        def __call__(self, world, state, controls=None):
            if hasattr(world, "count") or state.time < (count - 0.5) * self.dt:
                return super().__call__(world, state, controls)
            raise pl.ConvergenceError("this step has no solution")

    return Failing(dt=0.01)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_step_that_fails_ends_the_episode(mode, monkeypatch):
    task = type(task_of("Reach"))()
    _ = task.start
    task.__dict__["stepper"] = fails_after(2)
    env = Environment(task)
    env.reset(seed=1)
    for _ in range(2):
        *_, terminated, truncated, info = env.step(np.ones(4))
        assert not terminated
        assert "failure" not in info
    seen, reward, terminated, truncated, info = env.step(np.ones(4))
    assert terminated
    assert not truncated
    assert reward == task.failed
    assert info["failure"] == "this step has no solution"
    assert np.isfinite(seen).all()

    envs = VectorEnvironment(task, 2, workers=1, autoreset_mode=mode)
    envs.reset(seed=1)
    for _ in range(3):
        found = envs.step(np.ones((2, 4)))
    assert found[2].all()
    told = found[4]["final_info"] if mode is AutoresetMode.SAME_STEP else found[4]
    assert list(told["failure"]) == ["this step has no solution"] * 2
    last = found[4]["final_obs"][0] if mode is AutoresetMode.SAME_STEP else found[0][0]
    assert np.array_equal(last, seen)
    following = envs.step(np.ones((2, 4)))
    assert not following[2].any(), "a new episode has begun"
    envs.close()


def test_resets_of_some_copies():
    envs = VectorEnvironment("Push", 3, workers=1, max_episode_steps=2, autoreset_mode=AutoresetMode.DISABLED)
    with pytest.raises(InputError, match="reset"):
        envs.step(np.zeros((3, 3)))
    envs.reset(seed=0)
    for _ in range(2):
        seen, _, _, truncated, _ = envs.step(np.zeros((3, 3)))
    assert truncated.all()
    with pytest.raises(InputError, match=r"copies \[0, 1, 2\] are over"):
        envs.step(np.zeros((3, 3)))
    again, infos = envs.reset(options={"reset_mask": np.array([True, False, True])})
    assert np.array_equal(again[1], seen[1])
    assert not np.array_equal(again[0], seen[0])
    assert infos["_goal"].tolist() == [True, False, True]
    for mask in ([True, True], [1, 2, 3], [False] * 3):
        with pytest.raises(InputError, match="reset_mask"):
            envs.reset(options={"reset_mask": np.array(mask)})
    with pytest.raises(InputError, match="seed"):
        envs.reset(seed=[1, 2])
    with pytest.raises(InputError, match=r"its number \(1, 2\) is nan"):
        envs.step(np.array([[0.0] * 3, [0.0, 0.0, np.nan], [0.0] * 3]))
    envs.close()


def test_a_twin_follows_its_task(tmp_path):
    """In modes of few, short episodes; the file is found again, and a damaged one is made anew."""
    kind = type(task_of("Throw"))

    class Short(kind):
        steps = 24
        twin = Modes(runs=5, hold=6, every=1, tolerance=1e-3, points=5e-3)

    twin = Short()
    world = reduced_world(twin, folder=tmp_path)
    (file,) = tmp_path.rglob("Short-*.npz")
    begun = file.stat().st_mtime_ns
    again = reduced_world(Short(), folder=tmp_path)
    assert file.stat().st_mtime_ns == begun
    assert world.reductions[0].size == again.reductions[0].size >= 3
    full, twin.world, ends = task_of(Short), world, []
    for task in (full, twin):
        state = task.start
        for _ in range(8):
            state, _ = task.stepper(task.world, state, task.controls(np.zeros(1)))
        ends.append(state.points(task.arm))
    moved = np.linalg.norm(ends[0] - full.start.points(full.arm), axis=1).max()
    assert np.linalg.norm(ends[1] - ends[0], axis=1).max() < 0.1 * moved
    file.write_bytes(file.read_bytes()[:-100])
    assert reduced_world(Short(), folder=tmp_path).reductions[0].size == world.reductions[0].size


def test_without_gymnasium_the_error_names_the_extra():
    code = "import sys; sys.modules['gymnasium'] = None; import pliant.gym"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode != 0
    assert "environments need Gymnasium: pip install 'pliant[gym]'" in found.stderr
