"""The factor of a matrix with a few negative eigenvalues, by Cholesky all the same.

Under a given volume a chamber is stable beyond the largest pressure it can hold, where the matrix of its body alone is
not positive definite: one eigenvalue is negative along the growth that the volume forbids. Cholesky's method notices in
the last front, the root of the elimination tree; with that held by springs τ the matrix Ã = A + τ E Eᵀ is positive
definite. Its factor ends in the Schur complement S + τI of the root, and A⁻¹ follows from it (Sherman, Morrison,
Woodbury):

    A⁻¹ = Ã⁻¹ + Ã⁻¹ E (τI + τ² S⁻¹) Eᵀ Ã⁻¹

S is factorized as L D Lᵀ with pivots of one and two rows (Bunch, Kaufman 1977): it has the negative eigenvalues of A.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from pliant.core.errors import SingularError
from pliant.core.types import FloatArray
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.symbolic import Symbolic

_AT_ONCE = 256  # columns that are solved together


class RootedFactor:
    """A⁻¹ of symmetric blocks `values` (b, 3, 3) that are positive definite but for a few directions.

    `negative` is the number of negative eigenvalues; where it is 0 all is done by the `factor`, Cholesky's. Raises
    `SingularError` where holding the root is not enough. `out` is a factor whose memory is used again.
    """

    def __init__(self, symbolic: Symbolic, values: FloatArray, *, out: CholeskyFactor | None = None) -> None:
        self.factor = CholeskyFactor(symbolic, values, out=out, lift=True)
        self.negative, self._tau = 0, self.factor.lifted
        if not self._tau:
            return
        block, starts = symbolic.pattern.block, symbolic.fronts.start
        nodes = symbolic.nodes[starts[-2] : starts[-1]]
        self._columns = (block * nodes[:, None] + np.arange(block)).ravel()
        S = self.factor.root()
        S[np.diag_indices_from(S)] -= self._tau
        self._schur, self._pivots, failed = lapack.dsytrf(S, lower=1, lwork=64 * len(S), overwrite_a=1)
        if failed:
            raise SingularError("the matrix has a direction without stiffness", row=int(self._columns[failed - 1]))
        single = self._pivots > 0
        self.negative = int(np.count_nonzero(np.diag(self._schur)[single] < 0.0) + np.count_nonzero(~single) // 2)

    @property
    def size(self) -> int:
        """Length of the vectors of `solve`."""
        return self.factor.size

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs, of the shape of rhs: (n b,), (n, b) or (n b, m)."""
        first = self.factor.solve(rhs)
        if not self._tau:
            return first
        root = first.reshape(self.size, -1)[self._columns]
        inner, _ = lapack.dsytrs(self._schur, self._pivots, root, lower=1)
        push = np.zeros_like(first)
        push.reshape(self.size, -1)[self._columns] = self._tau * root + self._tau**2 * inner
        return first + self.factor.solve(push)

    def compliance(self, H: Any) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m)."""
        if not self._tau:
            return self.factor.compliance(H)
        given = sparse.csr_matrix(H)
        m = given.shape[0]
        W = np.empty((m, m))
        for start in range(0, m, _AT_ONCE):
            some = slice(start, min(start + _AT_ONCE, m))
            W[:, some] = given @ self.solve(np.ascontiguousarray(given[some].toarray().T))
        return 0.5 * (W + W.T)
