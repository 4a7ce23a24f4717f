"""Condensation: from rows over models to the one small problem that solvers see, δ = δ_free + W λ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.constraints.rows import Rows
from pliant.core.arrays import add_product
from pliant.core.types import FloatArray
from pliant.models.model import Factor
from pliant.solvers.contact import MixedProblem


def condense(rows: Rows, factors: Sequence[Factor], dx_free: Sequence[FloatArray]) -> MixedProblem:
    """W = Σ H A⁻¹ Hᵀ over the models, δ_free = gap + Σ H dx_free, with the laws of the rows."""
    W = np.zeros((rows.count, rows.count))
    delta_free = rows.gap.copy()
    for H, factor, dx in zip(rows.H, factors, dx_free, strict=True):
        if H.nnz:
            W += factor.compliance(H)
            add_product(H, dx, delta_free)
    return MixedProblem(W, delta_free, rows.law, rows.mu, rows.lower, rows.upper, rows.target)
