"""Prony branches from relaxation tests and from dynamic moduli, by non-negative least squares.

With relaxation times given, or two for each decade of the data, the moduli of a series are linear in its strengths:

    G(t)  = G∞ + Σ Gᵢ e^(−t/τᵢ)
    G′(ω) = G∞ + Σ Gᵢ x²/(1 + x²),     G″(ω) = Σ Gᵢ x/(1 + x²),     x = ωτᵢ

and no strength is negative, so that no fit gains energy. Errors are relative, as moduli span decades. Rows with NaN are
gaps of a recording: they are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.checks import finite_array, positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray

LEAST_POINTS = 3
"""Points below which a test does not say how a modulus changes."""


@one_line
@dataclass(frozen=True, eq=False)
class PronyFit:
    """Branches of a fit, for `Viscoelastic`, and its errors. It unpacks to (branches, instantaneous)."""

    branches: list[tuple[float, float]]
    """Pairs (g, τ): fraction of the instantaneous modulus that relaxes, and relaxation time in s."""
    instantaneous: float
    """Modulus of the first instant, in the unit of the data."""
    residuals: FloatArray = field(repr=False)
    """Fitted over measured modulus minus 1 at each point, (k,); of dynamic moduli (k, 2), storage and loss, each over
    the absolute value |G′ + iG″|.
    """
    skipped: int = 0
    """Rows left out, as they hold NaN."""

    @property
    def relaxed(self) -> float:
        """Modulus after a long time, in the unit of the data: that of the base of a `Viscoelastic`."""
        return self.instantaneous * (1.0 - sum(g for g, _ in self.branches))

    @property
    def relative_rms(self) -> float:
        """Root mean square of `residuals`."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    def __iter__(self) -> Iterator[Any]:
        return iter((self.branches, self.instantaneous))


@declared
def fit_relaxation(time: Any, modulus: Any, *, times: Any = None) -> PronyFit:
    """Branches of a relaxation test: the `modulus` (k,), any unit, at `time` (k,) in s after a sudden strain.

    `times`: relaxation times, s; by default two for each decade of the data. A stress at constant strain will do as
    modulus.
    """
    (t, G), skipped = measured("relaxation test", LEAST_POINTS, time=time, modulus=modulus)
    if (t < 0.0).any() or (G <= 0.0).any():
        raise InputError(
            f"a relaxation test has times ≥ 0 and moduli > 0; the least are {t.min():g} s and {G.min():g}: start at "
            "the end of the ramp, with tension positive"
        )
    late = t[t > 0.0]
    if not len(late) or late.max() == late.min():
        raise InputError("a relaxation test needs at least two different times > 0 s")
    tau = _relaxation_times(times, late.min(), late.max())
    columns = np.column_stack([np.ones_like(t), np.exp(-t[:, None] / tau)])
    found = non_negative_fit(columns / G[:, None], np.ones_like(t))
    trend = np.polyfit(t - t.mean(), G / G.mean(), 1)[0] * np.ptp(t)
    if not found[1:].any() and trend > RISE:
        raise InputError(
            f"the modulus rises by {trend:.0%} over the test: a series that does so gains energy; check that "
            "`modulus` is in the order of `time`, and that the strain is constant"
        )
    return _fit(found, tau, (columns @ found) / G - 1.0, skipped, more=f"after {t.max():g} s")


