"""Coulomb friction with the true cone, for arrays in no particular world.

Find r with u = W r + q, r in the cone ‖r_t‖ ≤ μ r_n, u_n ≥ 0, r_n u_n = 0 and r_t opposed to u_t where it slides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive, positive_count
from pliant.core.declared import declared
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.status import Status
from pliant.core.types import BoolArray, FloatArray
from pliant.solvers.contact.blocks import (
    BlockProblem,
    Blocks,
    complementarity_gap,
    natural_map,
    rounding_of,
    scaled,
    uniform_scale,
)
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.certificate import raise_if_infeasible
from pliant.solvers.contact.friction_iteration import solve_blocks
from pliant.solvers.contact.result import ComplementarityResult


@declared
def friction(
    W: Any, q: Any, mu: Any, *, dim: int = 3, tolerance: float = 1e-8, warm: Any = None,
    maximum_iterations: int = 50_000, seconds: float | None = None,
) -> ComplementarityResult:  # fmt: skip
    """Solve n frictional contacts, each with `dim` rows (the normal first).

    W (n·dim, n·dim) in m/N maps forces to slips; it may be singular, and slightly unsymmetric or indefinite.
    q (n·dim,) in m is the slip without forces, mu a number or (n,). `warm` (n·dim,) in N is a first guess.

    `residual` of the result is ‖r − P_K(r − ρ(u + μ‖u_t‖e_n))‖ / (ρ‖q‖) with ρ = 1/mean(diag W): independent of units.
    `tolerance` bounds it (usual range 1e-12 to 1e-4). The work is bounded by `maximum_iterations`, by a number of
    operations that grows with the size of the problem (`budget`), and by `seconds` where given. Raises
    `ConvergenceError` with the best iterate in `result`, or `InfeasibleError` where no forces can keep the gaps open.
    """
    W, q, friction_, forces = _validated(W, q, mu, dim, warm)
    tolerance = positive("tolerance", tolerance)
    limit = positive_count("maximum_iterations", maximum_iterations)
    budget = Budget(len(q), limit, None if seconds is None else positive("seconds", seconds, unit="s"))
    count = len(friction_)
    W3, q3, forces3 = (W, q, forces) if dim == 3 else _padded(W, q, forces, count)
    used = np.repeat(friction_ > 0.0, 3) | (np.arange(3 * count) % 3 == 0)
    core, scaling = scaled(_used_rows(W3, q3, friction_, used), uniform_scale(W)[:1].repeat(used.sum()))
    start = None if forces3 is None else scaling.scaled_forces(forces3[used])
    r_hat, _, status = solve_blocks(core, start=start, tolerance=tolerance, budget=budget)
    r3 = np.zeros(3 * count)
    r3[used] = scaling.forces(r_hat)
    r = r3.reshape(count, 3)[:, :dim].ravel()
    return _finished(W, q, friction_, dim, r, status, budget.iterations, tolerance)


def friction_residual(W: FloatArray, q: FloatArray, mu: FloatArray, r: FloatArray, *, dim: int = 3) -> float:
    """‖r − P_K(r − ρ(u + μ‖u_t‖e_n))‖ / (ρ‖q‖), ρ = 1/mean(diag W), for contacts of `dim` rows."""
    scale = float(uniform_scale(W)[0]) ** 2 if len(q) else 1.0
    blocks, r3, u3 = _all_cones(mu, r, W @ r + q, dim)
    norm = float(natural_map(r3, scale * u3, blocks, np.empty_like(r3))) + rounding_of(r3)
    return norm / (scale * (float(np.linalg.norm(q)) or 1.0))


def _validated(
    W: Any, q: Any, mu: Any, dim: int, warm: Any
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]:
    if dim not in (2, 3):
        raise InputError(f"dim must be 2 or 3 (rows of a contact), got {dim!r}")
    q = finite_array("q", q, shape=(None,))
    if len(q) % dim:
        raise InputError(f"q must have dim = {dim} rows for each contact, got {len(q)} rows")
    W = finite_array("W", W, shape=(len(q), len(q)))
    given, count = finite_array("mu", mu), len(q) // dim
    mu = finite_array("mu", np.full(count, given) if not given.ndim else given, shape=(count,))
    if (mu < 0.0).any():
        worst = int(np.argmin(mu))
        raise InputError(f"mu must be ≥ 0, but mu[{worst}] is {mu[worst]:g}")
    return W, q, mu, None if warm is None else finite_array("warm", warm, shape=(len(q),))


def _padded(
    W: FloatArray, q: FloatArray, forces: FloatArray | None, count: int
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Planar contacts as spatial ones, with a second tangent that nothing else moves."""
    rows = (3 * np.arange(count)[:, None] + np.arange(2)).ravel()
    W3, q3 = np.eye(3 * count) * (W.diagonal().mean() if count else 1.0), np.zeros(3 * count)
    W3[np.ix_(rows, rows)] = W
    q3[rows] = q
    if forces is None:
        return W3, q3, None
    forces3 = np.zeros(3 * count)
    forces3[rows] = forces
    return W3, q3, forces3


def _used_rows(W: FloatArray, q: FloatArray, mu: FloatArray, used: BoolArray) -> BlockProblem:
    """The problem on the rows that can push: tangents of frictionless contacts are left out."""
    position = np.cumsum(used) - 1
    firsts = position[3 * np.arange(len(mu))]
    sliding = mu > 0.0
    boxes = firsts[~sliding]
    blocks = Blocks(firsts[sliding], mu[sliding], boxes, np.zeros(len(boxes)), np.full(len(boxes), np.inf))
    if used.all():
        return BlockProblem(W, q, blocks)
    return BlockProblem(np.ascontiguousarray(W[np.ix_(used, used)]), q[used], blocks)


def _all_cones(mu: FloatArray, r: FloatArray, u: FloatArray, dim: int) -> tuple[Blocks, FloatArray, FloatArray]:
    count = len(mu)
    r3, u3 = np.zeros((count, 3)), np.zeros((count, 3))
    r3[:, :dim], u3[:, :dim] = r.reshape(count, dim), u.reshape(count, dim)
    none = np.zeros(0)
    return Blocks(3 * np.arange(count), mu, np.zeros(0, np.int64), none, none), r3.ravel(), u3.ravel()


def _finished(
    W: FloatArray, q: FloatArray, mu: FloatArray, dim: int, r: FloatArray, status: Status, iterations: int,
    tolerance: float,
) -> ComplementarityResult:  # fmt: skip
    residual = friction_residual(W, q, mu, r, dim=dim)
    if residual <= tolerance:  # whatever the iteration says: the law decides
        status = Status.CONVERGED
    elif status is Status.CONVERGED:
        status = Status.STALLED
    u = W @ r + q
    blocks, r3, u3 = _all_cones(mu, r, u, dim)
    result = ComplementarityResult(r, u, status, residual, complementarity_gap(r3, u3, blocks), iterations)
    if status is Status.CONVERGED:
        return result
    normals = dim * np.arange(len(mu))
    raise_if_infeasible(W, q, normals)
    raise ConvergenceError(
        f"friction of {len(mu)} contacts: residual {residual:.2g} > tolerance {tolerance:.2g} after {iterations} "
        f"iterations: {status.text}",
        result=result,
    )
