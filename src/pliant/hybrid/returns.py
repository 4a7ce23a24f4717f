"""How a hybrid motion answers to a change of its start: variations with saltation matrices, return maps, limit cycles.

Between events Φ̇ = A(x(t)) Φ with the exact linear model of the mode. At an event with guard g and reset R the change of
the event's time adds up to the saltation matrix  S = DR + (f⁺ − DR f⁻)∇g / (∇g f⁻),  f∓ the rates before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.core.errors import ConvergenceError, InputError
from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Flow
from pliant.hybrid.equations import Equations
from pliant.hybrid.guards import Cause, Guards
from pliant.hybrid.integrate import integrate
from pliant.hybrid.linearize import sensitivity
from pliant.hybrid.motion import Motion
from pliant.hybrid.rows import constraint_rows
from pliant.hybrid.runge_kutta import RungeKutta
from pliant.hybrid.solution import Event, Piece, Point, Solution
from pliant.hybrid.system import System

_STEP = 1e-30


def variation(solution: Solution) -> FloatArray:
    """The derivative (2n, 2n) of the final (q, v) with respect to the initial one, at fixed times.

    The run must have no controllers with memory or states of their own.
    """
    n = solution.system.coordinate_count
    events: dict[float, Event] = {}
    for event in solution.events:
        events.setdefault(float(event.time), event)
    phi: FloatArray = np.eye(2 * n)
    for piece in solution.pieces:
        if piece.flow.controllers or len(piece.y) != 2 * n:
            raise InputError("variations are those of a system without controllers: put static feedback into its bias")
        if piece.flow.motion.equations.energy.any():
            raise InputError("variations through energy-consistent contacts are not available: they may change v")
        phi = _between(solution, piece) @ phi
        here = events.get(float(piece.t1))
        if here is not None:
            phi = saltation(piece, here) @ phi
    return phi


def _between(solution: Solution, piece: Piece) -> FloatArray:
    """The transition matrix of the linear model along one step."""
    n, dense = solution.system.coordinate_count, piece.interpolant(solution.method)
    length = piece.t1 - piece.t
    u = _held(piece.flow)

    def rate(t: float, phi: FloatArray) -> FloatArray:
        y = dense.one((t - piece.t) / length)
        return np.asarray(sensitivity(piece.flow.motion, y[:n], y[n:], u).A @ phi.reshape(2 * n, 2 * n)).ravel()

    method = RungeKutta(8, 1e-9, 1e-10)
    t, h = piece.t, length
    phi: FloatArray = np.eye(2 * n).ravel()
    while t < piece.t1:
        h = min(h, piece.t1 - t)
        step = method.step(rate, t, phi, rate(t, phi), h)
        if step.error <= 1.0:
            t, phi = (piece.t1, step.y1) if h >= piece.t1 - t else (t + h, step.y1)
        h *= min(5.0, max(0.2, 0.9 * max(step.error, 1e-10) ** method.exponent))
    return phi.reshape(2 * n, 2 * n)


def _held(flow: Flow) -> FloatArray:
    return np.zeros(flow.motion.equations.input_count) if flow.held is None else flow.held


def saltation(piece: Piece, event: Event) -> FloatArray:
    """The saltation matrix (2n, 2n) at the end of a recorded step, where `event` changes the mode."""
    flow, n = piece.flow, piece.flow.n
    before = piece.y1 if not event.cause.startswith(Cause.IMPACT.value) else _before_impact(piece)
    gradient = _guard_gradient(flow, piece.t1, before, event)
    f_minus, f_plus = flow.rate(piece.t1, before), piece.after.rate(piece.t1, piece.y1)
    reset = np.eye(2 * n)
    if event.cause.startswith(Cause.IMPACT.value):
        reset = _reset_gradient(flow.motion, before[:n], before[n:], event.row)
    return np.asarray(reset + np.outer(f_plus - reset @ f_minus, gradient) / (gradient @ f_minus))


def _before_impact(piece: Piece) -> FloatArray:
    """The state just before the impact that ends a step, whose record holds the one after it."""
    method = RungeKutta(8, 1e-9, 1e-10)
    flow = piece.flow
    return method.step(flow.rate, piece.t, piece.y, flow.rate(piece.t, piece.y), piece.t1 - piece.t).y1


def _guard_gradient(flow: Flow, t: float, y: FloatArray, event: Event) -> FloatArray:
    """∇g (2n,) of an event's guard: exact for gaps and forces, by central differences for machines and friction."""
    motion, n = flow.motion, flow.n
    equations = motion.equations
    if event.cause == Cause.PULL.value:
        s = sensitivity(motion, y[:n], y[n:], _held(flow))
        return np.asarray(s.L[int(np.flatnonzero(s.rows == event.row)[0])])
    gaps = (Cause.TOUCH.value, Cause.PART.value)
    if event.cause in gaps or event.cause.startswith(Cause.IMPACT.value):
        return np.concatenate([_row(equations, event.row, y[:n], y[n:]), np.zeros(n)])
    guards = Guards(equations, motion, [None] * len(equations.system.constraints), _gaps(equations, y[:n]))
    machine = event.row < 0
    number = next(
        k
        for k, guard in enumerate(guards.others)
        if (guard.cause is Cause.MACHINE if machine else (guard.row, guard.cause.value) == (event.row, event.cause))
    )
    out = np.empty(2 * n)
    for k in range(2 * n):
        values = []
        for sign in (1.0, -1.0):
            moved = y.copy()
            moved[k] += sign * 1e-6
            flow.rate(t, moved)
            values.append(guards.values(t, moved)[guards.gap_count + number])
        out[k] = (values[0] - values[1]) / 2e-6
    return out


