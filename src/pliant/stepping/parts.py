"""Steps that are repeated: where an element inverts, where a linear solve or Newton's iteration fails, and where the
discretisation adds energy.

A step to a tolerance goes through a line search, which inverts no element; where it fails, or adds energy
(`stepping.energy_balance`), it is repeated in halves. A step of a fixed number of linear solves is repeated a fixed
number of times, so that a controller waits less than ten times as long for it as for others. Elements that would invert
get rows that keep their volume above a bound (`constraints.least_volume`). What these do not resolve is cut: all bodies
go the fraction of their motion that leaves every element its orientation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from pliant.actuators.cavity import CavityRows
from pliant.actuators.drive import ActuatorRows
from pliant.actuators.limits import Command
from pliant.constraints import RowLaw, forces_of
from pliant.constraints.least_volume import LeastVolume, any_guarded, collapsing, guarded
from pliant.core.errors import ConvergenceError, SingularError
from pliant.core.immutable import evolve
from pliant.core.status import Status
from pliant.core.types import FloatArray, IndexArray
from pliant.models.scheme import Scheme
from pliant.stepping.bodies import StepBodies
from pliant.stepping.dynamics import DynamicStepper
from pliant.stepping.load_path import displacement_in
from pliant.stepping.newton import NewtonIteration, inverts
from pliant.stepping.session import DirectSession
from pliant.stepping.stages import KeptContacts, Step

FAILURES = (ConvergenceError, SingularError)
MOST_HALVINGS = 2
"""A step to a tolerance is divided into 4 parts at most: one that fails in a quarter of its time asks for another model
or load.
"""
MOST_DIVISIONS = 4
"""A step to a tolerance that adds energy is divided into 16 parts at most: what it adds falls with the fourth power."""
MOST_REPEATS = 2
"""Repetitions of a step of a fixed number of linear solves in which elements invert."""
GUARDED = 0.15
"""det F at the end of such a step below which a point is guarded in the next repetition."""
REPEATED, MOST_SOLVES = 1e-6, 4
"""Tolerance to which a step of a fixed number of linear solves that failed is repeated, and the linear solves of that:
with the exact tangent and a line search each costs up to twice as much as one of the first attempt.
"""
USABLE = 0.1
"""Relative residual up to which that counts: a single linear solve leaves as much in fast motion."""
KEPT_VOLUME = 0.1
"""Fraction of the least det F at the start of a step that a cut one leaves: the next step has room to go on."""
SHORTER, SHORTEST = 0.7, 0.1
"""Factor from one trial fraction of a cut motion to the next, and the least fraction. A step that inverts elements in
less of its motion fails at once: a chamber beyond the pressure at which its wall bursts, or a robot that has exploded.
"""


def repeated_where_needed(
    stepper: DynamicStepper, whole: Step, scheme: Callable[[float], Scheme], divisions: int = MOST_DIVISIONS
) -> Step:
    """`stepper.solved(whole)`. Where it fails, inverts an element or adds energy, it is repeated: to a tolerance in two
    halves by `scheme` of their time (s), each repeated where needed; with a fixed number of linear solves as
    `_repeated_in_budget` says. An inverse is not repeated: it has found the actuation of the whole step.
    """
    repeatable = isinstance(whole.session, DirectSession)
    points = _guarded_points(whole) if repeatable else {}
    try:
        first, failure = stepper.solved(_bounded(whole, points), stepper.iteration()), None
    except FAILURES as error:
        if not repeatable:
            raise
        failure = error
    if failure is None:
        if repeatable and inverts(first.bodies):  # an iteration to a tolerance inverts no element
            return _guarded(stepper, whole, points, first)
        if stepper.tolerance is None or not repeatable or stepper.keeps_energy(first):
            return first
        first = evolve(first, gains=True)
    elif stepper.tolerance is None:
        return _repeated_in_budget(stepper, whole, scheme, failure)
    if divisions > (0 if failure is None else MOST_DIVISIONS - MOST_HALVINGS):
        with suppress(*FAILURES):
            half = scheme(0.5 * whole.bodies.scheme.dt)
            begun = repeated_where_needed(stepper, first_part(restarted(whole, half), 0.5), scheme, divisions - 1)
            ended = repeated_where_needed(stepper, second_part(whole, begun, half), scheme, divisions - 1)
            return evolve(joined(begun, ended), repeated=True)
    if failure is None:
        return first
    raise failure


def _repeated_in_budget(
    stepper: DynamicStepper, whole: Step, scheme: Callable[[float], Scheme], failure: Exception
) -> Step:
    """The step after a first attempt of a fixed number of linear solves that failed: by at most `MOST_SOLVES` with a
    line search, then in two halves, cut where they invert an element.
    """
    newton = NewtonIteration(1, REPEATED, limit=MOST_SOLVES)
    with suppress(*FAILURES):
        again = stepper.solved(whole, newton)
        if newton.residual <= USABLE:
            return evolve(again, repeated=True)
    with suppress(*FAILURES):
        half = scheme(0.5 * whole.bodies.scheme.dt)
        begun = _cut(stepper.solved(first_part(restarted(whole, half), 0.5), stepper.iteration()))
        ended = _cut(stepper.solved(second_part(whole, begun, half), stepper.iteration()))
        return evolve(joined(begun, ended), repeated=True)
    raise failure


def _guarded(stepper: DynamicStepper, whole: Step, points: dict[int, IndexArray], first: Step) -> Step:
    """The step after a `first` attempt, with `points` guarded, that inverts elements: repeated with their volume
    bounded and the contacts of the first attempt. Where elements invert all the same, the attempt that goes
    farthest, cut.
    """
    kept = None
    if first.assembly is not None and stepper.newton_iterations == 1:
        kept = KeptContacts(first.assembly, whole.bodies.dx)
    attempt, best = first, _cut(first)
    for _ in range(MOST_REPEATS):
        points = _with_collapsing(points, attempt)
        places = [trial.positions() for trial in best.bodies.trials]
        with suppress(*FAILURES):
            step = evolve(_bounded(whole, points, places), kept=kept)
            attempt = stepper.solved(step, stepper.iteration())
            shorter = evolve(_cut(attempt), kept=None, repeated=True)
            if shorter.fraction == 1.0:
                return shorter
            best = max(best, shorter, key=lambda each: each.fraction)
    return best


def _guarded_points(whole: Step) -> dict[int, IndexArray]:
    """Integration points by body whose volume was bounded in the last step, where they are still small."""
    start = whole.start
    if start.keys is None or not any_guarded(start.keys):
        return {}
    pairs = enumerate(zip(whole.world.models, start.q, strict=True))
    return {index: found for index, (model, q) in pairs if len(found := guarded(model, index, start.keys, q))}


def _bounded(whole: Step, points: dict[int, IndexArray], places: Sequence[FloatArray] | None = None) -> Step:
    """The step with bounds of the volume of integration `points` by body, linearised at `places` of the bodies."""
    if not points:
        return whole
    models = whole.world.models
    own = (LeastVolume(models[k], k, each, None if places is None else places[k]) for k, each in points.items())
    return evolve(whole, session=evolve(whole.session, constraints=(*whole.session.constraints, *own)))


def _with_collapsing(points: dict[int, IndexArray], attempt: Step) -> dict[int, IndexArray]:
    """`points` and those that collapse at the end of an attempt, by body."""
    made = dict(points)
    for index, trial in enumerate(attempt.bodies.trials):
        if trial.model.volume_point_count and trial.is_inverted():
            made[index] = collapsing(trial.model, trial.positions(), GUARDED, made.get(index))
    return made


def _collapse(step: Step) -> str:
    """What a step says whose elements invert at once: the body, and what may be the cause in this world."""
    names = ", ".join(repr(trial.model.name) for trial in step.bodies.trials if trial.is_inverted())
    text = f"elements{' of ' * bool(names)}{names} invert within {100 * SHORTEST:g} % of the motion of a step, up to "
    text += f"{_reach(step):.2g} m: "
    if any(isinstance(one, CavityRows) for one in step.bodies.world.constraints):
        return text + (
            "a chamber may be beyond the pressure that its wall holds; take lower pressures, a smaller dt, smaller "
            "changes of the commands, or a finer mesh where it is compressed most"
        )
    return text + (
        "it may be squeezed more than it can give, between what moves as commanded (supports, links, obstacles); take "
        "smaller travels, a smaller dt, smaller changes of the commands, or a finer mesh where it is compressed most"
    )


def _cut(step: Step) -> Step:
    """The step at the largest fraction 0.7ᵏ of its motion that inverts no element. Gaps change in proportion, so that a
    shorter motion meets no contact that the whole does not meet; commanded displacements lag behind, and so do
    velocities. The constraint residual says by how much.
    """
    bodies = shorter = step.bodies
    models, fraction = bodies.world.models, 1.0
    least = [KEPT_VOLUME * model.least_volume_ratio(q) for model, q in zip(models, bodies.start.q, strict=True)]
    inverted = [trial.is_inverted() for trial in bodies.trials]
    while inverts(shorter) or any(
        is_inverted and bound > 0.0 and trial.model.least_volume_ratio(trial.positions()) < bound
        for trial, bound, is_inverted in zip(shorter.trials, least, inverted, strict=True)
    ):
        fraction *= SHORTER
        if fraction < SHORTEST:
            raise ConvergenceError(_collapse(step))
        shorter = bodies.at([fraction * x for x in bodies.dx])
    if fraction == 1.0:
        return step
    last = tuple(x - (1.0 - fraction) * y for x, y in zip(step.dx, bodies.dx, strict=True))
    velocities = tuple(fraction * v for v in bodies.end_velocities())
    return evolve(
        step,
        bodies=evolve(shorter, velocities=velocities),
        dx=last,
        constraint_status=Status.STALLED,
        constraint_residual=max(step.constraint_residual, 1.0 - fraction),
        fraction=fraction,
        repeated=True,
    )


def _reach(step: Step) -> float:
    """The largest displacement of a body in the step, m."""
    return max(float(np.abs(x).max(initial=0.0)) for x in step.bodies.dx)


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
        commanded = isinstance(rows, ActuatorRows) or rows.prescribes
        command = values.get(rows.handle) if commanded else None
        if isinstance(command, Command) and not command.by_force:
            began = displacement_in(start, index, rows)
            values[rows.handle] = replace(command, amount=began + fraction * (command.amount - began))
    return evolve(whole, bodies=evolve(bodies, controls=values).loaded(fraction * bodies.load_fraction))


def second_part(whole: Step, first: Step, scheme: Scheme) -> Step:
    """The rest of the step `whole` by `scheme`, from where `first` led. It goes on with the accelerations of the first
    part, unless something was hit there: an impact changes velocities without an acceleration that goes on.
    """
    bodies, middle = whole.bodies, first.advanced()
    passed = first.bodies if scheme.lag and not _has_impact(first) else None
    after = StepBodies.begin(whole.world, middle, scheme, bodies.controls, bodies.trials[0].workspace, passed)
    if bodies.load_fraction < 1.0:  # supports go on from their displacement in the first part
        covered = first.bodies.load_fraction
        after = after.loaded((bodies.load_fraction - covered) / (1.0 - covered))
    return evolve(whole, bodies=after, began=whole.start)


def joined(first: Step, second: Step) -> Step:
    """The second part with the counts of both."""
    return evolve(
        second,
        iterations=first.iterations + second.iterations,
        projected=first.projected + second.projected,
        linear_residual=max(first.linear_residual, second.linear_residual),
        constraint_residual=max(first.constraint_residual, second.constraint_residual),
        constraint_status=first.constraint_status if second.constraint_status.ok else second.constraint_status,
        fraction=min(first.fraction, second.fraction),
        parts=first.parts + second.parts,
        repeated=first.repeated or second.repeated,
        gains=first.gains or second.gains,
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
