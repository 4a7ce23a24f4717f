"""Gauss–Seidel, then Newton, then an interior point: each where the one before it does not reach the tolerance.

Sweeps find which contacts are open, stick and slide; Newton finishes (Daviet, Bertails-Descoubes, Boissieux, "A hybrid
iterative solver for robustly capturing Coulomb friction in hair dynamics", ACM TOG 30, 2011, pair the two the other way
round). Where rounds of both stall, which happens on hyperstatic sets with a large μ, the interior point gives a start in
the middle of the solution set.
"""

from __future__ import annotations

import numpy as np

from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray
from pliant.solvers.complementarity.blocks import BlockProblem, projected, residual_of
from pliant.solvers.complementarity.gauss_seidel import gauss_seidel
from pliant.solvers.complementarity.interior_point import interior_point
from pliant.solvers.complementarity.newton import newton

_FIRST_SWEEPS = 10
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
        r, sweeps = self.r, _FIRST_SWEEPS
        for _ in range(count):
            if self.done:
                return
            r = self.round(r, sweeps)
            sweeps = min(2 * sweeps, _MOST_SWEEPS)

    def middle(self) -> None:
        """The interior point, finished by Newton."""
        if self.done:
            return
        r, residual, steps = interior_point(self.problem, tolerance=self.tolerance)
        self.offer(r, residual, steps)
        if residual > self.tolerance:
            self.offer(*newton(self.problem, r, tolerance=self.tolerance, steps=2 * _ROUND_STEPS, sigma=1e-6))


def solve_blocks(
    problem: BlockProblem, *, start: FloatArray | None, tolerance: float, maximum_iterations: int
) -> tuple[FloatArray, Status, int]:
    """r of a scaled problem to a natural map of norm `tolerance`, how it ended, and the iterations spent."""
    m = len(problem.q)
    r = projected(np.zeros(m) if start is None else start, problem.blocks)
    with one_blas_thread():
        iterate = _Iterate(problem, r, tolerance, maximum_iterations)
        iterate.rounds(_ROUNDS)
        iterate.middle()
        before = np.inf
        while not iterate.done and iterate.residual < 0.5 * before:
            before = iterate.residual
            iterate.rounds(_ROUNDS)
    if iterate.residual <= tolerance:
        return iterate.r, Status.CONVERGED, iterate.iterations
    stopped = iterate.iterations >= maximum_iterations
    return iterate.r, Status.ITERATION_LIMIT if stopped else Status.STALLED, iterate.iterations