def _gaps(equations: Equations, q: FloatArray) -> FloatArray:
    parts = [equations.gaps(q, index) for index in range(len(equations.system.constraints))]
    return np.concatenate(parts)


def _row(equations: Equations, row: int, q: Any, v: Any) -> Any:
    index = int(np.searchsorted(equations.first, row, side="right")) - 1
    constraint = equations.system.constraints[index]
    which = np.array([row - int(equations.first[index])])
    return constraint_rows(constraint, q, v, which, all_of_them=constraint.count == 1)[1][0]


def _reset_gradient(motion: Motion, q: FloatArray, v: FloatArray, row: int) -> FloatArray:
    """The derivative (2n, 2n) of the impact v⁺ = v − (1 + e) M⁻¹hᵀ (h v)/(h M⁻¹hᵀ), by a complex step."""
    if motion.normal_count:
        raise InputError("the variation of an impact while other constraints hold is not available")
    equations, n = motion.equations, motion.equations.n
    index = int(np.searchsorted(equations.first, row, side="right")) - 1
    e = equations.system.constraints[index].restitution.coefficient  # type: ignore[union-attr]
    out = np.eye(2 * n)
    for k in range(2 * n):
        x = np.concatenate([q, v]).astype(complex)
        x[k] += 1j * _STEP
        h = _row(equations, row, x[:n], x[n:])
        push = np.linalg.solve(equations.mass(x[:n]).astype(complex), h)
        out[n:, k] = (x[n:] - (1.0 + e) * push * (h @ x[n:]) / (h @ push)).imag / _STEP
    return out


@dataclass(frozen=True, eq=False)
class Return:
    """A return to a section: the state `x` (2n,) after the event, the `time` (s) it took, and the Jacobian `map`
    (2n, 2n) of the return, from a change of the start to a change of the return on the section.
    """

    x: FloatArray
    """(q, v) after the event, shape (2n,)."""
    time: float
    map: FloatArray
    """Derivative (2n, 2n) of the return with respect to the start."""
    solution: Solution


def return_map(
    system: System, start: Point, *, event: Callable[[Event], bool], until: float, **options: Any
) -> Return:  # fmt: skip
    """From `start`, the next state after an event for which `event(e)` holds, and the derivative of that return.

    `until` (s) bounds the time searched after the start; `options` go to `integrate`.
    """
    run = integrate(system, until=start.time + until, start=start, **options)
    later = [e for e in run.events if event(e) and e.time > start.time + 1e-9]
    if not later:
        raise InputError(f"{system.name}: no such event within {until:g} s of the start; search longer")
    part = integrate(system, until=float(later[0].time), start=start, **options)
    piece = next(p for p in run.pieces if p.t1 == later[0].time)
    gradient = _guard_gradient(piece.flow, piece.t1, _event_state(piece, later[0]), later[0])
    before = Solution(
        system, part.status, tuple(e for e in run.events if e.time < later[0].time), part.final, part.redundant,
        tuple(p for p in run.pieces if p.t1 <= later[0].time), part.grid, part.method,
    )  # fmt: skip
    phi = variation(before)
    y = _event_state(piece, later[0])
    f = piece.flow.rate(piece.t1, y)
    n = system.coordinate_count
    onto = np.eye(2 * n) - np.outer(f, gradient) / (gradient @ f)
    reset = np.eye(2 * n)
    if later[0].cause.startswith(Cause.IMPACT.value):
        reset = _reset_gradient(piece.flow.motion, y[:n], y[n:], later[0].row)
    return Return(piece.y1.copy(), float(later[0].time) - start.time, np.asarray(reset @ onto @ phi), before)


def _event_state(piece: Piece, event: Event) -> FloatArray:
    return _before_impact(piece) if event.cause.startswith(Cause.IMPACT.value) else piece.y1


@dataclass(frozen=True, eq=False)
class LimitCycle:
    """A periodic motion: a state on it (`start`), its `period` (s), and its Floquet `multipliers` (2n,)."""

    start: Point
    period: float
    multipliers: Any

    @property
    def stable(self) -> bool:
        """Whether every multiplier lies inside the unit circle."""
        return bool(np.abs(self.multipliers).max() < 1.0)


def limit_cycle(
    system: System,
    start: Point,
    *,
    event: Callable[[Event], bool],
    until: float,
    tolerance: float = 1e-9,
    iterations: int = 30,
) -> LimitCycle:
    """The periodic motion near `start`, a fixed point of the return to the section of `event`, by Newton's method.

    `start` is a state just after such an event; `tolerance` bounds the change of a return (m, m/s).
    """
    n = system.coordinate_count
    for _ in range(iterations):
        found = return_map(system, start, event=event, until=until, sample=None)
        change = found.x - np.concatenate([start.q, start.v])
        if np.abs(change).max() <= tolerance:
            return LimitCycle(start, found.time, np.linalg.eigvals(found.map))
        step = np.linalg.lstsq(np.eye(2 * n) - found.map, change, rcond=1e-9)[0]
        start = replace(start, q=start.q + step[:n], v=start.v + step[n:])
    raise ConvergenceError(
        f"{system.name}: no limit cycle found, the last return changed by {np.abs(change).max():g}; start closer",
        result=start,
    )
