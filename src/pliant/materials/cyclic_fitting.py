"""Mullins coefficients from a cyclic tensile test.

Below the largest energy Wₘ of the test so far, an incompressible strip has the engineering stress

    P = P₀ (1 − erf((Wₘ − W)/(m + β Wₘ))/r)

with the stress P₀ and the energy W of the virgin law at its stretch. 1/r is linear: for each (m, β) it follows from
least squares, and m and β are searched for. β needs cycles to at least two stretches; with one it is 0, as m + β Wₘ is
one number then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray
from pliant.materials.fitting import Fit
from pliant.materials.laws import Part
from pliant.materials.material import Material
from pliant.materials.mullins import Mullins
from pliant.materials.prony_fitting import measured

LEAST_UNLOADED = 4
"""Points below the largest energy that three coefficients need."""
SCALES = (1e-3, 10.0)
"""Range of m over the largest energy of the test: below, every unloading softens at once; above, none does."""
BETAS = (0.0, 3.0)
"""Range of β."""
LEAST_R = 1.01
"""Least r of a fit: with r = 1 nothing of the stiffness is left."""
DISTINCT = 0.05
"""Largest energies that differ by less, relative to the largest, count as one."""


@one_line
@dataclass(frozen=True)
class CyclicFit(Fit[Mullins]):
    """A fitted softening and its errors over all points of the test."""

    residuals: FloatArray
    """Fitted minus measured stress at each point, Pa, (k,)."""
    at_bounds: tuple[str, ...]
    """Coefficients at the end of their range: the test does not determine them."""
    skipped: int
    """Rows left out, as they hold NaN."""


@declared
def fit_mullins(base: Material, strain: Any, stress: Any) -> CyclicFit:
    """The softening of `base` nearest to a cyclic tensile test in the order of time: engineering strain (k,) and
    engineering stress (k,) in Pa.

    `base` is the virgin law: fit it to the first loading (`fit_ogden`, `fit_yeoh`). The test begins at a virgin
    specimen. Rows with NaN are gaps: they are left out and counted, and must not hide the largest stretch of a cycle.
    """
    if not isinstance(base, Material) or base.softening is not None or base.relaxation is not None:
        raise InputError(f"base of fit_mullins must be an elastic material, the virgin law, got {base!r}")
    (e, P), skipped = measured("cyclic test", LEAST_UNLOADED, strain=strain, stress=stress)
    if (e <= -1.0).any():
        raise InputError(f"strain must be > −1 (engineering strain, 0.5 for 50 %), its minimum is {e.min():g}")
    virgin, W = virgin_curve(base, e)
    largest = np.maximum.accumulate(W)
    below = largest > W
    if below.sum() < LEAST_UNLOADED:
        raise InputError(
            f"{int(below.sum())} points lie below the largest stretch before them; fit_mullins needs at least "
            f"{LEAST_UNLOADED}: the test must unload, and its points be in the order of time"
        )
    tops = np.unique(np.round(largest[below] / largest.max() / DISTINCT))
    find = _Search(virgin[below], W[below], largest[below], P[below], beta=len(tops) > 1)
    inverse, m, beta = find.best()
    if inverse <= 0.0:
        raise InputError(
            "unloading has no lower stress than the virgin law at the same strain: a softening would gain energy. "
            "Check that `base` was fitted to the first loading of this test, and the order of the points"
        )
    material = Mullins(base, r=float(1.0 / inverse), m=float(m), beta=float(beta))
    residuals = virgin * material.softening.factor(W, largest) - P
    rms = float(np.sqrt(np.mean(residuals**2)))
    return CyclicFit(
        material, rms, rms / float(np.sqrt(np.mean(P**2))), frozen(residuals), find.at_bounds(inverse, m, beta), skipped
    )


def virgin_curve(base: Material, strain: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Engineering stress (Pa) and shear energy (J/m³), (k,) each, of the incompressible strip at `strain` (k,)."""
    s = 1.0 + strain
    F = np.zeros((len(s), 3, 3))
    F[:, 0, 0], F[:, 1, 1], F[:, 2, 2] = s, s**-0.5, s**-0.5
    P = base.stress(F, part=Part.SHEAR)
    return P[:, 0, 0] - P[:, 1, 1] * s**-1.5, base.energy(F, part=Part.SHEAR)


class _Search:
    """Least squares over m and β, with 1/r eliminated."""

    def __init__(self, virgin: FloatArray, W: FloatArray, largest: FloatArray, P: FloatArray, *, beta: bool) -> None:
        self._virgin, self._depth, self._largest, self._missing = virgin, largest - W, largest, virgin - P
        self._top = float(largest.max())
        self._with_beta = beta

    def _shape(self, x: FloatArray) -> FloatArray:
        from scipy.special import erf  # takes longer than the rest of this room

        m, beta = np.exp(x[0]) * self._top, x[1] if self._with_beta else 0.0
        return np.asarray(self._virgin * erf(self._depth / (m + beta * self._largest)))

    def _inverse(self, x: FloatArray) -> float:
        shape = self._shape(x)
        return min(float(shape @ self._missing) / max(float(shape @ shape), 1e-300), 1.0 / LEAST_R)

    def _errors(self, x: FloatArray) -> FloatArray:
        return self._inverse(x) * self._shape(x) - self._missing

    def best(self) -> tuple[float, float, float]:
        """1/r, m and β: the best of a grid, then refined within the ranges."""
        from scipy.optimize import least_squares

        low, high = np.log(SCALES)
        betas = (0.0, 0.1, 0.3, 1.0) if self._with_beta else (0.0,)
        starts = [np.array([x, b]) for x in np.linspace(low, high, 24) for b in betas]
        start = min(starts, key=lambda x: float(np.sum(self._errors(x) ** 2)))
        count = 2 if self._with_beta else 1
        bounds = np.array([low, BETAS[0]])[:count], np.array([high, BETAS[1]])[:count]
        scale = float(np.abs(self._virgin).max())
        inside = np.clip(start[:count], bounds[0] + 1e-6, bounds[1] - 1e-6)
        x = least_squares(lambda x: self._errors(x) / scale, inside, bounds=bounds, xtol=1e-12, ftol=1e-14).x
        beta = float(x[1]) if self._with_beta else 0.0
        return self._inverse(x), float(np.exp(x[0]) * self._top), beta

    def at_bounds(self, inverse: float, m: float, beta: float) -> tuple[str, ...]:
        """Names of the coefficients at an end of their range; β = 0 is a usual value."""
        names = ["r"] if inverse >= (1.0 - 1e-6) / LEAST_R else []
        if not SCALES[0] * 1.01 < m / self._top < SCALES[1] * 0.99:
            names.append("m")
        return (*names, "beta") if beta > 0.99 * BETAS[1] else tuple(names)
