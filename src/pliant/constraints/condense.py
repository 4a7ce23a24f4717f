"""Condensation: from rows over models to the small problem of the solvers, δ = δ_free + W λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pliant.constraints.rows import Rows
from pliant.core.arrays import frozen
from pliant.core.types import FloatArray
from pliant.models.model import Factor
from pliant.solvers.contact import MixedProblem
from pliant.solvers.linear.response import Motion, RowMotion, add_block, touching_rows


class Condensation(NamedTuple):
    """The `problem` δ = δ_free + W λ, and how each body moves under the forces of its rows, None where it has none."""

    problem: MixedProblem
    motions: tuple[RowMotion | None, ...]


def condense(rows: Rows, free: Sequence[Motion]) -> Condensation:
    """W = Σ H A⁻¹ Hᵀ over the models, δ_free = gap + Σ H dx_free of their motions `free`, with the laws of the rows."""
    delta_free, W = rows.gap.copy(), np.zeros((rows.count, rows.count))
    moved = [motion.condense(H, W, delta_free) if len(H.data) else None for H, motion in zip(rows.H, free, strict=True)]
    return Condensation(problem_of(rows, W, delta_free), tuple(moved))


def compliance(H: Sequence[sparse.csr_matrix], factors: Sequence[Factor]) -> FloatArray:
    """W = Σ H A⁻¹ Hᵀ over the models, (m, m), m/N, of rows H (m, unknowns). Each model adds the block of the rows that
    move it.
    """
    count = H[0].shape[0]
    W = None
    for own, factor in zip(H, factors, strict=True):
        if not len(own.data):
            continue
        touching, rows = touching_rows(own)
        if rows is None:
            added = factor.compliance(own)
            W = np.ascontiguousarray(added) if W is None else np.add(W, added, out=W)
            continue
        W = np.zeros((count, count)) if W is None else W
        add_block(rows, frozen(np.ascontiguousarray(factor.compliance(touching))), W)
    return np.zeros((count, count)) if W is None else W


def problem_of(rows: Rows | MixedProblem, W: FloatArray, delta_free: FloatArray, picked: Any = None) -> MixedProblem:
    """The problem of the rows `picked` (k,), all by default, with their W (k, k) and δ_free (k,)."""
    laws = (rows.law, rows.mu, rows.lower, rows.upper, rows.target)
    return MixedProblem(W, delta_free, *(laws if picked is None else (values[picked] for values in laws)))
