"""`pl.Batch`: many copies of one world with their own states, controls and numbers, stepped at once over all cores.

A step of a small robot spends much of its time in Python, which one thread of a process runs at a time. So the copies
are divided among processes, each of which runs the ordinary stepper on its own: bits are those of stepping each copy
alone. Worlds are sent once, states stay where they are computed, and controls and positions travel.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Literal
from weakref import finalize

import numpy as np

from pliant.batch.part import CopyError, Part, Report
from pliant.batch.processes import RemotePart
from pliant.batch.states import BatchInfos, BatchStates
from pliant.core.checks import positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError, PliantError
from pliant.core.extras import extra
from pliant.core.interrupts import interrupts_wait
from pliant.core.one_line import short
from pliant.stepping import StepInfo
from pliant.world import State, World
from pliant.world.changed import Number, changed
from pliant.world.copies import Copies

Controls = Mapping[Any, Any] | None


class Batch(Copies, AbstractContextManager["Batch"]):
    """`count` copies of `world`, each with its own state, controls and numbers: ``step(batch, states, controls)`` steps
    all of them by any stepper, ``states = batch.initial_states()`` is where they begin.

    vary
        Values of `pl.parameters`, ``{pl.parameters.Material(body, "young"): array}``: the first axis has `count`
        entries, one for each copy.
    workers
        Processes, at most one for each copy; None: one for each core. 1 steps all copies in this process.
    errors
        "raise" raises the first error of a copy, and the states of the step before remain; "keep" goes on: a copy that
        fails keeps the state that it had, and ``infos.errors`` has its error.
    device
        "cpu"; "gpu": one volume with cables, chambers and obstacles on a card, through JAX (extra `gpu`,
        docs/batch_card.md); "jax": the same on the processor that JAX has, to check it without a card.
    precision
        "float64" or "float32" on a card.
    capacity
        Contacts of a copy on a card. A step with more in reach is an error of that copy.

    Results on "cpu" are those of stepping each copy alone, to the last bit. Processes end with the batch, with `close`
    or at the end of a ``with`` block.
    """

    @declared
    def __init__(
        self,
        world: World,
        count: int,
        *,
        vary: Mapping[Any, Any] | None = None,
        workers: int | None = None,
        errors: Literal["raise", "keep"] = "raise",
        device: Literal["cpu", "gpu", "jax"] = "cpu",
        precision: Literal["float64", "float32"] = "float64",
        capacity: int = 16,
    ) -> None:
        positive_count("count", count)
        positive_count("capacity", capacity)
        self.world, self.count, self._keep = world, count, errors == "keep"
        self._changes = _changes(vary or {}, count)
        self.info_type: type = StepInfo
        self._on_card = device != "cpu"
        if self._on_card and workers not in (None, 1):
            raise InputError(f"device={device!r} steps all copies in this process: leave out workers={workers}")
        given = _cores() if workers is None else positive_count("workers", workers)
        given = 1 if self._on_card else given
        self._ends = np.linspace(0, count, min(given, count) + 1).astype(int)
        if self._on_card:
            extra("jax", "batches on a card need JAX", "gpu")
            card = import_module("pliant.batch.gpu.part")
            self.info_type = card.CardInfo
            options = {"on_card": device == "gpu", "precision": precision, "capacity": capacity}
            self._parts: list[Any] = [card.CardPart(world, self._changes, **options)]
        else:
            self._parts = self._started(vary or {})
        self._steppers: dict[int, tuple[int, Any]] = {}
        self._known: dict[int, Any] = {}
        self._unused: deque[int] = deque()
        self._tokens = 0
        self._worlds: dict[int, tuple[dict[Any, Any], World]] = {}

    def __repr__(self) -> str:
        return f"Batch({self.world!r}, {self.count} copies, {len(self._parts)} workers)"

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def workers(self) -> int:
        """Processes that step copies; 1 is this one."""
        return len(self._parts)

    def world_of(self, copy: int) -> World:
        """The world of a copy, with its numbers; those of the last `restarted`."""
        return self._world(self._changes, range(self.count)[copy])

    def initial_states(self) -> BatchStates:
        """Every copy at rest in its rest configuration, at time 0."""
        return self._begun([None] * self.count)

    def states(self, given: Sequence[State]) -> BatchStates:
        """States of the copies from given ones, one for each: of the same bodies, whatever their numbers are."""
        if isinstance(given, BatchStates) and given.batch is self:
            return given
        if len(given) != self.count:
            raise InputError(f"a batch of {self.count} copies takes as many states, got {len(given)}")
        return self._begun([_fields(copy, state, self.world_of(copy)) for copy, state in enumerate(given)])

    def restarted(
        self,
        states: BatchStates,
        starts: Mapping[int, State],
        changes: Mapping[int, Mapping[Any, Any]] | None = None,
    ) -> BatchStates:
        """`states` with some copies at given states, by their index; the others are where they were. `changes` gives
        copies that start other numbers from now on, in place of those that they had, as `pl.changed` takes them; older
        states keep theirs.
        """
        token, after = self._token_of(states), self._new_token()
        changes = {} if changes is None else changes
        for copy in (*starts, *changes):
            if copy not in range(self.count) or copy not in starts:
                raise InputError(f"copy {copy!r} must be one of 0 … {self.count - 1} that has a start")
        numbers = [dict(changes.get(copy, own)) for copy, own in enumerate(states.changes)]
        fields: list[Any] = [None] * self.count
        for copy, start in starts.items():
            fields[copy] = _fields(copy, start, self._world(numbers, copy))
        given = [changes.get(copy) for copy in range(self.count)]
        with interrupts_wait():
            self._forget()
            reports = self._all("restart", lambda own: (token, after, fields[own], given[own]))
        self._changes = numbers
        return self._states_of(after, reports)

    def step(self, stepper: Any, states: Any, controls: Any = None) -> tuple[BatchStates, BatchInfos]:
        """The states after one step of `stepper`, and what it reports; ``stepper(batch, states, controls)`` is the
        same. `controls` are those of all copies, or a list of them, one for each.
        """
        token = self._token_of(states)
        if not callable(stepper):
            raise InputError(f"a batch is stepped by a stepper, such as pl.ImplicitEuler(dt), got {short(stepper)}")
        index = self._index_of(stepper)
        given = controls if self._on_card and isinstance(controls, Mapping) else self._controls(controls)
        after = self._new_token()
        with interrupts_wait():
            self._forget()
            reports = self._all(
                "step",
                lambda own: (index, token, after, given if isinstance(given, Mapping) else given[own]),
                keep=self._keep,
            )
        if self._on_card and self._keep:
            made = self._states_of(after, reports, states.changes)
            return made, BatchInfos(made, reports, None)
        errors: dict[int, Exception] = {
            begin + k: error
            for begin, each in zip(self._ends[:-1].tolist(), reports, strict=True)
            for k, error in each.errors
        }
        made = self._states_of(after, reports, states.changes)
        if errors and not self._keep:
            copy = min(errors)
            raise _of_copy(copy, self.count, errors[copy]) from errors[copy]
        return made, BatchInfos(made, reports, errors)

    def state(self, states: BatchStates, copy: int) -> State:
        """The whole state of a copy, as stepping it alone leads to."""
        number, k = self._place(copy)
        found = self._call(number, "state", self._token_of(states), k)
        return State(self._world(states.changes, copy), *found)

    def read(self, states: BatchStates, copy: int, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A read-out of the info of the step that led to `states`."""
        number, k = self._place(copy)
        part, token = self._parts[number], self._token_of(states)
        if isinstance(part, Part):
            found = getattr(part.info(token, k), name)
            return found(*given, **named) if callable(found) else found
        return part.call("read", token, k, name, given, named)

    def close(self) -> None:
        """End the processes; states of the batch can no longer be read or stepped."""
        for part in self._parts:
            if isinstance(part, RemotePart):
                part.close()

    def _started(self, vary: Mapping[Any, Any]) -> list[Any]:
        """The parts, each with its copies."""
        spans = list(zip(self._ends[:-1].tolist(), self._ends[1:].tolist(), strict=True))
        if len(spans) == 1:
            with _named(0, self.count):
                return [Part(self.world, self._changes)]
        known = [self.world, *self.world.models, *self.world.constraints, *_things(self.world), *vary]
        parts = [RemotePart(known, self._changes[begin:end]) for begin, end in spans]
        try:
            for (begin, _), part in zip(spans, parts, strict=True):
                with _named(begin, self.count):
                    part.started()
        except BaseException:
            for part in parts:
                part.close()
            raise
        return list(parts)

    def _all(self, name: str, given: Any, **named: Any) -> list[Report]:
        """Answers of all parts to a call; `given` makes its arguments from the slice of the part's copies."""
        spans = [slice(*ends) for ends in zip(self._ends[:-1].tolist(), self._ends[1:].tolist(), strict=True)]
        if isinstance(self._parts[0], Part):
            return [getattr(self._parts[0], name)(*given(spans[0]), **named)]
        for part, span in zip(self._parts, spans, strict=True):
            part.ask(name, *given(span), **named)
        answers, failures = [], []
        for part in self._parts:
            try:
                answers.append(part.answer())
            except PliantError as error:  # the others have answers too, which must not be taken for later ones
                failures.append(error)
        if failures:
            raise failures[0]
        return answers

    def _call(self, number: int, name: str, *given: Any) -> Any:
        part = self._parts[number]
        return getattr(part, name)(*given) if isinstance(part, Part) else part.call(name, *given)

    def _begun(self, fields: Sequence[Any]) -> BatchStates:
        token = self._new_token()
        return self._states_of(token, self._all("begin", lambda own: (token, fields[own])))

    def _states_of(
        self, token: int, reports: Sequence[Report], changes: list[dict[Any, Any]] | None = None
    ) -> BatchStates:
        made = BatchStates(self, token, reports, self._changes if changes is None else changes)
        finalize(made, self._unused.append, token).atexit = False
        return made

    def _world(self, changes: list[dict[Any, Any]], index: int) -> World:
        """The world of a copy with its numbers among `changes`."""
        own = changes[index]
        if not own:
            return self.world
        if index not in self._worlds or self._worlds[index][0] is not own:
            self._worlds[index] = own, changed(self.world, own)
        return self._worlds[index][1]

    def _forget(self) -> None:
        """Let the parts forget the states that are no longer used."""
        tokens = [self._unused.popleft() for _ in range(len(self._unused))]
        if tokens:
            self._all("drop", lambda own: (tokens,))

    def _new_token(self) -> int:
        self._tokens += 1
        return self._tokens

    def _token_of(self, states: Any) -> int:
        if not isinstance(states, BatchStates):
            raise InputError(
                f"a batch is stepped from its states, batch.initial_states() or batch.states([…]), got {short(states)}"
            )
        if states.batch is not self:
            raise InputError("these states belong to another batch; take them over with batch.states(list(states))")
        return states._token

    def _index_of(self, stepper: Any) -> int:
        """Number of a stepper that the parts know."""
        known = self._steppers.get(id(stepper))
        if known is not None:
            return known[0]
        index = len(self._steppers)
        solver = getattr(stepper, "solver", None)
        more = [*getattr(solver, "effectors", ()), *getattr(solver, "actuators", ())]
        for part in self._parts:
            if isinstance(part, Part):
                part.take_stepper(index, stepper)
            else:
                part.add([each for each in more if not part.has(each)])
                part.call("take_stepper", index, stepper)
        self._known.update({id(each): each for each in more})
        self._steppers[id(stepper)] = index, stepper
        return index

    def _controls(self, controls: Any) -> list[Controls]:
        """The controls of each copy."""
        if controls is None or isinstance(controls, Mapping):
            self._check_handles(controls)
            return [controls] * self.count
        if not isinstance(controls, Sequence) or isinstance(controls, str):
            raise InputError(
                f"controls of a batch are a dictionary for all copies, or a list of them, got {short(controls)}"
            )
        if len(controls) != self.count:
            raise InputError(f"a batch of {self.count} copies takes as many controls, got {len(controls)}")
        for each in controls:
            self._check_handles(each)
        return list(controls)

    def _check_handles(self, controls: Controls) -> None:
        """An error that names a handle which the world does not know, before it is sent anywhere."""
        if controls is not None and not isinstance(controls, Mapping):
            self.world.controls(controls)
        for handle, value in (controls or {}).items():
            if handle not in self.world.handles and handle != "gravity" and id(handle) not in self._known:
                self.world.controls({handle: value})

    def _place(self, copy: int) -> tuple[int, int]:
        """The part of a copy, and its index there."""
        number = int(np.searchsorted(self._ends, copy, side="right")) - 1
        return number, copy - int(self._ends[number])


