"""Many copies of a task, stepped at once over all cores: a vector environment of Gymnasium on `pl.Batch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from pliant.batch import Batch
from pliant.core.checks import positive_count
from pliant.core.errors import InputError
from pliant.core.types import BoolArray
from pliant.gym.environment import RENDER_MODES, checked_view, info_of, spaces
from pliant.gym.episodes import Episodes, Outcome, actions_of
from pliant.gym.picture import draw
from pliant.gym.task import Shapes, Task
from pliant.gym.twins import task_of
from pliant.world import State


class VectorEnvironment(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """`num_envs` copies of a task; ``gymnasium.make_vec("Pliant/Reach-v0", num_envs=64)`` makes it.

    Every copy has the bits of an `Environment` of its own with the same seed and actions.

    task, reduced, randomize, render_mode, size
        As of `Environment`.
    max_episode_steps
        Steps after which an episode is truncated; None: never.
    workers
        Processes, as of `pl.Batch`; None: one for each core.
    autoreset_mode
        ``AutoresetMode.NEXT_STEP``: the step after the end of an episode begins the next one; its action is ignored.
        ``SAME_STEP``: the step that ends an episode returns the first observation of the next one, and the last one of
        the old in ``info["final_obs"]``. ``DISABLED``: copies whose episodes are over must be reset, with
        ``reset(options={"reset_mask": …})``.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  as Gymnasium declares it
        "render_modes": RENDER_MODES,
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        task: Any,
        num_envs: int = 1,
        *,
        reduced: bool = False,
        randomize: Any = False,
        render_mode: str | None = None,
        size: tuple[int, int] = (480, 360),
        max_episode_steps: int | None = None,
        workers: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        self.num_envs = positive_count("num_envs", num_envs)
        self.task: Task = task_of(task, reduced=reduced)
        self.render_mode, self._size = checked_view(render_mode, size)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError as error:
            known = ", ".join(mode.name for mode in AutoresetMode)
            raise InputError(f"autoreset_mode must be one of {known}, got {autoreset_mode!r}") from error
        self.metadata = {
            **self.metadata, "render_fps": round(1.0 / self.task.dt), "autoreset_mode": self.autoreset_mode
        }  # fmt: skip
        self.single_action_space, self.single_observation_space = spaces(self.task)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        limit = None if max_episode_steps is None else positive_count("max_episode_steps", max_episode_steps)
        self._episodes = Episodes(self.task, self.num_envs, randomize=randomize, limit=limit)
        self._batch = Batch(self.task.world, self.num_envs, workers=workers, errors="keep")
        self._states: Any = None
        self._seen = np.zeros(self.observation_space.shape or (), np.float32)
        self._generators: list[np.random.Generator | None] = [None] * self.num_envs
        self._over = np.zeros(self.num_envs, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every copy, or in those of ``options["reset_mask"]``. A number `seed` gives copy k the
        seed ``seed + k``; a list has one for each, None among them keeps the random numbers of a copy going.
        """
        chosen = self._mask(options)
        for copy, one in enumerate(self._seeds(seed)):
            if chosen[copy] and (one is not None or self._generators[copy] is None):
                self._generators[copy] = gymnasium.utils.seeding.np_random(one)[0]
        observations, begun = self._begin(chosen)
        self._seen = np.where(chosen[:, None], observations, self._seen)
        self._over &= ~chosen
        infos: dict[str, Any] = {}
        for copy, info in begun.items():
            infos = self._add_info(infos, info, copy)
        return self._seen.copy(), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One step of every copy; see `autoreset_mode` for those whose episodes are over."""
        if self._states is None:
            raise InputError("these environments have no episodes yet: call reset() before step()")
        given = actions_of(actions, self.action_space.shape or ())
        at_once = self.autoreset_mode is AutoresetMode.SAME_STEP
        waiting = np.zeros(self.num_envs, bool) if at_once else self._over
        if self.autoreset_mode is AutoresetMode.DISABLED and waiting.any():
            raise InputError(
                f"the episodes of copies {np.flatnonzero(waiting).tolist()} are over: reset them with "
                'reset(options={"reset_mask": mask}) before the next step'
            )
        controls = self._episodes.controls(given)
        self._states, found = self._batch.step(self.task.stepper, self._states, controls)
        after = self._episodes.after(self._shapes(), found.errors)
        terminated, truncated = after.terminated & ~waiting, after.truncated & ~waiting
        self._over = terminated | truncated
        anew = self._over if at_once else waiting
        observations, begun = self._begin(anew) if anew.any() else (after.observations, {})
        self._seen = np.where(anew[:, None], observations, after.observations)
        infos = self._infos(after, found.errors, begun, waiting)
        return self._seen.copy(), np.where(waiting, 0.0, after.rewards), terminated, truncated, infos

    def _infos(
        self, after: Outcome, errors: Mapping[int, Exception], begun: dict[int, dict[str, Any]], waiting: BoolArray
    ) -> dict[str, Any]:
        """What is said of a step of all copies, as Gymnasium wants it: arrays with masks of the copies they are of."""
        if not begun and not errors and not waiting.any():  # most steps
            every = np.ones(self.num_envs, bool)
            said = {"success": after.success, "error": after.error}
            return {
                name: part for key, value in said.items() for name, part in ((key, value), (f"_{key}", every.copy()))
            }
        infos: dict[str, Any] = {}
        for copy in range(self.num_envs):
            info = {} if waiting[copy] else info_of(after, errors, copy)
            if copy in begun and not waiting[copy]:
                infos = self._add_info(infos, {"final_obs": after.observations[copy], "final_info": info}, copy)
            infos = self._add_info(infos, begun.get(copy, info), copy)
        return infos

    def render(self) -> tuple[Any, ...] | None:
        """Pictures of all copies; see `Environment.render`."""
        if self.render_mode is None:
            gymnasium.logger.warn('this environment was made without render_mode="rgb_array"')
            return None
        if self._states is None:
            raise InputError("these environments have no episodes yet: call reset() before render()")
        goals = self._episodes.goal
        return tuple(draw(self.task, state, goal, self._size) for state, goal in zip(self._states, goals, strict=True))

    def state(self, copy: int) -> State:
        """The whole state of the world of a copy."""
        if self._states is None:
            raise InputError("these environments have no episodes yet: call reset()")
        found: State = self._states[copy]
        return found

    def close_extras(self, **kwargs: Any) -> None:
        """End the processes."""
        self._batch.close()

    def _begin(self, chosen: BoolArray) -> tuple[Any, dict[int, dict[str, Any]]]:
        """New episodes of the copies `chosen`: observations (c, n), of which only theirs count, and their infos."""
        starts, changes, infos = {}, {}, {}
        for copy in np.flatnonzero(chosen).tolist():
            generator = self._generators[copy]
            if generator is None:
                raise InputError(f"copy {copy} had no episode yet: reset all copies before some of them")
            starts[copy], changes[copy], infos[copy] = self._episodes.begin(copy, generator)
        if self._states is None:
            self._states = self._batch.initial_states()
        self._states = self._batch.restarted(self._states, starts, changes if self._episodes.varied else None)
        return self._episodes.first(self._shapes(), chosen), infos

    def _shapes(self) -> Shapes:
        world = self.task.world
        return Shapes(world, [self._states.positions(model.handle) for model in world.models])

    def _mask(self, options: dict[str, Any] | None) -> BoolArray:
        """The copies that a reset is of."""
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, bool)
        given = np.asarray(mask)
        if given.shape != (self.num_envs,) or given.dtype != bool or not given.any():
            raise InputError(
                f"reset_mask must be {self.num_envs} truth values, one for each copy and at least one of them true, "
                f"got {mask!r}"
            )
        return np.asarray(given)

    def _seeds(self, seed: Any) -> list[int | None]:
        """The seed of each copy."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + copy for copy in range(self.num_envs)]
        if not isinstance(seed, Sequence) or len(seed) != self.num_envs:
            raise InputError(f"seed must be a whole number or {self.num_envs} of them, one for each copy, got {seed!r}")
        return list(seed)
