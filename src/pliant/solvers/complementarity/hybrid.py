"""Gauss–Seidel and Newton in rounds, then an interior point, then proximal steps: each where the last was not enough.

Sweeps find which contacts are open, stick and slide; Newton finishes (Daviet, Bertails-Descoubes, Boissieux, "A hybrid
iterative solver for robustly capturing Coulomb friction in hair dynamics", ACM TOG 30, 2011, pair the two the other way
round). Rounds of both solve nearly everything. They can stall on hyperstatic sets with a large μ, where the problem is
far from convex. Then starts of other kinds are tried: the interior point with and without the term ‖u_t‖, and proximal
steps, which solve W + σ diag W around the last iterate with σ going to zero (Rockafellar, "Monotone operators and the
proximal point algorithm", SIAM J. Control and Optimization 14, 1976; among the methods that Acary, Brémond, Huber, "On
solving contact problems with Coulomb friction: formulations and numerical comparisons", 2018, compare).
"""

from __future__ import annotations

import numpy as np

from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray
from pliant.solvers.complementarity.blocks import BlockProblem, projected, residual_of
from pliant.solvers.complementarity.gauss_seidel import gauss_seidel
from pliant.solvers.complementarity.infeasibility import conflicting_rows
from pliant.solvers.complementarity.interior_point import interior_point
from pliant.solvers.complementarity.newton import newton

_MOST_SWEEPS = 200
_ROUND_STEPS = 15
_ROUNDS = 6  # before the interior point


class _Iterate:
    """The best r met so far, its residual, and the iterations spent."""

    def __init__(self, problem: BlockProblem, r: FloatArray, tolerance: float, limit: int) -> None:
        self.problem, self.tolerance, self.limit = problem, tolerance, limit
        self.columns = np.ascontiguousarray(problem.W.T)
        self.r, self.residual = r, residual_of(problem, r)
        self.iterations = 0

    @property
    def done(self) -> bool:
        return self.residual <= self.tolerance or self.iterations >= self.limit

    def offer(self, r: FloatArray, residual: float, iterations: int) -> None:
        self.iterations += iterations
        if residual < self.residual:
            self.r, self.residual = r, residual

    def round(self, r: FloatArray, sweeps: int) -> FloatArray:
        """Sweeps from r, then Newton from there; returns where the next round starts."""
        r, u = r.copy(), self.problem.slip(r)
        sweeps = min(sweeps, self.limit - self.iterations)
        gauss_seidel(self.columns, r, u, self.problem.blocks, sweeps)
        swept = residual_of(self.problem, r)
        self.offer(r, swept, sweeps)
        if self.done:
            return r
        finer, residual, steps = newton(self.problem, r, tolerance=self.tolerance, steps=_ROUND_STEPS)
        self.offer(finer, residual, steps)
        return finer

    def rounds(self, count: int) -> None:
        r, sweeps = self.r, max(10, len(self.r) // 20)  # a Newton step costs about as much as m / 2 sweeps
        for _ in range(count):
            if self.done:
                return
            r = self.round(r, sweeps)
            sweeps = min(2 * sweeps, max(sweeps, _MOST_SWEEPS))

    def interior(self, *, coupled: bool) -> None:
        """The interior point, finished by Newton."""
        if self.done:
            return
        r, residual, steps = interior_point(self.problem, tolerance=self.tolerance, coupled=coupled)
        self.offer(r, residual, steps)
        if residual > self.tolerance:
            self.offer(*newton(self.problem, r, tolerance=self.tolerance, steps=2 * _ROUND_STEPS, sigma=1e-6))

    def proximal(self, r: FloatArray, sigma: float, steps: int = 100) -> None:
        """Proximal steps from r, each tried as a start of Newton."""
        for _ in range(steps):
            if self.done:
                return
            wanted = 0.01 * residual_of(self.problem, r)
            inner = _Iterate(_regularised(self.problem, r, sigma), r, wanted, self.limit - self.iterations)
            inner.rounds(4)
            solved = inner.residual <= wanted
            r = inner.r if solved else r
            self.offer(r, residual_of(self.problem, r), inner.iterations)
            self.offer(*newton(self.problem, r, tolerance=self.tolerance, steps=_ROUND_STEPS, sigma=0.1 * sigma))
            sigma *= 0.7 if solved else 2.0

    def last_resorts(self, first: FloatArray) -> None:
        """Starts of other kinds, where rounds from `first` stalled."""
        swept = self.r
        self.interior(coupled=True)
        self.interior(coupled=False)
        self.proximal(self.r, 0.03, steps=20)
        self.proximal(swept, 0.03)
        self.proximal(self.r, 0.3)
        self.proximal(first, 0.03)


def _contradicts_itself(problem: BlockProblem) -> bool:
    """Whether no forces can keep the normal gaps open: nothing to iterate for."""
    b = problem.blocks
    pushing = b.boxes[(b.lower > -np.inf) & (b.upper == np.inf)]
    return len(conflicting_rows(problem.W, problem.q, np.concatenate([pushing, b.cones]))) > 0


def _regularised(problem: BlockProblem, r: FloatArray, sigma: float) -> BlockProblem:
    """The proximal problem around r: (W + σ diag W) x + q − σ diag W r, which r solves if it solves the problem."""
    shift = sigma * problem.W.diagonal()
    return BlockProblem(problem.W + np.diag(shift), problem.q - shift * r, problem.blocks)


def solve_blocks(
    problem: BlockProblem, *, start: FloatArray | None, tolerance: float, maximum_iterations: int
) -> tuple[FloatArray, Status, int]:
    """r of a scaled problem to a natural map of norm `tolerance`, how it ended, and the iterations spent."""
    m = len(problem.q)
    r = projected(np.zeros(m) if start is None else start, problem.blocks)
    with one_blas_thread():
        iterate = _Iterate(problem, r, tolerance, maximum_iterations)
        iterate.rounds(_ROUNDS)
        if not iterate.done and not _contradicts_itself(problem):
            iterate.last_resorts(r)
        allowed = projected(iterate.r, problem.blocks)  # no force outside its cone, not even by the tolerance
        if (residual := residual_of(problem, allowed)) <= max(tolerance, iterate.residual):
            iterate.r, iterate.residual = allowed, residual
    if iterate.residual <= tolerance:
        return iterate.r, Status.CONVERGED, iterate.iterations
    stopped = iterate.iterations >= maximum_iterations
    return iterate.r, Status.ITERATION_LIMIT if stopped else Status.STALLED, iterate.iterations
