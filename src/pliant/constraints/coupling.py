"""Stiffness between models, as rows: what the forces of rows add to the tangent across two models.

Each model is factorized alone. Its own part of −λ ∂²δ/∂q² goes into its matrix; the part between models is EᵀCE with
few rows E over all models, and

    (A + EᵀCE) dx = r + Hᵀλ    is    A dx = r + Hᵀλ + Eᵀμ    with    E dx + C⁻¹μ = 0:

rows with the compliance C⁻¹ added to their W (Woodbury's formula). Eliminated, they leave the W of the coupled models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from pliant.constraints.condense import compliance
from pliant.core.arrays import stacked
from pliant.core.types import FloatArray
from pliant.models.model import Factor


@dataclass(frozen=True, eq=False)
class Coupling:
    """Rows `E`, one CSR matrix (k, unknowns) for each model, with the symmetric `compliance` C⁻¹ (k, k)."""

    E: tuple[sparse.csr_matrix, ...]
    compliance: FloatArray


def with_couplings(
    H: Sequence[sparse.csr_matrix], factors: Sequence[Factor], couplings: Sequence[Coupling]
) -> FloatArray:
    """Compliance (m + k, m + k) of rows H (m, unknowns) and the k rows of `couplings` after them, without C⁻¹."""
    return compliance([stacked([h, *(one.E[k] for one in couplings)]) for k, h in enumerate(H)], factors)


def couple(W: FloatArray, couplings: Sequence[Coupling]) -> FloatArray:
    """W (m, m) of the coupled models, from W (m + k, m + k) of `with_couplings`, other rows eliminated or not."""
    compliance = linalg.block_diag(*(coupling.compliance for coupling in couplings))
    count = len(W) - len(compliance)
    inner, across = W[count:, count:] + compliance, W[count:, :count]
    made: FloatArray = W[:count, :count] - across.T @ np.linalg.solve(inner, across)
    return 0.5 * (made + made.T)
