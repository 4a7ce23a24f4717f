"""The factor of a beam's matrix, for vectors of the shape of dx.

A moment m that keeps its direction in the world has no potential: it adds the skew block −½ [m]× to the stiffness of
its node (`models.beam.element`). The Cholesky factor is that of the symmetric matrix, stiffened by |m| at those nodes
so that it stays positive definite; what this adds and the skew block leaves out, B, is put right by Woodbury's formula,

    (A + P B Pᵀ)⁻¹ = A⁻¹ − A⁻¹P (I + B PᵀA⁻¹P)⁻¹ B PᵀA⁻¹,

with P the spins of the loaded nodes. Without it Newton's iteration diverges sideways once a beam is well rolled up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.types import FloatArray, IntArray
from pliant.models.volume.blocks import ConstrainedFactor
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.response import SolvedResponse


class Twists:
    """The blocks B (k, 3, 3) of k nodes under moments (k, 3) N·m."""

    def __init__(self, nodes: IntArray, moments: FloatArray) -> None:
        self.nodes = nodes
        self.stiffening = np.linalg.norm(moments, axis=1)
        x, y, z = 0.5 * moments.T
        o = np.zeros(len(nodes))
        self.blocks = np.stack([o, z, -y, -z, o, x, y, -x, o], axis=1).reshape(-1, 3, 3)
        self.blocks -= self.stiffening[:, None, None] * np.eye(3)

    def product(self, x: FloatArray) -> FloatArray:
        """B PᵀX for x (n, 2, 3), at the loaded nodes (k, 3)."""
        return np.asarray(np.einsum("krs,ks->kr", self.blocks, x[self.nodes, 1]))


class BeamFactor(SolvedResponse):
    """`CholeskyFactor` over two block rows for each node; `memory` is the factor whose memory can be used again."""

    def __init__(
        self, factor: CholeskyFactor | ConstrainedFactor, memory: CholeskyFactor, twists: Twists | None = None
    ) -> None:
        self._factor = factor
        self.memory = memory
        self._columns: FloatArray | None = None
        if twists is not None and len(twists.nodes):
            self._rows = (6 * twists.nodes[:, None] + np.arange(3, 6)).ravel()
            columns = np.zeros((memory.size, len(self._rows)))
            columns[self._rows, np.arange(len(self._rows))] = 1.0
            self._columns = factor.solve(columns)
            B = np.zeros((len(self._rows),) * 2)
            for k, block in enumerate(twists.blocks):
                B[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = block
            self._inner = np.linalg.solve(np.eye(len(B)) + B @ self._columns[self._rows], B)

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs for rhs of shape (n, 2, 3), (6n,) or (6n, k); the shape is kept."""
        given = np.asarray(rhs, np.float64)
        x = self._factor.solve(given.reshape(-1, 3) if given.ndim == 3 else given).reshape(given.shape)
        if self._columns is None:
            return x
        flat = x.reshape(self.memory.size, -1)
        return (flat - self._columns @ (self._inner @ flat[self._rows])).reshape(given.shape)

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m); its symmetric part where moments make A unsymmetric."""
        if self._columns is None:
            return self._factor.compliance(H)
        W: FloatArray = H @ self.solve(H.T.toarray())
        return 0.5 * (W + W.T)
