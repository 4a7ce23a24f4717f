"""Implicit midpoint: the stepper for conservation.

M (v⁺ − v)/h = f(q + dx/2), dx = h (v⁺ + v)/2. Second order in h and symplectic: total energy is conserved to round-
off where forces are linear in the positions, and stays within a band of order h² otherwise (Hairer, Lubich, Wanner,
Geometric Numerical Integration, IX). Newton's iteration runs to a tolerance by default, since an unconverged step
conserves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pliant.core.checks import positive, positive_count
from pliant.models.scheme import midpoint_scheme
from pliant.stepping.dynamics import dynamic_step
from pliant.stepping.info import StepInfo
from pliant.world import State, World


@dataclass(frozen=True)
class ImplicitMidpoint:
    """Implicit midpoint with step `dt` (s).

    tolerance
        Iterate until ‖r‖ over the free unknowns is below this fraction of the largest force norm; None does
        `newton_iterations` linear solves.
    """

    dt: float
    _: KW_ONLY
    tolerance: float | None = 1e-10
    newton_iterations: int = 1

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
            scheme=midpoint_scheme(self.dt),
            newton_iterations=self.newton_iterations,
            tolerance=self.tolerance,
        )
