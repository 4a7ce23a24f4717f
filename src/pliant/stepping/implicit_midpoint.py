"""Implicit midpoint: the stepper for conservation.

M (v⁺ − v)/h = f(q + dx/2), dx = h (v⁺ + v)/2. Second order in h and symplectic: total energy is conserved to round-
off where forces are linear in the positions, and stays within a band of order h² otherwise (Hairer, Lubich, Wanner,
Geometric Numerical Integration, IX). Newton's iteration runs to a tolerance by default, since an unconverged step
conserves nothing. Rows hold at the end of the step, their forces point where they do at its middle, and the velocity at
the end agrees with them (`stepping.end_velocities`). `stepping.stages` says what the other lines below do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pliant.core.one_line import one_line
from pliant.models.scheme import midpoint_scheme
from pliant.stepping.cuts import without_crossing
from pliant.stepping.dynamics import DynamicStepper
from pliant.stepping.end_velocities import directions_at_middle, project_velocities
from pliant.stepping.energy_balance import MOST, added_fraction
from pliant.stepping.info import StepInfo, finish
from pliant.stepping.newton import NewtonIteration
from pliant.stepping.stages import Step, assemble, begin, condense, correct, detect, factorize, linearize, solve
from pliant.world import State, World
from pliant.world.copies import Copies


@one_line
@dataclass(frozen=True)
class ImplicitMidpoint(DynamicStepper):
    """Implicit midpoint with step `dt` (s): θ = ½, v⁺ = 2 dx/h − v.

    tolerance
        Iterate until ‖r‖ over the free DoFs is below this fraction of the largest force norm, and divide the step where
        it adds energy (`stepping.energy_balance`; that of elements of reduced bodies and of bodies with memory is
        not judged); None does `newton_iterations` linear solves.
    solver, threads
        As of `pl.ImplicitEuler`.
    """

    tolerance: float | None = 1e-10

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The state after one step, and what the step reports; `state` is left as it is."""
        if isinstance(world, Copies):
            return world.step(self, state, controls)  # type: ignore[no-any-return]
        scheme = midpoint_scheme(self.dt)
        step = begin(world, state, controls, scheme=scheme, solver=self.solver, workspace=self.workspace)
        with self.pinned():
            step = without_crossing(self, step, midpoint_scheme)
        return finish(step, self.status)

    def keeps_energy(self, step: Step) -> bool:
        """See `DynamicStepper`."""
        return added_fraction(step) <= MOST

    def solved(self, step: Step, newton: NewtonIteration) -> Step:
        """The step at its end."""
        while not newton.done:
            contacts = detect(step)
            rows = directions_at_middle(step, assemble(step, contacts))
            systems = linearize(step, newton.tangent)
            factors = factorize(step, systems)
            free = solve(step, factors)
            problem = condense(step, rows, factors, free)
            step = newton.apply(correct(step, rows, factors, free, problem))
        return project_velocities(step)
