"""The even functions of an angle that rotations, screws and their derivatives are made of, to the last bits.

With z = θ², α = sin θ/θ, β = (1 − cos θ)/θ², γ = (θ − sin θ)/θ³, and f₁ = f′(θ)/θ = 2 df/dz, f₂ = f₁′(θ)/θ:

    β₁ = (α − 2β)/z    γ₁ = (β − 3γ)/z    β₂ = (α₁ − 4β₁)/z    γ₂ = (β₁ − 5γ₁)/z    α₁ = (cos θ − α)/z

Every one of these differences cancels at small angles; (1 − cos θ)/θ² at θ = 1e-8 is 0 in double precision. Below
θ = 3 the power series in z are summed instead, which have no cancellation worth a digit there.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from pliant.core.kernels import inline

_COUNT = 15
"""Terms of the series: the first one left out is below 1e-19 of the first up to θ = 3."""
_FEW = 8
"""The last power below one radian; the first one left out is below 1e-17 of the first."""
_SERIES_BELOW = 9.0
"""z, rad², below which series are summed: the closed forms have lost no more than a digit there."""


def _row(first: int, derivative: int) -> list[float]:
    """Coefficients of the derivative (0: f, 1: f₁, 2: f₂) of Σ (−z)ᵏ/(2k + first)!."""
    found = []
    for k in range(_COUNT):
        n = k + derivative
        rise = 2**derivative * factorial(n) // factorial(k)
        found.append((-1) ** n * rise / factorial(2 * n + first))
    return found


_TABLE = np.array([_row(1, 0), _row(2, 0), _row(3, 0), _row(2, 1), _row(3, 1), _row(2, 2), _row(3, 2)]).T.copy()


@inline
def even_functions(z, c):
    """c (7,) = α, β, γ, β₁, γ₁, β₂, γ₂ at θ² = z."""
    if z < _SERIES_BELOW:
        last = _FEW if z < 1.0 else _COUNT - 1
        for f in range(7):
            c[f] = _TABLE[last, f]
        for k in range(last - 1, -1, -1):
            for f in range(7):
                c[f] = _TABLE[k, f] + z * c[f]
        return
    angle = np.sqrt(z)
    half = np.sin(0.5 * angle)
    cosine = np.cos(angle)
    c[0] = np.sin(angle) / angle
    c[1] = 2.0 * half * half / z
    c[2] = (1.0 - c[0]) / z
    c[3] = (c[0] - 2.0 * c[1]) / z
    c[4] = (c[1] - 3.0 * c[2]) / z
    c[5] = ((cosine - c[0]) / z - 4.0 * c[3]) / z
    c[6] = (c[3] - 5.0 * c[4]) / z
