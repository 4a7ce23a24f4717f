"""One adaptive Runge–Kutta step with its error estimate and its dense output: Dormand–Prince of order 5 or 8.

Dormand, Prince 1980 and Hairer, Nørsett, Wanner 1993; the coefficients are those of SciPy's `RK45` and `DOP853`. The
loop is our own: with a right-hand side of some microseconds, as systems of a few coordinates have, SciPy's bookkeeping
costs more than the physics. Ten seconds of the bouncing ball at equal tolerance (1e-9) took, with all events located,
the times that `benchmarks/hybrid_integrators.py` prints for this loop, for SciPy and for CVODE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK45

from pliant.core.types import FloatArray

Rate = Callable[[float, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class RungeKuttaStep:
    """A step from (t, y) by h: the end `y1` with its rate `f1`, stages `K`, and the error over the tolerance."""

    t: float
    h: float
    y: FloatArray
    y1: FloatArray
    f1: FloatArray
    K: FloatArray
    error: float

    def between(self, theta: float) -> FloatArray:
        """The state at the fraction `theta` of the step by Hermite's cubic, which needs no further evaluations."""
        a, b = theta * theta * (3.0 - 2.0 * theta), theta * (1.0 - theta)
        slope = (1.0 - theta) * self.K[0] - theta * self.f1
        return np.asarray(self.y + a * (self.y1 - self.y) + (b * self.h) * slope)


class Dense:
    """The polynomial through a step; `at(theta)` gives states (k, n) at fractions of the step in [0, 1], (k,)."""

    __slots__ = ("F", "y")

    def __init__(self, y: FloatArray, F: FloatArray) -> None:
        self.y = y
        self.F = F

    def at(self, theta: FloatArray) -> FloatArray:
        """States (k, n) at the fractions `theta` (k,) of the step."""
        weights = np.empty((len(theta), len(self.F)))
        product = np.ones_like(theta)
        for k in range(len(self.F)):
            product = product * (theta if k % 2 == 0 else 1.0 - theta)
            weights[:, k] = product
        return self.y + weights.dot(self.F)  # type: ignore[no-any-return]

    def state(self, theta: float) -> FloatArray:
        """The state (n,) at one fraction of the step."""
        weights = np.empty(len(self.F))
        product = 1.0
        for k in range(len(self.F)):
            product *= theta if k % 2 == 0 else 1.0 - theta
            weights[k] = product
        return self.y + weights.dot(self.F)  # type: ignore[no-any-return]


class RungeKutta:
    """A method of `order` 5 or 8 at relative and absolute tolerances `rtol`, `atol`."""

    def __init__(self, order: int, rtol: float, atol: float) -> None:
        method: Any = {5: RK45, 8: DOP853}[order]
        self.order = order
        self.exponent = -1.0 / order
        self.stages = method.n_stages
        self.A = [np.ascontiguousarray(method.A[s, :s]) for s in range(self.stages)]
        self.B, self.C = method.B, [float(c) for c in method.C]
        self.rtol, self.atol = rtol, atol
        self._E: Any = (method.E3, method.E5) if order == 8 else (method.E,)
        if order == 8:
            self._extra = [(np.ascontiguousarray(a[: 13 + k]), float(c)) for k, (a, c) in
                           enumerate(zip(method.A_EXTRA, method.C_EXTRA, strict=True))]  # fmt: skip
            self._D = method.D
        else:
            self._P = method.P

    def step(self, rate: Rate, t: float, y: FloatArray, f: FloatArray, h: float) -> RungeKuttaStep:
        """Try a step of size h from (t, y), where the rate is f."""
        K = np.empty((self.stages + 1, len(y)))
        K[0] = f
        A, C = self.A, self.C
        for s in range(1, self.stages):
            change = A[s].dot(K[:s])
            change *= h
            change += y
            K[s] = rate(t + C[s] * h, change)
        y1 = y + h * self.B.dot(K[:-1])
        f1 = K[-1] = rate(t + h, y1)
        return RungeKuttaStep(t, h, y, y1, f1, K, self._error(K, h, y, y1))

    def _error(self, K: FloatArray, h: float, y: FloatArray, y1: FloatArray) -> float:
        scale = np.maximum(np.abs(y), np.abs(y1))
        scale *= self.rtol
        scale += self.atol
        if self.order == 5:
            e = self._E[0].dot(K) / scale
            return float(abs(h) * np.sqrt(e.dot(e) / len(e)))
        e3, e5 = self._E[0].dot(K) / scale, self._E[1].dot(K) / scale
        n3, n5 = float(e3.dot(e3)), float(e5.dot(e5))
        return 0.0 if n5 == 0.0 and n3 == 0.0 else float(abs(h) * n5 / np.sqrt((n5 + 0.01 * n3) * len(e3)))

    def dense(self, rate: Rate, step: RungeKuttaStep) -> Dense:
        """The interpolant of a step, of order 4 or 7; order 8 takes three more evaluations."""
        y, K, h = step.y, step.K, step.h
        if self.order == 5:
            return Dense(y, _nested(h * self._P.T.dot(K)))
        full = np.empty((16, len(y)))
        full[:13] = K
        for k, (a, c) in enumerate(self._extra):
            full[13 + k] = rate(step.t + c * h, y + h * a.dot(full[: 13 + k]))
        F = np.empty((7, len(y)))
        change = step.y1 - y
        F[0] = change
        F[1] = h * K[0] - change
        F[2] = 2.0 * change - h * (step.f1 + K[0])
        F[3:] = h * self._D.dot(full)
        return Dense(y, F)

    def first_step(self, rate: Rate, t: float, y: FloatArray, f: FloatArray, most: float) -> float:
        """A step size to start with, from the size of the rate and of its change (Hairer, II.4)."""
        scale = self.atol + self.rtol * np.abs(y)
        d0, d1 = _rms(y / scale), _rms(f / scale)
        h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, most)
        d2 = _rms((rate(t + h0, y + h0 * f) - f) / scale) / h0
        largest = max(d1, d2)
        h1 = max(1e-6, h0 * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** (1.0 / self.order)
        return min(100.0 * h0, h1, most)


def _nested(Q: FloatArray) -> FloatArray:
    """Coefficients of Σ Qⱼ θ^{j+1}, j = 0…3, in the nested form θ(F₀ + (1−θ)(F₁ + θ(F₂ + (1−θ)F₃)))."""
    q1, q2, q3, q4 = Q
    return np.stack([q1 + q2 + q3 + q4, -(q2 + q3 + q4), -(q3 + 2.0 * q4), q4])


def _rms(x: FloatArray) -> float:
    return float(np.sqrt(x.dot(x) / max(len(x), 1)))
