"""Event-driven integration: variable steps between events, events located by root finding, restart after each.

The steps are Dormand–Prince's, of order 8 by default (`runge_kutta`), chosen by measurement: `benchmarks/
hybrid_integrators.py` compares this loop with SciPy's `solve_ivp` and with CVODE of scikit-sundae.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pliant.core.checks import finite_number, non_negative, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError, PliantWarning, SingularError
from pliant.hybrid.controllers import as_controllers
from pliant.hybrid.event_search import EVENT_TIME
from pliant.hybrid.guards import Cause
from pliant.hybrid.integration import Integration
from pliant.hybrid.mode_dynamics import NoForceError
from pliant.hybrid.runge_kutta import RungeKutta
from pliant.hybrid.solution import Event, HybridState, Outcome, Solution
from pliant.hybrid.system import HybridSystem

LONGEST = 1e9
"""Latest end of a run, s: thirty years, beyond which a unit or a sign is wrong."""
LARGEST_GRID = 1e8
"""Most instants of the grid of a solution: more do not fit into memory."""
ZENO_TIME = 1e-7
"""s; a contact that closes `ZENO_COUNT` times in a row within this time each is Zeno."""
ZENO_COUNT = 8
_SAME_TIME_LIMIT = 500
"""Events at one instant before the run ends; a stack of contacts settles with at most a few per row."""


@declared
def integrate(
    system: HybridSystem,
    *,
    until: float,
    sample: float | None = 1e-3,
    start: HybridState | None = None,
    control: Any = None,
    project: bool = False,
    rtol: float = 1e-9,
    atol: float = 1e-10,
    order: int = 8,
    max_step: float = np.inf,
    event_limit: int = 100_000,
    step_limit: int = 2_000_000,
) -> Solution:
    """Integrate `system` up to the time `until` (s) and return its `Solution`.

    Samples are kept at the solver's steps, at events and on a grid of `sample` seconds (None: no grid). `start` is a
    state of an earlier run to continue from. `control` is a function u(t, q, v) (k,), a `Sampled` or `Continuous`
    controller, or several of them, whose inputs add up. `rtol` and `atol` bound the local error of each step, relative
    to each coordinate and velocity and absolute in their units (1e-6 to 1e-12 are usual). `order` 8 suits long steps,
    `order` 5 a sampled controller with a short period. An initial state that violates a constraint raises with the
    violation, or is projected onto the constraints with `project`.

    A run that cannot continue (Zeno, a singular mass matrix, no consistent friction) warns, and returns the trajectory
    up to that time with its `status`.
    """
    until = finite_number("until", until, unit="s")
    if sample is not None:
        positive("sample", sample, unit="s")
    positive("rtol", rtol)
    non_negative("atol", atol)
    positive_count("event_limit", event_limit)
    positive_count("step_limit", step_limit)
    if until > LONGEST:
        raise InputError(f"until must be at most {LONGEST:g} s, got {until:g} s")
    if sample is not None and until > sample * LARGEST_GRID:
        raise InputError(
            f"{until:g} s are more than {LARGEST_GRID:.0e} samples of {sample:g} s: give a larger sample, or None"
        )
    if not max_step > 0.0:
        raise InputError(f"max_step must be > 0 (in s), got {max_step:g}")
    if order not in (5, 8):
        raise InputError(f"order must be 5 or 8, got {order!r}")
    run = Integration(system, as_controllers(control), RungeKutta(order, rtol, atol), max_step, sample)
    memories = tuple(controller.memory for controller in run.sampled) if start is None else start.memories
    run.begin(start, project)
    if until < run.t:
        raise InputError(f"until must not lie before the start ({run.t:g} s), got {until:g} s")
    status = _carry(run, float(until), event_limit, step_limit)
    if not status.ok:
        warnings.warn(f"{system.name} at t = {run.t:.9g} s: {status.text}", PliantWarning, stacklevel=2)
    grid = np.empty(0) if sample is None else sample * np.arange(np.floor(until / sample + 1e-9) + 1.0)
    return Solution(
        system, status, tuple(run.events), run.state(), run.equations.redundant, tuple(run.records), grid, run.method,
        run.controllers, memories,
    )  # fmt: skip


def _carry(run: Integration, until: float, event_limit: int, step_limit: int) -> Outcome:
    """Advance to `until` (s), or to where the run must end."""
    closings: dict[int, list[float]] = {}
    same_time = 0
    while run.t < until:
        if run.stopped:
            return Outcome.STOPPED
        if len(run.records) >= step_limit:
            return Outcome.STEP_LIMIT
        before, seen = run.t, len(run.events)
        try:
            outcome = run.advance(until)
        except SingularError:
            return Outcome.SINGULAR_MASS
        except NoForceError:
            return Outcome.NO_FORCE
        if outcome is not None:
            return outcome
        same_time = same_time + len(run.events) - seen if run.t - before < EVENT_TIME else 0
        if len(run.events) > event_limit or same_time > _SAME_TIME_LIMIT:
            return Outcome.EVENT_STORM
        if _zeno(run.events[seen:], closings):
            return Outcome.ZENO
    return Outcome.STOPPED if run.stopped else Outcome.FINISHED


def _zeno(events: list[Event], closings: dict[int, list[float]]) -> bool:
    """Whether the closings of a contact accumulate."""
    for event in events:
        if event.cause == Cause.TOUCH.value or event.cause.startswith(Cause.IMPACT.value):
            times = closings.setdefault(event.row, [])
            times.append(event.time)
            del times[: -ZENO_COUNT - 1]
            if len(times) > ZENO_COUNT and times[-1] - times[0] < ZENO_COUNT * ZENO_TIME:
                return True
    return False
