"""Coulomb friction by Gauss–Seidel and Newton: the main path; what stalls goes to `fallback.restarts`.

Sweeps or full Newton steps from the last forces solve most problems (`full_steps`). The others go on in rounds: sweeps
find which contacts are open, stick and slide; Newton finishes (Daviet, Bertails-Descoubes, Boissieux, "A hybrid
iterative solver for robustly capturing Coulomb friction in hair dynamics", ACM TOG 30, 2011, pair the two the other way
round). These can stall on hyperstatic sets with a large μ, where the problem is
far from convex. All of it ends with the `budget`.
"""

from __future__ import annotations

import numpy as np

from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray
from pliant.solvers.contact.blocks import BlockProblem, projected, residual_of
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.certificate import conflicting_rows
from pliant.solvers.contact.fallback.restarts import restart
from pliant.solvers.contact.first_attempt import Attempt
from pliant.solvers.contact.full_steps import full_steps
from pliant.solvers.contact.gauss_seidel import gauss_seidel
from pliant.solvers.contact.newton import newton
from pliant.solvers.linear.lapack import lapack

_MOST_SWEEPS = 200  # of one round: beyond, sweeps converge so slowly that Newton is cheaper
_ROUND_STEPS = 60  # of Newton in one round: one for each redundant contact, then quadratic
_ROUNDS = 4  # before the fallbacks


class Iterate:
    """The best r met so far and its residual, within a budget."""

    def __init__(self, problem: BlockProblem, r: FloatArray, tolerance: float, budget: Budget) -> None:
        self.problem, self.tolerance, self.budget = problem, tolerance, budget
        self.columns = np.ascontiguousarray(problem.W.T)
        self.r, self.residual = r, residual_of(problem, r)

    def full_steps(self, known: Attempt | None = None) -> tuple[FloatArray, float]:
        """Sweeps or Newton steps of full length from r, or those `known`: the best r of them and its residual. Where
        they fail they may have left redundant forces large, so that rounds had better go on from the start.
        """
        if known is None:
            p, r = self.problem, self.r.copy()
            residual, iterations, taken = full_steps(
                p.W, self.columns, p.q, p.blocks, r, self.tolerance, *self.budget.first, lapack()
            )
        else:
            r, iterations, taken = known
            residual = residual_of(self.problem, r)
        self.budget.take(iterations, taken / max(iterations, 1))
        if residual <= self.budget.allowed(self.tolerance):
            self.offer(r, residual)
        return r, residual

    @property
    def done(self) -> bool:
        """Whether the residual is small enough or the budget is spent."""
        return self.residual <= self.budget.allowed(self.tolerance) or self.budget.spent

    def offer(self, r: FloatArray, residual: float) -> None:
        """Keep r where it is better than the best so far."""
        if residual < self.residual:
            self.r, self.residual = r, residual

    def round(self, r: FloatArray, sweeps: int) -> FloatArray:
        """Sweeps from r, then Newton from there; returns where the next round starts."""
        r, u = r.copy(), self.problem.slip(r)
        gauss_seidel(self.columns, r, u, self.problem.blocks, self.budget.take_sweeps(sweeps, len(r)))
        self.offer(r, residual_of(self.problem, r))
        if self.done:
            return r
        finer, residual = newton(self.problem, r, tolerance=self.tolerance, steps=_ROUND_STEPS, budget=self.budget)
        self.offer(finer, residual)
        return finer

    def rounds(self, count: int) -> None:
        """At most `count` rounds from the best r, with twice as many sweeps each time."""
        r, sweeps = self.r, max(10, len(self.r) // 20)  # a Newton step costs about as much as m / 2 sweeps
        for _ in range(count):
            if self.done:
                return
            r = self.round(r, sweeps)
            sweeps = min(2 * sweeps, max(sweeps, _MOST_SWEEPS))


def _contradicts_itself(problem: BlockProblem) -> bool:
    """Whether no forces can keep the normal gaps open: nothing to iterate for."""
    b = problem.blocks
    pushing = b.boxes[(b.lower > -np.inf) & (b.upper == np.inf)]
    return len(conflicting_rows(problem.W, problem.q, np.concatenate([pushing, b.cones]))) > 0


def solve_blocks(
    problem: BlockProblem, *, start: FloatArray | None, tolerance: float, budget: Budget, first: Attempt | None = None
) -> tuple[FloatArray, float, Status]:
    """r of a scaled problem to a natural map of norm `tolerance`, that norm, and how it ended. `first` is an attempt
    from `start` that failed, with scaled forces.
    """
    m = len(problem.q)
    r = projected(np.zeros(m) if start is None else start, problem.blocks)
    with one_blas_thread():
        iterate = Iterate(problem, r, tolerance, budget)
        tried = iterate.full_steps(first) if not iterate.done else (iterate.r, iterate.residual)
        iterate.rounds(_ROUNDS)
        if not iterate.done and not _contradicts_itself(problem):
            restart(iterate, r)
        iterate.offer(*tried)
        allowed = projected(iterate.r, problem.blocks)  # no force outside its cone, not even by the tolerance
        if (residual := residual_of(problem, allowed)) <= max(tolerance, iterate.residual):
            iterate.r, iterate.residual = allowed, residual
    if iterate.residual <= budget.allowed(tolerance):
        return iterate.r, iterate.residual, Status.CONVERGED
    return iterate.r, iterate.residual, Status.ITERATION_LIMIT if budget.spent else Status.STALLED
