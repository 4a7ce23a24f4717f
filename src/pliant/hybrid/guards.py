"""Guards: functions of time and state that fall through zero where the discrete state changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from pliant.core.types import FloatArray
from pliant.hybrid.constraint_rows import constraint_rows
from pliant.hybrid.contact_laws import Grip, Mode
from pliant.hybrid.equations import Discrete, Equations
from pliant.hybrid.mode_dynamics import ModeDynamics


class Cause(Enum):
    """Why the discrete state changes."""

    TOUCH = "the gap closes"
    PULL = "the contact force would pull"
    PART = "the gap opens"
    LEAVE = "the feature is left"
    RETURN = "inside the surface, the gap closes again"
    IMPACT = "an impulse"
    SLIDE = "friction reaches its limit"
    HOLD = "the slip comes to rest"
    REVERSE = "the slip turns round"
    MACHINE = "a transition of a machine"


@dataclass(frozen=True)
class Guard:
    """What a guard monitors: a row, or a transition of a machine."""

    cause: Cause
    row: int
    machine: int = -1
    transition: int = -1


_ARMED = (Cause.PULL, Cause.SLIDE, Cause.HOLD, Cause.LEAVE)
BEYOND = 1e-6
"""m; distance beyond its scope at which a row is released: hysteresis against chatter on the boundary."""


class Guards:
    """The guards of a discrete state; `values` evaluates all of them.

    `watched[c]` are the local rows of constraint c that are near, or None for all of them.
    """

    def __init__(self, equations: Equations, dynamics: ModeDynamics, watched: list[Any], h: FloatArray) -> None:
        self.equations = equations
        self.dynamics = dynamics
        discrete = dynamics.discrete
        self._shift: FloatArray | None = None
        self.others: list[Guard] = []  # all guards but those of gaps, which may be many
        self._gaps: list[tuple[int, Any, FloatArray]] = []
        self._rates: list[tuple[int, Any]] = []
        for index, constraint in enumerate(equations.system.constraints):
            start = equations.first[index]
            near = watched[index] if watched[index] is not None else np.arange(constraint.count)
            near = near[equations.switched[start + near]]
            if len(near):
                self._watch_gaps(index, start, near, discrete, h)
        self._watch_rates(discrete, h)
        self._watch_scopes(discrete)
        pulled = np.flatnonzero(equations.switched[dynamics.rows])
        self._pulled = pulled
        self.others += [Guard(Cause.PULL, int(row)) for row in dynamics.rows[pulled]]
        self._watch_friction(discrete)
        self._transitions = []
        for machine_index, machine in enumerate(equations.system.machines):
            for k, transition in enumerate(machine.transitions):
                if transition.source == discrete.states[machine_index]:
                    self._transitions.append(transition)
                    self.others.append(Guard(Cause.MACHINE, -1, machine_index, k))
        first = self.gap_count = sum(len(near) for _, near, _ in self._gaps)
        loads = [first + k for k, guard in enumerate(self.others) if guard.cause in (Cause.PULL, Cause.SLIDE)]
        self._loads = np.array(loads, np.int64)
        self._lone_pull = dynamics.normal_count == 1 and len(loads) == 1 and not self._friction
        self.needs_forces = bool(len(pulled) or self._friction or self._transitions or self._rates)

    def _watch_gaps(self, index: int, start: int, near: Any, discrete: Discrete, h: FloatArray) -> None:
        """Free rows close; ballistic rows open or, once open, close; energy-consistent contacts open at h = 0."""
        modes = discrete.modes[start + near]
        inside = h[start + near] <= 0.0
        energy = self.equations.energy[start + near]
        sign = np.where((modes == Mode.CONTACT) | ((modes == Mode.BALLISTIC) & inside), -1.0, 1.0)
        keep = (modes != Mode.CONTACT) | energy
        near, sign = near[keep], sign[keep]
        if len(near):
            self._gaps.append((index, near, sign))

    def _watch_rates(self, discrete: Discrete, h: FloatArray) -> None:
        equations = self.equations
        inside = equations.switched & (discrete.modes == Mode.BALLISTIC) & (h <= 0.0)
        for index, constraint in enumerate(equations.system.constraints):
            start = equations.first[index]
            which = np.flatnonzero(inside[start : start + constraint.count])
            if len(which):
                self._rates.append((index, which))
                self.others += [Guard(Cause.RETURN, int(start + k)) for k in which]

    def _watch_scopes(self, discrete: Discrete) -> None:
        equations = self.equations
        self._scopes: list[tuple[int, Any]] = []
        for index in np.flatnonzero(equations.scoped):
            start, end = equations.first[index : index + 2]
            which = np.flatnonzero(equations.switched[start:end] & (discrete.modes[start:end] != Mode.FREE))
            if len(which):
                self._scopes.append((int(index), which))
                self.others += [Guard(Cause.LEAVE, int(start + k)) for k in which]

    def _watch_friction(self, discrete: Discrete) -> None:
        self._friction = []
        for group in self.dynamics.active_rows:
            grips = discrete.grips[group.rows]
            if (grips != Grip.NONE).any():
                self._friction.append(group)
                causes = [Cause.SLIDE if grip == Grip.STICK else Cause.HOLD for grip in grips]
                self.others += [Guard(cause, int(row)) for cause, row in zip(causes, group.rows, strict=True)]

    def guard(self, k: int) -> Guard:
        """The guard of one of the `values`."""
        if k >= self.gap_count:
            return self.others[k - self.gap_count]
        for index, near, sign in self._gaps:
            if k < len(near):
                cause = Cause.TOUCH if sign[k] > 0.0 else Cause.PART
                return Guard(cause, int(self.equations.first[index] + near[k]))
            k -= len(near)
        raise IndexError(k)

    def gaps(self, y: FloatArray) -> Any:
        """The guards that are gaps (k,) at y; they are the first ones."""
        parts = self._signed_gaps(y[: self.equations.n])
        gaps = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)
        return gaps if self._shift is None else gaps + self._shift[: len(gaps)]

    def _signed_gaps(self, q: FloatArray) -> list[Any]:
        """Closing gaps with their sign, within their scope; opening gaps with the opposite sign."""
        parts, equations = [], self.equations
        for index, which, sign in self._gaps:
            if equations.scoped[index]:
                h = equations.gaps(q, index, which)
                parts.append(np.where(sign > 0.0, np.maximum(h, -equations.scopes(q, index, which)), -h))
            else:
                parts.append(sign * equations.gaps(q, index, which))
        return parts

    def arm(self, t: float, y: FloatArray) -> FloatArray:
        """The values at the start of a mode; those that rounding left at or below zero are shifted just above it."""
        g = self.values(t, y)
        small = np.full(len(g), 1e-15)
        small[self._loads] += 1e-10 * float(np.abs(self.dynamics.lam).max(initial=0.0))
        armed = np.array([guard.cause in _ARMED for guard in self.others], bool)
        touching = np.concatenate([sign > 0.0 for *_, sign in self._gaps]) if self._gaps else np.empty(0, bool)
        late = np.concatenate([touching, armed]) & (g <= 0.0)
        if late.any():
            self._shift = np.where(late, small - g, 0.0)
            g = g + self._shift
        return g

    def values(self, t: float, y: FloatArray) -> FloatArray:
        """All guards (g,) at (t, y); forces are those of the last evaluation, which must be at (t, y)."""
        n = self.equations.n
        q, v = y[:n], y[n : 2 * n]
        parts = self._signed_gaps(q)
        parts += [returning(self.dynamics, q, v, index, which) for index, which in self._rates]
        parts += [self.equations.scopes(q, index, which) + BEYOND for index, which in self._scopes]
        if len(self._pulled):
            parts.append(self.dynamics.lam[self._pulled])
        if self._friction:
            parts.append(self.dynamics.friction_margins(q, v))
        if self._transitions:
            lam = self.dynamics.normals()
            parts.append(np.array([transition.guard(t, q, v, lam) for transition in self._transitions], float))
        g = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)
        return g if self._shift is None else g + self._shift

    def overloaded(self, g: FloatArray) -> bool:
        """Whether a contact force is tensile or friction exceeds its limit among the guard values `g`."""
        return bool(len(self._loads) and g[self._loads].min() < -1e-10 * float(np.abs(self.dynamics.lam).max()))

    def overloaded_stages(self, stages: int) -> list[int]:
        """The stages s ≥ 1 of the last step at which a contact force was tensile or friction exceeded its limit."""
        trace = self.dynamics.trace
        if not len(self._loads) or trace is None or len(trace) < stages:
            return []
        if self._lone_pull:
            return [s + 1 for s, lam in enumerate(trace[: stages - 1]) if lam.item(0) < 0.0]
        lam = np.array(trace[: stages - 1])
        bad = (lam[:, self._pulled] < 0.0).any(axis=1) if len(self._pulled) else np.zeros(len(lam), bool)
        for normals, tangents, mu in self.dynamics.sticking():
            size = np.sqrt((lam[:, tangents] ** 2).sum(axis=2))
            bad |= (size > mu * lam[:, normals]).any(axis=1)
        return [int(s) + 1 for s in np.flatnonzero(bad)]


def returning(dynamics: ModeDynamics, q: FloatArray, v: FloatArray, index: int, which: Any) -> Any:
    """For penetrating ballistic rows (k,): negative where they approach and their contact force would be compressive.

    It is the larger of ḣ and (ḧ + α₁ḣ + α₀h + α₂h³)/α₁, in m/s, with ḧ of the last evaluation. Where ḣ falls through
    zero the latter is negative already, as h ≤ 0 and ḧ < 0: this is the paper's transition. A row released while it
    still approached, because another contact decelerated it, is activated again when that no longer holds.
    """
    equations = dynamics.equations
    constraint: Any = equations.system.constraints[index]
    h, H, c = constraint_rows(constraint, q, v, which, all_rows=len(which) == constraint.count)
    a0, a1, a2 = equations.alpha[equations.first[index] + which].T
    rate = H.dot(v)
    back = a0 * h + (a2 * h**3 if constraint.odd is None else constraint.odd(h))
    need = H.dot(dynamics.dv) + c + a1 * rate + back
    return np.maximum(rate, need / np.maximum(np.maximum(a1, np.sqrt(a0)), 1e-9))
