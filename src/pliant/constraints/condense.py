"""Condensation: from rows over models to the small problem of the solvers, δ = δ_free + W λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.rows import Rows
from pliant.core.arrays import add_product, csr, frozen
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray
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
    """W = Σ H A⁻¹ Hᵀ over the models, (m, m), m/N, of rows H (m, unknowns). Each model adds the block of the rows that
    move it.
    """
    count = H[0].shape[0]
    W = None
    for own, factor in zip(H, factors, strict=True):
        if not len(own.data):
            continue
        rows = np.flatnonzero(own.indptr[1:] > own.indptr[:-1])
        if len(rows) == count:
            added = factor.compliance(own)
            W = np.ascontiguousarray(added) if W is None else np.add(W, added, out=W)
            continue
        W = np.zeros((count, count)) if W is None else W
        starts = own.indptr[np.append(rows, rows[-1] + 1)]  # rows between them are empty
        block = factor.compliance(csr(own.data, own.indices, starts, (len(rows), own.shape[1])))
        _add_block(rows, frozen(np.ascontiguousarray(block)), W)
    return np.zeros((count, count)) if W is None else W


@kernel
def _add_block(rows: IndexArray, block: FloatArray, W: FloatArray) -> None:
    """W[rows, rows] += block."""
    for i in range(len(rows)):
        for j in range(len(rows)):
            W[rows[i], rows[j]] += block[i, j]


def problem_of(rows: Rows | MixedProblem, W: FloatArray, delta_free: FloatArray, picked: Any = None) -> MixedProblem:
    """The problem of the rows `picked` (k,), all by default, with their W (k, k) and δ_free (k,)."""
    laws = (rows.law, rows.mu, rows.lower, rows.upper, rows.target)
    return MixedProblem(W, delta_free, *(laws if picked is None else (values[picked] for values in laws)))
