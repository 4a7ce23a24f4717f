"""Time discretisations as four numbers, so that every stepper shares one residual and one matrix.

With dx the displacement of the step and x = q + θ dx the point where forces are evaluated,

    r(dx) = f_ext(x) − f_int(x) − M (a dx − b v) − D dx / h,        A = a M + D/h + θ K,   D = α M + β K(q)

    implicit Euler      θ = 1    a = 1/h²   b = 1/h    v⁺ = dx/h
    implicit midpoint   θ = ½    a = 2/h²   b = 2/h    v⁺ = 2 dx/h − v
    static              θ = 1    a = b = 0             v⁺ = 0        (the limit h → ∞)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pliant.core.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Scheme:
    """θ, a (1/s²), b (1/s), 1/h (1/s), and v⁺ = velocity × dx + memory × v.

    `dt` is h, 0 for a static scheme; `interval` is the time that passes in a step, s: h, or what a static scheme is
    given, 0 where no time passes.
    """

    theta: float
    inertia: float
    momentum: float
    rate: float
    velocity: float
    memory: float
    dt: float
    interval: float

    def next_velocity(self, dx: FloatArray, v: FloatArray, prescribed: BoolArray | None = None) -> FloatArray:
        """Velocity at the end of the step, m/s. Unknowns whose motion is `prescribed` have its mean rate: with the
        memory of v, a support that moves by a constant speed would stand still in every other step.
        """
        after = self.velocity * dx + self.memory * v
        if prescribed is None or not self.memory:
            return after
        return np.where(prescribed, self.rate * dx, after)


@lru_cache(maxsize=64)
def euler_scheme(dt: float) -> Scheme:
    """Implicit Euler with step dt (s)."""
    return Scheme(1.0, 1.0 / dt**2, 1.0 / dt, 1.0 / dt, 1.0 / dt, 0.0, dt, dt)


@lru_cache(maxsize=64)
def midpoint_scheme(dt: float) -> Scheme:
    """Implicit midpoint with step dt (s)."""
    return Scheme(0.5, 2.0 / dt**2, 2.0 / dt, 1.0 / dt, 2.0 / dt, -1.0, dt, dt)


def static_scheme(interval: float) -> Scheme:
    """Static equilibrium after `interval` (s)."""
    return Scheme(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, interval)


STATIC_SCHEME = static_scheme(0.0)
"""Static equilibrium at one instant."""
