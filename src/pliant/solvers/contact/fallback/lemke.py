"""Lemke's method for the linear complementarity problem, with the lexicographic rule.

Find z ≥ 0 with w = M z + q ≥ 0 and z · w = 0 by complementary pivots on w − M z − d z₀ = q, from z₀ large enough to
make w ≥ 0 until z₀ leaves the basis (Lemke, "Bimatrix equilibrium points and mathematical programming", Management
Science 11, 1965; Cottle, Pang, Stone, "The Linear Complementarity Problem", 1992, ch. 4.4 and 4.9). Ties are broken by
the lexicographic rule, so degenerate problems do not cycle. If M is positive semidefinite, redundant rows included, the
method ends at a solution or on a ray that shows there is none.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray

_PIVOT = 1e-11  # an entry below this fraction of its column is taken for zero
_TIE = 1e-12  # quotients closer than this fraction of the largest right-hand side are equal


def lemke(M: FloatArray, q: FloatArray, *, maximum_pivots: int) -> tuple[BoolArray, bool, int]:
    """Which z (n,) are basic at the end, whether z₀ left the basis (False: a ray or too many pivots), the pivots."""
    n = len(q)
    tableau = np.zeros((n, 2 * n + 2))
    tableau[:, :n] = np.eye(n)
    tableau[:, n : 2 * n] = -M
    tableau[:, 2 * n] = -1.0
    tableau[:, 2 * n + 1] = q
    basis = np.arange(n)
    ended, pivots = pivot_to_solution(tableau, basis, maximum_pivots)
    chosen = np.zeros(n, np.bool_)
    chosen[basis[(basis >= n) & (basis < 2 * n)] - n] = True
    return chosen, bool(ended), int(pivots)


@kernel
def pivot_to_solution(tableau: FloatArray, basis: IndexArray, limit: int) -> tuple[bool, int]:
    """Pivot in place; columns are w (n), z (n), z₀, right-hand side, and `basis` names the column of each row."""
    n = len(basis)
    if tableau[:, 2 * n + 1].min() >= 0.0:
        return True, 0
    row = _most_negative(tableau)
    entering = 2 * n
    for pivots in range(1, limit + 1):
        leaving = basis[row]
        _pivot(tableau, row, entering)
        basis[row] = entering
        if leaving == 2 * n:
            return True, pivots
        entering = leaving + n if leaving < n else leaving - n
        row = _lexicographic_minimum(tableau, basis, entering)
        if row < 0:
            return False, pivots
    return False, limit


@inline
def _most_negative(tableau: FloatArray) -> int:
    """The row of the least right-hand side; among equals the last, which is the lexicographic one at the start."""
    n = len(tableau)
    row = 0
    for i in range(1, n):
        if tableau[i, 2 * n + 1] <= tableau[row, 2 * n + 1]:
            row = i
    return row


@inline
def _pivot(tableau: FloatArray, row: int, column: int) -> None:
    width = tableau.shape[1]
    source = tableau[row]
    inverse = 1.0 / source[column]
    for k in range(width):
        source[k] *= inverse
    for i in range(len(tableau)):
        factor = tableau[i, column]
        if i != row and factor != 0.0:
            target = tableau[i]
            for k in range(width):
                target[k] -= factor * source[k]
            target[column] = 0.0


@inline
def _lexicographic_minimum(tableau: FloatArray, basis: IndexArray, column: int) -> int:
    """The row of the least quotient right-hand side / column, ties decided by the following columns; −1 for none."""
    n = len(tableau)
    largest, size = 0.0, 0.0
    for i in range(n):
        largest = max(largest, abs(tableau[i, column]))
        size = max(size, abs(tableau[i, 2 * n + 1]))
    best = -1
    for i in range(n):
        if tableau[i, column] <= _PIVOT * largest or largest <= 0.0:
            continue
        if best < 0 or _comes_before(tableau, basis, i, best, column, size):
            best = i
    return best


@inline
def _comes_before(tableau: FloatArray, basis: IndexArray, i: int, j: int, column: int, size: float) -> bool:
    """Whether row i precedes row j: z₀ first where the quotients tie, then lexicographically."""
    n = len(tableau)
    a, b = tableau[i, column], tableau[j, column]
    difference = max(tableau[i, 2 * n + 1], 0.0) / a - max(tableau[j, 2 * n + 1], 0.0) / b
    if abs(difference) > _TIE * size / min(a, b):
        return difference < 0.0  # type: ignore[no-any-return]
    if basis[i] == 2 * n or basis[j] == 2 * n:
        return basis[i] == 2 * n  # type: ignore[no-any-return]
    for k in range(n):
        difference = tableau[i, k] / a - tableau[j, k] / b
        if abs(difference) > _TIE * (abs(tableau[i, k] / a) + abs(tableau[j, k] / b)):
            return difference < 0.0  # type: ignore[no-any-return]
    return False
