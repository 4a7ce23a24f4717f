"""Midpoint with damping of fast vibrations: the stepper to compare with recordings.

A step has two parts. The first is a midpoint step; the second goes on with the accelerations that the first had, and
evaluates forces later than at its middle. Second order in h. A mode of angular frequency ω is damped by a ratio that
grows with (ωh)³: slow motions keep their energy, and vibrations that the step does not resolve die out, as fast as
`spectral_radius` says (`models.scheme.damped_schemes`; composite methods of structural dynamics: K. J. Bathe, G. Noh,
"Insight into an implicit time integration scheme for structural dynamics", Computers & Structures 98, 2012). Both parts
end with rows and velocities that agree, as a step of `pl.ImplicitMidpoint` does (`stepping.end_velocities`). Nothing is
kept from step to step. The loop is that of `pl.ImplicitMidpoint`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pliant.core.checks import non_negative
from pliant.core.errors import InputError
from pliant.core.immutable import evolve
from pliant.core.one_line import one_line
from pliant.models.scheme import damped_schemes, midpoint_scheme
from pliant.stepping.implicit_midpoint import ImplicitMidpoint
from pliant.stepping.info import StepInfo, finish
from pliant.stepping.parts import first_part, joined, repeated_where_needed, second_part
from pliant.stepping.session import begin_session
from pliant.stepping.stages import Step, begin
from pliant.world import State, World
from pliant.world.copies import Copies


@one_line
@dataclass(frozen=True)
class DampedMidpoint(ImplicitMidpoint):
    """Midpoint with numerical damping, with step `dt` (s); a step costs two of `pl.ImplicitMidpoint`.

    spectral_radius
        Factor ρ in [0, 1] by which a step multiplies the fastest vibrations. 0 removes them at once; 1 damps nothing.
    tolerance
        Iterate until ‖r‖ over the free DoFs is below this fraction of the largest force norm; None does
        `newton_iterations` linear solves in each part.
    solver, threads
        As of `pl.ImplicitEuler`. An inverse finds an actuation for each part: effectors go to their targets evenly.

    Commanded displacements and supports move evenly over the step; forces and pressures act from its start. Forces that
    `info` reports are those of the second part. A part that fails or inverts an element is repeated as a
    step of `pl.ImplicitMidpoint` is.
    """

    spectral_radius: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if non_negative("spectral_radius", self.spectral_radius) > 1.0:
            raise InputError(f"spectral_radius must be in [0, 1], got {self.spectral_radius!r}: 1 damps nothing")

    def keeps_energy(self, step: Step) -> bool:
        """See `DynamicStepper`: numerical damping takes what stiff elements gain."""
        return True

    def __call__(self, world: World, state: State, controls: Mapping[Any, Any] | None = None) -> tuple[State, StepInfo]:
        """The state after one step, and what the step reports; `state` is left as it is."""
        if isinstance(world, Copies):
            return world.step(self, state, controls)  # type: ignore[no-any-return]
        if any(getattr(each, "continuous", False) for each in world.constraints):
            raise InputError(
                "pl.DampedMidpoint does not cut its steps, so that pairs with continuous=True could pass through each "
                "other; use pl.ImplicitMidpoint or pl.ImplicitEuler"
            )
        scheme, later = damped_schemes(self.dt, self.spectral_radius)
        whole = begin(world, state, controls, scheme=scheme, solver=self.solver, workspace=self.workspace)
        with self.pinned():
            begun = first_part(whole, scheme.dt / self.dt)
            begun = evolve(begun, session=whole.session.of_first_part(scheme.dt / self.dt))
            first = repeated_where_needed(self, begun, midpoint_scheme)
            if first.parts > 1 or first.fraction < 1.0:  # its accelerations are not those of the whole part
                later = midpoint_scheme(later.dt)
            rest = second_part(whole, first, later)
            if self.solver is not None:  # supports that an inverse drives go on from where the first part left them
                _, session = begin_session(self.solver, world, rest.bodies.start, controls, self.workspace)
                rest = evolve(rest, session=session)
            second = repeated_where_needed(self, rest, midpoint_scheme)
        return finish(joined(first, second), self.status)
