"""The factor of a rod's matrix over its free unknowns, for vectors of the shape of dx."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import frozen, transposed_product
from pliant.core.checks import all_finite
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.linear.dense import DenseFactor
from pliant.solvers.linear.half_products import add_products
from pliant.solvers.linear.panel import solve_lower_four
from pliant.solvers.linear.response import Motion, RowMotion, Solved, SolvedMotion, SolvedResponse

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
            self.half_solved(H, np.zeros(self._size), W, np.zeros(len(W)), moved=True)
            return W
        _gather(frozen(H.data), frozen(H.indices), frozen(H.indptr), self._free, self._size, rows)
        touching = np.flatnonzero(np.diff(H.indptr))
        own = self._factor.compliance(rows[touching])
        W[touching[:, None], touching] = own if self._factor.symmetric else 0.5 * (own + own.T)
        return W

    def motion(self, r: FloatArray) -> Motion:
        """The motion A⁻¹ r (2 + 2N, 3), to which row forces can be added."""
        return HalfSolvedRod(self, r) if self._small else SolvedMotion(self, self.solve(r))

    def half_solved(
        self, H: sparse.csr_matrix, given: FloatArray, W: FloatArray, delta: FloatArray, *, moved: bool
    ) -> tuple[FloatArray, float]:
        """Y = (L⁻¹ Hᵀ)ᵀ (m, n); adds H A⁻¹ Hᵀ to W (m, m) and H dx to `delta` (m,), in one call. `given` is dx where it
        has `moved` so, else r, dx is A⁻¹ r, and y = L⁻¹ r stands below Y; ‖y‖² beside both.
        """
        count = len(delta) + (not moved)
        rows = np.zeros((FOUR * ((count + FOUR - 1) // FOUR), len(self._free)))
        columns = self._factor.lower.T.reshape(-1)  # by columns, as LAPACK leaves L
        entries = frozen(H.data), frozen(H.indices), frozen(H.indptr)
        return rows, _condense(
            *entries, self._free, self._size, columns, frozen(given.reshape(-1)), moved, rows, W, delta
        )

    @property
    def lower(self) -> tuple[FloatArray, IndexArray]:
        """L (n, n) and the unknowns (n,), as kernels take them."""
        return self._factor.lower, self._free


class HalfSolvedRod(Motion):
    """The motion A⁻¹ r of a rod of few unknowns; y = L⁻¹ r is found together with Y = L⁻¹ Hᵀ of its rows."""

    def __init__(self, factor: RodFactor, r: FloatArray) -> None:
        self._factor, self.r = factor, r
        self._squares: float | None = None

    @property
    def finite(self) -> bool:  # type: ignore[override]
        """Whether all of y is; of dx without rows."""
        return all_finite(self.dx) if self._squares is None else self._squares < np.inf

    @cached_property
    def dx(self) -> FloatArray:  # type: ignore[override]
        """A⁻¹ r, (2 + 2N, 3)."""
        return self._factor.solve(self.r)

    def condense(self, H: Any, W: FloatArray, delta: FloatArray, *, alone: bool = False) -> RowMotion:
        """Add H A⁻¹ Hᵀ to W (m, m) and H A⁻¹ r to `delta` (m,); what the forces of the rows add to the motion."""
        rows, self._squares = self._factor.half_solved(H, self.r, W, delta, moved=False)
        return HalfSolvedRodRows(self, rows)

    def under(self, rows: FloatArray, lam: FloatArray) -> FloatArray:
        """L⁻ᵀ (y + Y λ), (2 + 2N, 3)."""
        out = np.zeros(self.r.shape)
        L, free = self._factor.lower
        _respond(L, rows, frozen(lam), True, free, out.reshape(-1))
        return out

    def solved(self, rows: FloatArray, H: Any, lam: FloatArray, system: Any) -> Solved:
        """The same, and how far it is from solving the `system` with the forces of the rows H, in one call."""
        out = np.zeros(self.r.shape)
        L, free = self._factor.lower
        entries = frozen(H.data), frozen(H.indices), frozen(H.indptr)
        error, total = _respond_and_check(L, rows, frozen(lam), free, *entries, *system.equation(), out.reshape(-1))
        return out, error, total

    def error_squares(self, system: Any, dx: FloatArray, H: Any, lam: FloatArray) -> tuple[float, float]:
        """‖A dx − r − Hᵀλ‖² and ‖r + Hᵀλ‖² over the free unknowns."""
        found: tuple[float, float] = system.error_of(dx, None if H is None else transposed_product(H, lam))
        return found

    def displaced(self, dx: FloatArray) -> Motion:
        """The motion `dx` in place of this one, with the same response to row forces."""
        return DisplacedRod(self._factor, self.dx, dx)

    def compliance(self, H: Any) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m)."""
        return self._factor.compliance(H)

    def response(self, H: Any, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, (2 + 2N, 3)."""
        return self._factor.response(H, lam).reshape(self.r.shape)


class HalfSolvedRodRows(RowMotion):
    """The motion of a rod under rows, of which Y and y stand in `rows`."""

    def __init__(self, motion: HalfSolvedRod, rows: FloatArray) -> None:
        self.motion: HalfSolvedRod = motion
        self._rows = rows

    def under(self, lam: FloatArray) -> FloatArray:
        """A⁻¹ (r + Hᵀ λ)."""
        return self.motion.under(self._rows, lam)

    def solved(self, system: Any, H: Any, lam: FloatArray) -> Solved:
        """Dx of row forces λ (rows,) of all rows H, and how far it is from solving the `system`."""
        return self.motion.solved(self._rows, H, lam, system)


class DisplacedRod(SolvedMotion):
    """A motion dx of a rod of few unknowns that was made from A⁻¹ r, and whose rows are half solved."""

    _factor: RodFactor

    def condense(self, H: Any, W: FloatArray, delta: FloatArray, *, alone: bool = False) -> RowMotion:
        """Add H A⁻¹ Hᵀ to W (m, m) and H dx to `delta` (m,); what the forces of the rows add to the motion."""
        return DisplacedRodRows(self, self._factor.half_solved(H, self._dx, W, delta, moved=True)[0])

    def under(self, rows: FloatArray, lam: FloatArray) -> FloatArray:
        """Dx + A⁻¹ Hᵀ λ, (2 + 2N, 3)."""
        out = self._dx.copy()
        L, free = self._factor.lower
        _respond(L, rows, frozen(lam), False, free, out.reshape(-1))
        return out


class DisplacedRodRows(RowMotion):
    """The motion of a rod under rows, of which Y stands in `rows`."""

    motion: DisplacedRod

    def __init__(self, motion: DisplacedRod, rows: FloatArray) -> None:
        self.motion, self._rows = motion, rows

    def under(self, lam: FloatArray) -> FloatArray:
        """Dx + A⁻¹ Hᵀ λ."""
        return self.motion.under(self._rows, lam)


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
def _condense(data, indices, indptr, free, size, columns, given, moved, rows, W, delta):  # type: ignore[no-untyped-def]
    """`RodFactor.half_solved` for `rows` (4k, n), which are zero; L stands by `columns` (n²,). Returns ‖y‖²."""
    n, count, place = rows.shape[1], len(delta), np.full(size, -1, np.int64)
    for i in range(n):
        place[free[i]] = i
    touching, filled = np.empty(count + 1, np.int64), 0
    for i in range(count):
        if indptr[i] == indptr[i + 1]:
            continue
        touching[filled], value = i, 0.0
        filled += 1
        for entry in range(indptr[i], indptr[i + 1]):
            value += data[entry] * given[indices[entry]]
            at = place[indices[entry]]
            if at >= 0:
                rows[i, at] += data[entry]
        if moved:
            delta[i] += value
    touching[filled] = count
    if not moved:
        for i in range(n):
            rows[count, i] = given[free[i]]
    solved = 0
    for k in range(filled if moved else filled + 1):
        i = touching[k]
        if i >= solved:
            i -= i % FOUR
            solve_lower_four(columns, 0, n, n, rows[i], rows[i + 1], rows[i + 2], rows[i + 3])
            solved = i + FOUR
    add_products(rows, touching[:filled], W)
    squares = 0.0
    if not moved:
        y = rows[count]
        for k in range(filled):
            own, value = rows[touching[k]], 0.0
            for j in range(n):
                value += own[j] * y[j]
            delta[touching[k]] += value
        for j in range(n):
            squares += y[j] * y[j]
    return squares


@kernel
def _respond(L, rows, lam, whole, free, out):  # type: ignore[no-untyped-def]
    """Out += L⁻ᵀ Yᵀ λ at the unknowns `free`, for `rows` (m, n) as `_condense` leaves them; `whole`: L⁻ᵀ y too."""
    n = rows.shape[1]
    x = np.zeros(n)
    if whole:
        x[:] = rows[len(lam)]
    for i in range(len(lam)):
        for r in range(n):
            x[r] += lam[i] * rows[i, r]
    for c in range(n - 1, -1, -1):
        for r in range(c + 1, n):
            x[c] -= L[r, c] * x[r]
        x[c] /= L[c, c]
        out[free[c]] += x[c]


@kernel
def _respond_and_check(L, rows, lam, free, data, indices, indptr, A, active, constrained, r, out):  # type: ignore[no-untyped-def]
    """`_respond` with y, and `error_squares` of the result under r + Hᵀλ; infinite where it is not finite."""
    _respond(L, rows, lam, True, free, out)
    forces = r.copy()
    for i in range(len(lam)):
        for entry in range(indptr[i], indptr[i + 1]):
            if not constrained[indices[entry]]:
                forces[indices[entry]] += data[entry] * lam[i]
    error, total = error_squares(A, active, constrained, forces, out)
    squares = 0.0
    for value in out:
        squares += value * value
    return error if np.isfinite(squares) else np.inf, total
