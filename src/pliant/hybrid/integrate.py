"""Event-driven integration: variable steps between events, events located by root finding, restart after each.

The steps are Dormand–Prince's, of order 8 by default (`runge_kutta`), chosen by measurement: `benchmarks/
hybrid_integrators.py` compares this loop with SciPy's `solve_ivp` and with CVODE of scikit-sundae. An event is first
found on the dense output by Brent's method, then on the solution itself: the step is taken again up to the event and
its length corrected, so that the guard is zero to rounding and not to the error of an interpolant.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import brentq

from pliant.core.checks import finite_number, non_negative, positive, positive_count
from pliant.core.errors import InputError, PliantWarning, SingularError
from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Continuous, Controller, Flow, Sampled, as_controllers
from pliant.hybrid.equations import Equations, Motion, NoForceError
from pliant.hybrid.guards import Cause, Guard, Guards
from pliant.hybrid.laws import Mode
from pliant.hybrid.runge_kutta import Dense, RungeKutta, Step
from pliant.hybrid.solution import Event, Outcome, Piece, Point, Solution
from pliant.hybrid.start import consistent_start
from pliant.hybrid.system import Contact, System
from pliant.hybrid.transitions import Switch

EVENT_TIME = 1e-10
"""s; events closer than this are simultaneous."""
ZENO_TIME = 1e-7
"""s; a contact that closes `ZENO_COUNT` times in a row within this time each is Zeno."""
ZENO_COUNT = 8
_SAME_TIME_LIMIT = 500
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_GAUSS = (0.5 + 0.5 * _NODES).tolist(), (0.5 * _WEIGHTS).tolist()


def integrate(
    system: System,
    *,
    until: float,
    sample: float | None = 1e-3,
    start: Point | None = None,
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
    point of an earlier run to continue from. `control` is a function u(t, q, v) (k,), a `Sampled` or `Continuous`
    controller, or several of them, whose inputs add up. `rtol` and `atol` bound the local error of each step, relative
    to each coordinate and velocity and absolute in their units (1e-6 to 1e-12 are usual). `order` 8 suits long steps, 5
    a fast sampled controller, between whose ticks a step of order 5 is enough. An initial state inside a contact or off
    a joint is refused with the amount, or moved onto it where `project` is set.

    A run that cannot go on (events without end, a singular mass matrix, no consistent friction) warns, and returns the
    part before that with its `status`.
    """
    finite_number("until", until, unit="s")
    if sample is not None:
        positive("sample", sample, unit="s")
    positive("rtol", rtol)
    non_negative("atol", atol)
    positive_count("event_limit", event_limit)
    if not max_step > 0.0:
        raise InputError(f"max_step must be > 0 (in s), got {max_step:g}")
    if order not in (5, 8):
        raise InputError(f"order must be 5 or 8, got {order!r}")
    run = _Run(system, as_controllers(control), RungeKutta(order, rtol, atol), max_step)
    run.begin(start, project)
    if until < run.t:
        raise InputError(f"until must not lie before the start ({run.t:g} s), got {until:g} s")
    status = run.to(float(until), sample, event_limit, step_limit)
    if not status.ok:
        warnings.warn(f"{system.name} at t = {run.t:.9g} s: {status.text}", PliantWarning, stacklevel=2)
    grid = np.empty(0) if sample is None else sample * np.arange(np.floor(until / sample + 1e-9) + 1.0)
    return Solution(
        system, status, tuple(run.events), run.point(), run.equations.redundant, tuple(run.pieces), grid, run.method
    )  # fmt: skip


