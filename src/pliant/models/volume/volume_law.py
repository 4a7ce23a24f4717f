"""Energies of volume alone, as functions of J = det F, for use inside kernels."""

from __future__ import annotations

from math import inf, log

from pliant.core.kernels import inline
from pliant.materials.laws import volume_response

BARRIER = 100
"""Code of the barrier among the laws of volume, beyond those of materials; its one parameter is a modulus, Pa."""
UPRIGHT = 0.4
"""J below which the barrier acts: elements compressed to less than half their volume, near inversion."""


@inline
def cofactor(F, C):
    """C := cof F; returns J."""
    for i in range(3):
        for j in range(3):
            a, b, c, d = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
            C[i, j] = F[a, c] * F[b, d] - F[a, d] * F[b, c]
    return F[0, 0] * C[0, 0] + F[0, 1] * C[0, 1] + F[0, 2] * C[0, 2]


@inline
def volume_law(law, p, J):
    """U, U′ and U″ of the volume energy at J; U is infinite where it is undefined."""
    if J <= 0.0:
        return inf, 0.0, 0.0
    if law == BARRIER:
        if J >= UPRIGHT:
            return 0.0, 0.0, 0.0
        d, ln = J - UPRIGHT, log(J / UPRIGHT)
        first = -p[0] * (2.0 * d * ln + d * d / J)
        return -p[0] * d * d * ln, first, -p[0] * (2.0 * ln + 4.0 * d / J - d * d / (J * J))
    return volume_response(law, p, J)
