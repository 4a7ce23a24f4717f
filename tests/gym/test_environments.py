"""Environments: Gymnasium's own checker, the same bits in vectors, seeds, failures, and what bad input says."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import pliant.gym as pg


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


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vectors_have_the_bits_of_single_environments(mode):
    count, limit = 3, 4
    options = {"randomize": {"modulus": (0.8, 1.2)}}
    wrapped = gymnasium.make_vec(
        "Pliant/Reach-v0", count, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    for env in wrapped.envs:
        env._max_episode_steps = limit  # of TimeLimit, so that episodes end within the test
    native = gymnasium.make_vec("Pliant/Reach-v0", count, autoreset_mode=mode, max_episode_steps=limit, **options)
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
