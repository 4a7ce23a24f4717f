"""Losses of weighted residuals r: ρ(r²), with derivatives by s = r², as `scipy.optimize.least_squares` takes them.

    squares    s
    huber      s for s ≤ c², else 2 c √s − c²          c = 1.345
    cauchy     c² ln(1 + s/c²)                         c = 2.385

The thresholds keep 95 % of the efficiency of squares where the noise is normal (R. Zamar, P. Huber; P. Holland and
R. Welsch, Comm. Statist. A6, 1977).
"""

from __future__ import annotations

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray

LOSSES = ("squares", "huber", "cauchy")
HUBER, CAUCHY = 1.345, 2.385


def rho(loss: str, s: FloatArray) -> FloatArray:
    """ρ, ρ′ and ρ″ at s, (3, m)."""
    one = np.ones_like(s)
    if loss == "squares":
        return np.array([s, one, 0.0 * s])
    if loss == "huber":
        outside = s > HUBER**2
        root = np.sqrt(np.where(outside, s, HUBER**2))
        return np.array(
            [
                np.where(outside, 2.0 * HUBER * root - HUBER**2, s),
                np.where(outside, HUBER / root, 1.0),
                np.where(outside, -0.5 * HUBER / root**3, 0.0),
            ]
        )
    if loss == "cauchy":
        inner = 1.0 + s / CAUCHY**2
        return np.array([CAUCHY**2 * np.log(inner), 1.0 / inner, -1.0 / (CAUCHY * inner) ** 2])
    raise InputError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {loss!r}")


def score(loss: str, r: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ψ(r) = ½ dρ/dr, and ψ′."""
    _, first, second = rho(loss, r * r)
    return first * r, first + 2.0 * second * r * r
