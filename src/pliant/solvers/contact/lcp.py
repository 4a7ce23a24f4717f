"""The linear complementarity problem, for arrays in no particular world."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.declared import declared
from pliant.core.errors import ConvergenceError
from pliant.core.status import Status
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray
from pliant.solvers.contact.blocks import BlockProblem, Blocks, scaled
from pliant.solvers.contact.certificate import raise_if_infeasible
from pliant.solvers.contact.principal_pivoting import solve_boxes
from pliant.solvers.contact.result import ComplementarityResult


@declared
def lcp(M: Any, q: Any, *, tolerance: float = 1e-10) -> ComplementarityResult:
    """Find z ≥ 0 with w = M z + q ≥ 0 and z · w = 0, exactly up to rounding.

    M (n, n), symmetric or not, singular or not; q (n,). Solvable whenever M is positive semidefinite and z ≥ 0, w ≥ 0
    can be met at all; for other M the method may end without having found an existing solution.

    `residual` is ‖z − max(0, z − ρ w)‖ / (ρ‖q‖), ρ = 1/mean |diag M|; `tolerance` bounds it (usual range 1e-14 to
    1e-6). Raises `InfeasibleError` where no z ≥ 0 gives w ≥ 0, `ConvergenceError` with the best iterate in `result`
    otherwise.
    """
    q = finite_array("q", q, shape=(None,))
    M = finite_array("M", M, shape=(len(q), len(q)))
    tolerance = positive("tolerance", tolerance)
    n = len(q)
    blocks = Blocks(np.zeros(0, np.int64), np.zeros(0), np.arange(n), np.zeros(n), np.full(n, np.inf))
    problem, scaling = scaled(BlockProblem(M, q, blocks), np.full(n, _typical(M) ** -0.5))
    with one_blas_thread():
        z_hat, residual, pivots = solve_boxes(problem, start=None, tolerance=tolerance)
    z = np.maximum(scaling.forces(z_hat), 0.0)
    w = M @ z + q
    converged = residual <= tolerance
    status = Status.CONVERGED if converged else Status.STALLED
    result = ComplementarityResult(z, w, status, residual, float(np.abs(z * w).sum()), pivots)
    if converged:
        return result
    raise_if_infeasible(M, q, np.arange(n), pushing=np.arange(n))
    raise ConvergenceError(
        f"LCP of {n} rows: residual {residual:.2g} > tolerance {tolerance:.2g} after {pivots} pivots; M is not "
        "positive semidefinite, or so badly scaled that rounding decides: rescale its rows or loosen the tolerance",
        result=result,
    )


def _typical(M: FloatArray) -> float:
    """Mean |diagonal| of M, of all entries where the diagonal vanishes."""
    if not M.size:
        return 1.0
    return float(np.abs(M.diagonal()).mean()) or float(np.abs(M).mean()) or 1.0
