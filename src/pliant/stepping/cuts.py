"""Steps in which nothing passes through: they are cut where bodies would cross.

A step is solved as usual. Where the motion that it found crosses a pair that is detected continuously, it is repeated
up to just before the crossing; from there the features that meet are near, and detection finds their contact. The rest
of the step follows in parts that are shortened where they cross and lengthened where they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.constraints.continuous import crossing_time
from pliant.core.errors import ConvergenceError
from pliant.core.immutable import evolve
from pliant.models.scheme import Scheme
from pliant.solvers.contact import ConflictingRowsError
from pliant.stepping.dynamics import DynamicStepper
from pliant.stepping.newton import NewtonIteration
from pliant.stepping.parts import (
    FAILURES,
    REPEATED,
    USABLE,
    first_part,
    joined,
    repeated_where_needed,
    restarted,
    second_part,
)
from pliant.stepping.session import DirectSession
from pliant.stepping.stages import Step

MOST_SOLVES = 400
"""Attempts of a step, cut ones included; one that needs more is an error, so that nothing passes unnoticed. A plate
that hits a soft wall at 90 m/s takes more than 200 in its worst step of 10 ms.
"""
_BEFORE = 0.99
"""Fraction of the time to a crossing at which the step is cut."""
_SHORTENED = (0.1, 0.97)
"""Least and largest factor by which an attempt that crosses is shortened: the shorter motion is another one."""
_SHORTER, _SHORTEST = 0.06, 0.6
"""What the largest factor loses with each attempt in a row that crosses, and where it ends: an impact in less time has
larger forces; soft faces turn with them, and attempts that end just before a crossing go on crossing."""
_HALVED = 0.5
"""Time of the crossing that is taken for an attempt that was repeated in halves: only the second half would be seen."""
_FAILED = 0.25
"""Time of the crossing that is taken for an attempt that fails: planes of far contacts may contradict each other."""
_GROWN = 8.0
"""Factor by which a part may be longer than the last one, where the whole rest of the step crosses."""
_HARD = 2
"""Attempts in a row that cross after which the whole rest is not tried next: every third attempt would be in vain."""
_GAINED = 0.2
"""Energy that bodies may gain in a part of a fixed number of linear solves, relative to what it had: strains of a rod
are far from linear in its motion, and gains of every part would add up to any speed. More is checked by iterating."""
_BALANCING = 12
"""Linear solves of that iteration."""
_LEAST = 1e-12
"""Length of a part, relative to the step, below which rounding decides; what fails or crosses there is an error."""


def without_crossing(stepper: DynamicStepper, whole: Step, scheme: Callable[[float], Scheme]) -> Step:
    """The step `whole` at its end by `stepper`, cut where pairs that are detected continuously would cross. Steps of an
    inverse are not cut: it has found the actuation of the whole step.
    """
    pairs: Sequence[Any] = whole.world.continuous_pairs
    if not pairs or not isinstance(whole.session, DirectSession):
        return repeated_where_needed(stepper, whole, scheme)
    rest, before, length, left = whole, None, whole.bodies.scheme.dt, whole.bodies.scheme.dt
    last, crossed, least = np.inf, 0, _LEAST * left
    for solve in range(MOST_SOLVES):
        part = rest if length == left else first_part(restarted(rest, scheme(length)), length / left)
        try:
            found = repeated_where_needed(stepper, part, scheme)
            time = _first(pairs, found) if found.bodies.start is part.bodies.start else _HALVED
            if time == np.inf and stepper.tolerance is None and _gains_energy(found):
                found = _balanced(stepper, part)
                time = _first(pairs, found)
        except (*FAILURES, ConflictingRowsError):
            if solve == MOST_SOLVES - 1 or length < min(least, left):
                raise
            time = _FAILED
        if time < np.inf and length < min(least, left):
            break
        if time < np.inf:
            largest = max(_SHORTENED[1] - _SHORTER * crossed, _SHORTEST)
            shorter = length * min(max(_BEFORE * time, _SHORTENED[0]), largest)
            length, crossed = min(shorter, _GROWN * last) if length == left else shorter, crossed + 1
        elif length == left:
            return found if before is None else joined(before, found)
        else:
            before = found if before is None else joined(before, found)
            rest, last, left = second_part(rest, found, scheme(left - length)), length, left - length
            length, crossed = left if crossed < _HARD else min(left, _GROWN * last), 0
    raise _passing(pairs, found, solve + 1)


def _gains_energy(found: Step) -> bool:
    """Whether bodies have more energy after a part of a fixed number of linear solves than that may give them, beside
    the work of the forces of rows.
    """
    known = [trial.energy_gain() for trial in found.bodies.trials]
    gained, had = map(sum, zip(*known, strict=True))
    work = 0.0
    if found.assembly is not None:
        parts = zip(found.assembly.rows.H, found.bodies.dx, known, strict=True)
        work = sum(float(found.lam @ (H @ dx.ravel())) for H, dx, of in parts if any(of))
    return gained - work > _GAINED * (had + abs(work))


def _balanced(stepper: DynamicStepper, part: Step) -> Step:
    """The `part` iterated with a line search until its forces balance; one that does not arrive counts as failed."""
    newton = NewtonIteration(1, REPEATED, limit=_BALANCING)
    found = stepper.solved(part, newton)
    if not newton.residual <= USABLE:
        raise ConvergenceError(
            f"a body gains energy in one linear solve of {part.bodies.scheme.dt:.3g} s, and {_BALANCING} of them leave "
            f"forces of {newton.residual:.2g} of the largest one; take a smaller dt"
        )
    return evolve(found, repeated=True)


def _first(pairs: Sequence[Any], step: Step) -> float:
    view = step.bodies.view()
    return min(crossing_time(pair, view) for pair in pairs)


def _passing(pairs: Sequence[Any], step: Step, attempts: int) -> ConvergenceError:
    view: Any = step.bodies.view()
    names = [pair.name for pair in pairs if crossing_time(pair, view) < np.inf] or [pair.name for pair in pairs]
    return ConvergenceError(
        f"{', '.join(names)} would pass through each other at {view.time:.6g} s in spite of {attempts} shorter "
        "parts of the step; take a smaller dt, a finer surface or a wider margin in scene.collide"
    )
