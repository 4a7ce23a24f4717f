"""Some copies of a batch, in this process or another: their worlds, and the states of each step as long as it is used.

A `Part` does what the ordinary stepper does, copy after copy; nothing of a step is written a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pliant.core.errors import PliantError
from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.models.workspace import Workspace
from pliant.world import State, World
from pliant.world.changed import changed

_SHARED = ("factor", "blocks")
"""Memory that is used within one step alone, so that copies take turns with it."""


class CopyWorkspace(Workspace):
    """The workspace of one copy: what is derived is its own, memory for matrices is that of all copies."""

    def __init__(self, shared: Workspace) -> None:
        super().__init__()
        self._shared = shared

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:  # type: ignore[override]
        return Workspace, ()

    def take(self, owner: Any, kind: str) -> Any:
        """Memory of `kind`, or None."""
        own = getattr(owner, "symbolic", None) if kind in _SHARED else None
        return super().take(owner, kind) if own is None else self._shared.take(own, kind)

    def give(self, owner: Any, kind: str, memory: Any) -> None:
        """Leave memory for the next `take`."""
        own = getattr(owner, "symbolic", None) if kind in _SHARED else None
        if own is None:
            super().give(owner, kind, memory)
        else:
            self._shared.give(own, kind, memory)


class Report(NamedTuple):
    """The end of a step of several copies: `times` (c,) s, positions `q` and velocities `v` of each body, (c, …), and
    what the infos of all have in common. `errors` are (copy, error) where a step failed; such a copy stays as it was.
    """

    times: FloatArray
    q: tuple[FloatArray, ...]
    v: tuple[FloatArray, ...]
    status: list[Any]
    iterations: list[int]
    errors: list[tuple[int, PliantError]]


class Part:
    """The copies with these `changes` of a world."""

    def __init__(self, world: World, changes: Sequence[Mapping[Any, Any]]) -> None:
        self._world = world
        self.worlds = []
        for k, change in enumerate(changes):
            try:
                self.worlds.append(changed(world, change) if change else world)
            except PliantError as error:
                raise CopyError(k, error) from error
        self._states: dict[int, list[State]] = {}
        self._infos: dict[int, list[Any]] = {}
        self._steppers: dict[int, list[Any]] = {}
        self._memory = Workspace()

    def take_stepper(self, index: int, stepper: Any) -> None:
        """Make `stepper` known as number `index`: one for each copy, as it would have alone."""
        own = getattr(stepper, "workspace", None)
        self._steppers[index] = [
            stepper if own is None else evolve(stepper, workspace=CopyWorkspace(self._memory)) for _ in self.worlds
        ]

    def begin(self, token: int, states: Sequence[tuple[Any, ...] | None]) -> Report:
        """Hold states as number `token`: the initial ones, or the fields of given ones after their world."""
        pairs = zip(self.worlds, states, strict=True)
        made = [world.initial_state() if given is None else State(world, *given) for world, given in pairs]
        return self._kept(token, made, [None] * len(made), [])

    def step(
        self, index: int, before: int, after: int, controls: Sequence[Mapping[Any, Any] | None], *, keep: bool
    ) -> Report:
        """Step every copy from the states `before` to the states `after` by the stepper `index`. Where a copy fails the
        others are not stepped on, unless `keep`.
        """
        states, infos, errors = [], [], []
        each = zip(self._steppers[index], self._states[before], controls, strict=True)
        for k, (stepper, state, given) in enumerate(each):
            try:
                made, info = stepper(state.world, state, given)  # a state of before a restart has its own numbers
            except PliantError as error:
                made, info = state, None
                errors.append((k, error))
                if not keep:
                    states += [made, *self._states[before][k + 1 :]]
                    infos += [None] * (len(self.worlds) - k)
                    break
            states.append(made)
            infos.append(info)
        return self._kept(after, states, infos, errors)

    def restart(
        self,
        before: int,
        after: int,
        starts: Sequence[tuple[Any, ...] | None],
        changes: Sequence[Mapping[Any, Any] | None],
    ) -> Report:
        """Hold as number `after` the states `before`, with the copies that have `starts` there; `changes` give some of
        them other numbers from now on.
        """
        states = list(self._states[before])
        worlds = [state.world for state in states]
        for k, (start, change) in enumerate(zip(starts, changes, strict=True)):
            if change is not None:
                worlds[k] = changed(self._world, change) if change else self._world
            if start is not None:
                states[k] = State(worlds[k], *start)
        self.worlds = worlds
        return self._kept(after, states, [None] * len(states), [])

    def state(self, token: int, k: int) -> tuple[Any, ...]:
        """The fields of a state after its world."""
        s = self._states[token][k]
        return s.time, s.q, s.v, s.lam, s.keys, s.memories, s.histories

    def info(self, token: int, k: int) -> Any:
        """What the step to the states `token` reported of copy k; None of states that no step led to."""
        return self._infos[token][k]

    def drop(self, tokens: Sequence[int]) -> None:
        """Forget states that nobody uses."""
        for token in tokens:
            self._states.pop(token, None)
            self._infos.pop(token, None)

    def _kept(self, token: int, states: list[State], infos: list[Any], errors: list[tuple[int, PliantError]]) -> Report:
        self._states[token], self._infos[token] = states, infos
        bodies = range(len(self.worlds[0].models))
        return Report(
            np.array([state.time for state in states]),
            tuple(np.stack([state.q[b] for state in states]) for b in bodies),
            tuple(np.stack([state.v[b] for state in states]) for b in bodies),
            [getattr(info, "status", None) for info in infos],
            [getattr(info, "iterations", 0) for info in infos],
            errors,
        )


class CopyError(PliantError):
    """A copy, by its index in its part, could not be made."""

    def __init__(self, copy: int, error: PliantError) -> None:
        super().__init__(copy, error)
        self.copy, self.error = copy, error
