"""Condensation: from rows over models to the small problem of the solvers, δ = δ_free + W λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.rows import Rows
from pliant.core.arrays import add_product
from pliant.core.types import FloatArray
from pliant.models.model import Factor
from pliant.solvers.contact import MixedProblem


def condense(rows: Rows, factors: Sequence[Factor], dx_free: Sequence[FloatArray]) -> MixedProblem:
    """W = Σ H A⁻¹ Hᵀ over the models, δ_free = gap + Σ H dx_free, with the laws of the rows."""
    delta_free = rows.gap.copy()
    for H, dx in zip(rows.H, dx_free, strict=True):
        if H.nnz:
            add_product(H, dx, delta_free)
    return problem_of(rows, compliance(rows.H, factors), delta_free)


def compliance(H: Sequence[sparse.csr_matrix], factors: Sequence[Factor]) -> FloatArray:
    """W = Σ H A⁻¹ Hᵀ over the models, (m, m), m/N, of rows H (m, unknowns)."""
    W = np.zeros((H[0].shape[0], H[0].shape[0]))
    for own, factor in zip(H, factors, strict=True):
        if own.nnz:
            W += factor.compliance(own)
    return W


def problem_of(rows: Rows | MixedProblem, W: FloatArray, delta_free: FloatArray, picked: Any = None) -> MixedProblem:
    """The problem of the rows `picked` (k,), all by default, with their W (k, k) and δ_free (k,)."""
    laws = (rows.law, rows.mu, rows.lower, rows.upper, rows.target)
    return MixedProblem(W, delta_free, *(laws if picked is None else (values[picked] for values in laws)))
