"""The state of an integration, and one step of it: to the error's limit, to an event, to a tick or to the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.errors import InputError, SingularError
from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Continuous, Controller, Flow, Sampled
from pliant.hybrid.equations import Equations
from pliant.hybrid.guards import Cause, Guard, Guards
from pliant.hybrid.laws import Mode
from pliant.hybrid.locate import Search
from pliant.hybrid.motion import Motion, NoForceError
from pliant.hybrid.runge_kutta import RungeKutta, Step
from pliant.hybrid.solution import Event, Outcome, Piece, Point
from pliant.hybrid.start import consistent_start
from pliant.hybrid.system import Contact, System
from pliant.hybrid.transitions import Switch
from pliant.hybrid.work import contact_work


class Run:
    """The state of an integration: time, continuous and discrete state, controllers, and what was recorded."""

    def __init__(
        self,
        system: System,
        controllers: tuple[Controller, ...],
        method: RungeKutta,
        max_step: float,
        sample: float | None,
    ) -> None:
        self.system = system
        self.equations = Equations(system)
        self.controllers = controllers
        self.sampled = [one for one in controllers if isinstance(one, Sampled)]
        self.method = method
        self.max_step = max_step
        self.sample = sample
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
                near = near[equations.openings(switch.q, index, near) <= 1e-9]
            if len(near):
                _, rate = equations.rates(switch.q, switch.v, index, near)
                found += [Guard(Cause.TOUCH, int(start + k)) for k in near[rate <= 1e-9]]
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

    @property
    def stopped(self) -> bool:
        """Whether a machine has reached one of its final states."""
        states, machines = self.flow.motion.discrete.states, self.system.machines
        return any(state in machine.final for state, machine in zip(states, machines, strict=True))

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

    def advance(self, until: float) -> Outcome | None:
        """One accepted step: to the error's limit, to an event, to a controller's tick or to `until` (s)."""
        limit = min([until, *(k * one.period for k, one in zip(self.ticks, self.sampled, strict=True))])
        room = limit - self.t
        if self.h == 0.0:
            self.h = self.method.first_step(self.flow.rate, self.t, self.y, self.f, min(room, self.max_step))
        rejected = False
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
                rejected = True
                shrink = 0.9 * step.error**self.method.exponent if np.isfinite(step.error) else 0.1
                self.h = h * max(0.2, shrink)
        grow = 10.0 if step.error == 0.0 else min(10.0, 0.9 * step.error**self.method.exponent)
        grow = min(grow, 1.0) if rejected else grow
        self.h = max(h * grow, self.h if whole and not self.families else 0.0)
        self._accept(step, limit if whole else self.t + h)
        return None

    def _accept(self, step: Step, end: float) -> None:
        """Record the step, or its part up to the first event."""
        g = self.guards.values(end, step.y1)
        search = Search(self.method, self.flow, self.guards, self.g, step)
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

    def _event(self, part: Step, t: float, fired: Any) -> None:
        """Go to where guards have `fired`, and switch."""
        n = self.equations.n
        self._record(part, t)
        self.t, self.y = t, part.y1
        switch = Switch(self.equations, self.flow.motion.discrete, t, part.y1[:n], part.y1[n : 2 * n], self._work)
        switch.fire([self.guards.guard(int(k)) for k in fired], self._input())
        if self.families:
            self._watch()
        self._enter(switch)
        self._replace_after(self.flow)
        if self._due():
            self._sample()

    def _work(self, row: int) -> float:
        """The work (J), but for damping, that the contact of a row has done since it closed."""
        return contact_work(self.pieces[self.closed.get(row, len(self.pieces)) :], row, self.method)

    def _due(self) -> bool:
        """Whether a sampled controller is to be called now."""
        return any(k * one.period <= self.t + 1e-12 for k, one in zip(self.ticks, self.sampled, strict=True))

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

    def _record(self, step: Step, end: float) -> None:
        sampled = self.sample is not None and self.sample * np.ceil(step.t / self.sample + 1e-9) < end
        self.pieces.append(Piece(step.t, end, step.y, step.y1, self.flow, step if sampled else None, self.flow))

    def _replace_after(self, flow: Flow) -> None:
        """The last step ends in an event: from there on another flow holds, and the state may have jumped."""
        if self.pieces:
            self.pieces[-1].y1, self.pieces[-1].after = self.y, flow
