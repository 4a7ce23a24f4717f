"""Sensitivity of a hybrid trajectory to its initial state: the variational equation, with saltation matrices at events.

Between events Φ̇ = A(y(t)) Φ with the exact linear model of the mode, closed by the controllers. At an event with guard
g and reset R the shift of the event's time gives the saltation matrix

    S = DR + (f⁺ − DR f⁻)∇g / (∇g f⁻ + ∂g/∂t),      f∓ the rates before and after.

Where a sampled controller is called, at a fixed time, its input and its memory change by the derivative of its update.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.hybrid.constraint_rows import constraint_rows
from pliant.hybrid.controllers import Continuous, Flow, Sampled
from pliant.hybrid.equations import Equations
from pliant.hybrid.guards import Cause, Guard, Guards
from pliant.hybrid.linearize import sensitivity
from pliant.hybrid.mode_dynamics import ModeDynamics
from pliant.hybrid.runge_kutta import RungeKutta
from pliant.hybrid.solution import Event, Solution, StepRecord

_STEP = 1e-30
"""Complex step: no subtraction, so its error is rounding however small it is."""
_DIFFERENCE = 1e-6
"""Step of central differences relative to max(1, |z|), near the cube root of the rounding unit."""


@declared
def variation(solution: Solution) -> FloatArray:
    """The derivative (m, m) of the final state (q, v, x) with respect to the initial one, at fixed times; x are the
    states of continuous controllers, where there are any.

    The derivatives of mechanics are exact, those of controllers by central differences. The memory of sampled
    controllers must be numeric: its initial value is fixed, its later changes are differentiated.
    """
    events: dict[float, Event] = {}
    for event in solution.events:
        events.setdefault(float(event.time), event)
    if not solution.records:
        return np.eye(len(solution.final.q) + len(solution.final.v) + len(solution.final.x))
    first = solution.records[0]
    sampled = _Sampling(solution, first)
    phi = np.eye(len(first.y))
    sampled.call(first.t, first.y, phi)
    for record in solution.records:
        if record.flow.dynamics.equations.energy.any():
            raise InputError("variations through energy-consistent contacts are not available: they may change v")
        move = _between(solution, record)
        phi = move[:, : len(phi)] @ phi + move[:, len(phi) :] @ sampled.input_gradient
        here = events.get(float(record.t1))
        if here is not None and not sampled.due(record.t1):
            jump = _saltation(record, here)
            phi = jump[:, : len(phi)] @ phi + jump[:, len(phi) :] @ sampled.input_gradient
        if sampled.due(record.t1):
            sampled.call(record.t1, record.y1, phi)
    return phi


class _Sampling:
    """Sampled controllers called again along a recorded run, with the derivative (k, m) of their inputs."""

    def __init__(self, solution: Solution, first: StepRecord) -> None:
        self.controllers = [controller for controller in solution.controllers if isinstance(controller, Sampled)]
        self.n, self.started = first.flow.n, False
        self.input_gradient: FloatArray = np.zeros((first.flow.dynamics.equations.input_count, len(first.y)))
        self.memories = list(solution.memories)
        self.changes: list[FloatArray] = [np.zeros((np.size(_flat(m)), len(first.y))) for m in self.memories]
        self.gradients = [self.input_gradient for _ in self.controllers]

    def due(self, t: float) -> bool:
        """Whether a controller is called at time t (s)."""
        return any(_tick(controller, t) for controller in self.controllers)

    def call(self, t: float, y: FloatArray, phi: FloatArray) -> None:
        """Call the controllers that are due, all of them at the start, and renew the derivatives."""
        count = len(self.input_gradient)
        for k, controller in enumerate(self.controllers):
            if not self.started or _tick(controller, t):
                x, memory = y[: 2 * self.n], self.memories[k]
                slope = _differences(partial(self._numbers, controller, t, memory), _joined(x, memory))
                change = slope @ np.concatenate([phi[: 2 * self.n], self.changes[k]])
                self.memories[k] = self._called(controller, t, memory, _joined(x, memory))[1]
                self.gradients[k], self.changes[k] = change[:count], change[count:]
        self.started = True
        if self.controllers:
            self.input_gradient = np.sum(self.gradients, axis=0)

    def _called(self, controller: Sampled, t: float, memory: Any, z: FloatArray) -> tuple[FloatArray, Any]:
        """Input (k,) and memory that an update gives; z holds q, v and the numbers of the memory."""
        n = self.n
        remembered = None if memory is None else z[2 * n :].reshape(np.shape(memory))
        u, after = controller.update(t, z[:n], z[n : 2 * n], remembered)
        return np.ravel(np.asarray(u, float)), after

    def _numbers(self, controller: Sampled, t: float, memory: Any, z: FloatArray) -> FloatArray:
        return _joined(*self._called(controller, t, memory, z))


def _tick(controller: Sampled, t: float) -> bool:
    return abs(round(t / controller.period) * controller.period - t) <= 1e-12


def _joined(x: FloatArray, memory: Any) -> FloatArray:
    return np.concatenate([x, _flat(memory)])


def _flat(memory: Any) -> FloatArray:
    """The memory of a controller as a flat array."""
    if memory is None:
        return np.empty(0)
    try:
        return np.ravel(np.asarray(memory, float))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"variations need controllers whose memory is a number, an array or None, got {type(memory).__name__}"
        ) from error


def _differences(function: Callable[[FloatArray], FloatArray], z: FloatArray) -> FloatArray:
    """The derivative of `function` at z by central differences."""
    columns = []
    for k in range(len(z)):
        ends, step = [], _DIFFERENCE * max(1.0, abs(z[k]))
        for sign in (1.0, -1.0):
            moved = z.copy()
            moved[k] += sign * step
            ends.append(function(moved))
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(columns).T


def _between(solution: Solution, record: StepRecord) -> FloatArray:
    """The derivative (m, m + k) of the end of a step by its start and by the constant input of sampled controllers."""
    dense, size, length = record.interpolant(solution.method), len(record.y), record.t1 - record.t
    wide = size + record.flow.dynamics.equations.input_count

    def rate(t: float, phi: FloatArray) -> FloatArray:
        A = closed_loop(record.flow, t, dense.state((t - record.t) / length))
        out = A[:, :size] @ phi.reshape(size, wide)
        out[:, size:] += A[:, size:]
        return np.asarray(out).ravel()

    method = RungeKutta(8, 1e-9, 1e-10)
    t, h = record.t, length
    phi: FloatArray = np.eye(size, wide).ravel()
    while t < record.t1:
        h = min(h, record.t1 - t)
        step = method.step(rate, t, phi, rate(t, phi), h)
        if step.error <= 1.0:
            t, phi = (record.t1, step.y1) if h >= record.t1 - t else (t + h, step.y1)
        h *= min(5.0, max(0.2, 0.9 * max(step.error, 1e-10) ** method.exponent))
    return phi.reshape(size, wide)


def closed_loop(flow: Flow, t: float, y: FloatArray) -> FloatArray:
    """The derivative (m, m + k) of dy/dt with respect to y = (q, v, x) and to an input (k,) added to u."""
    n, size = flow.n, len(y)
    u, by_state = _inputs(flow, t, y)
    s = sensitivity(flow.dynamics, y[:n], y[n : 2 * n], u)
    out = np.zeros((size, size + len(u)))
    out[: 2 * n, : 2 * n], out[: 2 * n, size:] = s.A, s.B
    out[: 2 * n, :size] += s.B @ by_state
    if size > 2 * n:
        out[2 * n :, :size] = _differences(lambda z: _controller_rates(flow, t, z), y)
    return out


def _inputs(flow: Flow, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """u (k,), and its derivative (k, m) with respect to y through controllers that are not sampled."""
    u = flow.input(t, y)
    count = flow.dynamics.equations.input_count
    u = np.zeros(count) if u is None else np.asarray(u, float)
    if not flow.controllers:
        return u, np.zeros((count, len(y)))
    return u, _differences(lambda z: np.asarray(flow.input(t, z), float), y)


def _controller_rates(flow: Flow, t: float, y: FloatArray) -> FloatArray:
    n, offset, parts = flow.n, 2 * flow.n, []
    for controller in flow.controllers:
        if isinstance(controller, Continuous):
            parts.append(
                np.asarray(controller.rates(t, y[offset : offset + controller.order], y[:n], y[n : 2 * n]), float)
            )
            offset += controller.order
    return np.concatenate(parts)


@declared
def saltation(record: StepRecord, event: Event) -> FloatArray:
    """The saltation matrix (m, m) where `event` ends a recorded step; m = 2n without states of controllers."""
    return _saltation(record, event)[:, : len(record.y)]


def _saltation(record: StepRecord, event: Event) -> FloatArray:
    """The saltation matrix (m, m + k), its last columns with respect to the input of sampled controllers."""
    flow, n, size = record.flow, record.flow.n, len(record.y)
    before = event_state(record, event)
    gradient, slope = guard_gradient(flow, record.t1, before, event)
    f_minus, f_plus = flow.rate(record.t1, before), record.after.rate(record.t1, record.y1)
    reset = np.eye(size)
    if event.cause.startswith(Cause.IMPACT.value):
        reset[: 2 * n, : 2 * n] = reset_gradient(flow.dynamics, before[:n], before[n : 2 * n], event.row)
    out = np.outer(f_plus - reset @ f_minus, gradient) / (gradient[:size] @ f_minus + slope)
    out[:, :size] += reset
    return out


def event_state(record: StepRecord, event: Event) -> FloatArray:
    """The state just before the event that ends a step; where it is an impact, the record holds the one after it."""
    if not event.cause.startswith(Cause.IMPACT.value):
        return record.y1
    method = RungeKutta(8, 1e-9, 1e-10)
    flow = record.flow
    return method.step(flow.rate, record.t, record.y, flow.rate(record.t, record.y), record.t1 - record.t).y1


def guard_gradient(flow: Flow, t: float, y: FloatArray, event: Event) -> tuple[FloatArray, float]:
    """The derivative (m + k,) of an event's guard with respect to y and to the input of sampled controllers, and ∂g/∂t:
    exact for gaps and forces, except through controllers; by central differences for machines and friction.
    """
    dynamics, n, size = flow.dynamics, flow.n, len(y)
    equations = dynamics.equations
    out = np.zeros(size + equations.input_count)
    if event.cause == Cause.PULL.value:
        u, by_state = _inputs(flow, t, y)
        s = sensitivity(dynamics, y[:n], y[n : 2 * n], u)
        row = int(np.flatnonzero(s.rows == event.row)[0])
        out[: 2 * n], out[size:] = s.L[row], s.N[row]
        out[:size] += s.N[row] @ by_state
        drift = _differences(lambda z: _inputs(flow, float(z[0]), y)[0], np.array([t]))[:, 0]
        return out, float(s.N[row] @ drift)
    gaps = (Cause.TOUCH.value, Cause.PART.value)
    if event.cause in gaps or event.cause.startswith(Cause.IMPACT.value):
        index, local = equations.locate(event.row)
        which = np.array([local])
        if equations.scoped[index] and abs(equations.gaps(y[:n], index, which)[0]) > 1e-9:
            raise InputError(f"{event.name} entered its scope while penetrating: such an event has no saltation matrix")
        out[:n] = _row(equations, event.row, y[:n], y[n : 2 * n])
        return out, 0.0
    return _numerical_gradient(flow, t, y, event)


def _numerical_gradient(flow: Flow, t: float, y: FloatArray, event: Event) -> tuple[FloatArray, float]:
    dynamics, size = flow.dynamics, len(y)
    equations = dynamics.equations
    count = len(equations.system.constraints)
    gaps = np.concatenate([equations.gaps(y[: flow.n], index) for index in range(count)])
    guards = Guards(equations, dynamics, [None] * count, gaps)
    index = guards.gap_count + next(k for k, guard in enumerate(guards.others) if _is(guard, event, equations))

    def value(z: FloatArray) -> FloatArray:
        sampled_input = z[size:-1] + (0.0 if flow.sampled_input is None else flow.sampled_input)
        moved = Flow(dynamics, flow.controllers, sampled_input if equations.input_count else None)
        moved.rate(float(z[-1]), z[:size])
        return guards.values(float(z[-1]), z[:size])[[index]]

    slopes = _differences(value, np.concatenate([y, np.zeros(equations.input_count), [t]]))[0]
    return slopes[:-1], float(slopes[-1])


def _is(guard: Guard, event: Event, equations: Equations) -> bool:
    """Whether an event is that of a guard."""
    if guard.cause is not Cause.MACHINE:
        return (guard.row, guard.cause.value) == (event.row, event.cause)
    machine = equations.system.machines[guard.machine]
    return (machine.name, machine.transitions[guard.transition].target) == (event.name, event.target)


def _row(equations: Equations, row: int, q: Any, v: Any) -> Any:
    index, local = equations.locate(row)
    constraint = equations.system.constraints[index]
    return constraint_rows(constraint, q, v, np.array([local]), all_rows=constraint.count == 1)[1][0]


def reset_gradient(dynamics: ModeDynamics, q: FloatArray, v: FloatArray, row: int) -> FloatArray:
    """The derivative (2n, 2n) of the impact v⁺ = v − (1 + e) M⁻¹hᵀ (h v)/(h M⁻¹hᵀ), by a complex step."""
    if dynamics.normal_count:
        raise InputError("the variation of an impact while other constraints are active is not available")
    equations, n = dynamics.equations, dynamics.equations.n
    contact: Any = equations.system.constraints[equations.locate(row)[0]]
    e = contact.restitution.coefficient
    out = np.eye(2 * n)
    for k in range(2 * n):
        x = np.concatenate([q, v]).astype(complex)
        x[k] += 1j * _STEP
        h = _row(equations, row, x[:n], x[n:])
        push = np.linalg.solve(equations.mass(x[:n]).astype(complex), h)
        out[n:, k] = (x[n:] - (1.0 + e) * push * (h @ x[n:]) / (h @ push)).imag / _STEP
    return out
