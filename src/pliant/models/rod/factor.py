"""The factor of a rod's matrix over its free unknowns, for vectors of the shape of dx."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

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
        touching = np.flatnonzero(np.diff(H.indptr))
        W = np.zeros((H.shape[0], H.shape[0]))
        rows = np.zeros((len(touching), len(self._free)))
        _gather(H.data, H.indices, H.indptr, touching, self._free, self._size, rows)
        if self._factor.symmetric and len(self._free) <= LARGE:
            _add_compliance(self._factor.lower, rows, touching, W)
            return W
        own = self._factor.compliance(rows)
        W[touching[:, None], touching] = own if self._factor.symmetric else 0.5 * (own + own.T)
        return W


@kernel
def _gather(data, indices, indptr, touching, free, size, rows):  # type: ignore[no-untyped-def]
    """The rows `touching` of a sparse matrix at the unknowns `free` among `size`, `rows` (k, n), which are zero."""
    place = np.full(size, -1, np.int64)
    for i in range(len(free)):
        place[free[i]] = i
    for i in range(len(touching)):
        for entry in range(indptr[touching[i]], indptr[touching[i] + 1]):
            at = place[indices[entry]]
            if at >= 0:
                rows[i, at] += data[entry]


@kernel
def _add_compliance(L, rows, touching, W):  # type: ignore[no-untyped-def]
    """W[touching, touching] += rows (L Lᵀ)⁻¹ rowsᵀ; `rows` (k, n) become (L⁻¹ rowsᵀ)ᵀ."""
    n = rows.shape[1]
    for i in range(len(rows)):
        y = rows[i]
        for c in range(n):  # by columns, as LAPACK leaves L
            y[c] /= L[c, c]
            for r in range(c + 1, n):
                y[r] -= L[r, c] * y[c]
        for j in range(i + 1):
            total = 0.0
            for r in range(n):
                total += y[r] * rows[j, r]
            W[touching[i], touching[j]] += total
            if j < i:
                W[touching[j], touching[i]] += total
