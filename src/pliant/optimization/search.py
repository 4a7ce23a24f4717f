"""The search: a method of `scipy.optimize`, begun again where its line search stalls or a simulation fails.

Losses of runs through contact are smooth but for kinks, where contacts switch and the derivative is one-sided. There a
line search along the derivative of one side may find no lower value. Steps on which all derivatives nearby agree
(`kinks`) then lead on, until they promise nothing more, which is a minimum, or until none of them lowers the loss.
Where a simulation fails, the search begins again within a box around the best point that does not reach that far, and
the box grows when it ends at its side (a trust region; Conn, Gould, Toint, Trust-Region Methods, 2000).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, minimize

from pliant.core.errors import PliantError
from pliant.core.types import FloatArray
from pliant.optimization.kinks import Seen, common_descent
from pliant.optimization.result import Outcome

FIRST_STEP = 0.1
"""Fraction of the bounds that the first step changes a number by at most; after a restart a tenth of it."""
FAILURES = 12
"""Restarts after failed simulations, without a lower loss, after which a search gives up."""
KINK = 0.05
"""First size of a step at a kink, as a fraction of the bounds."""
PROMISE = 1e-3
"""Decrease that a step at a kink promises, over that along the first derivative, that counts as none."""
SERIOUS = 0.1
"""Part of the promised decrease that a step has to bring; else the next one is shorter by `SHORTER`."""
SHORTER = 0.7
REMEMBERED = 60
"""Points of which the derivatives are kept."""
NEAREST = 1e-6
"""Box around the best point, as a fraction of the bounds, in which no simulation succeeds: the search is blocked."""
GROWTH = 4.0
"""By which a box grows at whose side a search ended."""
GAIN = 1e-3
"""Decrease of the loss, over that from the first point on, by which a restart was worthwhile."""
LINE_SEARCH = 10
"""Evaluations of one line search at most."""
ROUNDING = 1e-9
"""By how much a point that counts may exceed a limit of rates, as a fraction of it."""


class _EndError(Exception):
    """The search ends with an outcome."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class _FailedError(Exception):
    """A simulation failed at `y`."""

    def __init__(self, y: FloatArray) -> None:
        self.y = y


