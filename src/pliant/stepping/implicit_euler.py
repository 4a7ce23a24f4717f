"""Implicit Euler: the stepper to start with.

A step solves M (dx/h − v)/h + D dx/h + f_int(q + dx) = f_ext for the displacement dx. With one Newton iteration, the
real-time setting, the forces are linearised once at q:

    points                                             where the bodies are
    A, r     = linearize      A = M/h² + D/h + K       models and materials
    factors  = factorize      A = L Lᵀ                 symbolic part done once, numeric part each step
    dx_free  = solve          A dx_free = r            the motion if nothing pushed
    rows     = assemble       gaps and H               whatever pushes
    W, δ     = condense       W = H A⁻¹ Hᵀ             the one small problem
    λ        = solve          laws of the rows
    dx       = dx_free + A⁻¹ Hᵀ λ,   v = dx/h

The stages stand in `stepping.newton.solve_once`. First order in h, and dissipative: energy never grows where the
iteration converged and the energy is convex along the step; with one iteration read `info.energy_change`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pliant.models.scheme import Scheme, euler_scheme
from pliant.stepping.dynamics import DynamicStepper


@dataclass(frozen=True)
class ImplicitEuler(DynamicStepper):
    """Implicit Euler with step `dt` (s).

    newton_iterations
        Linear solves a step. Ignored where `tolerance` is given.
    tolerance
        Iterate until ‖r‖ over the free unknowns is below this fraction of the largest force norm; usual 1e-6 … 1e-10.
    solver
        Who finds the forces; None: the laws of the rows. `pl.Inverse` finds the actuation for given targets.
    factors
        None factorizes the matrix of every linear solve; `pl.LaggedFactors` solves with that of an earlier one.
    """

    def scheme(self) -> Scheme:
        """θ = 1, v⁺ = dx/h."""
        return euler_scheme(self.dt)
