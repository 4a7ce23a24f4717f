"""Friction on a pyramid of k facets: complementarity again, so every piece is a QP and branch and bound applies.

A contact with rows (normal, tangent, tangent) has the force λ_n n + Σ β_j t_j, with k directions t_j evenly around the
normal, and (Stewart and Trinkle, "An implicit time-stepping scheme for rigid body dynamics with inelastic collisions
and Coulomb friction", International Journal for Numerical Methods in Engineering 39, 1996)

    0 ≤ λ_n ⊥ w_n ≥ 0,     0 ≤ β_j ⊥ t_j · w_t + γ ≥ 0,     0 ≤ γ ⊥ μ λ_n − Σ β_j ≥ 0.

A global minimum is one for the pyramid; the true cone contains the pyramid, and for its forces no such proof exists.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.solvers.inverse.problem import QpccProblem
from pliant.solvers.inverse.qpcc import solve_qpcc
from pliant.solvers.inverse.result import QpccResult


def solve_faceted(
    problem: QpccProblem, mu: Any, *, facets: int = 4, warm: FloatArray | QpccResult | None = None,
    globalize: bool = False, maximum_iterations: int = 500, node_limit: int = 200_000,
) -> QpccResult:  # fmt: skip
    """A local or global minimum with friction on a pyramid of `facets` (an even number ≥ 4).

    The contacts of `problem` have three rows each, normal first; mu is a number or (n,). x, y (3n,), w (3n,) of the
    result are those of the rows given; `active` refers to the (facets + 2)·n complementarities of the pyramid.
    """
    count = positive_count("facets", facets)
    if count < 4 or count % 2:
        raise InputError(f"facets must be an even number ≥ 4, got {count}: each direction needs its opposite")
    friction = friction_of(mu, problem)
    pyramid, to_rows = faceted_problem(problem, friction, count)
    result = solve_qpcc(
        pyramid, warm=warm, globalize=globalize, maximum_iterations=maximum_iterations, node_limit=node_limit
    )
    y = to_rows @ result.y
    return replace(result, y=y, w=problem.gaps(result.x, y))


def friction_of(mu: Any, problem: QpccProblem) -> FloatArray:
    """μ of each contact (n,), checked against the rows of the problem."""
    if problem.contact_count % 3:
        raise InputError(
            f"with friction each contact has three rows (normal, tangent, tangent), but there are "
            f"{problem.contact_count} rows; leave mu out for frictionless contacts with one row each"
        )
    count = problem.contact_count // 3
    try:
        friction = np.array(np.broadcast_to(np.asarray(mu, np.float64), (count,)))
    except (TypeError, ValueError) as error:
        raise InputError(f"mu must be a number or have shape ({count},), got {np.shape(mu)}") from error
    if not (np.isfinite(friction) & (friction >= 0.0)).all():
        raise InputError(f"mu must be finite and ≥ 0, got {friction.min():g} to {friction.max():g}")
    return friction


def faceted_problem(problem: QpccProblem, mu: FloatArray, facets: int) -> tuple[QpccProblem, FloatArray]:
    """The problem in (λ_n, β, γ) of every contact, and the map (3n, (facets + 2)·n) back to the forces of the rows.

    γ is counted in N: it is multiplied by the mean compliance, as is the row it belongs to.
    """
    n, k = len(mu), facets
    size = k + 2
    compliance = float(problem.W_cc.diagonal().mean()) if n else 1.0
    compliance = compliance if compliance > 0.0 else 1.0
    angle = 2.0 * np.pi * np.arange(k) / k
    S, law = np.zeros((3 * n, size * n)), np.zeros((size * n, size * n))
    for i in range(n):
        first, gamma = size * i, size * i + k + 1
        around = np.arange(first + 1, gamma)
        S[3 * i, first] = 1.0
        S[3 * i + 1, around], S[3 * i + 2, around] = np.cos(angle), np.sin(angle)
        law[around, gamma] = compliance
        law[gamma, around] = -compliance
        law[gamma, first] = compliance * mu[i]
    pyramid = replace(
        problem, E_c=problem.E_c @ S, R_c=problem.R_c @ S, C_a=S.T @ problem.C_a, W_cc=S.T @ problem.W_cc @ S + law,
        c=S.T @ problem.c, symmetric=False,
    )  # fmt: skip
    return pyramid, S
