"""Alternating least squares as published for contact forces (goury2021, Algorithm 1; Berry et al., Computational
Statistics & Data Analysis 52, 2007).

Each factor in turn solves unconstrained normal equations, and its negative values are set to zero. Nothing makes the
error fall: it may rise from one iteration to the next, so the best iterate is kept here.
"""

from __future__ import annotations

import numpy as np

from pliant.core.status import Status
from pliant.core.types import FloatArray
from pliant.reduction.hals import Factors


def als(S: FloatArray, rank: int, rng: np.random.Generator, *, starts: int, iterations: int) -> Factors:
    """The best iterate of `starts` random starts with `iterations` each, for S (contacts, snapshots)."""
    best = Factors(np.zeros((rank, S.shape[0])), np.zeros((rank, S.shape[1])), float(np.vdot(S, S)))
    for _ in range(starts):
        basis = rng.random((S.shape[0], rank))  # line 2
        for _ in range(iterations):
            weights = np.maximum(_least_squares(basis.T @ basis, basis.T @ S), 0.0)  # lines 4 and 5
            basis = np.maximum(_least_squares(weights @ weights.T, weights @ S.T), 0.0).T  # lines 6 and 7
            squared = float(np.linalg.norm(S - basis @ weights)) ** 2  # line 8
            if squared < best.squared:
                best = Factors(np.ascontiguousarray(basis.T), weights, squared)
    return Factors(best.W, best.H, best.squared, starts * iterations, Status.FIXED_ITERATIONS)


def _least_squares(gram: FloatArray, right: FloatArray) -> FloatArray:
    """The least-norm solution of gram X = right, (rank, m); modes that were clipped away make gram singular."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-14 * max(float(values[-1]), 1e-300)  # rounding of eigenvalues
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return np.asarray(vectors @ (inverse[:, None] * (vectors.T @ right)))
