"""The states of all copies of a batch after one step, and what the step reported of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.batch.part import Report
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.world import State

if TYPE_CHECKING:
    from pliant.batch.batch import Batch


class BatchStates(Sequence[State]):
    """States of all copies of a batch, immutable: ``states[k]`` is the whole state of copy k, and the arrays below are
    those of all copies. They stay usable when the batch has gone on from them.
    """

    def __init__(self, batch: Batch, token: int, reports: Sequence[Report], changes: list[dict[Any, Any]]) -> None:
        self._batch, self._token, self._changes = batch, token, changes
        self._q = [_joined([each.q[b] for each in reports]) for b in range(len(reports[0].q))]
        self._v = [_joined([each.v[b] for each in reports]) for b in range(len(reports[0].v))]
        self._times = _joined([each.times for each in reports])

    def __len__(self) -> int:
        return self._batch.count

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[each] for each in range(*k.indices(len(self)))]
        return self._batch.state(self, range(len(self))[k])

    def __repr__(self) -> str:
        return f"BatchStates({len(self)} copies)"

    @property
    def batch(self) -> Batch:
        """The batch that they belong to."""
        return self._batch

    @property
    def changes(self) -> list[dict[Any, Any]]:
        """The numbers in which the world of each copy differs."""
        return self._changes

    @property
    def times(self) -> FloatArray:
        """Time of each copy, (count,), s."""
        return np.asarray(self._times)

    def positions(self, body: Any) -> FloatArray:
        """Positions of `body` in each copy, as states hold them: of a volume (count, n, 3), m; of a rigid body its pose
        (count, 4, 3).
        """
        return np.asarray(self._q[self._batch.world.index(body)])

    def velocities(self, body: Any) -> FloatArray:
        """Velocities of `body` in each copy, (count, …) with ``state.velocities(body)``, m/s (and rad/s)."""
        return np.asarray(self._v[self._batch.world.index(body)])

    def points(self, body: Any) -> FloatArray:
        """Positions of the nodes of `body` in each copy, (count, n, 3), m."""
        index = self._batch.world.index(body)
        model = self._batch.world.models[index]  # numbers change no positions of nodes
        return np.stack([model.node_positions(q) for q in np.asarray(self._q[index])])


class BatchInfos(Sequence[Any]):
    """What a step reported of each copy: ``infos[k]`` has the read-outs of the step's info, such as
    ``infos[k].actuation(cable)``; ``infos.each(…)`` those of all copies.
    """

    def __init__(self, states: BatchStates, reports: Sequence[Report], errors: dict[int, Exception] | None) -> None:
        self._states, self._reports = states, reports
        if errors is not None:  # else they are on a card, and read when they are asked for
            self._errors = errors
            self._status = [one for each in reports for one in each.status]
            self._iterations = np.array([one for each in reports for one in each.iterations])

    @cached_property
    def _errors(self) -> dict[int, Exception]:
        return dict(self._reports[0].errors)

    @cached_property
    def _status(self) -> list[Any]:
        return list(self._reports[0].status)

    @cached_property
    def _iterations(self) -> Any:
        return np.array(list(self._reports[0].iterations))

    def __len__(self) -> int:
        return len(self._states)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[each] for each in range(*k.indices(len(self)))]
        return CopyInfo(self, range(len(self))[k])

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"BatchInfos({len(self)} copies, {len(self._errors)} failed)"

    @property
    def status(self) -> list[Any]:
        """How the step of each copy ended; None where it failed."""
        return self._status

    @property
    def iterations(self) -> Any:
        """Linear solves of each copy, (count,)."""
        return self._iterations

    @property
    def errors(self) -> dict[int, Exception]:
        """Errors of the copies that failed, by their index: such a copy has the state that it had."""
        return self._errors

    def each(self, name: str, *given: Any, **named: Any) -> list[Any]:
        """The read-out `name` of the info of each copy: ``infos.each("actuation", cable)``."""
        return [self.read(k, name, *given, **named) for k in range(len(self))]

    def read(self, k: int, name: str, *given: Any, **named: Any) -> Any:
        """The read-out `name` of the info of copy k."""
        if k in self._errors:
            raise InputError(f"copy {k} failed in this step and has no read-outs: {self._errors[k]}")
        return self._states.batch.read(self._states, k, name, given, named)


class CopyInfo:
    """The info of a step of one copy: its attributes and methods are those of the stepper's info."""

    def __init__(self, infos: BatchInfos, copy: int) -> None:
        self._infos, self._copy = infos, copy

    def __repr__(self) -> str:
        return f"CopyInfo(copy {self._copy}, {self.status})"

    @property
    def status(self) -> Any:
        """How the step ended."""
        return self._infos.status[self._copy]

    @property
    def iterations(self) -> int:
        """Linear solves."""
        return int(self._infos.iterations[self._copy])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if callable(getattr(self._infos._states.batch.info_type, name, None)):
            return lambda *given, **named: self._infos.read(self._copy, name, *given, **named)
        return self._infos.read(self._copy, name)


def _joined(parts: Sequence[FloatArray]) -> FloatArray:
    """Arrays of the copies of all parts, one after another, read-only."""
    made = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if isinstance(made, np.ndarray):  # what is on a card is brought here when it is read
        made.setflags(write=False)
    return made
