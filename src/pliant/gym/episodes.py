"""The episodes of several copies of a task: their goals, commands and steps, from actions to observations.

One environment and a vector of them share it; they differ in who steps the worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray
from pliant.gym.task import Moment, Shapes, Task
from pliant.world import State

LARGEST = 10.0
"""Observations are clipped to ± this."""


class Outcome(NamedTuple):
    """What a step leads to, of each copy: `observations` (c, n), float32, `rewards` (c,), whether episodes are over
    (`terminated`) or at their last step (`truncated`), `success` and `error` (c,).
    """

    observations: Any
    rewards: FloatArray
    terminated: BoolArray
    truncated: BoolArray
    success: BoolArray
    error: FloatArray


class Episodes:
    """The episodes of `count` copies of `task`; those of `limit` steps are truncated, None: none.

    `randomize` says what of the world is drawn anew in each episode; see `Task.varied`.
    """

    def __init__(self, task: Task, count: int, *, randomize: Any = False, limit: int | None = None) -> None:
        self.task, self.count, self.limit = task, count, limit
        self.varied = task.varied(randomize)
        self._low = np.array([each.low for each in task.actions])
        self._high = np.array([each.high for each in task.actions])
        self._span = self._high - self._low
        self._most = task.dt * np.array([each.rate for each in task.actions])
        self._start = np.array([each.start for each in task.actions])
        self._scale = np.concatenate([np.full(each.size, 1.0 / each.scale) for each in task.observations])
        self.command: FloatArray = np.tile(self._start, (count, 1))
        self.action = self._position()
        self.goal: FloatArray = np.zeros((count, len(task.goal(np.random.default_rng(0)))))
        self.steps = np.zeros(count, np.int64)
        self._chance: list[np.random.Generator | None] = [None] * count
        self._measured: FloatArray = np.zeros((count, 0))

    def begin(self, copy: int, rng: np.random.Generator) -> tuple[State, dict[Any, Any], dict[str, Any]]:
        """A new episode of `copy`: where it begins, the numbers of its world, and what `info` says of it."""
        task = self.task
        self.goal[copy] = task.goal(rng)
        if task.goal_moves:  # random numbers of its own: a copy that waits for its reset draws none of the next episode
            self._chance[copy] = np.random.default_rng(rng.integers(2**63))
        factors, changes = task.drawn(self.varied, rng)
        state = task.begin(task.start, self.goal[copy], rng)
        self.command[copy], self.steps[copy] = self._start, 0
        self.action[copy] = self._position()[copy]
        info: dict[str, Any] = {"goal": self.goal[copy].copy()}
        if factors:
            info["randomized"] = factors
        return state, changes, info

    def first(self, shapes: Shapes, begun: BoolArray) -> Any:
        """Observations (c, n) where the copies `begun` are at their first instant; those of others do not count."""
        measured = self.task.measured(shapes)
        if self._measured.shape != measured.shape:
            self._measured = np.zeros_like(measured)
        self._measured = np.where(begun[:, None], measured, self._measured)
        return self._observed(self._moment(self._measured, np.zeros_like(measured)))

    def controls(self, actions: FloatArray) -> list[dict[Any, Any]]:
        """Controls of each copy: its commands approach what the `actions` (c, k) ask for as fast as they may, or change
        at the rates that these ask for.
        """
        self.action, before = np.clip(actions, -1.0, 1.0), self.command
        if self.task.incremental:
            self.command = np.clip(before + self.action * self._most, self._low, self._high)
        else:
            wanted = self._low + 0.5 * (self.action + 1.0) * self._span
            self.command = before + np.clip(wanted - before, -self._most, self._most)
        return [self.task.ramped(old, new) for old, new in zip(before, self.command, strict=True)]

    def after(self, shapes: Shapes, errors: Mapping[int, Exception]) -> Outcome:
        """What the step led to; the copies that have `errors` are where they were."""
        measured, before = self.task.measured(shapes), self._measured
        failed: BoolArray = np.array(~np.isfinite(measured).all(axis=1))
        failed[list(errors)] = True
        self._measured = np.where(failed[:, None], before, measured)
        for copy, chance in enumerate(self._chance):
            if chance is not None:
                self.goal[copy] = self.task.moved(self.goal[copy], chance)
        now = self._moment(self._measured, (self._measured - before) / self.task.dt)
        verdict = self.task.judged(now)
        self.steps += 1
        late = self.steps >= self.limit if self.limit is not None else np.zeros(self.count, bool)
        return Outcome(
            self._observed(now),
            np.where(failed, self.task.failed, verdict.reward),
            verdict.over | failed,
            late,
            verdict.success & ~failed,
            verdict.error,
        )

    def _moment(self, measured: FloatArray, rates: FloatArray) -> Moment:
        return Moment(measured, rates, self.goal, self.command, self._position(), self.action)

    def _position(self) -> FloatArray:
        """Commands as −1 … 1, (c, k)."""
        return np.asarray(2.0 * (self.command - self._low) / self._span - 1.0)

    def _observed(self, now: Moment) -> Any:
        parts = np.concatenate(self.task.observed(now), axis=1)
        return np.clip(parts * self._scale, -LARGEST, LARGEST).astype(np.float32)


def actions_of(given: Any, shape: tuple[int, ...]) -> FloatArray:
    """Actions of this `shape` from NumPy's, torch's or JAX's arrays; an `InputError` for other shapes and for numbers
    that are not finite.
    """
    try:
        if not isinstance(given, np.ndarray) and hasattr(given, "__dlpack__"):
            given = np.from_dlpack(given)
        actions = np.asarray(given, np.float64)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise InputError(
            f"an action must be an array of shape {shape} in the memory of the host, without gradients: {error}"
        ) from error
    if actions.shape != shape:
        raise InputError(f"an action must have the shape {shape}, got {actions.shape}")
    if not np.isfinite(actions).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(actions))[0])
        raise InputError(
            f"an action must be finite, its number {where if len(where) > 1 else where[0]} is {actions[where]}: "
            "the policy that gave it has diverged"
        )
    return actions
