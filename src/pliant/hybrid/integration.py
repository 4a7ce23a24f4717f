"""The state of an integration, and one step of it: limited by the error, an event, a sampling instant or the end."""

from __future__ import annotations

from math import ceil, isnan
from typing import Any

import numpy as np

from pliant.core.errors import InputError, SingularError
from pliant.core.types import FloatArray
from pliant.hybrid.contact_laws import Mode
from pliant.hybrid.contact_work import contact_work
from pliant.hybrid.controllers import Continuous, Controller, Flow, Sampled
from pliant.hybrid.equations import Equations
from pliant.hybrid.event_search import EventSearch
from pliant.hybrid.guards import Cause, Guard, Guards
from pliant.hybrid.initial_state import consistent_initial_state
from pliant.hybrid.mode_dynamics import ModeDynamics, NoForceError
from pliant.hybrid.runge_kutta import RungeKutta, RungeKuttaStep
from pliant.hybrid.solution import Event, HybridState, Outcome, StepRecord
from pliant.hybrid.system import Contact, HybridSystem
from pliant.hybrid.system_checks import check_input
from pliant.hybrid.transitions import Switch


class Integration:
    """The state of an integration: time, continuous and discrete state, controllers, and what was recorded."""

    def __init__(
        self,
        system: HybridSystem,
        controllers: tuple[Controller, ...],
        method: RungeKutta,
        max_step: float,
        sample: float | None,
    ) -> None:
        self.system = system
        self.equations = Equations(system)
        self.controllers = controllers
        self.sampled = [controller for controller in controllers if isinstance(controller, Sampled)]
        self.method = method
        self.max_step = max_step
        self.sample = sample
        self.events: list[Event] = []
        self.records: list[StepRecord] = []
        self.closed: dict[int, int] = {}  # for energy-consistent contacts: the first step since they closed
        self.families = [
            k for k, c in enumerate(system.constraints) if isinstance(c, Contact) and c.near is not None
        ]  # fmt: skip

    def begin(self, start: HybridState | None, project: bool) -> None:
        """Initial state, modes and controllers."""
        equations = self.equations
        if start is None:
            self.t = 0.0
            q, v, discrete = consistent_initial_state(equations, project=project)
            x = [controller.start() for controller in self.controllers if isinstance(controller, Continuous)]
            self.y = np.concatenate([q, v, *x])
            self.memories = [controller.memory for controller in self.sampled]
        else:
            self.t, discrete = start.time, start.discrete
            self.y = np.concatenate([start.q, start.v, start.x])
            self.memories = list(start.memories)
        if len(self.memories) != len(self.sampled):
            raise InputError(
                "the point to start from was reached with other controllers; start from its q and v instead"
            )
        if len(self.y) < 2 * equations.n or (start is not None and len(start.modes) != equations.m):
            raise InputError(f"the point to start from is not one of {self.system.name}")
        self.ticks = [int(np.ceil(self.t / controller.period - 1e-9)) for controller in self.sampled]
        self.sampled_outputs: list[Any] = [None] * len(self.sampled)
        self._tick()
        self.flow = Flow(ModeDynamics(equations, discrete), self.controllers, self._sampled_input())
        if self.flow.size != len(self.y):
            raise InputError(
                "the point to start from was reached with other controllers; start from its q and v instead"
            )
        self._check_controllers()
        self._watch()
        switch = Switch(equations, discrete, self.t, self.y[: equations.n], self.y[equations.n : 2 * equations.n])
        if start is None:
            self._first_contacts(switch)
        self._enter(switch)

    def _check_controllers(self) -> None:
        """Whether controllers give what they must, at the start."""
        n, offset = self.equations.n, 2 * self.equations.n
        check_input(self.system, self._input())
        for controller in self.flow.controllers:
            if isinstance(controller, Continuous):
                rates = np.shape(
                    controller.rates(self.t, self.y[offset : offset + controller.order], self.y[:n], self.y[n : 2 * n])
                )
                if rates != (controller.order,):
                    raise InputError(
                        f"`rates` of a continuous controller must have shape ({controller.order},), got {rates}"
                    )
                offset += controller.order

    def _first_contacts(self, switch: Switch) -> None:
        """Activate contacts that touch and do not separate at the start; release those with tensile force."""
        equations, touching = self.equations, []
        for index in range(len(self.system.constraints)):
            start = equations.first[index]
            near = self._near(index)
            near = near[equations.switched[start + near]]
            if len(near):
                near = near[equations.openings(switch.q, index, near) <= 1e-9]
            if len(near):
                _, rate = equations.rates(switch.q, switch.v, index, near)
                touching += [Guard(Cause.TOUCH, int(start + k)) for k in near[rate <= 1e-9]]
        switch.fire(touching, self._input())

    def _near(self, index: int) -> Any:
        watched = self.watched[index]
        return np.arange(self.system.constraints[index].count) if watched is None else watched

    def _watch(self) -> None:
        """Find the near rows of large families, and store the configuration of this search."""
        q = self.y[: self.equations.n]
        self.watched: list[Any] = [None] * len(self.system.constraints)
        for index in self.families:
            constraint: Any = self.system.constraints[index]
            start = self.equations.first[index]
            near = np.asarray(constraint.near(q, constraint.search_distance), np.int64)
            busy = np.flatnonzero(self.flow.dynamics.discrete.modes[start : start + constraint.count] != Mode.FREE)
            self.watched[index] = np.union1d(near, busy)
        self.watched_at = q.copy()

    def _far(self, q: FloatArray) -> float:
        """The largest motion of a family since the last search, as a fraction of its search distance."""
        fractions = [self.system.constraints[k].moved(q, self.watched_at) / self.system.constraints[k].search_distance  # type: ignore
                 for k in self.families]  # fmt: skip
        return max(fractions, default=0.0)

    def _input(self) -> Any:
        return self.flow.input(self.t, self.y)

    def _sampled_input(self) -> Any:
        return sum(self.sampled_outputs[1:], self.sampled_outputs[0]) if self.sampled_outputs else None

    def _tick(self) -> None:
        """Update the sampled controllers that are due."""
        n = self.equations.n
        for k, controller in enumerate(self.sampled):
            if self.sampled_outputs[k] is None or self.ticks[k] * controller.period <= self.t + 1e-12:
                given = controller.update(self.t, self.y[:n], self.y[n : 2 * n], self.memories[k])
                if not isinstance(given, tuple) or len(given) != 2:
                    raise InputError(f"`update` of a sampled controller must give a pair (u, memory), got {given!r}")
                u, self.memories[k] = given
                self.sampled_outputs[k] = np.atleast_1d(np.asarray(u, float))
                while self.ticks[k] * controller.period <= self.t + 1e-12:
                    self.ticks[k] += 1

    def _enter(self, switch: Switch) -> None:
        """Continue from the state after a switch in its mode."""
        n = self.equations.n
        self.y = np.concatenate([switch.q, switch.v, self.y[2 * n :]])
        dynamics = switch.settle(self._input())
        self.events += switch.events
        for event in switch.events:
            if event.target == Mode.CONTACT and event.source != Mode.CONTACT and self.equations.energy[event.row]:
                self.closed[event.row] = len(self.records)
        self.flow = Flow(dynamics, self.controllers, self._sampled_input())
        self._restart()

    def _restart(self) -> None:
        self.f = self.flow.rate(self.t, self.y)
        self.guards = Guards(self.equations, self.flow.dynamics, self.watched, self._all_gaps())
        self.g = self.guards.arm(self.t, self.y)
        self.h = 0.0

    def _all_gaps(self) -> FloatArray:
        """Gaps of ballistic rows; 1 m for all others."""
        h = np.ones(self.equations.m)
        modes, q = self.flow.dynamics.discrete.modes, self.y[: self.equations.n]
        for index, constraint in enumerate(self.system.constraints):
            start = self.equations.first[index]
            busy = np.flatnonzero(modes[start : start + constraint.count] == Mode.BALLISTIC)
            if len(busy):
                h[start + busy] = self.equations.gaps(q, index, busy)
        return h

    @property
    def stopped(self) -> bool:
        """Whether a machine has reached one of its final states."""
        states, machines = self.flow.dynamics.discrete.states, self.system.machines
        return any(state in machine.final for state, machine in zip(states, machines, strict=True))

    def state(self) -> HybridState:
        """The present state."""
        n, dynamics, discrete = self.equations.n, self.flow.dynamics, self.flow.dynamics.discrete
        q, v = self.y[:n].copy(), self.y[n : 2 * n].copy()
        u = self._input()
        if dynamics.normal_count:
            dynamics.acceleration(q, v, u)
        u = np.zeros(self.equations.input_count) if u is None else np.asarray(u, float)
        x, memories = self.y[2 * n :].copy(), tuple(self.memories)
        return HybridState(self.t, q, v, discrete.modes.copy(), dynamics.normals(), u, discrete, x, memories)

    def advance(self, until: float) -> Outcome | None:
        """One accepted step: limited by the error, an event, a sampling instant or `until` (s)."""
        limit = min([until, *(k * controller.period for k, controller in zip(self.ticks, self.sampled, strict=True))])
        room = limit - self.t
        if self.h == 0.0:
            self.h = self.method.first_step(self.flow.rate, self.t, self.y, self.f, min(room, self.max_step))
            if not self.h > 0.0:
                return Outcome.NOT_FINITE
        rejected, finite = False, True
        while True:
            h = min(self.h, self.max_step)
            whole = h >= room * (1.0 - 1e-10)
            h = room if whole else min(h, 0.5 * room) if h > 0.9 * room else h
            if h < 1e-15 * max(1.0, abs(self.t)) and not whole:
                return Outcome.STEP_TOO_SMALL if finite else Outcome.NOT_FINITE
            self.flow.dynamics.trace = []
            try:
                step = self.method.step(self.flow.rate, self.t, self.y, self.f, h)
            except (SingularError, NoForceError):
                if h < 1e-9:
                    raise
                self.h = 0.2 * h  # a stage lies beyond where the run must end
                continue
            if step.error <= 1.0 and (not self.families or self._far(step.y1[: self.equations.n]) < 0.5):
                break
            if step.error <= 1.0:
                self.h = 0.5 * h
            else:
                rejected, finite = True, bool(np.isfinite(step.error))
                shrink = 0.9 * step.error**self.method.exponent if np.isfinite(step.error) else 0.1
                self.h = h * max(0.2, shrink)
        grow = 10.0 if step.error == 0.0 else min(10.0, 0.9 * step.error**self.method.exponent)
        grow = min(grow, 1.0) if rejected else grow
        self.h = max(h * grow, self.h if whole and not self.families else 0.0)
        end = limit if whole else self.t + h
        g = self.guards.values(end, step.y1)
        if isnan(g.sum()):
            return Outcome.NOT_FINITE
        self._accept(step, end, g)
        return None

    def _accept(self, step: RungeKuttaStep, end: float, g: FloatArray) -> None:
        """Record the step, at whose end the guards are `g`, or the step up to the first event."""
        search = EventSearch(self.method, self.flow, self.guards, self.g, step)
        theta, theta_g, crossed = search.first_sign(g)
        if crossed.any():
            self._event(*search.event(theta, theta_g, crossed))
            return
        self._record(step, end)
        self.t, self.y, self.f, self.g = end, step.y1, step.f1, g
        if self.families and self._far(self.y[: self.equations.n]) > 0.25:
            self._look_again()
        if self._due():
            self._sample()

    def _event(self, to_event: RungeKuttaStep, t: float, fired: Any) -> None:
        """Advance to the event at which guards have `fired`, and switch."""
        n = self.equations.n
        self._record(to_event, t)
        self.t, self.y = t, to_event.y1
        switch = Switch(self.equations, self.flow.dynamics.discrete, t, self.y[:n], self.y[n : 2 * n], self._work)
        switch.fire([self.guards.guard(int(k)) for k in fired], self._input())
        if self.families:
            self._watch()
        self._enter(switch)
        self._replace_after(self.flow)
        if self._due():
            self._sample()

    def _work(self, row: int) -> float:
        """The work (J) of the contact of a row since it closed, without damping."""
        return contact_work(self.records[self.closed.get(row, len(self.records)) :], row, self.method)

    def _due(self) -> bool:
        """Whether a sampled controller is to be called now."""
        return any(k * c.period <= self.t + 1e-12 for k, c in zip(self.ticks, self.sampled, strict=True))

    def _look_again(self) -> None:
        """Search for near rows again; the step size stays."""
        h = self.h
        self._watch()
        self._restart()
        self.h = h

    def _sample(self) -> None:
        """Update sampled controllers; release contacts that the new input makes tensile or lets slip."""
        self._tick()
        self.flow = Flow(self.flow.dynamics, self.controllers, self._sampled_input())
        self._replace_after(self.flow)
        self.f = self.flow.rate(self.t, self.y)
        self.g = self.guards.values(self.t, self.y)
        if self.guards.overloaded(self.g):
            n = self.equations.n
            switch = Switch(self.equations, self.flow.dynamics.discrete, self.t, self.y[:n], self.y[n : 2 * n])
            self._enter(switch)
            self._replace_after(self.flow)

    def _record(self, step: RungeKuttaStep, end: float) -> None:
        sampled = self.sample is not None and self.sample * ceil(step.t / self.sample + 1e-9) < end
        self.records.append(StepRecord(step.t, end, step.y, step.y1, self.flow, step if sampled else None, self.flow))

    def _replace_after(self, flow: Flow) -> None:
        """The last step ends in an event: another flow is valid from there, and the state may have jumped."""
        if self.records:
            self.records[-1].y1, self.records[-1].after = self.y, flow