class _Run:
    """The state of an integration: time, continuous and discrete state, controllers, and what was recorded."""

    def __init__(
        self, system: System, controllers: tuple[Controller, ...], method: RungeKutta, max_step: float
    ) -> None:  # fmt: skip
        self.system = system
        self.equations = Equations(system)
        self.controllers = controllers
        self.sampled = [one for one in controllers if isinstance(one, Sampled)]
        self.method = method
        self.max_step = max_step
        self.events: list[Event] = []
        self.pieces: list[Piece] = []
        self.closed: dict[int, int] = {}  # for energy-consistent contacts: the first step since they closed
        self.families = [
            k for k, c in enumerate(system.constraints) if isinstance(c, Contact) and c.near is not None
        ]  # fmt: skip

    def begin(self, start: Point | None, project: bool) -> None:
        """Initial state, modes and controllers."""
        equations = self.equations
        if start is None:
            self.t = 0.0
            q, v, discrete = consistent_start(equations, project=project)
            x = [one.start() for one in self.controllers if isinstance(one, Continuous)]
            self.y = np.concatenate([q, v, *x])
            self.memories = [one.memory for one in self.sampled]
        else:
            self.t, discrete = start.time, start.discrete
            self.y = np.concatenate([start.q, start.v, start.x])
            self.memories = list(start.memories)
        if len(self.memories) != len(self.sampled):
            raise InputError(
                "the point to start from was reached with other controllers; start from its q and v instead"
            )
        self.ticks = [int(np.ceil(self.t / one.period - 1e-9)) for one in self.sampled]
        self.held: list[Any] = [None] * len(self.sampled)
        self._tick()
        self.flow = Flow(Motion(equations, discrete), self.controllers, self._held())
        if self.flow.size != len(self.y):
            raise InputError(
                "the point to start from was reached with other controllers; start from its q and v instead"
            )
        self._watch()
        switch = Switch(equations, discrete, self.t, self.y[: equations.n], self.y[equations.n : 2 * equations.n])
        if start is None:
            self._first_contacts(switch)
        self._enter(switch)

    def _first_contacts(self, switch: Switch) -> None:
        """Contacts that touch at the start and do not part: closed, and opened again where they would pull."""
        equations, found = self.equations, []
        for index in range(len(self.system.constraints)):
            start = equations.first[index]
            near = self._near(index)
            near = near[equations.switched[start + near]]
            if len(near):
                h, rate = equations.rates(switch.q, switch.v, index, near)
                found += [Guard(Cause.TOUCH, int(start + k)) for k in near[(h <= 1e-9) & (rate <= 1e-9)]]
        switch.fire(found, self._input())

    def _near(self, index: int) -> Any:
        watched = self.watched[index]
        return np.arange(self.system.constraints[index].count) if watched is None else watched

    def _watch(self) -> None:
        """Find the rows of large families that are near, and remember where they were."""
        q = self.y[: self.equations.n]
        self.watched: list[Any] = [None] * len(self.system.constraints)
        for index in self.families:
            constraint: Any = self.system.constraints[index]
            start = self.equations.first[index]
            near = np.asarray(constraint.near(q, constraint.reach), np.int64)
            busy = np.flatnonzero(self.flow.motion.discrete.modes[start : start + constraint.count] != Mode.FREE)
            self.watched[index] = np.union1d(near, busy)
        self.watched_at = q.copy()

    def _far(self, q: FloatArray) -> float:
        """How much of their reach the families have moved since they were looked at."""
        parts = [self.system.constraints[k].moved(q, self.watched_at) / self.system.constraints[k].reach  # type: ignore
                 for k in self.families]  # fmt: skip
        return max(parts, default=0.0)

    def _input(self) -> Any:
        return self.flow.input(self.t, self.y)

    def _held(self) -> Any:
        return sum(self.held[1:], self.held[0]) if self.held else None

    def _tick(self) -> None:
        """Update the sampled controllers that are due."""
        n = self.equations.n
        for k, one in enumerate(self.sampled):
            if self.held[k] is None or self.ticks[k] * one.period <= self.t + 1e-12:
                u, self.memories[k] = one.update(self.t, self.y[:n], self.y[n : 2 * n], self.memories[k])
                self.held[k] = np.atleast_1d(np.asarray(u, float))
                while self.ticks[k] * one.period <= self.t + 1e-12:
                    self.ticks[k] += 1

    def _enter(self, switch: Switch) -> None:
        """Take over the state that a switch reached, and prepare the next stretch."""
        n = self.equations.n
        self.y = np.concatenate([switch.q, switch.v, self.y[2 * n :]])
        motion = switch.settle(self._input())
        self.events += switch.events
        for event in switch.events:
            if event.target == Mode.CONTACT and event.source != Mode.CONTACT and self.equations.energy[event.row]:
                self.closed[event.row] = len(self.pieces)
        self.flow = Flow(motion, self.controllers, self._held())
        self._restart()

    def _restart(self) -> None:
        self.f = self.flow.rate(self.t, self.y)
        self.guards = Guards(self.equations, self.flow.motion, self.watched, self._all_gaps())
        self.g = self.guards.arm(self.t, self.y)
        self.h = 0.0

    def _all_gaps(self) -> FloatArray:
        """Gaps of all rows that have left the free state; the others are counted as open."""
        h = np.ones(self.equations.m)
        modes, q = self.flow.motion.discrete.modes, self.y[: self.equations.n]
        for index, constraint in enumerate(self.system.constraints):
            start = self.equations.first[index]
            busy = np.flatnonzero(modes[start : start + constraint.count] == Mode.BALLISTIC)
            if len(busy):
                h[start + busy] = self.equations.gaps(q, index, busy)
        return h

    def point(self) -> Point:
        """The present state."""
        n, motion = self.equations.n, self.flow.motion
        q, v = self.y[:n].copy(), self.y[n : 2 * n].copy()
        u = self._input()
        if motion.normal_count:
            motion.acceleration(q, v, u)
        u = np.zeros(self.equations.input_count) if u is None else np.asarray(u, float)
        return Point(
            self.t, q, v, motion.discrete.modes.copy(), motion.normals(), u, motion.discrete, self.y[2 * n :].copy(),
            tuple(self.memories),
        )  # fmt: skip

    def to(self, until: float, sample: float | None, event_limit: int, step_limit: int) -> Outcome:
        """Integrate to `until`."""
        self.sample = sample
        closings: dict[int, list[float]] = {}
        same_time = 0
        finals = [set(machine.final) for machine in self.system.machines]
        while self.t < until:
            if any(state in final for state, final in zip(self.flow.motion.discrete.states, finals, strict=True)):
                return Outcome.STOPPED
            if len(self.pieces) >= step_limit:
                return Outcome.STEP_LIMIT
            before, seen = self.t, len(self.events)
            try:
                outcome = self._advance(until)
            except SingularError:
                return Outcome.SINGULAR_MASS
            except NoForceError:
                return Outcome.NO_FORCE
            if outcome is not None:
                return outcome
            same_time = same_time + len(self.events) - seen if self.t - before < EVENT_TIME else 0
            if len(self.events) > event_limit or same_time > _SAME_TIME_LIMIT:
                return Outcome.EVENT_STORM
            if _zeno(self.events[seen:], closings):
                return Outcome.ZENO
        stopped = any(state in final for state, final in zip(self.flow.motion.discrete.states, finals, strict=True))
        return Outcome.STOPPED if stopped else Outcome.FINISHED

    def _advance(self, until: float) -> Outcome | None:
        """One accepted step: to the error's limit, to an event, to a controller's tick or to the end."""
        limit = min([until, *(k * one.period for k, one in zip(self.ticks, self.sampled, strict=True))])
        room = limit - self.t
        if self.h == 0.0:
            self.h = self.method.first_step(self.flow.rate, self.t, self.y, self.f, min(room, self.max_step))
        while True:
            h = min(self.h, self.max_step)
            whole = h >= room * (1.0 - 1e-10)
            h = room if whole else min(h, 0.5 * room) if h > 0.9 * room else h
            if h < 1e-15 * max(1.0, abs(self.t)) and not whole:
                return Outcome.STEP_TOO_SMALL
            self.flow.motion.trace = []
            try:
                step = self.method.step(self.flow.rate, self.t, self.y, self.f, h)
            except (SingularError, NoForceError):
                if h < 1e-9:
                    raise
                self.h = 0.2 * h  # a stage went beyond where the run must end
                continue
            if step.error <= 1.0 and (not self.families or self._far(step.y1[: self.equations.n]) < 0.5):
                break
            if step.error <= 1.0:
                self.h = 0.5 * h
            else:
                shrink = 0.85 * step.error**self.method.exponent if np.isfinite(step.error) else 0.1
                self.h = h * max(0.2, shrink)
        grow = 10.0 if step.error == 0.0 else min(10.0, 0.85 * step.error**self.method.exponent)
        self.h = max(h * grow, self.h if whole and not self.families else 0.0)
        self._accept(step, limit if whole else self.t + h)
        return None

    def _accept(self, step: Step, end: float) -> None:
        """Record the step, or its part up to the first event."""
        g = self.guards.values(end, step.y1)
        dense = self._dense(step, end)
        theta, theta_g = 1.0, g
        crossed = (self.g > 0.0) & (g <= 0.0)
        if len(g) and not crossed.any():
            theta, theta_g, crossed, dense = self._dip(step, dense, g)
        if not crossed.any():
            self._record(step, end, dense)
            self.t, self.y, self.f, self.g = end, step.y1, step.f1, g
            if self.families and self._far(self.y[: self.equations.n]) > 0.25:
                self._look_again()
            if self.sampled and any(k * one.period <= self.t + 1e-12 for k, one in zip(self.ticks, self.sampled)):
                self._sample()
            return
        self._event(
            step, dense if dense is not None else self.method.dense(self.flow.rate, step), theta, theta_g, crossed
        )

    def _look_again(self) -> None:
        """Renew the rows watched; the step goes on as it was."""
        h = self.h
        self._watch()
        self._restart()
        self.h = h

    def _sample(self) -> None:
        """New inputs of sampled controllers; contacts that pull and friction that cannot hold under them let go."""
        self._tick()
        self.flow = Flow(self.flow.motion, self.controllers, self._held())
        self._replace_after(self.flow)
        self.f = self.flow.rate(self.t, self.y)
        self.g = self.guards.values(self.t, self.y)
        if self.guards.overloaded(self.g):
            n = self.equations.n
            switch = Switch(self.equations, self.flow.motion.discrete, self.t, self.y[:n], self.y[n : 2 * n])
            self._enter(switch)
            self._replace_after(self.flow)

    def _dense(self, step: Step, end: float) -> Dense | None:
        if self.sample is None:
            return None
        grid = self.sample * np.ceil(step.t / self.sample + 1e-9)
        return self.method.dense(self.flow.rate, step) if grid < end else None

    def _dip(
        self, step: Step, dense: Dense | None, g: FloatArray
    ) -> tuple[float, FloatArray, Any, Dense | None]:  # fmt: skip
        """Look inside a step for gaps that closed and opened again, and for forces that left their limits and returned:
        the part of the step where one is found, or its end.
        """
        places = []
        for theta in (0.25, 0.5, 0.75) if self.guards.gap_count else ():
            gaps = self.guards.gaps(step.between(theta) if dense is None else dense.one(theta))
            if ((self.g[: len(gaps)] > 0.0) & (gaps <= 0.0)).any():
                places.append(theta)
                break
        places += [self.method.C[s] for s in self.guards.overloaded_stages(self.method.stages)]
        self.flow.motion.trace = None
        for theta in sorted(places):
            dense = self.method.dense(self.flow.rate, step) if dense is None else dense
            inside = self._guard_values(step, dense, theta)
            crossed = (self.g > 0.0) & (inside <= 0.0)
            if crossed.any():
                return theta, inside, crossed, dense
        return 1.0, g, np.zeros(len(g), bool), dense

    def _guard_values(self, step: Step, dense: Dense, theta: float) -> FloatArray:
        y, t = dense.one(theta), step.t + theta * step.h
        if self.guards.needs_forces:
            self.flow.rate(t, y)
        return self.guards.values(t, y)

    def _event(self, step: Step, dense: Dense, theta: float, g: FloatArray, crossed: Any) -> None:
        """Locate the first of the guards that crossed, go there, and switch."""
        start, first, slope = self.g, theta, (g - self.g) / (theta * step.h)
        for k in np.flatnonzero(crossed):
            if first > 0.0 and self._guard_values(step, dense, first)[k] <= 0.0:
                tolerance = max(1e-3 * EVENT_TIME / step.h, 1e-15)
                first = brentq(
                    lambda s, k=k: self._guard_values(step, dense, s)[k] if s > 0.0 else start[k], 0.0, first,
                    xtol=tolerance, rtol=8.9e-16,
                )  # fmt: skip
        part, g, t = self._refine(step, first, crossed, slope, dense)
        fired = np.flatnonzero(crossed & (g <= np.abs(slope) * EVENT_TIME))
        if not len(fired):
            fired = np.array([int(np.argmin(np.where(crossed, g / np.maximum(np.abs(slope), 1e-300), np.inf)))])
        self._record(part, t, self._dense(part, t))
        n = self.equations.n
        self.t, self.y = t, part.y1
        switch = Switch(self.equations, self.flow.motion.discrete, t, part.y1[:n], part.y1[n : 2 * n], self._work)
        u = self._input()
        switch.fire([self.guards.guard(int(k)) for k in fired], u)
        if self.families:
            self._watch()
        self._enter(switch)
        self._replace_after(self.flow)
        if self.sampled and any(k * one.period <= self.t + 1e-12 for k, one in zip(self.ticks, self.sampled)):
            self._sample()

    def _refine(
        self, step: Step, theta: float, crossed: Any, slope: FloatArray, dense: Dense
    ) -> tuple[Step, FloatArray, float]:  # fmt: skip
        """Take the step again up to the event, and correct its length until the guard vanishes on the solution."""
        h = max(theta * step.h, 1e-16 * max(1.0, abs(step.t)))
        part = self.method.step(self.flow.rate, step.t, step.y, step.K[0], h)
        g = self.guards.values(step.t + h, part.y1)
        k = int(np.argmin(np.where(crossed, np.abs(g) / np.maximum(np.abs(slope), 1e-300), np.inf)))
        near = 0.99 * theta
        steep = (g[k] - self._guard_values(step, dense, near)[k]) / ((theta - near) * step.h) if theta > 0.0 else 0.0
        steep = steep if steep < 0.0 else slope[k]
        for _ in range(4):
            change = -float(g[k]) / steep
            if abs(change) <= 0.1 * EVENT_TIME or not 0.0 < h + change <= step.h:
                break
            h += change
            part = self.method.step(self.flow.rate, step.t, step.y, step.K[0], h)
            g = self.guards.values(step.t + h, part.y1)
        return part, g, step.t + h

    def _work(self, row: int) -> float:
        """The work (J) that the contact of a row has done since it closed: ∫ λ ḣ dt, by Gauss in each step."""
        equations, n, total = self.equations, self.equations.n, 0.0
        index = int(np.searchsorted(equations.first, row, side="right")) - 1
        which = np.array([row - int(equations.first[index])])
        for piece in self.pieces[self.closed.get(row, len(self.pieces)) :]:
            flow, length = piece.flow, piece.t1 - piece.t
            dense = piece.dense
            if dense is None:
                step = self.method.step(flow.rate, piece.t, piece.y, flow.rate(piece.t, piece.y), length)
                dense = self.method.dense(flow.rate, step)
            at = int(np.flatnonzero(flow.motion.rows == row)[0])
            for x, weight in zip(_GAUSS[0], _GAUSS[1], strict=True):
                y = dense.one(x)
                flow.rate(piece.t + x * length, y)
                total += (
                    weight * length * flow.motion.lam[at] * equations.rates(y[:n], y[n : 2 * n], index, which)[1][0]
                )
        return float(total)

    def _record(self, step: Step, end: float, dense: Dense | None) -> None:
        self.pieces.append(Piece(step.t, end, step.y, step.y1, self.flow, dense, self.flow))

    def _replace_after(self, flow: Flow) -> None:
        """The last step ends in an event: from there on another flow holds, and the state may have jumped."""
        if self.pieces:
            last = self.pieces[-1]
            self.pieces[-1] = Piece(last.t, last.t1, last.y, self.y, last.flow, last.dense, flow)


def _zeno(events: list[Event], closings: dict[int, list[float]]) -> bool:
    """Whether a contact closes again and again within no time."""
    for event in events:
        if event.cause == Cause.TOUCH.value or event.cause.startswith(Cause.IMPACT.value):
            times = closings.setdefault(event.row, [])
            times.append(event.time)
            del times[: -ZENO_COUNT - 1]
            if len(times) > ZENO_COUNT and times[-1] - times[0] < ZENO_COUNT * ZENO_TIME:
                return True
    return False
