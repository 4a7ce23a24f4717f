"""Transitions of the discrete state at an event: new modes, impulses, and the iteration to a consistent state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.hybrid.constraint_rows import constraint_rows, tangent_rows
from pliant.hybrid.contact_laws import Grip, Mode
from pliant.hybrid.equations import Discrete, Equations
from pliant.hybrid.guards import Cause, Guard, returning
from pliant.hybrid.impact import impact, with_energy_removed
from pliant.hybrid.mode_dynamics import ModeDynamics
from pliant.hybrid.solution import Event
from pliant.hybrid.system import Contact

STICK_SPEED = 1e-9
"""m/s; a contact made with less tangential speed than this sticks, if its friction can hold it."""
_PULL = 1e-10
"""Tolerance on the sign of a contact force, relative to the largest force: rounding of the condensed solve."""


class Switch:
    """Carries out events at one time: `discrete` and `v` are the state, changed as events are fired."""

    def __init__(
        self,
        equations: Equations,
        discrete: Discrete,
        t: float,
        q: FloatArray,
        v: FloatArray,
        work: Callable[[int], float] = lambda row: 0.0,
    ) -> None:
        self.work = work  # the work of a row's contact since it closed, without damping, J
        self.equations = equations
        self.discrete = discrete.copy()
        self.t, self.q, self.v = float(t), q, v
        self.events: list[Event] = []

    def fire(self, guards: list[Guard], u: Any) -> None:
        """Carry out the transitions of guards that crossed zero at the same time; impacts are solved together."""
        hits = []
        for guard in guards:
            if guard.cause in (Cause.TOUCH, Cause.RETURN) and self._contact(guard.row)[0].restitution is not None:
                hits.append(guard.row)
            else:
                self._fire(guard, u)
        if hits:
            self._impact(hits)

    def _fire(self, guard: Guard, u: Any) -> None:
        row = guard.row
        if guard.cause is Cause.MACHINE:
            self._machine(guard)
        elif guard.cause in (Cause.TOUCH, Cause.RETURN):
            self._set(row, Mode.CONTACT, guard.cause)
        elif guard.cause is Cause.PART:
            if self.discrete.modes[row] == Mode.BALLISTIC:
                self._set(row, Mode.FREE, guard.cause)
            elif self._released(row, u):
                self.v = with_energy_removed(self.equations, self.discrete, self.q, self.v, row, self.work(row))
                self._set(row, Mode.FREE, guard.cause)
        elif guard.cause is Cause.PULL:
            self._set(row, Mode.BALLISTIC, guard.cause)
        elif guard.cause is Cause.LEAVE:
            self._set(row, Mode.FREE, guard.cause)
        elif guard.cause is Cause.SLIDE:
            self._slide(row, u)
        elif guard.cause is Cause.HOLD:
            self._hold(row)

    def settle(self, u: Any) -> ModeDynamics:
        """Release contacts with tensile force and let slip contacts beyond the friction cone, the worst first."""
        returned: set[int] = set()
        for _ in range(4 * self.equations.m + 4):
            dynamics = ModeDynamics(self.equations, self.discrete)
            dynamics.acceleration(self.q, self.v, u)
            if not dynamics.normal_count:
                if self._return(dynamics, returned):
                    continue
                return dynamics
            lam = dynamics.lam[: dynamics.normal_count]
            free = np.flatnonzero(self.equations.switched[dynamics.rows])
            slack = _PULL * float(np.abs(dynamics.lam).max())
            if len(free) and lam[free].min() < -slack:
                self._set(int(dynamics.rows[free[np.argmin(lam[free])]]), Mode.BALLISTIC, Cause.PULL)
                continue
            row = self._overloaded(dynamics, slack)
            if row >= 0:
                self._slide(row, u)
            elif not self._return(dynamics, returned):
                return dynamics
        return ModeDynamics(self.equations, self.discrete)

    def _return(self, dynamics: ModeDynamics, returned: set[int]) -> bool:
        """Activate the penetrating ballistic row that approaches fastest, if its contact force is compressive."""
        worst, chosen = -1e-9, -1  # m/s: slower approach is rounding
        ballistic = np.flatnonzero(self.discrete.modes == Mode.BALLISTIC)
        for index in np.unique(np.searchsorted(self.equations.first, ballistic, side="right") - 1):
            start, end = self.equations.first[index : index + 2]
            which = ballistic[(ballistic >= start) & (ballistic < end)] - start
            which = which[self.equations.openings(self.q, index, which) <= 0.0]
            if len(which):
                value = returning(dynamics, self.q, self.v, index, which)
                value[np.isin(start + which, list(returned))] = 0.0
                k = int(np.argmin(value))
                if value[k] < worst:
                    worst, chosen = float(value[k]), int(start + which[k])
        if chosen >= 0:
            returned.add(chosen)
            self._set(chosen, Mode.CONTACT, Cause.RETURN)
        return chosen >= 0

    def activate(self, index: int, active: bool) -> None:
        """Switch all rows of a constraint that a user's machine controls."""
        constraint = self.equations.system.constraints[index]
        rows = np.arange(self.equations.first[index], self.equations.first[index + 1])
        was = bool((self.discrete.modes[rows] == Mode.CONTACT).all())
        self.discrete.modes[rows] = Mode.CONTACT if active else Mode.FREE
        if active and not was and not isinstance(constraint, Contact) and constraint.relative:
            self.discrete.offsets[rows] = self.equations.gaps(self.q, index)

    def _machine(self, guard: Guard) -> None:
        system = self.equations.system
        machine = system.machines[guard.machine]
        transition = machine.transitions[guard.transition]
        states = list(self.discrete.states)
        states[guard.machine] = transition.target
        self.discrete = Discrete(
            self.discrete.modes, self.discrete.grips, self.discrete.slips, self.discrete.offsets, tuple(states)
        )
        for index, constraint in enumerate(system.constraints):
            if constraint.name in machine.owned:
                self.activate(index, constraint.name in machine.active.get(transition.target, ()))
        self.events.append(
            Event(self.t, machine.name, -1, transition.source, transition.target, transition.name or guard.cause.value)
        )

    def _contact(self, row: int) -> tuple[Contact, int]:
        index, local = self.equations.locate(row)
        contact = self.equations.system.constraints[index]
        assert isinstance(contact, Contact)
        return contact, local

    def _set(self, row: int, mode: Mode, cause: Cause) -> None:
        source = int(self.discrete.modes[row])
        self.discrete.modes[row] = mode
        self.events.append(Event(self.t, self.equations.row_name(row), row, source, int(mode), cause.value))
        if mode != Mode.CONTACT:
            self.discrete.grips[row] = Grip.NONE
        elif self.equations.mu[row] > 0.0 or self._contact(row)[0].friction is not None:
            self._take_hold(row)

    def _take_hold(self, row: int) -> None:
        slip = self._slip(row)
        speed = float(np.sqrt(slip @ slip))
        self.discrete.grips[row] = Grip.SLIP if speed > STICK_SPEED else Grip.STICK
        if speed > STICK_SPEED:
            self.discrete.slips[row, : len(slip)] = slip / speed

    def _slip(self, row: int) -> FloatArray:
        contact, local = self._contact(row)
        T, _ = tangent_rows(contact, self.q, self.v, np.array([local]), all_rows=contact.count == 1)
        return T[0] @ self.v  # type: ignore[no-any-return]

    def _overloaded(self, dynamics: ModeDynamics, slack: float) -> int:
        """The sticking row whose friction exceeds its limit the most, −1 where none does."""
        worst, row = slack, -1
        if (self.discrete.grips[dynamics.rows] == Grip.STICK).any():
            size = np.linalg.norm(dynamics.tangentials(self.q, self.v), axis=1)
            excess = size - self.equations.mu * dynamics.normals()
            excess[self.discrete.grips != Grip.STICK] = -np.inf
            k = int(np.argmax(excess))
            if excess[k] > worst:
                row = k
        return row

    def _slide(self, row: int, u: Any) -> None:
        """From stick to slip, opposite to the static friction force."""
        dynamics = ModeDynamics(self.equations, self.discrete)
        dynamics.acceleration(self.q, self.v, u)
        force = dynamics.tangentials(self.q, self.v)[row]
        size = float(np.sqrt(force @ force))
        self.discrete.slips[row] = -force / size if size > 0.0 else (1.0, 0.0)
        self._grip(row, Grip.SLIP, Cause.SLIDE)

    def _hold(self, row: int) -> None:
        """The slip along its remembered direction ends: it sticks, or has turned in its plane and goes on."""
        slip = self._slip(row)
        speed = float(np.sqrt(slip @ slip))
        if len(slip) == 2 and speed > 1e3 * STICK_SPEED:
            self.discrete.slips[row] = slip / speed
            self._grip(row, Grip.SLIP, Cause.REVERSE)
        else:
            self._grip(row, Grip.STICK, Cause.HOLD)

    def _grip(self, row: int, grip: Grip, cause: Cause) -> None:
        mode = int(self.discrete.modes[row])
        self.discrete.grips[row] = grip
        name = self.equations.row_name(row)
        self.events.append(Event(self.t, name, row, mode, mode, cause.value))

    def _released(self, row: int, u: Any) -> bool:
        """Whether an energy-consistent contact is released as h rises through 0.

        It stays active where the force is positive over the whole overshoot: the undamped one peaks at h₁ with
        α₀h₁²/2 + α₂h₁⁴/4 = ḣ²/2, and −ḧ of the released motion must exceed α₁ḣ + α₀h₁ + α₂h₁³.
        """
        contact, local = self._contact(row)
        trial = self.discrete.copy()
        trial.modes[row], trial.grips[row] = Mode.FREE, Grip.NONE
        a = ModeDynamics(self.equations, trial).acceleration(self.q, self.v, u)
        _, H, c = constraint_rows(contact, self.q, self.v, np.array([local]), all_rows=contact.count == 1)
        rate, press = float((H @ self.v)[0]), -float((H @ a + c)[0])
        a0, a1, a2 = self.equations.alpha[row]
        if contact.odd is not None:
            peak = rate / np.sqrt(a0) if a0 > 0.0 else np.inf
            back = a0 * peak + float(contact.odd(np.array([peak]))[0]) if np.isfinite(peak) else np.inf
        else:
            square = (
                rate**2 / a0 if a2 == 0.0 and a0 > 0.0
                else (np.sqrt(a0 * a0 + 2.0 * a2 * rate**2) - a0) / a2 if a2 > 0.0 else np.inf
            )  # fmt: skip
            peak = float(np.sqrt(square))
            back = a0 * peak + a2 * peak**3
        return bool(press <= a1 * rate + back)

    def _impact(self, rows: list[int]) -> None:
        before, self.v, rests = impact(self.equations, self.discrete, self.q, self.v, rows)
        for row, speed, resting in zip(rows, before, rests, strict=True):
            source = int(self.discrete.modes[row])
            if resting:
                self._set(row, Mode.CONTACT, Cause.TOUCH)
            else:
                self.discrete.modes[row] = Mode.FREE
                cause = f"{Cause.IMPACT.value}, {speed:.6g} m/s"
                self.events.append(Event(self.t, self.equations.row_name(row), row, source, int(Mode.FREE), cause))
