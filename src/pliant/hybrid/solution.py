"""What an integration returns: samples, events, the final point, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Flow
from pliant.hybrid.equations import Discrete
from pliant.hybrid.runge_kutta import Dense, RungeKutta, RungeKuttaStep
from pliant.hybrid.system import HybridSystem


class Outcome(Enum):
    """How an integration ended. `Outcome.X.text` says what happened and what to try next."""

    FINISHED = "reached the end"
    STOPPED = "a machine entered one of its final states"
    ZENO = (
        "stopped where events accumulate (Zeno): give the contact a rest speed (`Restitution(rest_speed=…)`) or damping"
    )
    EVENT_STORM = "stopped at the limit of events: look at `events` for the rows that chatter, or raise `event_limit`"
    SINGULAR_MASS = "stopped where the mass matrix became singular: choose other coordinates"
    NO_FORCE = (
        "stopped where no contact force is consistent with sliding (Painlevé): lower the friction coefficient; or "
        "where a constraint's derivative ∂h/∂q vanishes"
    )
    NOT_FINITE = (
        "stopped where accelerations, gaps or guards are not finite: check bias, mass, constraints, machines and "
        "controllers at `final`"
    )
    STEP_TOO_SMALL = (
        "stopped where the step size fell to rounding: loosen `rtol`, or check forces and constraints for jumps"
    )
    STEP_LIMIT = "stopped at the limit of steps: raise `step_limit`, or loosen `rtol`"

    @property
    def text(self) -> str:
        """What happened, and what to try next."""
        return self.value

    @property
    def ok(self) -> bool:
        """Whether the run reached its end."""
        return self in (Outcome.FINISHED, Outcome.STOPPED)


class Event(NamedTuple):
    """A row of the event log: at `time` (s), `name` went from `source` to `target` because of `cause`.

    `name` is that of a constraint row or of a machine; `row` the index of the row (−1 for a machine).
    """

    time: float
    name: str
    row: int
    source: int
    target: int
    cause: str


@one_line
@dataclass(frozen=True, eq=False)
class HybridState:
    """The whole state at one time: what `integrate(start=…)` continues from and `linearize` takes.

    `time` s, `q` (n,) m or rad, `v` (n,) m/s or rad/s, `modes` (m,) and `lam` (m,) N of all constraint rows, `u` (k,)
    the input, `states` of machines. `discrete`, `x` (c,) and `memories` hold what continuing needs: the discrete state,
    the states of the continuous controllers, and what sampled controllers remember.
    """

    time: float
    q: FloatArray
    v: FloatArray
    modes: Any
    lam: FloatArray
    u: FloatArray
    discrete: Discrete = field(repr=False)
    x: FloatArray = field(repr=False)
    memories: tuple[Any, ...] = field(repr=False, default=())

    @property
    def states(self) -> tuple[int, ...]:
        """States of the user's machines."""
        return self.discrete.states


@dataclass(eq=False)
class StepRecord:
    """A recorded step: times, end states, `flow`, its stages where samples lie within it, and the flow `after` it."""

    t: float
    t1: float
    y: FloatArray
    y1: FloatArray
    flow: Flow
    step: RungeKuttaStep | None
    after: Flow
    dense: Dense | None = None

    def interpolant(self, method: RungeKutta) -> Dense:
        """The dense output of the step, made by the `method` that took it."""
        if self.dense is None:
            rate, step = self.flow.rate, self.step
            if step is None:
                step = method.step(rate, self.t, self.y, rate(self.t, self.y), self.t1 - self.t)
            self.dense, self.step = method.dense(rate, step), None
        return self.dense


