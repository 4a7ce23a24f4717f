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

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pliant.core.checks import positive, positive_count
from pliant.models.scheme import euler_scheme
from pliant.stepping.dynamics import dynamic_step
from pliant.stepping.info import StepInfo
from pliant.world import State, World


@dataclass(frozen=True)
class ImplicitEuler:
    """Implicit Euler with step `dt` (s).

    newton_iterations
        Linear solves a step. Ignored where `tolerance` is given.
    tolerance
        Iterate until ‖r‖ over the free unknowns is below this fraction of the largest force norm; usual 1e-6 … 1e-10.
    """

    dt: float
    _: KW_ONLY
    newton_iterations: int = 1
    tolerance: float | None = None

    def __post_init__(self) -> None:
        positive("dt", self.dt, unit="s")
        positive_count("newton_iterations", self.newton_iterations)
        if self.tolerance is not None:
            positive("tolerance", self.tolerance)

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The state after one step, and what the step reports; `state` is left as it is."""
        return dynamic_step(
            world,
            state,
            controls,
            scheme=euler_scheme(self.dt),
            newton_iterations=self.newton_iterations,
            tolerance=self.tolerance,
        )
