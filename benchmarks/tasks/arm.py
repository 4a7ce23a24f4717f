"""The bench of the elastic arm: environment steps a second of one core, beside published rates of whole machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.tasks.gym import rate
from pliant.core.errors import InputError
from pliant.gym import TASKS
from pliant.gym.registration import environment_id

PUBLISHED = {"FollowTarget": 4100.0, "UnstructuredObstacles": 1400.0}
"""Environment steps a second of 500 parallel environments of DisMech-RL on all cores of a machine, with learning (A.
Choi and D. Tong, arXiv:2511.06667, 2025). How many cores these are was not found.
"""
ARM = ("FollowTarget", "OrientedReach", "StructuredObstacles", "UnstructuredObstacles")


def run_arm(*, data: Path | None = None) -> dict[str, Any]:
    """Steps a second of one core of the four tasks of the elastic arm and of their twins, with random actions.

    "tasks" has for each "full" and "reduced" as the bench "gym" has them, "dt", "substeps", the "published" rate or
    None, and "cores", those on which the task reaches it without learning. "steps_per_second" is that of FollowTarget.
    """
    if data is not None:
        raise InputError("the bench 'arm' has robots of its own; leave out --data")
    tasks: dict[str, Any] = {}
    for name in ARM:
        full, twin = (rate(environment_id(name, reduced=reduced)) for reduced in (False, True))
        published = PUBLISHED.get(name)
        tasks[name] = {
            "full": full, "reduced": twin, "dt": TASKS[name].dt, "substeps": TASKS[name].substeps,
            "published": published, "cores": None if published is None else published / full["steps_per_second"],
        }  # fmt: skip
    return {"steps_per_second": tasks["FollowTarget"]["full"]["steps_per_second"], "tasks": tasks}
