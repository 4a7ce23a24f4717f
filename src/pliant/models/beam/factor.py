"""The factor of a beam's matrix, for vectors of the shape of dx."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.types import FloatArray
from pliant.models.volume.held_factor import HeldFactor
from pliant.solvers.linear.factor import CholeskyFactor


class BeamFactor:
    """`CholeskyFactor` over two block rows for each node; `memory` is the factor whose memory can be used again."""

    def __init__(self, factor: CholeskyFactor | HeldFactor, memory: CholeskyFactor) -> None:
        self._factor = factor
        self.memory = memory

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs for rhs of shape (n, 2, 3), (6n,) or (6n, k); the shape is kept."""
        given = np.asarray(rhs, np.float64)
        flat = given.reshape(-1, 3) if given.ndim == 3 else given
        return self._factor.solve(flat).reshape(given.shape)

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ, (m, m)."""
        return self._factor.compliance(H)
