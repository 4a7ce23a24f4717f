"""Small convex quadratic programs, by the dual active-set method of daqp.

    minimise ½ xᵀH x + fᵀx   subject to   lower ≤ x ≤ upper,   row_lower ≤ A x ≤ row_upper,

H positive semidefinite; a row with equal limits is an equality. Callers scale the problem (Arnström, Bemporad, Axehill,
"A dual active-set solver for embedded quadratic programming using recursive LDLᵀ updates", IEEE TAC 67, 2022).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray

FREE = 1e30
"""What daqp takes for no bound."""
EQUAL = 5
"""daqp's mark of an equality; 0 marks an inequality."""
_PRIMAL = 1e-11  # a violation below this is rounding, for scaled problems
_PROXIMAL = 1e-11  # the gradient left where a flat cost makes daqp iterate
_OPTIONS = (  # what to try next where the active set cycles on a flat cost, or sees no feasible point
    {"primal_tol": 1e-9, "eta_prox": 1e-10},
    {"primal_tol": 1e-9, "eps_prox": 1e-4, "eta_prox": 1e-9},
)
SOLVED = 1
"""daqp's flag of an answer."""
_SHORT = 1e-5  # daqp takes rows for zero whose squared length is below 1e-11
_NOTHING = 1e-9  # coefficients below this are rounding, for scaled problems
INFEASIBLE = -1
"""daqp's flag of a problem without a feasible point."""
_OVERDETERMINED = -6  # daqp's flag of more active rows than unknowns at the start


def solve_scaled(
    H: FloatArray, f: FloatArray, A: FloatArray, lower: FloatArray, upper: FloatArray, sense: IntArray | None = None
) -> tuple[FloatArray, FloatArray, int, int]:
    """x, multipliers, daqp's flag and its iterations, for a problem that is scaled already.

    lower and upper (n + m,): bounds of the variables first, ±1e30 for none; `sense` marks equalities. Redundant
    equalities, on which daqp gives up, are taken out and the rest is solved again. Redundant limits can make daqp call
    a problem infeasible that is not: that counts only where it says so twice, with different tolerances, and with all
    rows of a length that daqp does not take for zero.
    """
    if sense is None:
        sense = np.where(upper - lower <= 0.0, EQUAL, 0).astype(np.int32)
    solve = _daqp()
    x, _, flag, info = solve(H, f, A, upper, lower, sense, primal_tol=_PRIMAL, eta_prox=_PROXIMAL)
    if flag == _OVERDETERMINED:
        return _without_redundant(H, f, A, lower, upper, sense)
    if flag == INFEASIBLE and (scaled := _without_short_rows(A, lower, upper)) is not None:
        rows, low, high, scale = scaled
        x, duals, flag, iterations = solve_scaled(H, f, rows, low, high, sense)
        return x, np.concatenate([duals[: len(f)], duals[len(f) :] * scale]), flag, iterations
    if flag != SOLVED:
        for options in _OPTIONS:
            before = flag
            x, _, flag, info = solve(H, f, A, upper, lower, sense, **options)
            if flag == SOLVED or flag == before == INFEASIBLE:
                break
    return x, info["lam"], flag, info["iterations"]


def _without_short_rows(
    A: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """The rows with short ones brought to unit length, their limits, and what they were multiplied by; None where no
    row is short. What almost cancelled is a row nevertheless; what cancelled to rounding is none.
    """
    length = np.sqrt(np.einsum("ij,ij->i", A, A))
    short = (length < _SHORT) & (length > 0.0)
    if not short.any():
        return None
    n = len(lower) - len(A)
    scale = np.where(short & (length > _NOTHING), 1.0 / np.where(short, length, 1.0), 1.0)
    low, high = lower.copy(), upper.copy()
    for limit in (low, high):
        limit[n:] = np.where(np.abs(limit[n:]) < FREE, limit[n:] * scale, limit[n:])
    rows = A * scale[:, None]
    idle = short & (length <= _NOTHING)
    rows[idle] = 0.0
    met = idle & (low[n:] <= _NOTHING) & (high[n:] >= -_NOTHING)
    low[n:][met], high[n:][met] = -FREE, FREE
    return rows, low, high, scale


@cache
def _daqp() -> Callable[..., Any]:
    """daqp's solve, imported when it is first needed."""
    from daqp import solve

    function: Callable[..., Any] = solve
    return function


def symmetric(name: str, A: FloatArray, *, tolerance: float = 1e-8) -> FloatArray:
    """A, made exactly symmetric, or an `InputError` where it is not symmetric to `tolerance` of its largest entry."""
    if not A.size:
        return A
    off = np.abs(A - A.T)
    if off.max() > tolerance * np.abs(A).max():
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        raise InputError(f"{name} must be symmetric, but [{i}, {j}] is {A[i, j]:g} and [{j}, {i}] is {A[j, i]:g}")
    return 0.5 * (A + A.T)


def limits(lower_name: str, lower: Any, upper_name: str, upper: Any, count: int) -> tuple[FloatArray, FloatArray]:
    """Both limits as arrays (count,), ±inf for none; an `InputError` names the first pair that is not in order."""
    low, high = _limit(lower_name, lower, count), _limit(upper_name, upper, count)
    wrong = np.flatnonzero((low > high) | (low == np.inf) | (high == -np.inf))
    if len(wrong):
        i = wrong[0]
        raise InputError(f"{lower_name}[{i}] = {low[i]:g} must not exceed {upper_name}[{i}] = {high[i]:g}")
    return low, high


def _limit(name: str, value: Any, count: int) -> FloatArray:
    try:
        array = np.array(np.broadcast_to(np.asarray(value, np.float64), (count,)))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number or have shape ({count},), got {np.shape(value)}") from error
    if np.isnan(array).any():
        raise InputError(f"{name}[{int(np.flatnonzero(np.isnan(array))[0])}] is NaN; use ±inf for no limit")
    return array


def _without_redundant(
    H: FloatArray, f: FloatArray, A: FloatArray, lower: FloatArray, upper: FloatArray, sense: IntArray
) -> tuple[FloatArray, FloatArray, int, int]:
    """Solve with a largest independent set of equalities; infeasible where the others contradict it."""
    n = len(f)
    equal = np.flatnonzero(sense == EQUAL)
    rows = np.vstack([np.eye(n), A])[equal]
    values = upper[equal]
    least_squares: Any = np.linalg.lstsq(rows, values, rcond=1e-11)
    solution: FloatArray = least_squares[0]
    rank = int(least_squares[2])
    size = np.linalg.norm(rows, axis=1) * np.abs(solution).max(initial=0.0) + np.abs(values)
    if (np.abs(rows @ solution - values) > 1e-9 * np.maximum(size, 1e-9)).any():
        return solution, np.zeros(len(lower)), INFEASIBLE, 0
    chosen: list[int] = []
    for i in range(len(equal)):
        if len(chosen) < rank and np.linalg.matrix_rank(rows[[*chosen, i]], rtol=1e-11) == len(chosen) + 1:
            chosen.append(i)
    dropped = np.delete(equal, chosen)
    lower, upper, sense = lower.copy(), upper.copy(), sense.copy()
    lower[dropped], upper[dropped], sense[dropped] = -FREE, FREE, 0
    x, _, flag, info = _daqp()(H, f, A, upper, lower, sense, primal_tol=_PRIMAL, eta_prox=_PROXIMAL)
    return x, info["lam"], int(flag), int(info["iterations"])
