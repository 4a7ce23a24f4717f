"""Snapshots as non-negative combinations of modes: B ≥ 0 that minimises ‖S − ΨB‖, column by column.

With Ψ = QR, ‖s − Ψb‖² = ‖Qᵀs − Rb‖² + ‖s − QQᵀs‖²: the non-negative least squares of each snapshot (Lawson and Hanson)
have as many rows as there are modes, whatever the number of contacts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray


def non_negative_fit(basis: Any, snapshots: Any) -> FloatArray:
    """Weights (rank, snapshots) ≥ 0, N, with which the modes `basis` (contacts, rank) come closest to `snapshots`
    (contacts, snapshots), N, in the 2-norm of each.
    """
    from scipy.optimize import nnls  # loaded here: it takes long, and only offline work needs it

    modes = finite_array("basis", basis, shape=(None, None))
    S = finite_array("snapshots", snapshots, shape=(None, None))
    if len(modes) != len(S):
        raise InputError(f"basis has {len(modes)} contacts, the snapshots {len(S)}; both need the same rows")
    weights: FloatArray = np.zeros((modes.shape[1], S.shape[1]))
    live = np.flatnonzero(modes.any(axis=0))
    if not len(live):
        return weights
    with one_blas_thread():
        Q, R = np.linalg.qr(modes[:, live])
        right = Q.T @ S
        for column in np.flatnonzero(S.any(axis=0)):
            weights[live, column] = nnls(R, right[:, column])[0]
    return weights


def fit_error(basis: FloatArray, snapshots: FloatArray, weights: FloatArray | None = None) -> float:
    """‖S − ΨB‖ / ‖S‖ in Frobenius norm, with the best B ≥ 0 unless `weights` (rank, snapshots), N, are given; 0 where
    there are no forces. `basis` is (contacts, rank), `snapshots` (contacts, snapshots), N.
    """
    size = float(np.linalg.norm(snapshots))
    if size == 0.0:
        return 0.0
    B = non_negative_fit(basis, snapshots) if weights is None else weights
    return float(np.linalg.norm(snapshots - basis @ B)) / size
