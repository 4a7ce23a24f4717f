"""Block principal pivoting: exact solution of frictionless rows, boxes with one or two bounds.

Guess which rows are free (u = 0) and which sit at a bound, solve the free ones, and move every row that contradicts its
law to the other side (Júdice and Pires, "A block principal pivoting algorithm for large-scale strictly monotone linear
complementarity problems", Computers & Operations Research 21, 1994). When the number of contradictions does not fall
for a while, only the first one moves (Murty's least-index rule, finite for P-matrices). Free rows that depend on others
are told by a pivoted Cholesky factor and put at their bound, where their u is zero as well. Where this does not end,
`least_distance` takes over if W is symmetric and every row has one bound, and `lemke` if that is not enough.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.solvers.contact.blocks import BlockProblem, Blocks, residual_of
from pliant.solvers.contact.fallback.least_distance import least_distance
from pliant.solvers.contact.fallback.lemke import lemke

_EQUAL = 1e-12  # a contradiction below this is rounding, for scaled problems
_DEPENDENT = 1e-11  # a squared pivot below this fraction of the largest is zero
_PATIENCE = 5  # block steps without progress
_LIMIT = 60  # pivots; block pivoting usually ends within 10 or cycles
_LOWER, _FREE, _UPPER = -1, 0, 1


def solve_boxes(problem: BlockProblem, *, start: FloatArray | None, tolerance: float) -> tuple[FloatArray, float, int]:
    """r of a scaled problem without cones, its residual and the pivots: block pivots first, Lemke's method after.

    Every box has at least one finite bound; rows without any are eliminated before.
    """
    sides = _first_sides(problem, start)
    r, pivots = _block_pivots(problem, sides, _PATIENCE)
    residual = residual_of(problem, r)
    if residual <= tolerance:
        return r, residual, pivots
    again = _shortest(problem) if _is_cone(problem) else _block_pivots(problem, sides, _LIMIT)
    if again is not None:
        r, more = again
        pivots, residual = pivots + more, residual_of(problem, r)
        if residual <= tolerance:
            return r, residual, pivots
    side, more = _lemke_sides(problem)
    other = _solve_free(problem, side)[0]
    other_residual = residual_of(problem, other)
    return (other, other_residual, pivots + more) if other_residual < residual else (r, residual, pivots + more)


def _is_cone(problem: BlockProblem) -> bool:
    """Whether every row has one bound, and W is symmetric."""
    b, W = problem.blocks, problem.W
    if (np.isfinite(b.lower) & np.isfinite(b.upper)).any():
        return False
    return bool(np.array_equal(W, W.T) or np.abs(W - W.T).max() <= 1e-12 * np.abs(W).max())


def _shortest(problem: BlockProblem) -> tuple[FloatArray, int] | None:
    """r and the iterations by the shortest vector, None where none is found."""
    b, W = problem.blocks, problem.W
    low = np.isfinite(b.lower)
    sign, origin = np.where(low, 1.0, -1.0), np.where(low, b.lower, b.upper)
    found = least_distance(sign[:, None] * (0.5 * (W + W.T)) * sign, sign * problem.slip(origin))
    return None if found is None else (origin + sign * found[0], found[1])


def _first_sides(problem: BlockProblem, start: FloatArray | None) -> IntArray:
    """Sides from a previous solution, or from the gaps without forces."""
    b = problem.blocks
    r = np.clip(np.zeros(len(problem.q)) if start is None else start, b.lower, b.upper)
    reach = r - problem.slip(r)
    return np.where(reach <= b.lower, _LOWER, np.where(reach >= b.upper, _UPPER, _FREE)).astype(np.int32)


def _block_pivots(problem: BlockProblem, side: IntArray, single: int) -> tuple[FloatArray, int]:
    """r and the pivots, ended after `single` pivots of one row at a time."""
    fewest, patience, pivot = len(side) + 1, _PATIENCE, 0
    while pivot < _LIMIT and patience > -single:
        r, u, side = _solve_free(problem, side)
        wanted = _wanted_sides(problem.blocks, r, u, side)
        wrong = np.flatnonzero(wanted != side)
        if not len(wrong):
            return np.clip(r, problem.blocks.lower, problem.blocks.upper), pivot + 1
        if len(wrong) < fewest:
            fewest, patience = len(wrong), _PATIENCE
        else:
            patience -= 1
        moved = wrong if patience > 0 else wrong[:1]
        side = side.copy()
        side[moved] = wanted[moved]
        pivot += 1
    return np.clip(r, problem.blocks.lower, problem.blocks.upper), pivot


def _wanted_sides(b: Blocks, r: FloatArray, u: FloatArray, side: IntArray) -> IntArray:
    """Where each row would have to be, judged by the solution of the current guess."""
    wanted = side.copy()
    size = _EQUAL * max(1.0, float(np.abs(r).max(initial=0.0)))
    wanted[(side == _FREE) & (r < b.lower - size)] = _LOWER
    wanted[(side == _FREE) & (r > b.upper + size)] = _UPPER
    wanted[((side == _LOWER) & (u < -size)) | ((side == _UPPER) & (u > size))] = _FREE
    return wanted


def _solve_free(problem: BlockProblem, side: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """r with u = 0 on the free rows and the others at their bounds; dependent free rows are moved to a bound."""
    b = problem.blocks
    nearest = np.where(np.isfinite(b.lower), b.lower, np.where(np.isfinite(b.upper), b.upper, 0.0))
    r = np.where(side == _LOWER, b.lower, np.where(side == _UPPER, b.upper, nearest))
    free = np.flatnonzero(side == _FREE)
    if len(free):
        r[free] = 0.0
        solution, dependent = _solve_independent(
            np.asfortranarray(problem.W[np.ix_(free, free)]), -problem.slip(r)[free], nearest[free]
        )
        r[free] = solution
        side = side.copy()
        moved = free[dependent]
        side[moved] = np.where(np.isfinite(b.lower[moved]), _LOWER, _UPPER)
    return r, problem.slip(r), side


def _solve_independent(A: FloatArray, right: FloatArray, fixed: FloatArray) -> tuple[FloatArray, BoolArray]:
    """x with A x = right on a largest set of independent rows and x = fixed on the others, and which those are."""
    dependent = np.zeros(len(A), np.bool_)
    if not np.array_equal(A, A.T) and np.abs(A - A.T).max() > 1e-13 * np.abs(A).max():
        *_, x, info = lapack.dgesv(A, right)
        if info or not np.isfinite(x).all():
            x = np.linalg.lstsq(A, right, rcond=_DEPENDENT)[0]
        return x, dependent
    factor, order, rank, _ = lapack.dpstrf(A, tol=_DEPENDENT * A.diagonal().max(), lower=1)
    kept: IndexArray = order[:rank] - 1
    dependent[order[rank:] - 1] = True
    x = fixed.copy()
    load = right[kept] - (A[np.ix_(kept, np.flatnonzero(dependent))] @ fixed[dependent] if dependent.any() else 0.0)
    if rank:
        x[kept] = lapack.dpotrs(factor[:rank, :rank], load, lower=1)[0]
        rest = load - A[np.ix_(kept, kept)] @ x[kept]
        x[kept] += lapack.dpotrs(factor[:rank, :rank], rest, lower=1)[0]
    return x, dependent


def _lemke_sides(problem: BlockProblem) -> tuple[IntArray, int]:
    """Sides of a solution by Lemke's method, on x = r − lower (or upper − r) ≥ 0 with a second row for two bounds."""
    b = problem.blocks
    sign = np.where(np.isfinite(b.lower), 1.0, -1.0)
    origin = np.where(np.isfinite(b.lower), b.lower, np.where(np.isfinite(b.upper), b.upper, 0.0))
    two = np.flatnonzero(np.isfinite(b.lower) & np.isfinite(b.upper))
    n, extra = len(sign), len(two)
    M, q = np.zeros((n + extra, n + extra)), np.zeros(n + extra)
    M[:n, :n] = sign[:, None] * problem.W * sign
    M[two, n + np.arange(extra)] = 1.0
    M[n + np.arange(extra), two] = -1.0
    q[:n] = sign * problem.slip(origin)
    q[n:] = b.upper[two] - b.lower[two]
    chosen, _, pivots = lemke(M, q, maximum_pivots=50 * len(q) + 100)
    at_origin = np.where(np.isfinite(b.lower), _LOWER, _UPPER)
    side = np.where(chosen[:n], _FREE, at_origin).astype(np.int32)
    side[two[chosen[n:]]] = _UPPER
    return side, pivots
