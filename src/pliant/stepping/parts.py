"""A step in two parts: what is commanded in the first, and what the second takes over from it.

A step is repeated where an element inverts or Newton's iteration fails. One linear solve knows nothing of the barrier
of a law at det F = 0. An iteration with a line search does; half of the motion is nearer to where it was linearised.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from pliant.actuators.drive import ActuatorRows
from pliant.actuators.limits import Command
from pliant.constraints import RowLaw, forces_of
from pliant.core.errors import ConvergenceError, SingularError
from pliant.core.immutable import evolve
from pliant.models.scheme import Scheme
from pliant.stepping.bodies import StepBodies
from pliant.stepping.dynamics import DynamicStepper
from pliant.stepping.load_path import displacement_in
from pliant.stepping.newton import NewtonIteration
from pliant.stepping.session import DirectSession
from pliant.stepping.stages import Step

FAILURES = (ConvergenceError, SingularError)
MOST_HALVINGS = 2
"""A step is divided into 4 parts at most: one that fails in a quarter of its time asks for another model or load."""
REPEATED = 1e-6
"""Tolerance to which a step of a fixed number of linear solves is repeated: its line search stops at det F = 0, and is
near enough to the end of the step where Newton's iteration is quadratic.
"""
MOST_SOLVES = 7
"""Linear solves of such a repetition, after which the shape it has reached counts: no element of it is inverted, and a
controller waits at most about ten times as long for this step as for others.
"""


def repeated_where_needed(
    stepper: DynamicStepper, whole: Step, scheme: Callable[[float], Scheme], halvings: int = MOST_HALVINGS
) -> Step:
    """`stepper.solved(whole)`. Where it fails, or inverts an element of a law with a barrier, the step is repeated:
    with a line search, then in two halves by `scheme` of their time (s), each repeated where needed. If elements invert
    all the same, the first attempt counts. An inverse is not repeated: it has found the actuation of the whole step.
    """
    first, failure = None, None
    try:
        first = stepper.solved(whole, stepper.iteration())
        if not _inverts(first, whole) or not isinstance(whole.session, DirectSession):
            return first
    except FAILURES as error:
        if not isinstance(whole.session, DirectSession):
            raise
        failure = error
    if stepper.tolerance is None:
        with suppress(*FAILURES):
            again = stepper.solved(whole, NewtonIteration(1, REPEATED, limit=MOST_SOLVES))
            if not _inverts(again, whole):
                return evolve(again, repeated=True)
    if halvings:
        with suppress(*FAILURES):
            half = scheme(0.5 * whole.bodies.scheme.dt)
            begun = repeated_where_needed(stepper, first_part(restarted(whole, half), 0.5), scheme, halvings - 1)
            ended = repeated_where_needed(stepper, second_part(whole, begun, half), scheme, halvings - 1)
            if not _inverts(ended, whole):
                return evolve(joined(begun, ended), repeated=True)
    if first is None:
        assert failure is not None
        raise failure
    return first


def _inverts(step: Step, whole: Step) -> bool:
    """Whether a body has inverted elements at the end of `step` that had none at the start of `whole`. Where the law
    has no barrier at det F = 0 a repetition would invert them again.
    """
    for trial, start in zip(step.bodies.trials, whole.bodies.start.q, strict=True):
        model = trial.model
        if model.has_barrier and model.is_inverted(trial.positions()) and not model.is_inverted(start):
            return True
    return False


def restarted(whole: Step, scheme: Scheme) -> Step:
    """The step `whole` with another time discretisation."""
    old = whole.bodies
    bodies = StepBodies.begin(whole.world, old.start, scheme, old.controls, old.trials[0].workspace)
    return evolve(whole, bodies=bodies.loaded(old.load_fraction))


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
    return evolve(whole, bodies=evolve(bodies, controls=values).loaded(fraction * bodies.load_fraction))


def second_part(whole: Step, first: Step, scheme: Scheme) -> Step:
    """The rest of the step `whole` by `scheme`, from where `first` led. It goes on with the accelerations of the first
    part, unless something was hit there: an impact changes velocities without an acceleration that goes on.
    """
    bodies, middle = whole.bodies, first.advanced()
    passed = first.bodies if scheme.lag and not _has_impact(first) else None
    after = StepBodies.begin(whole.world, middle, scheme, bodies.controls, bodies.trials[0].workspace, passed)
    if bodies.load_fraction < 1.0:  # supports have gone a part of their way, and go to that of the whole
        gone = first.bodies.load_fraction
        after = after.loaded((bodies.load_fraction - gone) / (1.0 - gone))
    return evolve(whole, bodies=after, began=whole.start)


def joined(first: Step, second: Step) -> Step:
    """The second part with the counts of both."""
    return evolve(
        second,
        iterations=first.iterations + second.iterations,
        projected=first.projected + second.projected,
        linear_residual=max(first.linear_residual, second.linear_residual),
        parts=first.parts + second.parts,
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
