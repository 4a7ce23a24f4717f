"""Sweeps or full Newton steps from the forces of the last step: what solves nearly every step of a simulation.

Contacts that rest or slide steadily keep their state, and a few sweeps of Gauss–Seidel bring their forces to the
tolerance. Redundant ones do not converge so: there semi-smooth Newton steps on the function of Alart and Curnier (see
`newton`) are taken at full length, as the primal–dual active set method does (Hintermüller, Ito, Kunisch, "The
primal-dual active set strategy as a semismooth Newton method", SIAM J. Optimization 13, 2002). The merit grows in
between, when many contacts change their state at once; a line search would let one change at a time. Nothing proves
that this ends, so steps are limited and the best iterate goes on to `newton`.

After the tolerance is met steps go on for a while to `_FINE` of it: quadratic convergence makes forces from starts that
differ in their last bits nearly equal, where the first iterates within the tolerance are not.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray
from pliant.solvers.contact.blocks import Blocks, natural_map
from pliant.solvers.contact.gauss_seidel import gauss_seidel
from pliant.solvers.contact.line_search import alart_curnier
from pliant.solvers.contact.newton import assemble, derivatives
from pliant.solvers.linear.lapack import Lapack, solve_rows

_SIGMA = 1e-2  # σ / ‖F‖, as in `newton`
_SIGMA_LEAST = 1e-7  # relative to the compliance: ten times less and steps along forces that move nothing overshoot,
# ten times more and the proximal steps converge slowly. Measured on grippers that hold a cube, 22 cones and 160 boxes.
_STEPS = 25  # of Newton: of cold starts of these grippers the longest took 26, warm ones 3 to 14
_FINE = 1e-2  # of the tolerance, which further steps are meant to reach
_FURTHER = 3  # steps after the tolerance is met: one where contacts keep their state, three where some change it
_SWEEPS = 3  # at a time
_CONTACT = 200.0  # multiply–adds that one contact alone takes as long as
_EXPECTED = 3  # Newton steps, the cost of which the sweeps to the tolerance may have
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)  # as in `blocks.rounding_of`


@kernel
def full_steps(
    W: FloatArray, columns: FloatArray, q: FloatArray, blocks: Blocks, r: FloatArray, tolerance: float,
    limit: int, operations: float, lib: Lapack,
) -> tuple[float, int, float]:  # fmt: skip
    """Improve r (m,) of a scaled problem in place: its residual, and the iterations and multiply–adds taken, which
    `limit` and `operations` bound. `columns` is Wᵀ, row-major.
    """
    m = len(r)
    u, F, best = np.empty(m), np.empty(m), r.copy()
    _slip(columns, q, r, u)
    least = _residual(r, u, blocks, F)
    if least <= tolerance:
        return least, 0, 0.0
    rho = _stiffness(columns, blocks)
    A, B, active = np.empty((m, 3)), np.empty((m, 3)), np.empty(m, np.bool_)
    derivatives(r, u, rho, blocks, A, B, active)
    step, sweep = _EXPECTED * _cost(_count(active), m), float(m) * m + _CONTACT * len(blocks.cones)
    swept, residual, sweeps = r.copy(), least, 0
    while sweeps + _SWEEPS <= limit:
        gauss_seidel(columns, swept, u, blocks, _SWEEPS)
        sweeps += _SWEEPS
        _slip(columns, q, swept, u)
        before, residual = residual, _residual(swept, u, blocks, F)
        if residual < least:
            least = residual
            best[:] = swept
        if residual <= tolerance or not residual < before:
            break
        remaining = _SWEEPS * log(tolerance / residual) / log(residual / before)
        if (sweeps + remaining) * sweep > min(step, operations):
            break
    taken = sweeps * sweep
    if least <= tolerance:
        r[:] = best
        return least, sweeps, taken
    found: tuple[float, int, float] = _newton(
        W, columns, q, blocks, r, best, least, rho, tolerance, limit, operations, lib, sweeps, taken
    )
    return found


@inline
def _newton(
    W: FloatArray, columns: FloatArray, q: FloatArray, blocks: Blocks, r: FloatArray, best: FloatArray, least: float,
    rho: FloatArray, tolerance: float, limit: int, operations: float, lib: Lapack, iterations: int, taken: float,
) -> tuple[float, int, float]:  # fmt: skip
    """Full steps from r, which becomes the best iterate, where none is better than `best` that."""
    m = len(r)
    u, F, change, direction = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    A, B, active = np.empty((m, 3)), np.empty((m, 3)), np.empty(m, np.bool_)
    rows, position = np.empty(m, np.int64), np.empty(m, np.int64)
    matrix, pivots = np.empty(m * m), np.empty(m, np.int32)
    further = 0
    _slip(columns, q, r, u)
    for _ in range(_STEPS):
        merit = alart_curnier(r, u, rho, blocks, F)
        A[:], B[:], active[:] = 0.0, 0.0, False
        derivatives(r, u, rho, blocks, A, B, active)
        n = 0
        for i in range(m):
            position[i] = n
            direction[i] = 0.0 if active[i] else -F[i]
            if active[i]:
                rows[n] = i
                n += 1
        if iterations >= limit or taken + _cost(n, m) > operations:
            break
        taken += _cost(n, m)
        iterations += 1
        if n:
            _product(columns, direction, change)
            sigma = min(max(_SIGMA * merit, _SIGMA_LEAST), 1.0)
            J, right = matrix[: n * n].reshape(n, n), np.empty(n)
            assemble(W, blocks, A, B, active, rows[:n], position, sigma / rho, F, change, J, right)
            if not solve_rows(lib, n, matrix, pivots, right):
                break
            for k in range(n):
                direction[rows[k]] = right[k]
        for i in range(m):
            r[i] += direction[i]
        _slip(columns, q, r, u)
        residual = _residual(r, u, blocks, F)
        if not np.isfinite(residual):
            break
        if residual < least:
            least = residual
            best[:] = r
        further += least <= tolerance
        if least <= _FINE * tolerance or further > _FURTHER:
            break
    r[:] = best
    return least, iterations, taken


@inline
def _cost(active: int, m: int) -> float:
    """Multiply–adds of a Newton step with so many active rows of m."""
    return float(active) ** 3 / 3.0 + 6.0 * float(m) * m


@inline
def _count(active: FloatArray) -> int:
    n = 0
    for i in range(len(active)):
        n += active[i]
    return n


@inline
def _slip(columns: FloatArray, q: FloatArray, r: FloatArray, u: FloatArray) -> None:
    """u = W r + q; columns without a force cost nothing."""
    _product(columns, r, u)
    for i in range(len(u)):
        u[i] += q[i]


@inline
def _product(columns: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """out = W x."""
    m = len(x)
    out[:] = 0.0
    for k in range(m):
        if x[k] != 0.0:
            column, factor = columns[k], x[k]
            for i in range(m):
                out[i] += column[i] * factor


@inline
def residual_at(
    columns: FloatArray, q: FloatArray, r: FloatArray, blocks: Blocks, u: FloatArray, scratch: FloatArray
) -> float:
    """Norm of the natural map at r, and its rounding; u is filled with W r + q."""
    _slip(columns, q, r, u)
    return float(_residual(r, u, blocks, scratch))


@inline
def _residual(r: FloatArray, u: FloatArray, blocks: Blocks, scratch: FloatArray) -> float:
    """Norm of the natural map, and its rounding."""
    total = 0.0
    for i in range(len(r)):
        total += r[i] * r[i]
    return float(natural_map(r, u, blocks, scratch)) + _ROUNDING * sqrt(total)


@inline
def _stiffness(columns: FloatArray, blocks: Blocks) -> FloatArray:
    """ρ of every row, as in `newton`: 1 over its compliance, over the mean of the two tangential ones in a cone."""
    m, most = len(columns), 0.0
    rho = np.empty(m)
    for i in range(m):
        rho[i] = columns[i, i]
    for c in range(len(blocks.cones)):
        i = blocks.cones[c]
        rho[i + 1] = rho[i + 2] = 0.5 * (rho[i + 1] + rho[i + 2])
    for i in range(m):
        most = max(most, rho[i])
    for i in range(m):
        rho[i] = 1.0 / rho[i] if rho[i] > 1e-9 * most else 1.0
    return rho
