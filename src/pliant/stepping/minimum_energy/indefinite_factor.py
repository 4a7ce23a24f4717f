"""The factor of a matrix with a few negative eigenvalues, by Cholesky all the same, and the directions they belong to.

Under a given volume a chamber is stable beyond the largest pressure it can hold, where the matrix of its body alone is
not positive definite: one eigenvalue is negative along the growth that the volume forbids. Cholesky's method says at
which unknown it fails; with a spring τ at each of the k unknowns E where it does, Ã = A + τ E Eᵀ is positive definite,
and A⁻¹ follows from it (Sherman, Morrison, Woodbury):

    A⁻¹ = Ã⁻¹ + Ã⁻¹ E G⁻¹ Eᵀ Ã⁻¹,        G = I/τ − Eᵀ Ã⁻¹ E        (k × k)

A has as many negative eigenvalues as G. Rows C whose δ is given constrain as many as C A⁻¹ Cᵀ has (N. I. M. Gould,
On practical conditions for the existence and uniqueness of solutions to the general equality quadratic programming
problem, Math. Programming 32, 1985). The others are directions of instability.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.errors import SingularError
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.symbolic import Symbolic

MOST, AT_ONCE = 6, 3
"""Most nodes around which the diagonal is shifted, and most that are added in one factorization."""


class IndefiniteFactor:
    """A⁻¹ of symmetric blocks `values` (b, 3, 3) that are positive definite but for a few directions.

    Around the `nodes` the diagonal is shifted from the start; those at which Cholesky's method fails are added to them.
    `negative` is the number of negative eigenvalues. Raises `SingularError` where there are too many. `out` is a factor
    whose memory is used again.
    """

    def __init__(
        self, symbolic: Symbolic, values: FloatArray, nodes: list[int], *, out: CholeskyFactor | None = None
    ) -> None:
        diagonal = symbolic.pattern.diagonal
        tau = float(np.abs(np.einsum("nii->ni", values[diagonal])).max())
        kept = list(nodes)
        while True:
            around = _around(symbolic, nodes)
            shifted = values.copy() if nodes else values
            shifted[diagonal[around]] += tau * np.eye(3)
            try:
                self.factor = symbolic.factorize(shifted, out=out)
                break
            except SingularError as error:
                if error.row < 0 or error.row // 3 in nodes or len(nodes) >= min(MOST, len(kept) + AT_ONCE):
                    nodes[:] = kept
                    raise
                nodes.append(error.row // 3)
        rows = self._rows = (3 * around[:, None] + np.arange(3)).ravel()
        self.negative = 0
        if len(rows):
            unit = np.zeros((self.factor.size, len(rows)))
            unit[rows, np.arange(len(rows))] = 1.0
            self._X = self.factor.solve(unit).reshape(unit.shape)
            G = np.eye(len(rows)) / tau - self._X[rows]
            size, frame = np.linalg.eigh(0.5 * (G + G.T))
            if np.abs(size).min() < 1e-14 / tau:  # rounding of 1/τ
                raise SingularError("the matrix has a direction without stiffness", row=int(rows[0]))
            self._inner = (frame / size) @ frame.T
            self.negative = int(np.count_nonzero(size < 0.0))

    @property
    def size(self) -> int:
        """Length of the vectors of `solve`."""
        return self.factor.size

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs, of the shape of rhs: (n b,), (n, b) or (n b, m)."""
        first = self.factor.solve(rhs)
        if not len(self._rows):
            return first
        flat = first.reshape(self.size, -1)
        better: FloatArray = flat + self._X @ (self._inner @ flat[self._rows])
        return better.reshape(first.shape)

    def compliance(self, H: Any) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m)."""
        W = self.factor.compliance(H)
        if len(self._rows):
            across = sparse.csr_matrix(H) @ self._X
            W = W + across @ self._inner @ across.T
        return W


def _around(symbolic: Symbolic, nodes: list[int]) -> IndexArray:
    """The `nodes` and those that the matrix couples to them, but for constrained ones."""
    pattern = symbolic.pattern
    near: BoolArray = np.zeros(pattern.node_count, bool)
    coupled = np.repeat(np.arange(pattern.node_count), np.diff(pattern.indptr))
    near[nodes] = True
    near[coupled[np.isin(pattern.indices, nodes)]] = True
    near[pattern.indices[np.isin(coupled, nodes)]] = True
    free: BoolArray = np.zeros(pattern.node_count, bool)
    free[symbolic.nodes] = True
    return np.flatnonzero(near & free)
