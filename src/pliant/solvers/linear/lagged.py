"""A⁻¹ by an older factor: conjugate gradients with the current matrix, preconditioned by the factor of an earlier one.

The older matrix A₀ belongs to another shape of the body. Where parts have turned since, A ≈ T A₀ Tᵀ with the rotation T
of every node, so that P = T A₀⁻¹ Tᵀ is much closer to A⁻¹ than A₀⁻¹ is (H. Courtecuisse, J. Allard, C. Duriez &
S. Cotin, Asynchronous preconditioners for efficient solving of non-linear deformations, VRIPHYS 2010).

With an approximation X of A⁻¹Hᵀ and its residual R = Hᵀ − A X,

    W = H X + XᵀR + RᵀA⁻¹R,

so that leaving out the last term costs the square of the error of X: entries of W are exact to the tolerance, relative
to √(W_ii W_jj), when the columns of X are exact to its root only. Half of the iterations suffice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from pliant.core.arrays import transposed_product
from pliant.core.errors import InputError, SingularError
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.solvers.linear.condensation import csr_parts, sandwich, touched_columns
from pliant.solvers.linear.conjugate_gradients import Solved, Start, block_product, conjugate_gradients, turn
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.matrix import BlockMatrix

_SAFETY = 0.5  # of the tolerance of W: the preconditioner measures the error of X within a small factor only
_BESIDE = 1.6  # time of an iteration over that of its substitutions
_ALONE = 4.0  # time of an operation with one right-hand side, read from memory, over that of one of many, from cache


class LateSingularError(SingularError):
    """A matrix turned out not to be positive definite after an older factor had been used in its place."""


class ExactFactor(Protocol):
    """The factor of the matrix itself."""

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs."""

    def compliance(self, H: Any) -> FloatArray:
        """H A⁻¹ Hᵀ."""


class _Columns(NamedTuple):
    """What `compliance` found for H: X and R of the columns B, of every row or of the `touched` unknowns."""

    H: Any
    B: FloatArray
    X: FloatArray
    R: FloatArray
    touched: IntArray | None


