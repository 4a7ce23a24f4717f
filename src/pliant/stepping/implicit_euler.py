"""Implicit Euler: the stepper to start with.

A step solves M (dx/h − v)/h + D dx/h + f_int(q + dx) = f_ext + Hᵀλ for the displacement dx. With one Newton iteration,
the real-time setting, the forces are linearised once at q. `stepping.stages` says what each line below does; of one
small body under few rows `stepping.joined` does the same without what stands between the lines.

First order in h, and dissipative: energy never grows where the iteration converged and the energy is convex along the
step; with one iteration read `info.energy_change`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pliant.core.one_line import one_line
from pliant.models.scheme import euler_scheme
from pliant.stepping.alone import taken_alone
from pliant.stepping.cuts import without_crossing
from pliant.stepping.dynamics import DynamicStepper
from pliant.stepping.info import StepInfo, finish
from pliant.stepping.joined import stages_joined
from pliant.stepping.newton import NewtonIteration
from pliant.stepping.stages import Step, assemble, begin, condense, correct, detect, factorize, linearize, solve
from pliant.world import State, World
from pliant.world.copies import Copies


@one_line
@dataclass(frozen=True)
class ImplicitEuler(DynamicStepper):
    """Implicit Euler with step `dt` (s): θ = 1, v⁺ = dx/h.

    newton_iterations
        Linear solves a step. Ignored where `tolerance` is given.
    tolerance
        Iterate until ‖r‖ over the free DoFs is below this fraction of the largest force norm; usual 1e-6 … 1e-10.
    solver
        Who finds the constraint forces; None: the laws of the rows. `pl.Inverse` finds the actuation for given targets.
    threads
        Threads that large factorizations and solves take, 1 or 2; the result is the same to the last bit.
    """

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The state after one step, and what the step reports; `state` is left as it is."""
        if isinstance(world, Copies):
            return world.step(self, state, controls)  # type: ignore[no-any-return]
        scheme = euler_scheme(self.dt)
        step = begin(world, state, controls, scheme=scheme, solver=self.solver, workspace=self.workspace)
        alone = world.moves_alone and self.newton_iterations == 1 and self.tolerance is None
        with self.pinned():
            taken = taken_alone(step) if alone else None
            if taken is None:
                step = without_crossing(self, step, euler_scheme)
            else:
                step = taken
        return finish(step, self.status)

    def solved(self, step: Step, newton: NewtonIteration) -> Step:
        """The step at its end."""
        while not newton.done:
            contacts = detect(step)
            rows = assemble(step, contacts)
            correction = stages_joined(step, rows, newton.tangent)
            if correction is None:
                systems = linearize(step, newton.tangent)
                factors = factorize(step, systems)
                free = solve(step, factors)
                problem = condense(step, rows, factors, free)
                correction = correct(step, rows, factors, free, problem)
            step = newton.apply(correction)
        return step
