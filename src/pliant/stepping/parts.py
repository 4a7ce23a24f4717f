"""A step in two parts: what is commanded in the first, and what the second takes over from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.actuators.drive import ActuatorRows
from pliant.actuators.limits import Command
from pliant.constraints import RowLaw, forces_of
from pliant.core.immutable import evolve
from pliant.models.scheme import Scheme
from pliant.stepping.bodies import StepBodies
from pliant.stepping.load_path import displacement_in
from pliant.stepping.stages import Step


def first_part(whole: Step, fraction: float) -> Step:
    """The first `fraction` of the step `whole`: commanded displacements and supports go this fraction of their way,
    forces and pressures act in full.
    """
    bodies = whole.bodies
    values, start = dict(bodies.controls), bodies.start
    for index, rows in enumerate(whole.world.constraints):
        command = values.get(rows.spec) if isinstance(rows, ActuatorRows) else None
        if isinstance(rows, ActuatorRows) and isinstance(command, Command) and not command.by_force:
            began = displacement_in(start, index, rows)
            values[rows.spec] = replace(command, amount=began + fraction * (command.amount - began))
    return evolve(whole, bodies=evolve(bodies, controls=values).loaded(fraction))


def second_part(whole: Step, first: Step, scheme: Scheme) -> Step:
    """The rest of the step `whole` by `scheme`, from where `first` led. It goes on with the accelerations of the first
    part, unless something was hit there: an impact changes velocities without an acceleration that goes on.
    """
    bodies, middle = whole.bodies, first.advanced()
    passed = None if _has_impact(first) else first.bodies
    after = StepBodies.begin(whole.world, middle, scheme, bodies.controls, bodies.trials[0].workspace, passed)
    return evolve(whole, bodies=after, began=bodies.start)


def joined(first: Step, second: Step) -> Step:
    """The second part with the counts of both."""
    return evolve(
        second,
        iterations=first.iterations + second.iterations,
        projected=first.projected + second.projected,
        linear_residual=max(first.linear_residual, second.linear_residual),
    )


def _has_impact(step: Step) -> bool:
    """Whether a unilateral row pushes that did not push before the step."""
    if step.assembly is None or not step.assembly.rows.count:
        return False
    rows, start = step.assembly.rows, step.bodies.start
    unilateral = rows.law == RowLaw.SIGNORINI
    unilateral[np.flatnonzero(rows.law == RowLaw.COULOMB)[::3]] = True
    before = forces_of(rows.key, start.keys, start.lam)
    return bool((unilateral & (step.lam > 0.0) & ~(before > 0.0)).any())
