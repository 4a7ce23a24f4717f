"""The recorder: stores numbers and arrays of each step, not the step itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.actuators import ActuatorRows
from pliant.constraints.contact import ContactPair
from pliant.core.kernels import prepared_count
from pliant.core.types import FloatArray
from pliant.record.bodies import recorded_bodies
from pliant.record.forces import RecordedRows, TouchesRecorder
from pliant.record.run import Run
from pliant.stepping import StepInfo
from pliant.world import State, World

LATEST = 4
"""Instants of `Recorder.latest`: enough to see what grows without bound."""


class Recorder:
    """Records a simulation of `world` from the state `start` on, step by step.

    Stored of each step: time, positions, velocities, controls, seconds, iterations, residual, actuation and contact
    forces; neither the `StepInfo` nor the state, so that memory grows by these arrays alone. A replay uses `stepper`;
    None: the run cannot be replayed.
    """

    def __init__(self, world: World, start: State, stepper: Any = None) -> None:
        self._world, self._start = world, start
        # The forces that an inverse solver found are recorded as controls: a replay needs a direct solver only.
        self._stepper = replace(stepper, solver=None) if getattr(stepper, "solver", None) is not None else stepper
        self._controls: list[Mapping[Any, Any]] = []
        constraints: tuple[Any, ...] = world.constraints
        self._times: list[float] = []
        self._positions: list[tuple[FloatArray, ...]] = []
        self._motions: list[tuple[FloatArray, ...]] = []
        self._stage_times: list[dict[str, float]] = []
        self._iterations: list[int] = []
        self._linear_residuals: list[float] = []
        self._prepared, self._warm = prepared_count(), list[bool]()
        self._forces = [
            _ContactRecorder(rows) if rows.is_contact else _ActuationRecorder(rows.handle)
            for rows in constraints
            if rows.is_contact or isinstance(rows, ActuatorRows)
        ]
        self._add_state(start)

    def add(self, state: State, info: StepInfo, controls: Mapping[Any, Any] | None = None) -> None:
        """Record one step: its new `state`, its `info` and its `controls`."""
        self._controls.append(dict(controls or {}) if info.inverse is None else info.inverse.commands(controls, info))
        self._add_state(state)
        self._stage_times.append(dict(info.stage_times))
        self._iterations.append(info.iterations)
        self._linear_residuals.append(info.linear_residual)
        before, self._prepared = self._prepared, prepared_count()
        self._warm.append(self._prepared == before)
        for forces in self._forces:
            forces.add(info)

    def latest(self) -> tuple[RecordedRows, ...]:
        """Displacements and forces of the actuators at the last few instants."""
        return tuple(forces.recorded(LATEST) for forces in self._forces if isinstance(forces, _ActuationRecorder))

    def run(self) -> Run:
        """The recorded run so far."""
        stages = list(dict.fromkeys(stage for times in self._stage_times for stage in times))
        return Run(
            times=np.array(self._times),
            bodies=recorded_bodies(self._world),
            positions=tuple(np.stack(q) for q in zip(*self._positions, strict=True)),
            motions=tuple(np.stack(v) for v in zip(*self._motions, strict=True)),
            step_seconds=np.array([sum(times.values()) for times in self._stage_times]),
            iterations=np.array(self._iterations, dtype=float),
            linear_residual=np.array(self._linear_residuals),
            warm=np.array(self._warm, dtype=bool),
            stage_seconds={s: np.array([times.get(s, 0.0) for times in self._stage_times]) for s in stages},
            forces=tuple(forces.recorded() for forces in self._forces),
            world=self._world,
            controls=tuple(self._controls),
            stepper=self._stepper,
            start=self._start,
        )

    def _add_state(self, state: State) -> None:
        self._times.append(state.time)
        self._positions.append(tuple(np.array(q) for q in state.q))  # copies: a view keeps its base alive
        self._motions.append(tuple(np.array(v) for v in state.v))


class _ActuationRecorder:
    """Displacement and force of one actuator, zero at the first instant."""

    def __init__(self, actuator: Any) -> None:
        self._actuator = actuator
        self._values: list[tuple[float, float]] = [(0.0, 0.0)]

    def add(self, info: StepInfo) -> None:
        self._values.append(info.actuation(self._actuator))

    def recorded(self, last: int = 0) -> RecordedRows:
        return RecordedRows((self._actuator.name,), np.array(self._values[-last:]), (self._actuator,))


class _ContactRecorder:
    """Total force and single contacts of one colliding pair, none at the first instant."""

    def __init__(self, pair: ContactPair) -> None:
        self._things = pair.handles
        self._names = tuple(thing.name for thing in self._things)
        self._totals = [np.zeros(3)]
        self._touches = TouchesRecorder()

    def add(self, info: StepInfo) -> None:
        contacts = info.contacts(*self._things)
        self._totals.append(contacts.forces.sum(axis=0))
        self._touches.add(contacts)

    def recorded(self) -> RecordedRows:
        return RecordedRows(self._names, np.stack(self._totals), self._things, self._touches.recorded())