@dataclass(eq=False)
class Search:
    """Minimises `value(y)` → (loss, derivatives) over y ∈ [0, 1]ⁿ with A y ≤ b (`rates`) by `method`.

    `evaluations` bounds how often it may be called, `target` is a loss that is good enough, `told` is called after each
    evaluation with the losses so far and y, and stops the search where it returns True.
    """

    value: Callable[[FloatArray], tuple[float, FloatArray]]
    rates: tuple[FloatArray, FloatArray]
    method: str
    tolerance: float
    evaluations: int
    target: float | None
    told: Callable[[list[float], FloatArray], bool]
    history: list[float] = field(default_factory=list)
    failure: str = ""

    def run(self, first: FloatArray, loss: float, slope: FloatArray) -> tuple[Outcome, FloatArray, float]:
        """How the search from `first` (n,), its `loss` and its `slope`, ended, and the best y (n,) with its loss."""
        self._best, self._loss, self._slope = first, np.inf, slope
        self._steepest, self._points = float(np.abs(slope).max()), deque[Seen](maxlen=REMEMBERED)
        try:
            self._seen(first, loss, slope)
            outcome = self._attempts()
        except _EndError as end:
            outcome = end.outcome
        return outcome, self._best, self._loss

    def _attempts(self) -> Outcome:
        radius, failures, step = np.inf, 0, FIRST_STEP
        while True:
            before, centre = self._loss, self._best
            try:
                ended = self._attempt(centre, radius, step) and self._is_flat()
            except _FailedError as failed:
                failures = 1 if self._better(before) else failures + 1
                radius = 0.5 * float(np.abs(failed.y - self._best).max())
                if radius < NEAREST or failures > FAILURES:
                    return Outcome.BLOCKED
                continue
            step = 0.1 * FIRST_STEP
            if np.isfinite(radius) and np.abs(self._best - centre).max() > 0.99 * radius:
                radius = GROWTH * radius if GROWTH * radius < 1.0 else np.inf
                continue
            if ended:
                return Outcome.CONVERGED
            outcome = self._along_kinks()
            if outcome is Outcome.CONVERGED or not self._better(before):
                return outcome

    def _along_kinks(self) -> Outcome:
        """Steps on which all derivatives nearby agree: to a minimum, or until none lowers the loss."""
        size = KINK
        while size > NEAREST:
            best = Seen(self._best, self._loss, self._slope)
            d, promised = common_descent(self._points, best, size, self.rates)
            if promised <= PROMISE * self._steepest * size:
                return Outcome.CONVERGED
            try:
                loss, _ = self._evaluated(best.y + d)
                serious = loss <= best.loss - SERIOUS * promised
            except _FailedError:
                serious = False
            size = min(size / SHORTER, KINK) if serious else SHORTER * size
        return Outcome.STALLED

    def _attempt(self, centre: FloatArray, radius: float, step: float) -> bool:
        """One run of the method within a box; whether it ended at a minimum, not in a stalled line search."""
        lower, upper = np.maximum(centre - radius, 0.0), np.minimum(centre + radius, 1.0)
        scale = step / max(float(np.abs(self._slope).max()), np.finfo(float).tiny)
        small = self.tolerance * self._steepest * scale
        options: dict[str, dict[str, Any]] = {
            "L-BFGS-B": {"ftol": small, "gtol": small, "maxls": LINE_SEARCH, "maxfun": 10**6, "maxiter": 10**6},
            "SLSQP": {"ftol": small, "maxiter": 10**6},
            "trust-constr": {"gtol": small, "xtol": self.tolerance, "maxiter": 10**6, "initial_tr_radius": step},
        }
        A, b = self.rates
        limits = [LinearConstraint(A, -np.inf, b)] if len(b) else []

        def function(y: FloatArray) -> tuple[float, FloatArray]:
            loss, slope = self._evaluated(y)
            return scale * loss, scale * slope

        found = minimize(
            function, centre, jac=True, method=self.method, bounds=Bounds(lower, upper, True),
            constraints=limits, options=options[self.method],
        )  # fmt: skip
        return bool(found.success)

    def _evaluated(self, y: FloatArray) -> tuple[float, FloatArray]:
        if np.array_equal(y, self._best):
            return self._loss, self._slope
        if len(self.history) >= self.evaluations:
            raise _EndError(Outcome.ROLLOUT_LIMIT)
        at = np.array(y)
        try:
            loss, slope = self.value(at)
        except PliantError as error:
            self.failure = str(error)
            self.history.append(np.nan)
            raise _FailedError(at) from error
        self._seen(at, loss, slope)
        return loss, slope

    def _seen(self, y: FloatArray, loss: float, slope: FloatArray) -> None:
        """Keep the point if it is the best one, and end the search if that is good enough."""
        A, b = self.rates
        self.history.append(loss)
        self._points.append(Seen(y, loss, slope))
        if loss < self._loss and bool((A @ y <= b + ROUNDING).all()):
            self._best, self._loss, self._slope = y, loss, slope
        stopped = self.told(self.history, y)
        if self.target is not None and self._loss <= self.target:
            raise _EndError(Outcome.TARGET)
        if stopped:
            raise _EndError(Outcome.STOPPED)

    def _better(self, before: float) -> bool:
        return self._loss < before - GAIN * (self.history[0] - before)

    def _is_flat(self) -> bool:
        """Whether the derivatives that point into the bounds have vanished beside the first ones."""
        inward = np.clip(self._best - self._slope, 0.0, 1.0) != self._best
        open_slope = np.abs(self._slope[inward]).max(initial=0.0)
        return bool(open_slope <= np.sqrt(self.tolerance) * self._steepest)
