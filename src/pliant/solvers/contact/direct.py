"""Few rows of which at most one has bounds, solved directly in one call: a drive beside bilateral rows.

A rod in a channel and its base drive, an attachment, a joint with its motor: the elimination of bilateral rows by a
Schur complement (`elimination`) leaves one row, whose force is clipped to its bounds. For twenty rows the arithmetic
takes a few microseconds, and calls of NumPy for each line of it a hundred times as long. What needs more than one
Cholesky factor is left to `solve`: several bounds, friction, redundant rows, an unsymmetric W, laws that rounding keeps
from being met.
"""

from __future__ import annotations

from math import inf, isfinite, sqrt

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.immutable import filled
from pliant.core.kernels import inline, kernel
from pliant.core.status import Status
from pliant.solvers.contact.elimination import RIGID, SINGULAR, UNSYMMETRIC
from pliant.solvers.contact.laws import BOX, EQUALITY, GIVEN, Law, MixedProblem, classify
from pliant.solvers.contact.result import ComplementarityResult

_IMPOSED = int(Law.IMPOSED)
MOST_ROWS = 64
"""Rows up to which the kernel is faster than LAPACK."""


def solve_direct(p: MixedProblem, tolerance: float = 1e-8, negligible: float = 1e-16) -> ComplementarityResult | None:
    """The result of the problem, with `tolerance` and `negligible` as in `solve`; None where that has to solve it."""
    found = solve_and_judge(p, tolerance, negligible)
    return None if found is None else found[0]


def solve_and_judge(
    p: MixedProblem, tolerance: float = 1e-8, negligible: float = 1e-16
) -> tuple[ComplementarityResult, bool] | None:
    """`solve_direct`, and whether the row with bounds pushes no more than what closes its gap, without given forces."""
    m = len(p.delta_free)
    if m > MOST_ROWS:
        return None
    lam, delta = np.empty(m), np.empty(m)
    laws = frozen(p.law), frozen(p.mu), frozen(p.lower), frozen(p.upper), frozen(p.target)
    W = frozen(p.W if p.W.flags.c_contiguous else np.ascontiguousarray(p.W))
    solved, residual, gap, iterations, closes = _solve(
        W, frozen(p.delta_free), *laws, tolerance, negligible, lam, delta
    )
    if not solved:
        return None
    own = {"solution": lam, "delta": delta, "status": Status.CONVERGED, "residual": residual, "gap": gap}
    return filled(ComplementarityResult, {**own, "iterations": iterations}), closes


