"""Stiffness along the active rows that makes a tangent positive definite where these rows alone do.

A billet that plates compress to less than half its height has an indefinite tangent K, which friction and the plates
stabilize: K is positive definite in the motions that the active rows H leave. K + ρ HᵀH then is positive definite for
some ρ (Finsler's lemma), with the same correction where the rows keep their δ, so that Newton's iteration converges
quadratically where a projected tangent would converge linearly. What remains is removed by `stepping.refinement`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.constraints import RowLaw
from pliant.core.types import FloatArray
from pliant.stepping.active_rows import kept_rows
from pliant.stepping.stages import Step

STIFFER = ((1.0, False), (1.0, True), (10.0, False))
"""What is tried in turn: ρ over the stiffness of a node, small enough to leave the compliance of the rows its digits,
and whether slip across forces of friction is resisted. The last one is for contacts with friction: those that stick
hold a node in all directions, and a plug far beyond the load at which it would buckle without them.
"""
STIFFENED = 10
"""Linear solves with an indefinite tangent stiffened along the active rows. Longer, contacts change between stick and
slip from solve to solve, and a projected tangent converges more surely.
"""


def contact_blocks(step: Step, index: int, diagonal: FloatArray, *, stiffer: float, across: bool) -> FloatArray | None:
    """ρ HᵀH of the rows that were active in the last linear solve of `step`, as 3 × 3 blocks (n, 3, 3) of the nodes of
    body `index`, whose stiffness has the `diagonal` (n, 3) N/m; ρ is `stiffer` times that of a node. None where no row
    acts on it. Slip `across` a force of friction, which other forces allow, is resisted only where it is asked for: in
    a narrow pipe nothing else holds a plug that turns about its axis.

    A row over several nodes is lumped: S Σ |hₙ| (ĥₙ·xₙ)², with S = Σ |hₙ|, is no less than (Σ hₙ·xₙ)².
    """
    assembly, lam = step.assembly, step.lam
    if assembly is None or not len(lam) or diagonal.ndim != 2 or diagonal.shape[1] != 3:
        return None
    if stiffer > STIFFER[0][0] and not (assembly.rows.law == RowLaw.COULOMB).any():
        return None
    kept = kept_rows(assembly.rows, lam, stuck=False)[0]
    if not across:
        kept = kept[np.diff(kept.indptr) == 1]
    H: Any = (kept @ assembly.rows.H[index]).tocoo()
    if not H.nnz:
        return None
    nodes = len(diagonal)
    pairs, place = np.unique(H.row.astype(np.int64) * nodes + H.col // 3, return_inverse=True)
    parts = np.zeros((len(pairs), 3))
    parts[place, H.col % 3] = H.data
    rows, at = pairs // nodes, pairs % nodes
    sizes = np.linalg.norm(parts, axis=1)
    total = np.bincount(rows, sizes, minlength=H.shape[0])
    used = sizes > 0.0
    scale = stiffer * diagonal.mean(axis=1)[at[used]] * total[rows[used]] / sizes[used]
    blocks = np.zeros((nodes, 3, 3))
    np.add.at(blocks, at[used], scale[:, None, None] * parts[used, :, None] * parts[used, None, :])
    return blocks
