"""Rows that have to meet their target, and the forces of all others beside them."""

from __future__ import annotations

import numpy as np

from pliant.constraints import RowLaw, Rows
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.complementarity import MixedProblem, solve


def solved(p: MixedProblem, fixed: BoolArray, warm: FloatArray) -> FloatArray:
    """λ of a problem whose rows `fixed` have to meet their target."""
    if not fixed.any():
        return solve(p, warm).lam if len(warm) else warm
    rest = ~fixed
    right = np.column_stack([(p.delta_free - p.target)[fixed], p.W[np.ix_(fixed, rest)]])
    solution = np.linalg.solve(p.W[np.ix_(fixed, fixed)], right)
    lam = np.zeros(len(warm))
    if rest.any():
        across = p.W[np.ix_(rest, fixed)]
        W = p.W[np.ix_(rest, rest)] - across @ solution[:, 1:]
        given = p.delta_free[rest] - across @ solution[:, 0]
        kept = MixedProblem(
            0.5 * (W + W.T), given, p.law[rest], p.mu[rest], p.lower[rest], p.upper[rest], p.target[rest]
        )
        lam[rest] = solve(kept, warm[rest]).lam
    lam[fixed] = -solution[:, 0] - solution[:, 1:] @ lam[rest]
    return lam


def unbounded(rows: Rows) -> BoolArray:
    """Rows that have to meet their target, whatever force it takes."""
    open_ones = (rows.law == RowLaw.BOUNDED) & (rows.lower == -np.inf) & (rows.upper == np.inf)
    found: BoolArray = (rows.law == RowLaw.BILATERAL) | open_ones
    return found


def meeting(rows: Rows, lam: FloatArray) -> BoolArray:
    """Rows whose δ has to meet its target: bilateral ones, and bounded ones within their bounds."""
    inside = (rows.law == RowLaw.BOUNDED) & (lam > rows.lower) & (lam < rows.upper)
    met: BoolArray = (rows.law == RowLaw.BILATERAL) | inside
    return met


def lack(rows: Rows, lam: FloatArray) -> FloatArray:
    """What δ of rows that have to meet their target lacks, 0 for the others. A bounded one at its lower bound may be
    beyond its target, at its upper bound short of it.
    """
    missing = rows.gap - rows.target
    bounded = rows.law == RowLaw.BOUNDED
    too_little = np.where(bounded & (lam <= rows.lower), np.minimum(missing, 0.0), 0.0)
    too_much = np.where(bounded & (lam >= rows.upper), np.maximum(missing, 0.0), 0.0)
    return np.where(meeting(rows, lam), missing, too_little + too_much)


def imposed(rows: Rows, lam: FloatArray) -> bool:
    """Whether rows with a given force have it."""
    given = rows.law == RowLaw.IMPOSED
    return bool(np.allclose(lam[given], rows.target[given], rtol=1e-9, atol=0.0))


def lengths(rows: Rows) -> FloatArray:
    """Norm of each row over all models: what turns δ into metres."""
    squares = sum(np.asarray(H.multiply(H).sum(axis=1)).ravel() for H in rows.H)
    norms: FloatArray = np.sqrt(np.maximum(squares, 1e-300))
    return norms