@kernel
def _solve(W, delta_free, law, mu, lower, upper, target, tolerance, negligible, lam, delta):  # type: ignore[no-untyped-def]
    """Fill λ and δ (m,); returns whether they satisfy the laws, their residual, the complementarity gap, the number of
    rows with bounds, and whether the force of one is at most what closes its gap, without given forces.
    """
    m = len(law)
    role, given = np.empty(m, np.int8), np.empty(m)
    low, high = np.empty(m), np.empty(m)
    classify(law, mu, lower, upper, target, role, given, low, high)
    zero, count, box = np.empty(m, np.int64), 0, -1
    for i in range(m):
        if role[i] == EQUALITY:
            zero[count] = i
            count += 1
        elif role[i] == BOX and box < 0:
            box = i
        elif role[i] != GIVEN:
            return False, 0.0, 0.0, 0, False
    q, D = np.empty(m), np.empty(m)
    for i in range(m):
        q[i] = delta_free[i] - (0.0 if law[i] == _IMPOSED else target[i])
    for j in range(m):
        if role[j] == GIVEN and given[j] != 0.0:
            for i in range(m):
                q[i] += W[i, j] * given[j]
    if not unit_scales(W, D):
        return False, 0.0, 0.0, 0, False
    size = reach = 0.0
    closes = True
    for i in range(m):
        lam[i] = given[i]
        closes = closes and given[i] == 0.0
        reach += D[i] * D[i]
        if role[i] != GIVEN:
            size += (D[i] * q[i]) ** 2
    size = sqrt(size)
    bound = max(tolerance, negligible * sqrt(reach) / size) if size > 0.0 else tolerance
    A, right = np.empty((count, count)), np.empty((2, count))
    if not bilateral_forces(W, q, zero[:count], box, D, A, right):
        return False, 0.0, 0.0, 0, False
    allowed = scale = unit = 0.0
    if box >= 0:
        left, rest = W[box, box], q[box]
        for k in range(count):
            left += W[box, zero[k]] * right[1, k]
            rest += W[box, zero[k]] * right[0, k]
        if not left > RIGID * W[box, box]:
            return False, 0.0, 0.0, 0, False
        lam[box] = min(max(-rest / left, low[box]), high[box])
        closes = closes and lam[box] <= max(-rest / left, 0.0)
        unit = 1.0 / sqrt(left)
        scale = unit * abs(rest)
        if scale == 0.0:
            for limit in (low[box], high[box]):
                if isfinite(limit):
                    scale = max(scale, abs(limit) / unit)
            scale = scale if scale > 0.0 else 1.0
        allowed = max(tolerance, negligible * unit / scale)
    for k in range(count):
        lam[zero[k]] = right[0, k] + (right[1, k] * lam[box] if box >= 0 else 0.0)
    largest = 0.0
    for i in range(m):
        total = delta_free[i]
        for j in range(m):
            total += W[i, j] * lam[j]
        delta[i] = total
        largest += abs(total)
    off = gap = 0.0
    if box >= 0:
        u = delta[box] - target[box]
        force, slip = lam[box] / (scale * unit), unit * u / scale
        off = abs(force - min(max(force - slip, low[box] / (scale * unit)), high[box] / (scale * unit)))
        asked = low[box] if u > 0.0 else high[box]
        gap = abs((lam[box] - (asked if isfinite(asked) else 0.0)) * u)
    missed = 0.0
    for k in range(count):
        i = zero[k]
        missed += (D[i] * (delta[i] - target[i])) ** 2
    missed = sqrt(missed) / size if size > 0.0 else 0.0
    solved = off <= allowed and missed <= bound and largest < inf  # NaN is refused here
    return solved, sqrt(off * off + missed * missed), gap, int(box >= 0), closes


@inline
def unit_scales(W, D):  # type: ignore[no-untyped-def]
    """D (m,) that gives every row unit compliance; rows that nothing moves as the most compliant one. Whether W is
    finite and no compliance negative.
    """
    m, most, total = len(D), 0.0, 0.0
    for i in range(m):
        most = max(most, W[i, i])
        for j in range(m):
            total += abs(W[i, j])
    for i in range(m):
        if W[i, i] < 0.0:
            return False
        D[i] = W[i, i] if W[i, i] > 0.0 else most
        D[i] = 1.0 / sqrt(D[i]) if D[i] > 0.0 else 1.0
    return total < inf


@inline
def bilateral_forces(W, q, rows, other, D, A, right):  # type: ignore[no-untyped-def]
    """Forces right (2, k) that close the `rows` (k,), and their change by a unit force of the row `other`, if ≥ 0; A
    (k, k) is left as a Cholesky factor. Whether the rows are independent and W symmetric there.
    """
    count = len(rows)
    for a in range(count):
        i = rows[a]
        right[0, a] = -D[i] * q[i]
        right[1, a] = -D[i] * W[i, other] if other >= 0 else 0.0
        for b in range(a + 1):
            j = rows[b]
            A[a, b] = D[i] * W[i, j] * D[j]
            if abs(A[a, b] - D[i] * W[j, i] * D[j]) > UNSYMMETRIC:
                return False
    for i in range(count):
        for j in range(i + 1):
            value = A[i, j]
            for k in range(j):
                value -= A[i, k] * A[j, k]
            if j < i:
                A[i, j] = value / A[j, j]
            elif value > SINGULAR:
                A[i, i] = sqrt(value)
            else:
                return False
    for column in range(2 if other >= 0 else 1):
        x = right[column]
        for i in range(count):
            for k in range(i):
                x[i] -= A[i, k] * x[k]
            x[i] /= A[i, i]
        for i in range(count - 1, -1, -1):
            for k in range(i + 1, count):
                x[i] -= A[k, i] * x[k]
            x[i] /= A[i, i]
        for i in range(count):
            x[i] *= D[rows[i]]
    return True
