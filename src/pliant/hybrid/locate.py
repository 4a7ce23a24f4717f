"""Where in a step an event lies: found on the dense output by Brent's method, then on the solution itself.

The step is taken again up to the event and its length corrected, so that the guard is zero to rounding and not to the
error of an interpolant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Flow
from pliant.hybrid.guards import Guards
from pliant.hybrid.runge_kutta import Dense, RungeKutta, Step

EVENT_TIME = 1e-10
"""s; events closer than this are simultaneous."""
_PARTS = (0.25, 0.5, 0.75)


class Search:
    """The search for events in one step, at whose start the guards are `start` (g,)."""

    def __init__(self, method: RungeKutta, flow: Flow, guards: Guards, start: FloatArray, step: Step) -> None:
        self.method, self.flow, self.guards, self.start, self.step = method, flow, guards, start, step
        self.dense: Dense | None = None

    def interpolant(self) -> Dense:
        """The dense output of the step."""
        if self.dense is None:
            self.dense = self.method.dense(self.flow.rate, self.step)
        return self.dense

    def values(self, theta: float) -> FloatArray:
        """All guards (g,) at the part `theta` of the step."""
        y, t = self.interpolant().one(theta), self.step.t + theta * self.step.h
        if self.guards.needs_forces:
            self.flow.rate(t, y)
        return self.guards.values(t, y)

    def _value(self, k: int, theta: float) -> float:
        """One guard at the part `theta` of the step; gaps need no forces."""
        if k < self.guards.gap_count:
            return float(self.guards.gaps(self.interpolant().one(theta))[k])
        return float(self.values(theta)[k])

    def crossed(self, g: FloatArray) -> Any:
        """Which guards (g,) have fallen through zero since the start of the step."""
        return (self.start > 0.0) & (g <= 0.0)

    def first_sign(self, g: FloatArray) -> tuple[float, FloatArray, Any]:
        """A part of the step at which guards have crossed, their values there, and which: the end, where `g` are the
        values, or a place before where a gap closed and opened again, or a force left its limits and returned.
        """
        crossed = self.crossed(g)
        if not len(g) or crossed.any():
            return 1.0, g, crossed
        for theta in self._suspects():
            inside = self.values(theta)
            crossed = self.crossed(inside)
            if crossed.any():
                return theta, inside, crossed
        return 1.0, g, np.zeros(len(g), bool)

    def _suspects(self) -> list[float]:
        places, step, dense = [], self.step, self.dense
        for theta in _PARTS if self.guards.gap_count else ():
            gaps = self.guards.gaps(step.between(theta) if dense is None else dense.one(theta))
            if ((self.start[: len(gaps)] > 0.0) & (gaps <= 0.0)).any():
                places.append(theta)
                break
        places += [self.method.C[s] for s in self.guards.overloaded_stages(self.method.stages)]
        self.flow.motion.trace = None
        return sorted(places)

    def event(self, theta: float, g: FloatArray, crossed: Any) -> tuple[Step, float, Any]:
        """The step up to the first event among guards that have `crossed` at the part `theta`, with values `g` there:
        that step, its end (s), and the numbers of the guards that fall at it.
        """
        first = self._first_root(theta, crossed)
        while first > 0.0:  # others may have crossed before, and returned by `theta`
            earlier, others = self._before(first)
            if not (others & ~crossed).any():
                break
            crossed = crossed | others
            first = self._first_root(earlier, others)
        slope = self._slopes(theta if first == 0.0 else first, g)
        part, g, t = self._refined(first, crossed, slope)
        fired = np.flatnonzero(crossed & (g <= np.abs(slope) * EVENT_TIME))
        if not len(fired):
            fired = np.array([int(np.argmin(np.where(crossed, g / np.maximum(np.abs(slope), 1e-300), np.inf)))])
        return part, t, fired

    def _first_root(self, theta: float, crossed: Any) -> float:
        """The part of the step at which the first of the guards that have `crossed` by `theta` is zero."""
        tolerance = max(1e-3 * EVENT_TIME / self.step.h, 1e-15)
        for k in np.flatnonzero(crossed):
            if theta > 0.0 and self._value(k, theta) <= 0.0:
                theta = brentq(
                    lambda s, k=k: self._value(k, s) if s > 0.0 else self.start[k], 0.0, theta,
                    xtol=tolerance, rtol=8.9e-16,
                )  # fmt: skip
        return theta

    def _slopes(self, theta: float, g: FloatArray) -> FloatArray:
        """How fast (g,) the guards fall at the part `theta` of the step; where one does not, how it fell on average."""
        fall = (self.values(theta) - self.values(0.99 * theta)) / (0.01 * theta * self.step.h)
        return np.where(fall < 0.0, fall, (g - self.start) / self.step.h)

    def _before(self, theta: float) -> tuple[float, Any]:
        """The first of a few places up to `theta` at which guards have crossed, and which."""
        count = self.guards.gap_count
        for part in _PARTS if count else ():
            gaps = self.guards.gaps(self.interpolant().one(part * theta))
            if ((self.start[:count] > 0.0) & (gaps <= 0.0)).any():
                return part * theta, self.crossed(self.values(part * theta))
        return theta, self.crossed(self.values(theta))

    def _refined(self, theta: float, crossed: Any, slope: FloatArray) -> tuple[Step, FloatArray, float]:
        """Take the step again up to the event, and correct its length until the guard vanishes on the solution."""
        step, rate = self.step, self.flow.rate
        h = max(theta * step.h, 1e-16 * max(1.0, abs(step.t)))
        part = self.method.step(rate, step.t, step.y, step.K[0], h)
        g = self.guards.values(step.t + h, part.y1)
        k = int(np.argmin(np.where(crossed, np.abs(g) / np.maximum(np.abs(slope), 1e-300), np.inf)))
        for _ in range(4):
            change = -float(g[k]) / float(slope[k])
            if abs(change) <= 0.1 * EVENT_TIME or not 0.0 < h + change <= step.h:
                break
            h += change
            part = self.method.step(rate, step.t, step.y, step.K[0], h)
            g = self.guards.values(step.t + h, part.y1)
        return part, g, step.t + h
