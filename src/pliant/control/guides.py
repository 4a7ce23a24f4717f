"""Friction in guides beside an inverse: rods that slide in channels, cables with friction at their via points.

Such a row is bounded by forces that are themselves unknown, which no piece of the inverse's QP can hold. So inverse and
forward problems are solved alternately: the inverse with each of these rows either sticking (its slip is zero) or
pushing with the force that it has, then all laws of the rows under the actuation that was found. Where the friction no
longer changes, the actuation is the best one for the friction as it acts. The forces of the step are always those of
the forward problem: where the alternation ends early, the motion is right and the actuation nearly the best one;
`InverseReport.friction_change` says how nearly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.constraints.rows import RowLaw
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.contact import MixedProblem, solve

ROUNDS = 12
"""Turns of inverse and laws at most."""
SETTLED = 1e-6
"""Change of the friction, over the largest force, that ends them."""
_STUCK = 1.0 - 1e-7


def has_guides(problem: MixedProblem) -> bool:
    """Whether rows have friction in their guides."""
    return bool(len(problem.law)) and int(problem.law.max()) > RowLaw.BOUNDED


def solve_with_guides(
    problem: MixedProblem,
    last: FloatArray,
    driven: IndexArray,
    watched: BoolArray,
    invert: Callable[[MixedProblem], tuple[FloatArray, FloatArray, Any]],
) -> tuple[FloatArray, Any, float]:
    """λ (m,) of all rows, what `invert` says of the last inverse, and by how much the friction still changed, over the
    largest force.

    `last` (m,) is λ of the step before, `driven` are the rows of the actuators and `watched` (m,) those of effectors.
    `invert` solves the inverse of a problem without guides: λ (m,), the change of the free gaps (m,) by what is moved
    instead of pushed, and what it has to say.
    """
    rows = np.flatnonzero(problem.law > RowLaw.BOUNDED)
    law = problem.law.copy()
    law[driven] = law[watched] = RowLaw.IMPOSED
    lam, change, said = last, np.inf, None
    for _ in range(ROUNDS):
        inverse = problem.law.copy()
        sticks = _sticking(problem, lam, rows)
        inverse[rows] = np.where(sticks, RowLaw.BILATERAL, RowLaw.IMPOSED)
        target = problem.target.copy()
        target[rows[~sticks]] = lam[rows[~sticks]]
        found, moved, said = invert(replace(problem, law=inverse, target=target))
        target = problem.target.copy()
        target[driven], target[watched] = found[driven], 0.0
        direct = replace(problem, law=law, delta_free=problem.delta_free + moved, target=target)
        now = solve(direct, found).lam
        change = float(np.abs(now - found)[rows].max()) / (float(np.abs(now).max()) or 1.0)
        lam = now
        if change <= SETTLED:
            break
    return lam, said, change


def _sticking(problem: MixedProblem, lam: FloatArray, rows: IndexArray) -> BoolArray:
    """Which of `rows` push by less than their bounds, under the forces λ."""
    bound = np.zeros(len(rows))
    guides = problem.law[rows] == RowLaw.GUIDE
    at = rows[guides]
    bound[guides] = np.hypot(lam[at - 1], lam[at - 2])
    tension = 0.0
    for index in np.flatnonzero(~guides):  # the few via points of cables, one after another
        row = rows[index]
        follows = problem.law[row - 1] == RowLaw.CAPSTAN
        tension = tension - lam[row - 1] if follows else lam[row - 1]
        bound[index] = max(tension, 0.0)
    low, high = problem.lower[rows] * bound, problem.upper[rows] * bound
    return np.asarray((lam[rows] > _STUCK * low) & (lam[rows] < _STUCK * high))
