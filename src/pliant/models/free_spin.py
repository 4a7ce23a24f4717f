"""Rotation of a body without torque over a step: angular momentum and energy are those of the start, to rounding.

In the axes that the body has at the start, with Π₀ its angular momentum and Π₁ = exp(−hΩ) Π₀ that at the end,

    Ω = I⁻¹ (Π₀ + Π₁) / 2

turns the body by exp(hΩ). The momentum in world axes does not change by construction, and neither does the energy,
since Π₁ − Π₀ is perpendicular to Ω: ½ Π₁ᵀI⁻¹Π₁ − ½ Π₀ᵀI⁻¹Π₀ = Ωᵀ(Π₁ − Π₀) = 0 (cf. Simo and Wong 1991). Second order in
h, exact about a principal axis.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.spins import exponential, rotate, rotate_back
from pliant.core.types import FloatArray

LEAST_ANGLE = 1e-7
"""Rotation of a step, rad, below which nothing is corrected: the correction would be below rounding, its square."""
MOST_PASSES = 50
"""Fixed-point passes; the error falls by about the angle of the step in each, so that half a radian needs 50."""
CONVERGED = 1e-15
"""Change of Ω relative to itself that ends the passes: rounding."""


def lost_moment(dx: FloatArray, momenta: FloatArray, mass: FloatArray) -> FloatArray:
    """Σ dx × m v about the centre of mass, (3,), kg·m²/s, of points with masses (n,), kg, that had `momenta` (n, 3) and
    moved by dx (n, 3), m: the angular momentum that implicit Euler takes from them without a torque. It balances the
    moment of forces about the end of the step with m v where it was at the start.
    """
    total = mass.sum()
    way, speed = dx - mass @ dx / total, momenta.sum(axis=0) / total
    return np.asarray(np.cross(way, momenta - mass[:, None] * speed).sum(axis=0))


def inertia_of(arms: FloatArray, mass: FloatArray) -> FloatArray:
    """Inertia (3, 3), kg·m², of masses (n,), kg, at `arms` (n, 3), m."""
    square = np.einsum("n,ni,nj->ij", mass, arms, arms)
    return np.asarray(np.trace(square) * np.eye(3) - square)


@inline
def free_spin(inverse, moment, h, w, R):  # type: ignore[no-untyped-def]
    """W = Ω (3,), rad/s, and R = exp(hΩ) from the `inverse` (3, 3) of the inertia and the angular momentum `moment`
    (3,), all in the same axes.
    """
    end, mean, before = moment.copy(), np.empty(3), np.zeros(3)
    for _ in range(MOST_PASSES):
        for i in range(3):
            mean[i] = 0.5 * (moment[i] + end[i])
        rotate(inverse, mean, w)
        exponential(w, h, R)
        rotate_back(R, moment, end)
        change = size = 0.0
        for i in range(3):
            change = max(change, abs(w[i] - before[i]))
            size = max(size, abs(w[i]))
            before[i] = w[i]
        if change <= CONVERGED * size:
            break


@kernel
def free_turn(inertia, moment, h):  # type: ignore[no-untyped-def]
    """Rotation vector hΩ (3,), rad, of a step of h (s) of a rigid body with `inertia` (3, 3) and angular momentum
    `moment` (3,), in the same axes.
    """
    w, R = np.empty(3), np.empty((3, 3))
    free_spin(np.linalg.inv(inertia), moment, h, w, R)
    return h * w
