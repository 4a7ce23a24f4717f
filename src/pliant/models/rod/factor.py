"""The factor of a rod's matrix over its free unknowns, for vectors of the shape of dx."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.linear.dense import DenseFactor
from pliant.solvers.linear.half_products import add_products
from pliant.solvers.linear.panel import solve_lower_four
from pliant.solvers.linear.response import RowMotion, Solved, SolvedMotion, SolvedResponse

LARGE = 120
"""Unknowns above which LAPACK is worth its call; below, the kernel solves."""
FOUR = 4
"""Rows that pass through the factor together."""


class RodFactor(SolvedResponse):
    """A⁻¹ over the unknowns `free` among `size`; zero at constrained ones.

    `symmetric` takes Cholesky, and a matrix that is not positive definite is a `SingularError`; else P A = L U, and the
    compliance of rows is its symmetric part.
    """

    def __init__(self, A: FloatArray, free: IndexArray, size: int, *, symmetric: bool) -> None:
        self._factor = DenseFactor(A, symmetric=symmetric)
        self._free = free
        self._size = size
        self._small = symmetric and len(free) <= LARGE

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs for rhs of shape (2 + 2N, 3), (size,) or (size, k); the shape is kept."""
        given = np.asarray(rhs, np.float64)
        flat = given.reshape(self._size, -1)
        out = np.zeros(flat.shape)
        if len(self._free):
            out[self._free] = self._factor.solve(flat[self._free])
        return out.reshape(given.shape)

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m). Rows that do not touch the rod, most of them where there are several, cost nothing."""
        W, rows = np.zeros((H.shape[0], H.shape[0])), np.zeros((H.shape[0], len(self._free)))
        if self._small:
            self.half_solved(H, np.zeros(self._size), W, np.zeros(len(W)))
            return W
        _gather(frozen(H.data), frozen(H.indices), frozen(H.indptr), self._free, self._size, rows)
        touching = np.flatnonzero(np.diff(H.indptr))
        own = self._factor.compliance(rows[touching])
        W[touching[:, None], touching] = own if self._factor.symmetric else 0.5 * (own + own.T)
        return W

    def motion(self, r: FloatArray) -> SolvedMotion:
        """The motion A⁻¹ r (2 + 2N, 3), to which row forces can be added."""
        solved = self.solve(r)
        return RodMotion(self, solved) if self._small else SolvedMotion(self, solved)

    def half_solved(self, H: sparse.csr_matrix, dx: FloatArray, W: FloatArray, delta: FloatArray) -> FloatArray:
        """(L⁻¹ Hᵀ)ᵀ (m, n), and zero rows up to a multiple of four; adds H A⁻¹ Hᵀ to W (m, m) and H dx to `delta`
        (m,), in one call.
        """
        rows = np.zeros((FOUR * ((len(delta) + FOUR - 1) // FOUR), len(self._free)))
        entries = frozen(H.data), frozen(H.indices), frozen(H.indptr)
        columns = self._factor.lower.T.reshape(-1)  # by columns, as LAPACK leaves L
        _condense(*entries, self._free, self._size, columns, frozen(dx.reshape(-1)), rows, W, delta)
        return rows

    def response_of_half(self, rows: FloatArray, lam: FloatArray, dx: FloatArray) -> tuple[Any, ...]:
        """The factor, `rows` of `half_solved`, their forces λ (m,) and the motion dx without them, as kernels take
        them.
        """
        return self._factor.lower, rows, frozen(lam), self._free, frozen(dx.reshape(-1))


class RodMotion(SolvedMotion):
    """The motion A⁻¹ r of a rod of few unknowns, whose rows are half solved."""

    _factor: RodFactor

    def condense(self, H: Any, W: FloatArray, delta: FloatArray, *, alone: bool = False) -> RowMotion:
        """Add H A⁻¹ Hᵀ to W (m, m) and H dx to `delta` (m,); what the forces of the rows add to the motion."""
        return RodRows(self, self._factor.half_solved(H, self._dx, W, delta))

    def under(self, rows: FloatArray, lam: FloatArray) -> FloatArray:
        """Dx + A⁻¹ Hᵀ λ, (2 + 2N, 3)."""
        out = np.empty(self._dx.shape)
        _respond(*self._factor.response_of_half(rows, lam, self._dx), out.reshape(-1))
        return out

    def solved(self, rows: FloatArray, lam: FloatArray, system: Any) -> Solved:
        """The same, and how far A⁻¹ r is from solving the `system`, in one call."""
        out = np.empty(self._dx.shape)
        given = *self._factor.response_of_half(rows, lam, self._dx), *system.equation()
        error, total = _respond_with_error(*given, frozen(self._solved.reshape(-1)), out.reshape(-1))
        return out, error, total


class RodRows(RowMotion):
    """The motion of a rod under rows, of which (L⁻¹ Hᵀ)ᵀ (m, n) is known."""

    def __init__(self, motion: RodMotion, rows: FloatArray) -> None:
        self.motion: RodMotion = motion
        self._rows = rows

    def under(self, lam: FloatArray) -> FloatArray:
        """Dx + A⁻¹ Hᵀ λ."""
        return self.motion.under(self._rows, lam)

    def solved(self, system: Any, H: Any, lam: FloatArray) -> Solved:
        """Dx of row forces λ (rows,), and how far the motion without them is from solving the `system`."""
        return self.motion.solved(self._rows, lam, system)


@kernel
def error_squares(A, active, constrained, r, x):  # type: ignore[no-untyped-def]
    """‖A x − r‖² over the unknowns that are not constrained, and ‖r‖²; A (n, n) over the `active` ones."""
    error = total = 0.0
    for i in range(len(active)):
        row = active[i]
        if not constrained[row]:
            value = -r[row]
            for j in range(len(active)):
                value += A[i, j] * x[active[j]]
            error += value * value
    for value in r:
        total += value * value
    return error, total


@kernel
def _gather(data, indices, indptr, free, size, rows):  # type: ignore[no-untyped-def]
    """The rows (m, n) of a sparse matrix at the unknowns `free` among `size`, into `rows`, which are zero."""
    place = np.full(size, -1, np.int64)
    for i in range(len(free)):
        place[free[i]] = i
    for i in range(len(rows)):
        for entry in range(indptr[i], indptr[i + 1]):
            at = place[indices[entry]]
            if at >= 0:
                rows[i, at] += data[entry]


@kernel
def _condense(data, indices, indptr, free, size, columns, dx, rows, W, delta):  # type: ignore[no-untyped-def]
    """`rows` (4k, n), which are zero, become (L⁻¹ Hᵀ)ᵀ, and zero beyond the rows of H; W (m, m) += H (L Lᵀ)⁻¹ Hᵀ and δ
    (m,) += H dx. L stands by `columns` (n²,).
    """
    n, place = rows.shape[1], np.full(size, -1, np.int64)
    for i in range(n):
        place[free[i]] = i
    touching, count = np.empty(len(delta), np.int64), 0
    for i in range(len(delta)):
        if indptr[i] == indptr[i + 1]:
            continue
        touching[count], value = i, 0.0
        count += 1
        for entry in range(indptr[i], indptr[i + 1]):
            value += data[entry] * dx[indices[entry]]
            at = place[indices[entry]]
            if at >= 0:
                rows[i, at] += data[entry]
        delta[i] += value
    solved = 0
    for k in range(count):
        i = touching[k]
        if i >= solved:
            i -= i % FOUR
            solve_lower_four(columns, 0, n, n, rows[i], rows[i + 1], rows[i + 2], rows[i + 3])
            solved = i + FOUR
    add_products(rows, touching[:count], W)


@kernel
def _respond(L, rows, lam, free, dx, out):  # type: ignore[no-untyped-def]
    """Out = dx, and L⁻ᵀ Σ λ L⁻¹ Hᵀ more at the unknowns `free`, for `rows` (m, n) as `_condense` leaves them."""
    n = rows.shape[1]
    out[:] = dx
    x = np.zeros(n)
    for i in range(len(lam)):
        for r in range(n):
            x[r] += lam[i] * rows[i, r]
    for c in range(n - 1, -1, -1):
        for r in range(c + 1, n):
            x[c] -= L[r, c] * x[r]
        x[c] /= L[c, c]
        out[free[c]] += x[c]


@kernel
def _respond_with_error(L, rows, lam, free, dx, A, active, constrained, r, solved, out):  # type: ignore[no-untyped-def]
    """`_respond`, and `error_squares` of the motion `solved`; its error is infinite where `out` is not finite."""
    _respond(L, rows, lam, free, dx, out)
    error, total = error_squares(A, active, constrained, r, solved)
    squares = 0.0
    for value in out:
        squares += value * value
    return error if np.isfinite(squares) else np.inf, total
