"""Condensation: from rows over models to the one small problem that solvers see, δ = δ_free + W λ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from pliant.constraints.rows import Rows
from pliant.core.types import FloatArray, IntArray


class Factor(Protocol):
    """A factorized model: what condensation needs of it."""

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ."""


@dataclass(frozen=True, eq=False)
class Problem:
    """δ = delta_free + W λ. W (m, m) in m/N, delta_free (m,) in m, law (m,)."""

    W: FloatArray
    delta_free: FloatArray
    law: IntArray


def condense(rows: Rows, factors: Sequence[Factor], dx_free: Sequence[FloatArray]) -> Problem:
    """W = Σ H A⁻¹ Hᵀ over the models, δ_free = gap + Σ H dx_free."""
    W = np.zeros((rows.count, rows.count))
    delta_free = rows.gap.copy()
    for H, factor, dx in zip(rows.H, factors, dx_free, strict=True):
        if H.nnz:
            W += factor.compliance(H)
            delta_free += H @ dx.ravel()
    return Problem(W, delta_free, rows.law)
