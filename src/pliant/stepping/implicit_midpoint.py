"""Implicit midpoint: the stepper for conservation.

M (v⁺ − v)/h = f(q + dx/2), dx = h (v⁺ + v)/2. Second order in h and symplectic: total energy is conserved to round-
off where forces are linear in the positions, and stays within a band of order h² otherwise (Hairer, Lubich, Wanner,
Geometric Numerical Integration, IX). Newton's iteration runs to a tolerance by default, since an unconverged step
conserves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from pliant.models.scheme import Scheme, midpoint_scheme
from pliant.stepping.dynamics import DynamicStepper


@dataclass(frozen=True)
class ImplicitMidpoint(DynamicStepper):
    """Implicit midpoint with step `dt` (s).

    tolerance
        Iterate until ‖r‖ over the free unknowns is below this fraction of the largest force norm; None does
        `newton_iterations` linear solves.
    """

    tolerance: float | None = 1e-10

    def scheme(self) -> Scheme:
        """θ = ½, v⁺ = 2 dx/h − v."""
        return midpoint_scheme(self.dt)