class _named(AbstractContextManager[None]):  # noqa: N801  reads as what it does
    """Name the copy, among all, that an error of a part is of."""

    def __init__(self, begin: int, count: int) -> None:
        self._begin, self._count = begin, count

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, CopyError):
            raise _of_copy(self._begin + error.copy, self._count, error.error) from error


def _of_copy(copy: int, count: int, error: Exception) -> Exception:
    """The error of one copy, which says which it is."""
    text = f"copy {copy} of {count}: {error}"
    try:
        return type(error)(text)
    except TypeError:  # it takes more than a text
        return PliantError(text)


def _fields(copy: int, state: Any, world: World) -> tuple[Any, ...]:
    """The fields of a given state of a copy after its world."""
    if not isinstance(state, State):
        raise InputError(f"state {copy} of a batch must be a State, got {type(state).__name__}")
    own = state if len(state.world.constraints) == len(world.constraints) else world.adopt(state)
    checked = State(world, own.time, own.q, own.v, own.lam, own.keys, own.memories, own.histories)
    return own.time, checked.q, checked.v, own.lam, own.keys, own.memories, own.histories


def _changes(vary: Mapping[Any, Any], count: int) -> list[dict[Any, Any]]:
    """The numbers of each copy."""
    values = {}
    for number, given in vary.items():
        if not isinstance(number, Number):
            raise InputError(
                f"vary takes pl.parameters of the world (Material, Mass, Damping, Friction, Gravity, Route), got "
                f"{short(number)}; commands and loads are controls, initial values are given with batch.states"
            )
        array = np.asarray(given)
        if array.ndim == 0 or len(array) != count:
            raise InputError(f"vary of {short(number)} needs {count} values, one for each copy, got {array.shape}")
        values[number] = array
    return [{number: _plain(array[k]) for number, array in values.items()} for k in range(count)]


def _plain(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 else value


def _things(world: World) -> Iterator[Any]:
    """What was added to the scene of a world: the handles of its controls and read-outs."""
    if world.source is not None:
        yield from (thing for thing, _ in world.source.things)
    yield from world.handles


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
