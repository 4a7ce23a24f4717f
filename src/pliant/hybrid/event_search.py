"""Location of an event within a step: on the dense output by Brent's method, then on the solution itself.

The step is repeated up to the event and its length corrected, so that the guard vanishes to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from pliant.core.types import FloatArray
from pliant.hybrid.controllers import Flow
from pliant.hybrid.guards import Guards
from pliant.hybrid.runge_kutta import Dense, RungeKutta, RungeKuttaStep

EVENT_TIME = 1e-10
"""s; events closer than this are simultaneous."""
_FRACTIONS = (0.25, 0.5, 0.75)
"""Fractions of a step at which gaps are sampled, for contacts that close and open again within it."""
_FEW = 16
"""Below this many guards a Python loop is faster than NumPy."""


class EventSearch:
    """The search for events in one step, at whose start the guards are `start` (g,)."""

    def __init__(self, method: RungeKutta, flow: Flow, guards: Guards, start: FloatArray, step: RungeKuttaStep) -> None:
        self.method, self.flow, self.guards, self.start, self.step = method, flow, guards, start, step
        self.dense: Dense | None = None

    def interpolant(self) -> Dense:
        """The dense output of the step."""
        if self.dense is None:
            self.dense = self.method.dense(self.flow.rate, self.step)
        return self.dense

    def values(self, theta: float) -> FloatArray:
        """All guards (g,) at the fraction `theta` of the step."""
        y, t = self.interpolant().state(theta), self.step.t + theta * self.step.h
        if self.guards.needs_forces:
            self.flow.rate(t, y)
        return self.guards.values(t, y)

    def _value(self, k: int, theta: float) -> float:
        """One guard at the fraction `theta` of the step; gaps need no forces."""
        if k < self.guards.gap_count:
            return float(self.guards.gaps(self.interpolant().state(theta))[k])
        return float(self.values(theta)[k])

    def crossed(self, g: FloatArray) -> Any:
        """Which guards (g,) have fallen through zero since the start of the step."""
        return (self.start > 0.0) & (g <= 0.0)

    def _any_crossed(self, g: FloatArray) -> bool:
        if len(g) > _FEW:
            return bool(self.crossed(g).any())
        return any(before > 0.0 >= now for before, now in zip(self.start.tolist(), g.tolist(), strict=True))

    def first_sign(self, g: FloatArray) -> tuple[float, FloatArray, Any]:
        """A fraction of the step at which guards have crossed zero, their values there, and which: the end, with the
        values `g`, or an earlier one where a gap closed and opened again, or a force left its limits and returned.
        """
        if not len(g) or self._any_crossed(g):
            return 1.0, g, self.crossed(g)
        for theta in self._suspects():
            inside = self.values(theta)
            crossed = self.crossed(inside)
            if crossed.any():
                return theta, inside, crossed
        return 1.0, g, np.zeros(len(g), bool)

    def _suspects(self) -> list[float]:
        fractions, step, dense = [], self.step, self.dense
        for theta in _FRACTIONS if self.guards.gap_count else ():
            gaps = self.guards.gaps(step.between(theta) if dense is None else dense.state(theta))
            if gaps.min() <= 0.0 and ((self.start[: len(gaps)] > 0.0) & (gaps <= 0.0)).any():
                fractions.append(theta)
                break
        fractions += [self.method.C[s] for s in self.guards.overloaded_stages(self.method.stages)]
        self.flow.dynamics.trace = None
        return sorted(fractions)

    def event(self, theta: float, g: FloatArray, crossed: Any) -> tuple[RungeKuttaStep, float, Any]:
        """The step up to the first event among guards that have `crossed` at the fraction `theta`, with values `g`
        there: that step, its end (s), and the indices of the guards that cross zero at it.
        """
        first = self._first_root(theta, crossed)
        while first > 0.0:  # others may have crossed before, and returned by `theta`
            earlier, others = self._before(first)
            if not (others & ~crossed).any():
                break
            crossed = crossed | others
            first = self._first_root(earlier, others)
        slope = self._slopes(theta if first == 0.0 else first, g)
        to_event, g, t = self._refined(first, crossed, slope)
        fired = np.flatnonzero(crossed & (g <= np.abs(slope) * EVENT_TIME))
        if not len(fired):
            fired = np.array([int(np.argmin(np.where(crossed, g / np.maximum(np.abs(slope), 1e-300), np.inf)))])
        return to_event, t, fired

    def _first_root(self, theta: float, crossed: Any) -> float:
        """The fraction of the step at which the first of the guards that have `crossed` by `theta` is zero."""
        tolerance = max(1e-3 * EVENT_TIME / self.step.h, 1e-15)
        for k in np.flatnonzero(crossed):
            if theta > 0.0 and self._value(k, theta) <= 0.0:
                theta = brentq(
                    lambda s, k=k: self._value(k, s) if s > 0.0 else self.start[k], 0.0, theta,
                    xtol=tolerance, rtol=8.9e-16,
                )  # fmt: skip
        return theta

    def _slopes(self, theta: float, g: FloatArray) -> FloatArray:
        """Rates (g,) of the guards at the fraction `theta` of the step; the mean rate where a guard does not fall."""
        fall = (self.values(theta) - self.values(0.99 * theta)) / (0.01 * theta * self.step.h)
        return np.where(fall < 0.0, fall, (g - self.start) / self.step.h)

    def _before(self, theta: float) -> tuple[float, Any]:
        """The first of a few fractions up to `theta` at which guards have crossed, and which."""
        count = self.guards.gap_count
        for to_event in _FRACTIONS if count else ():
            gaps = self.guards.gaps(self.interpolant().state(to_event * theta))
            if ((self.start[:count] > 0.0) & (gaps <= 0.0)).any():
                return to_event * theta, self.crossed(self.values(to_event * theta))
        return theta, self.crossed(self.values(theta))

    def _refined(self, theta: float, crossed: Any, slope: FloatArray) -> tuple[RungeKuttaStep, FloatArray, float]:
        """Repeat the step up to the event, and correct its length until the guard vanishes on the solution."""
        step, rate = self.step, self.flow.rate
        h = max(theta * step.h, 1e-16 * max(1.0, abs(step.t)))
        to_event = self.method.step(rate, step.t, step.y, step.K[0], h)
        g = self.guards.values(step.t + h, to_event.y1)
        k = int(np.argmin(np.where(crossed, np.abs(g) / np.maximum(np.abs(slope), 1e-300), np.inf)))
        for _ in range(4):
            change = -float(g[k]) / float(slope[k])
            if abs(change) <= 0.1 * EVENT_TIME or not 0.0 < h + change <= step.h:
                break
            h += change
            to_event = self.method.step(rate, step.t, step.y, step.K[0], h)
            g = self.guards.values(step.t + h, to_event.y1)
        return to_event, g, step.t + h