@declared
def fit_dynamic_modulus(frequency: Any, storage: Any, loss: Any, *, times: Any = None) -> PronyFit:
    """Branches of a frequency sweep: `storage` and `loss` modulus (k,), any unit, at `frequency` (k,) in Hz.

    `times`: relaxation times, s; by default two for each decade of the data and half a decade beyond either end. Shear
    moduli and Young's moduli of a nearly incompressible material have the same branches.
    """
    (f, real, imaginary), skipped = measured(
        "frequency sweep", LEAST_POINTS, frequency=frequency, storage=storage, loss=loss
    )
    if (f <= 0.0).any() or (real <= 0.0).any():
        raise InputError(
            f"a frequency sweep has frequencies and storage moduli > 0; the least are {f.min():g} Hz and {real.min():g}"
        )
    if (imaginary < 0.0).any():
        k = int(imaginary.argmin())
        raise InputError(
            f"the loss modulus is {imaginary[k]:g} at {f[k]:g} Hz: below 0 a material gains energy; check the sign of "
            "the phase (strain lags stress), or leave the point out"
        )
    if f.min() == f.max():
        raise InputError(f"a frequency sweep needs at least two frequencies; all points are at {f[0]:g} Hz")
    period = 1.0 / (2.0 * np.pi * f)
    beyond = 10.0**0.5 if times is None else 1.0
    tau = _relaxation_times(times, period.min() / beyond, period.max() * beyond)
    x = tau / period[:, None]
    elastic = np.column_stack([np.ones_like(f), x**2 / (1.0 + x**2)])
    viscous = np.column_stack([np.zeros_like(f), x / (1.0 + x**2)])
    size = np.hypot(real, imaginary)
    rows = np.concatenate([elastic / size[:, None], viscous / size[:, None]])
    found = non_negative_fit(rows, np.concatenate([real / size, imaginary / size]))
    errors = np.column_stack([(elastic @ found - real) / size, (viscous @ found - imaginary) / size])
    return _fit(found, tau, errors, skipped, more=f"at frequencies below {f.min():g} Hz")


LEAST_REST = 1e-6
"""Least relaxed modulus of a solid over its instantaneous one: below, rounding decides."""
RISE = 0.02
"""Rise of a modulus over a relaxation test, in fractions of its mean, that is no noise of a usual load cell."""


def measured(what: str, least: int, **columns: Any) -> tuple[list[FloatArray], int]:
    """The `columns` (k,) of a test without the rows that hold NaN, and their number; at least `least` rows remain."""
    arrays = [np.asarray(column, np.float64) if _is_numeric(column) else np.zeros(0) for column in columns.values()]
    for name, column, array in zip(columns, columns.values(), arrays, strict=True):
        if array.ndim != 1 or len(array) != len(arrays[0]):
            shown = getattr(np.asarray(column), "shape", None)
            raise InputError(f"{name} of a {what} must be numbers of shape (k,), as many as of the others, got {shown}")
    kept = ~np.isnan(arrays).any(axis=0)
    if kept.sum() < least:
        raise InputError(
            f"a {what} needs at least {least} points, got {int(kept.sum())} without NaN; record more, or fill the gaps"
        )
    return [finite_array(name, array[kept]) for name, array in zip(columns, arrays, strict=True)], int((~kept).sum())


def non_negative_fit(A: FloatArray, b: FloatArray) -> FloatArray:
    """x ≥ 0 with the least ‖A x − b‖."""
    from scipy.optimize import nnls  # loaded here: it takes longer than the rest of this room

    return np.asarray(nnls(A, b)[0])


def _fit(found: FloatArray, tau: FloatArray, residuals: FloatArray, skipped: int, *, more: str) -> PronyFit:
    total = float(found.sum())
    if not found[0] > LEAST_REST * total:
        raise InputError(
            "the fit leaves no modulus at rest, as that of a liquid: the modulus falls to the end of the data. Add "
            f"points {more}, or give shorter `times`"
        )
    branches = [(float(g / total), float(x)) for g, x in zip(found[1:], tau, strict=True) if g > 0.0]
    return PronyFit(branches, total, frozen(residuals), skipped)


def _relaxation_times(times: Any, low: float, high: float) -> FloatArray:
    if times is not None:
        return np.array([positive("relaxation time", x, unit="s") for x in np.atleast_1d(times).tolist()])
    span = max(int(np.ceil(np.log10(high / low))), 1)
    return np.asarray(np.geomspace(low, high, 2 * span + 1), np.float64)


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column, np.float64)
    except (TypeError, ValueError):
        return False
    return True
