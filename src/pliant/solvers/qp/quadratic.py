"""Small convex quadratic programs, by the dual active-set method of daqp.

    minimise ½ xᵀH x + fᵀx   subject to   lower ≤ x ≤ upper,   row_lower ≤ A x ≤ row_upper,

H positive semidefinite; a row with equal limits is an equality. Variables are scaled so that H has a unit diagonal and
rows to unit length, so the answer does not depend on the units of x, of the rows or of the cost (Arnström, Bemporad,
Axehill, "A dual active-set solver for embedded quadratic programming using recursive LDLᵀ updates", IEEE TAC 67, 2022).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
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
_UNBOUNDED, _OVERDETERMINED = -3, -6


class QpStatus(Enum):
    """How a quadratic program ended. `.text` says what to try next, `.ok` whether `solution` can be used."""

    SOLVED = "solved: a global minimum, since the problem is convex"
    INFEASIBLE = "no x satisfies all bounds and rows: loosen a limit"
    UNBOUNDED = "the cost falls without end: bound x, or add a positive definite term to H"
    STALLED = "the active-set method did not end: rescale the problem, or remove rows that are almost parallel"

    @property
    def text(self) -> str:
        """What happened, and what to try next."""
        return self.value

    @property
    def ok(self) -> bool:
        """Whether the solution can be used as it is."""
        return self is QpStatus.SOLVED


@dataclass(frozen=True, eq=False)
class QpResult:
    """A minimum of a quadratic program and its multipliers.

    `solution` x (n,) in the caller's units; `objective` ½xᵀHx + fᵀx. `bound_duals` (n,) and `row_duals` (m,) satisfy
    H x + f + bound_duals + Aᵀ row_duals = 0: positive at an upper limit, negative at a lower one, in units of cost over
    the unit of the limit. `residual` is the largest violation of that equation and of the limits after scaling.
    Where `status` is not ok, the numbers are those of the last iterate.
    """

    solution: FloatArray
    objective: float
    bound_duals: FloatArray
    row_duals: FloatArray
    status: QpStatus
    residual: float
    iterations: int


def quadratic_program(
    H: Any,
    f: Any,
    A: Any = None,
    *,
    row_lower: Any = -np.inf,
    row_upper: Any = np.inf,
    lower: Any = -np.inf,
    upper: Any = np.inf,
) -> QpResult:
    """Minimise ½xᵀHx + fᵀx under bounds and rows; H (n, n), f (n,), A (m, n), limits numbers or (m,) and (n,).

    H must be symmetric positive semidefinite (the smallest eigenvalue is not checked; daqp reports UNBOUNDED or STALLED
    where it is negative). Equal limits make an equality. The status says how it ended; nothing is raised for an
    infeasible problem.
    """
    f = finite_array("f", f, shape=(None,))
    n = len(f)
    H = symmetric("H", finite_array("H", H, shape=(n, n)))
    A = np.zeros((0, n)) if A is None else finite_array("A", A, shape=(None, n))
    low, high = limits("lower", lower, "upper", upper, n)
    row_low, row_high = limits("row_lower", row_lower, "row_upper", row_upper, len(A))
    return minimum(H, f, A, low, high, row_low, row_high)


def minimum(
    H: FloatArray,
    f: FloatArray,
    A: FloatArray,
    low: FloatArray,
    high: FloatArray,
    row_low: FloatArray,
    row_high: FloatArray,
) -> QpResult:
    """What `quadratic_program` finds, of arrays that are known to fit."""
    n = len(f)
    D = _variable_scale(H, A)
    H_hat, f_hat, A_hat = D[:, None] * H * D, D * f, A * D
    length = np.linalg.norm(A_hat, axis=1)
    length[length == 0.0] = 1.0
    A_hat /= length[:, None]
    low_hat, high_hat = np.concatenate([low / D, row_low / length]), np.concatenate([high / D, row_high / length])
    size = _size(f_hat, low_hat, high_hat)
    x_hat, duals, flag, iterations = solve_scaled(
        H_hat, f_hat / size, A_hat, np.maximum(low_hat / size, -FREE), np.minimum(high_hat / size, FREE)
    )
    residual = _residual(H_hat, f_hat / size, A_hat, low_hat / size, high_hat / size, x_hat, duals)
    x = size * D * x_hat
    return QpResult(
        solution=x,
        objective=float(0.5 * x @ H @ x + f @ x),
        bound_duals=size * duals[:n] / D,
        row_duals=size * duals[n:] / length,
        status=_status(flag),
        residual=residual,
        iterations=iterations,
    )


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


def _variable_scale(H: FloatArray, A: FloatArray) -> FloatArray:
    """D (n,) with D H D of unit diagonal; variables without curvature are scaled by their rows."""
    diagonal = H.diagonal()
    curved = diagonal > 0.0
    D = np.where(curved, 1.0 / np.sqrt(np.where(curved, diagonal, 1.0)), 1.0)
    if not curved.all() and len(A):
        length = np.linalg.norm(A[:, curved] * D[curved], axis=1)
        column = (np.abs(A) / np.where(length > 0.0, length, 1.0)[:, None]).max(axis=0)
        flat = ~curved & (column > 0.0)
        D[flat] = 1.0 / column[flat]
    return D


def _size(f: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """The size of x: that of f where the cost is not flat, else of the limits."""
    if size := float(np.abs(f).max(initial=0.0)):
        return size
    given = np.abs(np.concatenate([lower, upper]))
    return float(given[np.isfinite(given)].max(initial=0.0)) or 1.0


def _residual(
    H: FloatArray, f: FloatArray, A: FloatArray, low: FloatArray, high: FloatArray, x: FloatArray, duals: FloatArray
) -> float:
    n = len(f)
    value = np.concatenate([x, A @ x])
    violation = np.maximum(low - value, value - high).max(initial=0.0)
    gradient = H @ x + f + duals[:n] + A.T @ duals[n:]
    return float(max(violation, np.abs(gradient).max(initial=0.0), 0.0))


def _status(flag: int) -> QpStatus:
    known = {SOLVED: QpStatus.SOLVED, INFEASIBLE: QpStatus.INFEASIBLE, _UNBOUNDED: QpStatus.UNBOUNDED}
    return known.get(flag, QpStatus.STALLED)


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
