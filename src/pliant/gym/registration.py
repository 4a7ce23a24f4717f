"""The ids of the environments: ``Pliant/NAME-v0``, and ``Pliant/NAME-reduced-v0`` of the reduced twin."""

from __future__ import annotations

import gymnasium

from pliant.gym.tasks import TASKS


def register_tasks() -> None:
    """Register every task and its twin, once."""
    for name, task in TASKS.items():
        for reduced in (False, True):
            wanted = environment_id(name, reduced=reduced)
            if wanted in gymnasium.registry:
                continue
            gymnasium.register(
                wanted,
                entry_point="pliant.gym.environment:Environment",
                vector_entry_point="pliant.gym.vector:VectorEnvironment",
                max_episode_steps=task.steps,
                kwargs={"task": name, "reduced": reduced},
            )


def environment_id(name: str, *, reduced: bool = False) -> str:
    """The id of a task, or of its twin."""
    return f"Pliant/{name}-reduced-v0" if reduced else f"Pliant/{name}-v0"
