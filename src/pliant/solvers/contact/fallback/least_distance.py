"""Frictionless rows that depend on each other, by the shortest vector of a polyhedron.

Many contacts on few unknowns make W = L Lᵀ of low rank. Its forces are then not unique, but y = Lᵀ x is: the solution
of 0 ≤ x ⊥ W x + q ≥ 0 are the multipliers of

    min ½ ‖y‖²   subject to   L y ≥ −q,

a strictly convex problem in as many variables as W has rank. The dual active-set method of daqp (Arnström, Bemporad,
Axehill, "A dual active-set solver for embedded quadratic programming using recursive LDLᵀ updates", IEEE TAC 67, 2022)
adds one row at a time and never holds two that depend on each other, which is where pivoting on W itself goes astray.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from pliant.core.types import FloatArray

_RANK = 1e-14  # a squared pivot below this fraction of the largest is rounding
_FREE = 1e30  # what daqp takes for no bound
_SOLVED = 1  # daqp's flag of an optimum


def least_distance(W: FloatArray, q: FloatArray) -> tuple[FloatArray, int] | None:
    """x (m,) ≥ 0 and the iterations for a symmetric positive semidefinite W (m, m), scaled to a unit diagonal, and q
    (m,); None where no x gives W x + q ≥ 0, or none was found.
    """
    from daqp import solve

    factor, order, rank, _ = lapack.dpstrf(np.asfortranarray(W), tol=_RANK * float(W.diagonal().max()), lower=1)
    L = np.empty((len(W), rank))
    L[order - 1] = np.tril(factor)[:, :rank]
    none, sense = np.full(len(W), _FREE), np.zeros(len(W), np.int32)
    _, _, flag, info = solve(np.eye(rank), np.zeros(rank), L, none, -q, sense, primal_tol=1e-11)
    return (np.maximum(-info["lam"], 0.0), int(info["iterations"])) if flag == _SOLVED else None
