"""Midpoint with damping of fast vibrations: the stepper to compare with recordings.

A step has two parts. The first is a midpoint step; the second goes on with the accelerations that the first had, and
evaluates forces later than at its middle. Second order in h. A mode of angular frequency ω is damped by a ratio that
grows with (ωh)³: slow motions keep their energy, and vibrations that the step does not resolve die out, as fast as
`spectral_radius` says (`models.scheme.damped_schemes`; composite methods of structural dynamics: K. J. Bathe, G. Noh,
"Insight into an implicit time integration scheme for structural dynamics", Computers & Structures 98, 2012). Both parts
end with rows and velocities that agree, as a step of `pl.ImplicitMidpoint` does (`stepping.end_velocities`). Nothing is
kept from step to step. `stepping.stages` says what the lines of the loop do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pliant.core.checks import non_negative
from pliant.core.errors import InputError
from pliant.models.scheme import damped_schemes
from pliant.stepping.dynamics import DynamicStepper
from pliant.stepping.end_velocities import directions_at_middle, project_velocities
from pliant.stepping.info import StepInfo, finish
from pliant.stepping.newton import NewtonIteration
from pliant.stepping.parts import first_part, joined, second_part
from pliant.stepping.stages import Step, assemble, begin, condense, correct, detect, factorize, linearize, solve
from pliant.world import State, World


@dataclass(frozen=True)
class DampedMidpoint(DynamicStepper):
    """Midpoint with numerical damping, with step `dt` (s); a step costs two of `pl.ImplicitMidpoint`.

    spectral_radius
        Factor ρ in [0, 1] by which a step multiplies the fastest vibrations. 0 removes them at once; 1 damps nothing.
    tolerance
        Iterate until ‖r‖ over the free DoFs is below this fraction of the largest force norm; None does
        `newton_iterations` linear solves in each part.
    threads
        As of `pl.ImplicitEuler`.

    Commanded displacements and supports move evenly over the step; forces and pressures act from its start. Forces that
    `info` reports are those of the second part.
    """

    tolerance: float | None = 1e-10
    spectral_radius: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if non_negative("spectral_radius", self.spectral_radius) > 1.0:
            raise InputError(f"spectral_radius must be in [0, 1], got {self.spectral_radius!r}: 1 damps nothing")
        if self.solver is not None:
            raise InputError(
                "pl.DampedMidpoint takes no solver: a step in two parts has two actuations; use pl.Inverse with "
                "pl.ImplicitMidpoint, pl.ImplicitEuler or pl.QuasiStatic"
            )

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The state after one step, and what the step reports; `state` is left as it is."""
        if any(getattr(each, "continuous", False) for each in world.constraints):
            raise InputError(
                "pl.DampedMidpoint does not cut its steps, so that pairs with continuous=True could pass through each "
                "other; use pl.ImplicitMidpoint or pl.ImplicitEuler"
            )
        scheme, later = damped_schemes(self.dt, self.spectral_radius)
        whole = begin(world, state, controls, scheme=scheme, solver=None, workspace=self.workspace)
        with self.pinned():
            first = self.solved(first_part(whole, scheme.dt / self.dt), self.iteration())
            second = self.solved(second_part(whole, first, later), self.iteration())
        return finish(joined(first, second), self.status)

    def solved(self, step: Step, newton: NewtonIteration) -> Step:
        """One part of the step at its end."""
        while not newton.done:
            contacts = detect(step)
            rows = directions_at_middle(step, assemble(step, contacts))
            systems = linearize(step, newton.tangent)
            factors = factorize(step, systems)
            free = solve(step, factors)
            problem = condense(step, rows, factors, free)
            step = newton.apply(correct(step, rows, factors, free, problem))
        return project_velocities(step)
