"""The factor of a matrix in which single directions of nodes are held: they take no force and do not move."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.response import SolvedResponse


class ConstrainedFactor(SolvedResponse):
    """A factor whose held unknowns, decoupled in the matrix, are taken out of what is given to it.

    `held` (k,) are their numbers. Forces on them are left to the support, so they appear neither in solutions nor in W.
    """

    def __init__(self, factor: CholeskyFactor, constrained: IndexArray) -> None:
        self.factor = factor
        self._constrained = constrained

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs over the free unknowns, of the shape of rhs."""
        free = np.array(rhs, np.float64)
        free.reshape(self.factor.size, -1)[self._constrained] = 0.0
        return self.factor.solve(free)

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ over the free unknowns, (m, m)."""
        free = np.ones(self.factor.size)
        free[self._constrained] = 0.0
        return self.factor.compliance(H @ sparse.diags(free, format="csr"))
