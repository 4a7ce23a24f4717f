"""The factor of a rod's matrix over its free unknowns, for vectors of the shape of dx."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import writable
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.linear.dense import DenseFactor
from pliant.solvers.linear.response import SolvedResponse

LARGE = 120
"""Unknowns above which LAPACK is worth its call; below, the kernel solves."""


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
        self._halves: tuple[Any, FloatArray] | None = None

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
            _add_compliance(H.data, H.indices, H.indptr, self._free, self._size, self._factor.lower, rows, W)
            self._halves = H, rows
            return W
        _gather(H.data, H.indices, H.indptr, self._free, self._size, rows)
        touching = np.flatnonzero(np.diff(H.indptr))
        own = self._factor.compliance(rows[touching])
        W[touching[:, None], touching] = own if self._factor.symmetric else 0.5 * (own + own.T)
        return W

    def response(self, H: sparse.csr_matrix, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, (size,). The half solves of the rows whose compliance was asked for last are at hand."""
        if self._halves is None or self._halves[0] is not H:
            return super().response(H, lam)
        out = np.zeros(self._size)
        _respond(self._factor.lower, self._halves[1], writable(lam), self._free, out)
        return out


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
def _add_compliance(data, indices, indptr, free, size, L, rows, W):  # type: ignore[no-untyped-def]
    """W (m, m) += H (L Lᵀ)⁻¹ Hᵀ; `rows` (m, n), which are zero, become (L⁻¹ Hᵀ)ᵀ."""
    _gather(data, indices, indptr, free, size, rows)
    n = rows.shape[1]
    for i in range(len(rows)):
        if indptr[i] == indptr[i + 1]:
            continue
        y = rows[i]
        for c in range(n):  # by columns, as LAPACK leaves L
            y[c] /= L[c, c]
            for r in range(c + 1, n):
                y[r] -= L[r, c] * y[c]
        for j in range(i + 1):
            total = 0.0
            for r in range(n):
                total += y[r] * rows[j, r]
            W[i, j] += total
            if j < i:
                W[j, i] += total


@kernel
def _respond(L, rows, lam, free, out):  # type: ignore[no-untyped-def]
    """Out[free] = L⁻ᵀ Σ λ L⁻¹ Hᵀ, for `rows` (m, n) as `_add_compliance` leaves them."""
    n = rows.shape[1]
    x = np.zeros(n)
    for i in range(len(lam)):
        for r in range(n):
            x[r] += lam[i] * rows[i, r]
    for c in range(n - 1, -1, -1):
        for r in range(c + 1, n):
            x[c] -= L[r, c] * x[r]
        x[c] /= L[c, c]
        out[free[c]] = x[c]
