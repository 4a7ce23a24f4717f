"""Guide friction beside an inverse: rods that slide in channels, cables with friction at their via points.

The bounds of such a row depend on unknown forces, so it does not fit into the inverse's QP. The inverse and the forward
problem are solved alternately: the inverse with each of these rows either sticking (zero slip) or at its last force,
then all laws under the actuation found, which gives the next sticking set. At a fixed point the actuation is optimal
for the friction that acts. The forces of the step are always those of the forward problem: without a fixed point the
motion is right and the actuation nearly optimal; `InverseReport.friction_change` says how nearly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.constraints.rows import RowLaw
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.contact import MixedProblem, solve

FEW = 64
"""Rows up to which a list is faster than NumPy."""
_BOUNDED = int(RowLaw.BOUNDED)
ROUNDS = 30
"""Most alternations of inverse and forward problem; three or four suffice unless rows switch."""
RETURNS = 1
"""How often a row may go from sticking to its last force before it stays there, since it would switch for ever."""
SETTLED = 1e-6
"""Change of the friction, relative to the largest force, that ends them."""
_STUCK = 1.0 - 1e-7
"""A row sticks below this fraction of its bound; the rest is rounding."""


def has_guides(problem: MixedProblem) -> bool:
    """Whether some rows have guide friction."""
    law = problem.law
    if len(law) <= FEW:
        return max(law.tolist(), default=0) > _BOUNDED
    return int(law.max()) > _BOUNDED


def solve_with_guides(
    problem: MixedProblem,
    last: FloatArray,
    driven: IndexArray,
    watched: BoolArray,
    invert: Callable[[MixedProblem], tuple[FloatArray, FloatArray, Any]],
) -> tuple[FloatArray, Any, float]:
    """λ (m,) of all rows, the report of the last inverse, and the last change of the friction over the largest force.

    `last` (m,) is λ of the step before, `driven` are the rows of the actuators and `watched` (m,) marks those of the
    effectors. `invert` solves the inverse of a problem without guide friction: λ (m,), the change of the free gaps (m,)
    by moved supports, and its report.
    """
    rows = np.flatnonzero(problem.law > RowLaw.BOUNDED)
    law = problem.law.copy()
    law[driven] = law[watched] = RowLaw.IMPOSED
    lam, change, report = last, np.inf, None
    before: BoolArray = np.zeros(len(rows), np.bool_)
    left = np.zeros(len(rows), np.int32)
    for _ in range(ROUNDS):
        inverse = problem.law.copy()
        sticks = _sticking(problem, lam, rows) & (left < RETURNS)
        left += before & ~sticks
        before = sticks
        inverse[rows] = np.where(sticks, RowLaw.BILATERAL, RowLaw.IMPOSED)
        target = problem.target.copy()
        target[rows[~sticks]] = lam[rows[~sticks]]
        found, moved, report = invert(replace(problem, law=inverse, target=target))
        target = problem.target.copy()
        target[driven], target[watched] = found[driven], 0.0
        direct = replace(problem, law=law, delta_free=problem.delta_free + moved, target=target)
        now = solve(direct, found).lam
        change = float(np.abs(now - found)[rows].max()) / (float(np.abs(now).max()) or 1.0)
        lam = now
        if change <= SETTLED:
            break
    return lam, report, change


def _sticking(problem: MixedProblem, lam: FloatArray, rows: IndexArray) -> BoolArray:
    """Which of `rows` are strictly within their bounds at the forces λ."""
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
