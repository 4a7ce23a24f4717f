"""A task as an environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from pliant.core.checks import positive_count
from pliant.core.errors import InputError, PliantError
from pliant.gym.episodes import LARGEST, Episodes, Outcome, actions_of
from pliant.gym.picture import draw
from pliant.gym.task import Shapes, Task
from pliant.gym.twins import task_of
from pliant.world import State
from pliant.world.changed import changed

RENDER_MODES = ["rgb_array"]


class Environment(gymnasium.Env[Any, Any]):
    """One copy of a task; ``gymnasium.make("Pliant/Reach-v0")`` makes it.

    task
        One of `pliant.gym.TASKS`, or its name.
    reduced
        Step the reduced twin.
    randomize
        False; True: numbers of the world, such as moduli, are drawn anew in every episode; or ranges of their factors,
        such as ``{"modulus": (0.9, 1.1)}``.
    render_mode, size
        "rgb_array": `render` returns a picture of this width and height, pixels.

    `state` is that of the world, `world` what is stepped, with the numbers of this episode.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 50}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        task: Any,
        *,
        reduced: bool = False,
        randomize: Any = False,
        render_mode: str | None = None,
        size: tuple[int, int] = (480, 360),
    ) -> None:
        self.task: Task = task_of(task, reduced=reduced)
        self.render_mode, self._size = checked_view(render_mode, size)
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self.task.dt)}
        self.action_space, self.observation_space = spaces(self.task)
        self._episodes = Episodes(self.task, 1, randomize=randomize)
        self.world = self.task.world
        self.state: State | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: its goal, and what `randomize` draws, follow from `seed`."""
        super().reset(seed=seed)
        start, changes, info = self._episodes.begin(0, self.np_random)
        self.world = changed(self.task.world, changes) if changes else self.task.world
        self.state = self.world.adopt(start) if changes else start
        return self._episodes.first(self._shapes(), np.ones(1, bool))[0], info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step of `task.dt` seconds. Where the world cannot be stepped the episode is over, and
        ``info["failure"]`` says why.
        """
        if self.state is None:
            raise InputError("this environment has no episode yet: call reset() before step()")
        (controls,) = self._episodes.controls(actions_of(action, self.action_space.shape or ())[None])
        errors: dict[int, Exception] = {}
        try:
            self.state, _ = self.task.stepper(self.world, self.state, controls)
        except PliantError as error:
            errors[0] = error
        after = self._episodes.after(self._shapes(), errors)
        info = info_of(after, errors, 0)
        return after.observations[0], float(after.rewards[0]), bool(after.terminated[0]), False, info

    def render(self) -> Any:
        """A picture (height, width, 3), uint8, of the bodies, their cables and the goal."""
        if self.render_mode is None:
            gymnasium.logger.warn('this environment was made without render_mode="rgb_array"')
            return None
        if self.state is None:
            raise InputError("this environment has no episode yet: call reset() before render()")
        return draw(self.task, self.state, self._episodes.goal[0], self._size)

    def _shapes(self) -> Shapes:
        assert self.state is not None
        return Shapes(self.world, [q[None] for q in self.state.q])


def info_of(after: Outcome, errors: Mapping[int, Exception], copy: int) -> dict[str, Any]:
    """What `info` says of the step of a copy."""
    info: dict[str, Any] = {"success": bool(after.success[copy]), "error": float(after.error[copy])}
    if copy in errors:
        info["failure"] = str(errors[copy])
    return info


def spaces(task: Task) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """The spaces of the actions and of the observations of one copy."""
    size = sum(each.size for each in task.observations)
    return (
        gymnasium.spaces.Box(-1.0, 1.0, (len(task.actions),), np.float32),
        gymnasium.spaces.Box(-LARGEST, LARGEST, (size,), np.float32),
    )


def checked_view(mode: str | None, size: Any) -> tuple[str | None, tuple[int, int]]:
    """How pictures are asked for, and their width and height, pixels; an `InputError` for others."""
    if mode is not None and mode not in RENDER_MODES:
        raise InputError(f'render_mode must be "rgb_array" or None, got {mode!r}')
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise InputError(f"size must be a width and a height, pixels, got {size!r}")
    return mode, (positive_count("size[0]", size[0]), positive_count("size[1]", size[1]))