@one_line
@dataclass(frozen=True, eq=False)
class Solution:
    """A run of a hybrid system.

    Sampled at `times` (k,) s: the solver's steps, the events and the grid asked for; at an event the state after it.
    `events` is the log in order; `final` the last point; `status` says how the run ended. `redundant` is the largest
    count of redundant constraint rows; where it is not 0, λ is the solution of least norm.
    """

    system: HybridSystem
    status: Outcome
    events: tuple[Event, ...]
    final: HybridState
    redundant: int
    records: tuple[StepRecord, ...] = field(repr=False)
    grid: FloatArray = field(repr=False)
    """Requested sample times (k,), s."""
    method: RungeKutta = field(repr=False)
    controllers: tuple[Any, ...] = field(repr=False, default=())
    memories: tuple[Any, ...] = field(repr=False, default=())  # what sampled controllers remembered at the start

    @cached_property
    def _samples(self) -> tuple[FloatArray, FloatArray, list[tuple[StepRecord, Any, Any]]]:
        if not self.records:
            y = np.concatenate([self.final.q, self.final.v, self.final.x])
            return np.array([self.final.time]), y[None], []
        times, states, blocks = [np.array([self.records[0].t])], [self.records[0].y[None]], []
        ends = np.array([record.t1 for record in self.records])
        low = np.searchsorted(self.grid, [self.records[0].t, *ends], side="right")
        place = 1
        for k, record in enumerate(self.records):
            inside = self.grid[low[k] : low[k + 1]]
            inside = inside[inside < record.t1]
            if len(inside):
                theta = (inside - record.t) / (record.t1 - record.t)
                times.append(inside)
                states.append(record.interpolant(self.method).at(theta))
            times.append(np.array([record.t1]))
            states.append(record.y1[None])
            blocks.append((record, slice(place, place + len(inside)), place + len(inside)))
            place += len(inside) + 1
        return np.concatenate(times), np.concatenate(states), blocks

    @property
    def times(self) -> FloatArray:
        """Times (k,) s, increasing."""
        return self._samples[0]

    @property
    def q(self) -> FloatArray:
        """Coordinates (k, n) at `times`, m or rad."""
        return self._samples[1][:, : self.system.coordinate_count]

    @property
    def v(self) -> FloatArray:
        """Velocities (k, n) at `times`, m/s or rad/s."""
        n = self.system.coordinate_count
        return self._samples[1][:, n : 2 * n]

    @cached_property
    def modes(self) -> Any:
        """Modes (k, m) of all constraint rows at `times`: 0 free, 1 contact, 2 ballistic; joints are always 1."""
        return self._sampled(lambda discrete: discrete.modes, self.final.modes, np.int8)

    @cached_property
    def states(self) -> Any:
        """States (k, machines) of the user's machines at `times`."""
        return self._sampled(lambda discrete: discrete.states, self.final.states, np.int64)

    def _sampled(self, of: Callable[[Discrete], Any], final: Any, kind: Any) -> Any:
        """What `of` takes from the discrete state, (k, len(final)), at `times`."""
        times, _, blocks = self._samples
        out = np.empty((len(times), len(final)), kind)
        out[:] = final
        if blocks:
            out[0] = of(blocks[0][0].flow.dynamics.discrete)
        for record, inside, end in blocks:
            out[inside] = of(record.flow.dynamics.discrete)
            out[end] = of(record.after.dynamics.discrete)
        return out

    @cached_property
    def lam(self) -> FloatArray:
        """Forces λ (k, m) N of all constraint rows at `times`, zero where inactive."""
        return self._forces(lambda flow, q, v: flow.dynamics.normals())

    @cached_property
    def friction(self) -> FloatArray:
        """Friction forces (k, m, 2) N at `times`, along the directions of each row's friction."""
        return self._forces(lambda flow, q, v: flow.dynamics.tangentials(q, v))

    def _forces(self, read: Any) -> FloatArray:
        times, y, blocks = self._samples
        n = self.system.coordinate_count
        first = self._force_at(read, self.records[0].flow, times[0], y[0], n) if blocks else read(None, None, None)
        out = np.zeros((len(times), *np.shape(first)))
        out[0] = first
        for record, inside, end in blocks:
            out[end] = self._force_at(read, record.after, record.t1, record.y1, n)
            count = inside.stop - inside.start
            if record.flow.dynamics.normal_count and count:
                out[inside] = self._inside(read, record, times[inside], y[inside], n)
        return out

    def _inside(self, read: Any, record: StepRecord, times: FloatArray, y: FloatArray, n: int) -> FloatArray:
        """Forces at times inside a step: one by one where they are few, else interpolated from nine nodes."""
        if len(times) <= _NODES:
            return np.array([self._force_at(read, record.flow, t, state, n) for t, state in zip(times, y, strict=True)])
        nodes = 0.5 - 0.5 * np.cos(np.pi * np.arange(_NODES) / (_NODES - 1))
        states = record.interpolant(self.method).at(nodes)
        at = record.t + nodes * (record.t1 - record.t)
        known = np.array([self._force_at(read, record.flow, t, state, n) for t, state in zip(at, states, strict=True)])
        weights = _barycentric((times - record.t) / (record.t1 - record.t), nodes)
        return np.tensordot(weights, known, axes=1)

    @staticmethod
    def _force_at(read: Any, flow: Flow, t: float, y: FloatArray, n: int) -> Any:
        if flow.dynamics.normal_count:
            flow.rate(t, y)
        return read(flow, y[:n], y[n : 2 * n])

    @cached_property
    def u(self) -> FloatArray:
        """Inputs (k, inputs) at `times`."""
        times, y, blocks = self._samples
        out = np.zeros((len(times), self.system.input_count))
        if blocks:
            out[0] = _or_zero(self.records[0].flow.input(times[0], y[0]), out.shape[1])
        for record, inside, end in blocks:
            out[end] = _or_zero(record.after.input(times[end], y[end]), out.shape[1])
            for k in range(inside.start, inside.stop):
                out[k] = _or_zero(record.flow.input(times[k], y[k]), out.shape[1])
        return out

    @property
    def step_times(self) -> FloatArray:
        """Ends (steps,) s of the solver's steps."""
        return np.array([record.t1 for record in self.records])

    @property
    def step_sizes(self) -> FloatArray:
        """Sizes (steps,) s of the solver's steps."""
        return np.array([record.t1 - record.t for record in self.records])

    def at(self, times: Any) -> tuple[FloatArray, FloatArray]:
        """Coordinates and velocities (k, n) at any `times` (k,) s of the run, from the dense output."""
        wanted = np.atleast_1d(np.asarray(times, float))
        first, last = self.times[0], self.times[-1]
        if wanted.size and (wanted.min() < first or wanted.max() > last):
            raise InputError(f"times must lie in [{first:g}, {last:g}] s, got {wanted.min():g} to {wanted.max():g}")
        ends, n = self.step_times, self.system.coordinate_count
        out = np.empty((len(wanted), self._samples[1].shape[1]))
        out[:] = self._samples[1][0]
        which = np.minimum(np.searchsorted(ends, wanted), len(ends) - 1)
        for k in np.unique(which):
            record, mine = self.records[k], which == k
            out[mine] = record.interpolant(self.method).at((wanted[mine] - record.t) / (record.t1 - record.t))
        return out[:, :n], out[:, n : 2 * n]


_NODES = 9
"""Chebyshev nodes for λ inside a step: degree eight, one more than the dense output of the state."""


def _barycentric(x: FloatArray, nodes: FloatArray) -> FloatArray:
    """Weights (k, nodes) that interpolate values at Chebyshev–Lobatto `nodes` to `x` (k,)."""
    w = (-1.0) ** np.arange(len(nodes))
    w[[0, -1]] *= 0.5
    away = x[:, None] - nodes
    hit = np.abs(away) < 1e-14
    away[hit] = 1.0
    weights = w / away
    weights[hit.any(axis=1)] = hit[hit.any(axis=1)]
    return weights / weights.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def _or_zero(u: Any, count: int) -> Any:
    return np.zeros(count) if u is None else u
