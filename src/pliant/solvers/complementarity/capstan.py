"""Friction of a cable in its guides: rows whose bounds are fractions of a tension that is itself unknown.

A group is a head row, λ₀ the tension at the pulled end, and the rows behind it, λⱼ the fall of tension at a via point:
Tⱼ = λ₀ − Σ_{i<j} λᵢ and lowerⱼ Tⱼ ≤ λⱼ ≤ upperⱼ Tⱼ with slip only at a bound. For given tensions these are boxes; the
tensions are found by the fixed point T ↦ boxes ↦ T, accelerated (D. G. Anderson, "Iterative procedures for nonlinear
integral equations", J. ACM 12, 1965). Once no via point changes between sticking and slipping the map is linear, so
that few rounds reach round-off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pliant.core.errors import ConvergenceError
from pliant.core.status import Status
from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.complementarity.result import ComplementarityResult

if TYPE_CHECKING:
    from pliant.solvers.complementarity.mixed import MixedProblem

_DEPTH = 4
_ROUNDS = 100


def solve_capstan(
    problem: MixedProblem,
    rows: IndexArray,
    bounded: int,
    solve_boxes: Callable[[MixedProblem, FloatArray | None], ComplementarityResult],
    warm: FloatArray | None,
    tolerance: float,
) -> ComplementarityResult:
    """Solve `problem` whose `rows` are falls of tension; `solve_boxes` solves it with numbers as bounds, law `bounded`.

    The residual counts the tensions too, relative to the largest one.
    """
    law = problem.law.copy()
    law[rows] = bounded
    sums = _tensions_before(len(law), rows)
    tension = np.zeros(len(rows)) if warm is None else np.maximum(sums @ warm, 0.0)
    points: list[FloatArray] = []
    moves: list[FloatArray] = []
    iterations, error = 0, np.inf
    for _ in range(_ROUNDS):
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[rows] *= tension
        upper[rows] *= tension
        result = solve_boxes(replace(problem, law=law, lower=lower, upper=upper), warm)
        iterations += result.iterations
        warm, found = result.lam, np.maximum(sums @ result.lam, 0.0)
        scale = float(np.abs(found).max(initial=0.0)) or 1.0
        error = float(np.abs(found - tension).max(initial=0.0)) / scale
        if error <= tolerance:
            return replace(result, iterations=iterations, residual=max(result.residual, error))
        points, moves = [*points[-_DEPTH:], tension], [*moves[-_DEPTH:], found - tension]
        tension = np.maximum(_accelerated(points, moves), 0.0)
    raise ConvergenceError(
        f"the tensions of a cable with friction in its guides did not settle in {_ROUNDS} rounds (last change "
        f"{error:.2g} of the largest): lower the friction or take smaller steps",
        result=replace(result, status=Status.ITERATION_LIMIT, iterations=iterations, residual=error),
    )


def _accelerated(points: list[FloatArray], moves: list[FloatArray]) -> FloatArray:
    """The point at which the moves, taken as linear in the points, vanish in the least-squares sense."""
    x, f = points[-1], moves[-1]
    if len(points) == 1:
        return x + f
    dX = np.stack([x - p for p in points[:-1]], axis=1)
    dF = np.stack([f - m for m in moves[:-1]], axis=1)
    weights = np.linalg.lstsq(dF, f, rcond=1e-10)[0]
    accelerated: FloatArray = x + f - (dX + dF) @ weights
    return accelerated


def _tensions_before(count: int, rows: IndexArray) -> FloatArray:
    """The matrix (k, count) that reads the tension before each of `rows` from λ."""
    sums = np.zeros((len(rows), count))
    member = np.zeros(count, bool)
    member[rows] = True
    for number, row in enumerate(rows):
        sums[number, row - 1] = 1.0
        if member[row - 1]:
            sums[number] = sums[number - 1]
            sums[number, row - 1] = -1.0
    return sums
