"""Rows whose bounds are fractions of forces that are themselves unknown: cables at via points, rods in guides.

A cable's group is a head row, λ₀ the tension at the pulled end, and the rows behind it, λⱼ the loss of tension at a via
point: Tⱼ = λ₀ − Σ_{i<j} λᵢ and lowerⱼ Tⱼ ≤ λⱼ ≤ upperⱼ Tⱼ (Euler's capstan). The row of a guide follows the two rows
whose forces press on it: |λ| ≤ upper √(λ₁² + λ₂²). There is slip only at a bound. For given forces F these are boxes; F
is the fixed point of F ↦ boxes ↦ F, accelerated (D. G. Anderson, "Iterative procedures for nonlinear integral
equations", J. ACM 12, 1965). Once no row changes between sticking and slipping the map of tensions is linear, so that
few iterations reach round-off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pliant.core.errors import ConvergenceError
from pliant.core.status import Status
from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.contact.laws import Law, MixedProblem
from pliant.solvers.contact.result import ComplementarityResult

_DEPTH = 4  # iterates that the acceleration remembers: the rank of the linear map, for up to four via points
_ROUNDS = 100  # of the fixed point; linear once no row changes its state, so few suffice


def solve_fractions(
    problem: MixedProblem, tensions: IndexArray, guides: IndexArray,
    solve_boxes: Callable[[MixedProblem, FloatArray | None], ComplementarityResult], warm: FloatArray | None,
    tolerance: float,
) -> ComplementarityResult:  # fmt: skip
    """Solve `problem` whose rows `tensions` are losses of tension, and `guides` friction under what two rows press.

    `solve_boxes` solves it with numbers as bounds. The residual counts the forces that bound others too,
    relative to the largest one.
    """
    law = problem.law.copy()
    rows = np.concatenate([tensions, guides])
    law[rows] = Law.BOUNDED
    sums = _tensions_before(len(law), tensions)

    def bounding(lam: FloatArray) -> FloatArray:
        return np.concatenate([np.maximum(sums @ lam, 0.0), np.hypot(lam[guides - 1], lam[guides - 2])])

    force = np.zeros(len(rows)) if warm is None else bounding(warm)
    points: list[FloatArray] = []
    moves: list[FloatArray] = []
    iterations, error = 0, np.inf
    for _ in range(_ROUNDS):
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[rows] *= force
        upper[rows] *= force
        result = solve_boxes(replace(problem, law=law, lower=lower, upper=upper), warm)
        iterations += result.iterations
        warm, found = result.lam, bounding(result.lam)
        scale = float(np.abs(found).max(initial=0.0)) or 1.0
        error = float(np.abs(found - force).max(initial=0.0)) / scale
        if error <= tolerance:
            return replace(result, iterations=iterations, residual=max(result.residual, error))
        points, moves = [*points[-_DEPTH:], force], [*moves[-_DEPTH:], found - force]
        force = np.maximum(_accelerated(points, moves), 0.0)
    raise ConvergenceError(
        f"friction of cables at via points, or of rods in guides, did not converge in {_ROUNDS} rounds (last change "
        f"{error:.2g} of the largest force): lower the friction or take smaller steps",
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
