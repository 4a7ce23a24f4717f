"""Laws of rows in a minimum-energy step: λ of indefinite problems, and how far constraints are violated."""

from __future__ import annotations

import numpy as np

from pliant.constraints import RowLaw, Rows
from pliant.constraints.condense import problem_of
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.contact import MixedProblem, solve
from pliant.solvers.contact.elimination import eliminate
from pliant.solvers.contact.laws import EQUALITY, Roles


def solve_indefinite(p: MixedProblem, warm: FloatArray) -> FloatArray:
    """λ of a problem whose W is indefinite at equality rows: these are eliminated first."""
    fixed = equalities(p)
    if not fixed.any():
        return solve(p, warm).lam if len(warm) else warm
    kept, eliminated = np.flatnonzero(~fixed), np.flatnonzero(fixed)
    q = p.delta_free - np.where(fixed, p.target, 0.0)
    left = eliminate(p.W, q, kept, eliminated, np.ones(len(q)), allowed=np.inf, indefinite=True)
    lam = np.zeros(len(warm))
    if len(kept):
        lam[kept] = solve(problem_of(p, 0.5 * (left.W + left.W.T), left.q, kept), warm[kept]).lam
    lam[eliminated] = left.forces(lam[kept])
    return lam


def equalities(rows: Rows | MixedProblem) -> BoolArray:
    """Rows that have to meet their target, whatever force it takes (`Roles`)."""
    return np.asarray(Roles.of(rows).role == EQUALITY)


def active_equalities(rows: Rows, lam: FloatArray) -> BoolArray:
    """Rows whose δ has to meet its target: bilateral ones, and bounded ones within their bounds."""
    inside = (rows.law == RowLaw.BOUNDED) & (lam > rows.lower) & (lam < rows.upper)
    return np.asarray((rows.law == RowLaw.BILATERAL) | inside)


def violation(rows: Rows, lam: FloatArray) -> FloatArray:
    """δ − target of rows that have to meet their target, 0 for the others. A bounded row may be beyond its target at
    its lower bound, short of it at its upper one.
    """
    missing = rows.gap - rows.target
    bounded = rows.law == RowLaw.BOUNDED
    too_little = np.where(bounded & (lam <= rows.lower), np.minimum(missing, 0.0), 0.0)
    too_much = np.where(bounded & (lam >= rows.upper), np.maximum(missing, 0.0), 0.0)
    return np.where(active_equalities(rows, lam), missing, too_little + too_much)


def imposed_forces_met(rows: Rows, lam: FloatArray) -> bool:
    """Whether rows with a given force have it."""
    given = rows.law == RowLaw.IMPOSED
    return bool(np.allclose(lam[given], rows.target[given], rtol=1e-9, atol=0.0))


def row_norms(rows: Rows) -> FloatArray:
    """Norm of each row over all models: what turns δ into metres."""
    squares = sum(np.asarray(H.multiply(H).sum(axis=1)).ravel() for H in rows.H)
    return np.asarray(np.sqrt(np.maximum(squares, 1e-300)))
