"""Other starts for contacts with friction on which rounds of Gauss–Seidel and Newton stall.

Tried in this order: the interior point, and proximal steps, which solve W + σ diag W around the last iterate with σ
going to zero (Rockafellar, "Monotone operators and the proximal point algorithm", SIAM J. Control and Optimization 14,
1976; among the methods that Acary, Brémond, Huber, "On solving contact problems with Coulomb friction: formulations and
numerical comparisons", 2018, compare). Each is finished by Newton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import FloatArray
from pliant.solvers.contact.blocks import BlockProblem, residual_of
from pliant.solvers.contact.fallback.interior_point import interior_point
from pliant.solvers.contact.newton import newton

if TYPE_CHECKING:
    from pliant.solvers.contact.friction_iteration import Iterate

_STEPS = 15  # of Newton after each proximal step


def restart(iterate: Iterate, first: FloatArray) -> None:
    """Improve `iterate` from starts of other kinds; `first` (m,) is where the rounds began."""
    swept = iterate.r
    _interior(iterate)
    _proximal(iterate, swept, 0.03, steps=20)
    _proximal(iterate, iterate.r, 0.3)
    _proximal(iterate, first, 0.03)


def _interior(iterate: Iterate) -> None:
    """The interior point, finished by Newton."""
    if iterate.done:
        return
    problem, tolerance, budget = iterate.problem, iterate.tolerance, iterate.budget
    r, residual = interior_point(problem, tolerance=tolerance, budget=budget)
    iterate.offer(r, residual)
    if residual > tolerance:
        iterate.offer(*newton(problem, r, tolerance=tolerance, steps=2 * _STEPS, budget=budget))


def _proximal(iterate: Iterate, r: FloatArray, sigma: float, steps: int = 100) -> None:
    """Proximal steps from r, each tried as a start of Newton."""
    problem = iterate.problem
    for _ in range(steps):
        if iterate.done:
            return
        wanted = 0.01 * residual_of(problem, r)
        inner = type(iterate)(proximal_problem(problem, r, sigma), r, wanted, iterate.budget)
        inner.rounds(4)
        solved = inner.residual <= wanted
        r = inner.r if solved else r
        iterate.offer(r, residual_of(problem, r))
        if iterate.done:
            return
        finer, residual = newton(problem, r, tolerance=iterate.tolerance, steps=_STEPS, budget=iterate.budget)
        iterate.offer(finer, residual)
        sigma *= 0.7 if solved else 2.0


def proximal_problem(problem: BlockProblem, r: FloatArray, sigma: float) -> BlockProblem:
    """The proximal problem around r: (W + σ diag W) x + q − σ diag W r, which r solves if it solves the problem."""
    shift = sigma * problem.W.diagonal()
    return BlockProblem(problem.W + np.diag(shift), problem.q - shift * r, problem.blocks)
