"""The factor of a rod's matrix over its free unknowns, for vectors of the shape of dx."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import csr
from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.linear.dense import DenseFactor


class RodFactor:
    """A⁻¹ over the unknowns `free` among `size`; zero at held ones.

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
        starts = np.append(H.indptr[touching], H.indptr[-1])
        rows = csr(H.data, H.indices, starts, (len(touching), H.shape[1])).toarray()
        own = self._factor.compliance(np.ascontiguousarray(rows[:, self._free]))
        W = np.zeros((H.shape[0], H.shape[0]))
        W[touching[:, None], touching] = own if self._factor.symmetric else 0.5 * (own + own.T)
        return W