class LaggedFactor:
    """Solves with `matrix`, by the factor `older` of a matrix on the same pattern of 3×3 blocks.

    newest
        Gives the factor of `matrix` itself, waiting for it where need be. It is asked for where W has too many rows,
        and where the iteration fails: `awaited` and `redone` then say so, and everything after is solved with it.
    tolerance
        √(rᵀPr) over √(bᵀPb) of a solve: the error in the energy norm ‖·‖_A, relative; of W, every entry over
        √(W_ii W_jj). Usual 1e-6 … 1e-10.
    limit
        Most iterations of a solve.
    most_rows
        Most rows for which W is found by iteration; None compares the operations of both ways.
    rotations
        Rotation of every node since the older matrix, (node_count, 3, 3).
    held
        Numbers (k,) of scalar unknowns that take no force and do not move, decoupled in both matrices.
    """

    def __init__(
        self,
        matrix: BlockMatrix,
        older: CholeskyFactor,
        newest: Callable[[], ExactFactor],
        *,
        tolerance: float,
        limit: int,
        most_rows: int | None = None,
        rotations: FloatArray | None = None,
        held: IndexArray | None = None,
    ) -> None:
        if matrix.pattern is not older.symbolic.pattern or matrix.pattern.block != 3:
            raise InputError("an older factor needs the pattern of the matrix, in 3×3 blocks; analyze one pattern once")
        self._matrix = matrix
        self._older = older
        self._newest = newest
        self._tolerance = tolerance
        self._limit = limit
        self._most_rows = most_rows
        nodes = older.symbolic.nodes
        self._rotations = None if rotations is None else np.ascontiguousarray(rotations[nodes])
        self._held = held
        self._own: ExactFactor | None = None
        self._columns: _Columns | None = None
        self._last = 8  # iterations of the last solve; a guess before the first
        self.iterations = 0
        self.awaited = False
        self.redone = False

    @property
    def size(self) -> int:
        """Length of the vectors of `solve`."""
        return self._older.size

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs for rhs of shape (n 3,), (n, 3) or (n 3, m); the result has the shape of rhs."""
        given = self._older.checked_rhs(rhs)
        if self._own is None and given.size:
            solved = self._iterate(self._ordered(given.reshape(self.size, -1)), self._tolerance)
            if solved.reached:
                self._last = solved.iterations
                return self._older.unordered(solved.x).reshape(given.shape)
        return np.zeros(given.shape) if not given.size else self._redo().solve(given)

    def compliance(self, H: Any) -> FloatArray:
        """W = H A⁻¹ Hᵀ, shape (m, m), exactly symmetric, for H sparse of shape (m, n 3)."""
        ptr, columns, values = csr_parts(H, self.size)
        touched, local = touched_columns(columns, self.size)
        by_rows = len(ptr) - 1 <= len(touched)
        count = min(len(ptr) - 1, len(touched))
        if not count:
            return np.zeros((len(ptr) - 1, len(ptr) - 1))
        if self._own is None and self._is_too_many(count):
            self._own, self.awaited = self._newest(), True
        if self._own is None:
            rows = sparse.csr_matrix((values, columns, ptr), shape=(len(ptr) - 1, self.size))
            B = self._ordered(rows.T.toarray() if by_rows else _picked(touched, self.size))
            solved = self._iterate(B, float(np.sqrt(_SAFETY * self._tolerance)))
            if solved.reached:
                self._columns = _Columns(H, B, solved.x, solved.r, None if by_rows else touched)
                with one_blas_thread():
                    half = solved.x.T @ (B + solved.r)
                inner = 0.5 * (half + half.T)
                return inner if by_rows else sandwich(ptr, local, values, inner)
        return self._redo().compliance(H)

    def response(self, H: Any, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, (n 3,); begun from what the columns of the last `compliance` say where they belong to H."""
        push = transposed_product(H, lam)
        found = self._columns
        if self._own is not None or found is None or found.H is not H:
            return self.solve(push)
        weights = lam if found.touched is None else push[found.touched]
        x, r, b = ((part @ weights)[:, None] for part in (found.X, found.R, found.B))
        solved = self._iterate(b, self._tolerance, Start(x, r, np.maximum(np.sum(x * (b - r), axis=0), 0.0)))
        return self._older.unordered(solved.x)[:, 0] if solved.reached else self._redo().solve(push)

    def _redo(self) -> ExactFactor:
        """The factor of the matrix itself, since the iteration failed."""
        if self._own is None:
            self._own, self.redone = self._newest(), True
        return self._own

    def _is_too_many(self, rows: int) -> bool:
        """Whether the rest of a factorization, which runs beside the solves so far, is cheaper than iterating."""
        if self._most_rows is not None:
            return rows > self._most_rows
        symbolic = self._older.symbolic
        sweep = 4.0 * symbolic.factor_nonzeros
        rest = symbolic.flops - _ALONE * sweep * self.iterations
        half = 1 + self._last // 2  # iterations of W, and those that then remain for the response
        return sweep * half * (_BESIDE * rows + 3.0 * _ALONE) > max(rest, 0.0)  # L is read in double, then rounded

    def _ordered(self, x: FloatArray) -> FloatArray:
        """The unknowns of x (n 3, m) in elimination order, held ones zero."""
        if self._held is not None:
            x = x.copy()
            x[self._held] = 0.0
        return self._older.ordered(np.ascontiguousarray(x))

    def _iterate(self, rhs: FloatArray, tolerance: float, start: Start | None = None) -> Solved:
        solved = conjugate_gradients(
            self._product, self._precondition, rhs, tolerance=tolerance, limit=self._limit, start=start
        )
        self.iterations += solved.iterations
        return solved

    def _product(self, x: FloatArray) -> FloatArray:
        y = np.zeros(x.shape)
        pattern = self._matrix.pattern
        block_product(pattern.indptr, pattern.indices, self._matrix.values, self._older.symbolic.position, x, y)
        return y

    def _precondition(self, r: FloatArray) -> FloatArray:
        """T A₀⁻¹ Tᵀ r."""
        if self._rotations is None:
            return self._older.solve_ordered(r)
        turned = r.copy()
        turn(self._rotations, turned, True)
        z = self._older.solve_ordered(turned)
        turn(self._rotations, z, False)
        return z


def _picked(columns: IntArray, size: int) -> FloatArray:
    """Unit vectors of the chosen unknowns, (size, k)."""
    picked = np.zeros((size, len(columns)))
    picked[columns, np.arange(len(columns))] = 1.0
    return picked
