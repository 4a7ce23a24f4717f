"""The search: Levenberg–Marquardt in a trust region with bounds and a robust loss, by `scipy.optimize.least_squares`.

M. Branch, T. Coleman, Y. Li, A subspace, interior, and conjugate gradient method for large-scale bound-constrained
minimization problems, SIAM J. Sci. Comput. 21, 1999 ("trf").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from pliant.core.errors import ConvergenceError, PliantError
from pliant.core.types import FloatArray
from pliant.identification.problem import Problem
from pliant.identification.robust import rho

_INSIDE = 1e-10
"""The search begins so far inside of the bounds, in z."""


class Found(NamedTuple):
    """z at the minimum, its Jacobian and residual, Jacobians that were evaluated, and trial points that failed."""

    z: FloatArray
    jacobian: FloatArray
    residual: FloatArray
    iterations: int
    failed: int


def solve(problem: Problem, *, loss: str, tolerance: float, max_iterations: int) -> Found:
    """The minimum of Σ ρ(r²) + priors from the start of the problem. A trial point at which a run fails shortens the
    step; a run that fails at the start is an error.
    """
    lower, upper = (problem.vector.gathered(side) for side in ("lower", "upper"))
    start = np.clip(problem.start, lower + _INSIDE, upper - _INSIDE)
    state: dict[str, Any] = {"started": False, "failed": 0, "jacobians": 0}

    def residual(z: FloatArray) -> FloatArray:
        try:
            found = problem.residual(z)
        except PliantError:
            if not state["started"]:
                raise
            state["failed"] += 1
            return np.full(state["rows"], np.inf)
        state["started"], state["rows"] = True, len(found)
        return found

    def jacobian(z: FloatArray) -> FloatArray:
        made = problem.jacobian(z)
        if not state["jacobians"]:
            problem.check_effects(made)
        state["jacobians"] += 1
        return made

    def losses(s: FloatArray) -> FloatArray:
        rows = rho("squares", s)
        rows[:, : problem.data_count] = rho(loss, s[: problem.data_count])
        return rows

    found = least_squares(
        residual, start, jac=jacobian, bounds=(lower, upper), method="trf", x_scale="jac",
        loss="linear" if loss == "squares" else losses, ftol=tolerance, xtol=tolerance, gtol=tolerance,
        max_nfev=max_iterations,
    )  # fmt: skip
    result = Found(found.x, problem.jacobian(found.x), problem.residual(found.x), state["jacobians"], state["failed"])
    if not found.status > 0:
        raise ConvergenceError(
            f"identify() did not converge within {max_iterations} trial points (cost {found.cost:.4g}): start nearer, "
            "give bounds or priors, or raise max_iterations",
            result=problem.vector.values(found.x),
        )
    return result
