"""Rows with u = 0 and a free force, removed before anything is iterated.

With rows B bilateral and rows K kept, u_B = 0 gives λ_B = −G (q_B + W_BK λ_K) and leaves

    u_K = (W_KK − W_KB G W_BK) λ_K + q_K − W_KB G q_B,     G = W_BB⁻¹,

the Schur complement. Where bilateral rows are redundant, G is the pseudo-inverse: redundant attachments split their
load, and it is checked that they prescribe the same gaps. W_BB may be indefinite where the matrix behind W is: that of
a chamber whose pressure falls as it grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from pliant.core.types import FloatArray, IndexArray
from pliant.solvers.contact.certificate import conflict

SINGULAR = 1e-11  # eigenvalues below this fraction of the largest are zero, for rows of unit compliance
UNSYMMETRIC = 1e-12  # differences of two entries above this are none of rounding, for rows of unit compliance
RIGID = 1e-11  # a kept row with less than this fraction of its compliance left cannot move


@dataclass(frozen=True, eq=False)
class Elimination:
    """The kept rows with their W and q, and what gives the forces of the eliminated ones back: those of q, in its
    shape, and those of a unit force of each kept row.
    """

    W: FloatArray
    q: FloatArray
    forces_free: FloatArray
    forces_kept: FloatArray

    def forces(self, lam_kept: FloatArray) -> FloatArray:
        """λ of the eliminated rows, for q (m,)."""
        lam: FloatArray = self.forces_free + self.forces_kept @ lam_kept
        return lam


def eliminate(
    W: FloatArray, q: FloatArray, kept: IndexArray, eliminated: IndexArray, D: FloatArray, *, allowed: float,
    indefinite: bool = False,
) -> Elimination:  # fmt: skip
    """Remove the rows `eliminated`; D (m,) scales every row to unit compliance.

    q (m,) are the gaps without forces; of q (m, k) further columns are changes of theirs that are treated alike. Raises
    `ConflictingRowsError` where redundant rows of the first differ by more than `allowed`, a bound on the scaled gaps.
    `indefinite` W are solved as they are: then redundant rows raise NumPy's `LinAlgError`, and kept rows that the
    eliminated ones make rigid stay.
    """
    if not len(eliminated):
        return Elimination(*_parts(W, q, kept), np.zeros((0, *q.shape[1:])), np.zeros((0, len(kept))))
    D = D[eliminated]
    right = np.column_stack([q[eliminated], W[np.ix_(eliminated, kept)]]) * D[:, None]
    scaled = D[:, None] * W[np.ix_(eliminated, eliminated)] * D
    if indefinite:
        solution = np.linalg.solve(scaled, right)
    else:
        solution, null = _solve(scaled, right)
        _check_redundant(null, right[:, 0], eliminated, allowed)
    forces = -D[:, None] * solution
    count = right.shape[1] - len(kept)
    forces_free, forces_kept = forces[:, :count].reshape(-1, *q.shape[1:]), forces[:, count:]
    W_kept, q_kept = _parts(W, q, kept)
    across = W[np.ix_(kept, eliminated)]
    before = W_kept.diagonal().copy()
    W_kept = W_kept + across @ forces_kept
    if not indefinite:
        rigid = W_kept.diagonal() <= RIGID * before
        W_kept[rigid] = 0.0
        W_kept[:, rigid] = 0.0
    q_kept = q_kept + across @ forces_free
    return Elimination(W_kept, q_kept, forces_free, forces_kept)


def _parts(W: FloatArray, q: FloatArray, rows: IndexArray) -> tuple[FloatArray, FloatArray]:
    if len(rows) == len(q) and (np.diff(rows) == 1).all():
        return W, q
    return W[np.ix_(rows, rows)], q[rows]


def _solve(A: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A⁻¹ right, or A⁺ right, and an orthonormal basis of the null space of Aᵀ."""
    symmetric = np.abs(A - A.T).max() <= UNSYMMETRIC
    if symmetric:
        factor, info = lapack.dpotrf(A, lower=1)
        if not info and factor.diagonal().min() ** 2 > SINGULAR:
            return lapack.dpotrs(factor, right, lower=1)[0], np.zeros((len(A), 0))
    left, values, right_vectors = np.linalg.svd(A, hermitian=bool(symmetric))
    used = values > SINGULAR * values.max(initial=0.0)
    inverse = right_vectors[used].T / values[used] @ left[:, used].T
    return inverse @ right, left[:, ~used]


def _check_redundant(null: FloatArray, q: FloatArray, rows: IndexArray, allowed: float) -> None:
    """q must have no part that the forces cannot reach."""
    rest = np.abs(null @ (null.T @ q))
    if rest.max(initial=0.0) > allowed:
        worst = float(rest.max())
        raise conflict(rows[rest > 1e-3 * worst], "they are redundant and prescribe different gaps")
