"""The bench of the environments: steps a second of every task and of its reduced twin, and how far the twin is away."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import gymnasium
import numpy as np

from pliant.core.errors import InputError
from pliant.gym import TASKS
from pliant.gym.registration import environment_id
from pliant.gym.twins import twin_error

WARM, STEPS, HOLD, PART = 10, 300, 10, 30
"""Steps before anything is timed, timed steps of each environment, steps for which a random action holds, and steps
of a part.
"""


def run_gym(*, data: Path | None = None) -> dict[str, Any]:
    """Environment steps a second of one core, of every task and of its twin, with random actions.

    "tasks" has for each "steps_per_second" and "reset_ms" of both, by processor time in one process, "simulated_ratio",
    simulated seconds a second, and "twin_error" of `pliant.gym.twins.twin_error`. "steps_per_second" is that of the
    reduced Reach.
    """
    if data is not None:
        raise InputError("the bench 'gym' has robots of its own; leave out --data")
    tasks: dict[str, Any] = {}
    for name, task in TASKS.items():
        full, twin = (rate(environment_id(name, reduced=reduced)) for reduced in (False, True))
        tasks[name] = {
            "full": full, "reduced": twin, "dt": task.dt, "simulated_ratio": task.dt * twin["steps_per_second"],
            "twin_error": twin_error(name),
        }  # fmt: skip
    return {"steps_per_second": tasks["Reach"]["reduced"]["steps_per_second"], "tasks": tasks}


def rate(name: str) -> dict[str, float]:
    """Steps a second and duration of a reset, ms, by processor time: the median of parts of an episode; steps that fail
    count too.
    """
    env = gymnasium.make(name).unwrapped
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    resets = failures = 0
    reset, stepped = 0.0, []
    action = env.action_space.sample()
    for k in range(WARM + STEPS):
        if k % HOLD == 0:
            action = rng.uniform(-1.0, 1.0, env.action_space.shape or ())
        begun = process_time()
        _, _, terminated, _, info = env.step(action)
        if k >= WARM:
            stepped.append(process_time() - begun)
            failures += "failure" in info
        if terminated or k == WARM:
            begun = process_time()
            env.reset()
            reset, resets = reset + process_time() - begun, resets + 1
    env.close()
    parts = np.array(stepped).reshape(-1, PART).mean(axis=1)
    return {"steps_per_second": 1.0 / float(np.median(parts)), "reset_ms": 1e3 * reset / resets, "failures": failures}
