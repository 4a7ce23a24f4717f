"""Time discretisations as a few numbers, so that every stepper shares one residual and one matrix.

With dx the displacement of the step and x = q + θ dx the point where forces are evaluated,

    r(dx) = f_ext(x) − f_int(x) − M (a dx − b v) − D dx / h,        A = a M + D/h + θ K,   D = α M + β K(q)

    implicit Euler      θ = 1    a = 1/h²   b = 1/h    v⁺ = dx/h
    implicit midpoint   θ = ½    a = 2/h²   b = 2/h    v⁺ = 2 dx/h − v
    static              θ = 1    a = b = 0             v⁺ = 0        (the limit h → ∞)

A step in two parts (`damped_schemes`) goes on from the first, which led from (q₀, v₀) to (q, v) by dx₁, with a lag κ:

    x = q − κ dx₁ + θ dx,    b (v − κ (v − v₀)) in place of b v,    v⁺ = v + (dx/h − v + κ (v − v₀))/θ
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pliant.core.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Scheme:
    """θ, a (1/s²), b (1/s), 1/h (1/s), and v⁺ = velocity × dx + memory × v; `lag` is κ.

    `dt` is h, 0 for a static scheme; `interval` is the time that passes in a step, s: h, or what a static scheme is
    given, 0 where no time passes. `instantaneous`: a static scheme in which stresses with memory do not relax.
    """

    theta: float
    inertia: float
    momentum: float
    rate: float
    velocity: float
    memory: float
    dt: float
    interval: float
    lag: float = 0.0
    instantaneous: bool = False

    @property
    def elapsed(self) -> float:
        """Time from the start of the step to where forces are evaluated, s; the first part of a step in two is 2θ times
        as long as the second, which evaluates them κ of it earlier.
        """
        return self.theta * self.dt * (1.0 - 2.0 * self.lag)

    def next_velocity(
        self, dx: FloatArray, v: FloatArray, prescribed: BoolArray | None = None, gained: FloatArray | None = None
    ) -> FloatArray:
        """Velocity at the end of the step, m/s; `gained` is κ times the change of v in the first part of the step.
        Unknowns whose motion is `prescribed` have its mean rate: with the memory of v, a support that moves by a
        constant speed would stand still in every other step.
        """
        after = self.velocity * dx + self.memory * v if self.memory else self.velocity * dx
        if gained is not None:
            after += gained / self.theta
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


@lru_cache(maxsize=64)
def damped_schemes(dt: float, radius: float) -> tuple[Scheme, Scheme]:
    """The two parts of a step of dt (s) that multiplies the fastest vibrations by `radius`, ρ in [0, 1].

    The first is a midpoint step. The second has θ = 1/√(2 + 2ρ), with a lag κ that makes the whole second order; the
    first is 2θ times as long, so that both have the same matrix. Together they are the diagonally implicit Runge–Kutta
    method of two stages with γ = 1/(2 + 1/θ) (Hairer, Wanner, Solving Ordinary Differential Equations II, IV.6): the
    amplification is R(z) = (1 + (1 − 2γ) z + (½ − 2γ + γ²) z²)/(1 − γz)², R(∞) = ρ. ρ = 1 gives two midpoint steps.
    """
    theta = 1.0 / np.sqrt(2.0 + 2.0 * radius)
    h = dt / (1.0 + 2.0 * theta)
    rate = 1.0 / (theta * h)
    second = Scheme(theta, rate / h, rate, 1.0 / h, rate, 1.0 - 1.0 / theta, h, h, 0.5 - 0.25 / theta)
    return midpoint_scheme(2.0 * theta * h), second


def static_scheme(interval: float, *, instantaneous: bool = False) -> Scheme:
    """Static equilibrium after `interval` (s)."""
    return Scheme(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, interval, instantaneous=instantaneous)


STATIC_SCHEME = static_scheme(0.0)
"""Static equilibrium at one instant."""
