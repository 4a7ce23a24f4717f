"""Return maps and limit cycles of a hybrid system, with their derivatives through all events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.declared import declared
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Continuous, Sampled, as_controllers
from pliant.hybrid.guards import Cause
from pliant.hybrid.integrate import integrate
from pliant.hybrid.solution import Event, HybridState, Solution
from pliant.hybrid.system import HybridSystem
from pliant.hybrid.variation import event_state, guard_gradient, reset_gradient, variation


@one_line
@dataclass(frozen=True, eq=False)
class Return:
    """A return to a section: the state `x` (2n,) after the event, the `time` (s) it took, and the Jacobian `map`
    (2n, 2n) of the return, from a change of the start to a change of the return on the section.
    """

    x: FloatArray
    time: float
    map: FloatArray
    solution: Solution


@declared
def return_map(
    system: HybridSystem, start: HybridState, *, event: Callable[[Event], bool], until: float, **options: Any
) -> Return:  # fmt: skip
    """From `start`, the next state after an event for which `event(e)` holds, and the derivative of that return.

    `until` (s) bounds the time searched after the start; `options` go to `integrate`. Controllers may be functions
    u(t, q, v); a return of the whole state does not exist where they have states or a clock of their own.
    """
    if any(isinstance(controller, (Sampled, Continuous)) for controller in as_controllers(options.get("control"))):
        raise InputError("return maps take controllers that are functions u(t, q, v), without states or a clock")
    run = integrate(system, until=start.time + until, start=start, **options)
    later = [e for e in run.events if event(e) and e.time > start.time + 1e-9]
    if not later:
        raise InputError(f"{system.name}: no such event within {until:g} s of the start; increase `until`")
    to_event = integrate(system, until=float(later[0].time), start=start, **options)
    record = next(p for p in run.records if p.t1 == later[0].time)
    before = replace(
        to_event,
        events=tuple(e for e in run.events if e.time < later[0].time),
        records=tuple(r for r in run.records if r.t1 <= later[0].time),
    )
    phi = variation(before)
    y = event_state(record, later[0])
    gradient, slope = guard_gradient(record.flow, record.t1, y, later[0])
    gradient = gradient[: len(y)]
    f = record.flow.rate(record.t1, y)
    n = system.coordinate_count
    onto = np.eye(2 * n) - np.outer(f, gradient) / (gradient @ f + slope)
    reset = np.eye(2 * n)
    if later[0].cause.startswith(Cause.IMPACT.value):
        reset = reset_gradient(record.flow.dynamics, y[:n], y[n:], later[0].row)
    return Return(record.y1.copy(), float(later[0].time) - start.time, np.asarray(reset @ onto @ phi), before)


@one_line
@dataclass(frozen=True, eq=False)
class LimitCycle:
    """A periodic motion: a state on it (`start`), its `period` (s), and its Floquet `multipliers` (2n,)."""

    start: HybridState
    period: float
    multipliers: Any

    @property
    def stable(self) -> bool:
        """Whether every multiplier lies inside the unit circle."""
        return bool(np.abs(self.multipliers).max() < 1.0)


@declared
def limit_cycle(
    system: HybridSystem,
    start: HybridState,
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
    positive_count("iterations", iterations)
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
