"""A basis of snapshots: a few of them whose non-negative combinations come close to all others.

Greedy: the most intense snapshot first, then always the one that is approximated worst. Every mode is a force that
really occurred; the basis reaches a tolerance on the worst snapshot, not on the mean (the strong greedy algorithm of
reduced bases, on a cone: Benaceur, Ern and Ehrlacher, Int. J. Numer. Meth. Engng 121, 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.reduction.nnls import non_negative_fit
from pliant.reduction.nnmf import checked_snapshots


@one_line
@dataclass(frozen=True, eq=False)
class ConeBasis:
    """Chosen snapshots as modes.

    `basis` (contacts, rank), no unit, has columns of unit 2-norm; `picked` (rank,) says which snapshots they are, in
    the order of choice; `weights` (rank, snapshots) ≥ 0, N. `error` is ‖S − ΨB‖ / ‖S‖ in Frobenius norm. `errors`
    (rank + 1,), no unit, is the worst ‖s − Ψb‖ / max ‖s‖ over the snapshots with 0, 1, … rank modes.
    """

    basis: FloatArray
    picked: IndexArray
    weights: FloatArray
    error: float
    errors: FloatArray

    @property
    def rank(self) -> int:
        """Number of modes."""
        return self.basis.shape[1]


@declared
def cone_basis(snapshots: Any, *, tolerance: float, largest: int | None = None) -> ConeBasis:
    """Choose `snapshots` (contacts, snapshots) ≥ 0, N, until all are non-negative combinations of the chosen ones up to
    `tolerance` of the largest 2-norm (usual 1e-1 … 1e-3), or until there are `largest` of them.
    """
    S = checked_snapshots(snapshots)
    positive("tolerance", tolerance)
    limit = S.shape[1] if largest is None else min(positive_count("largest", largest), S.shape[1])
    sizes = np.linalg.norm(S, axis=0)
    scale = float(sizes.max())
    if scale == 0.0:
        raise InputError("the snapshots hold no forces at all, so there is no basis of them: record steps in contact")
    left, errors = sizes.copy(), [1.0]
    picked: list[int] = []
    basis: FloatArray = np.zeros((S.shape[0], 0))
    weights: FloatArray = np.zeros((0, S.shape[1]))
    while errors[-1] > tolerance and len(picked) < limit:
        worst = int(left.argmax())
        picked.append(worst)
        basis = np.column_stack([basis, S[:, worst] / sizes[worst]])
        weights = np.vstack([weights, np.zeros(S.shape[1])])
        open_ = np.flatnonzero(left > 0.1 * tolerance * scale)  # the others are close enough as they are
        weights[:, open_] = non_negative_fit(basis, S[:, open_])
        left[open_] = np.linalg.norm(S[:, open_] - basis @ weights[:, open_], axis=0)
        left[worst] = 0.0
        errors.append(float(left.max()) / scale)
    error = float(np.linalg.norm(S - basis @ weights) / np.linalg.norm(S))
    return ConeBasis(basis, np.array(picked, np.int64), weights, error, np.array(errors))
