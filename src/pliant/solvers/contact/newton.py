"""Semi-smooth Newton on the function of Alart and Curnier: the second-order finish of the friction solver.

F(r) = 0 with, for each contact and ρ_n, ρ_t > 0,

    F_n = r_n − max(0, z),   F_t = r_t − P_disk(μ max(0, z))(y),   z = r_n − ρ_n u_n,   y = r_t − ρ_t u_t

(Alart and Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution methods", CMAME
92, 1991); a box has F = r − clip(r − ρ u). An open contact or a box at its bound gives an identity row and leaves the
linear system, so a step factorizes the active rows only, and on boxes alone it is an active-set step.

Redundant contacts make the Jacobian singular. W is replaced in it by W + σ diag(1/ρ): the Newton step of the proximal
problem around the current r, which has the same solutions whatever σ is. σ falls when full steps succeed and rises when
the line search fails.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.linalg import lapack

from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.contact.blocks import BlockProblem, Blocks, residual_of

_SIGMA_LEAST = 1e-12  # relative to the compliance: what keeps a singular Jacobian solvable in double precision
_SIGMA_MOST = 10.0  # beyond, steps are gradient steps: Gauss–Seidel is better at those
_HALVINGS = 12  # of the step, to 2.4e-4: a shorter one makes no progress
_PATIENCE = 5  # steps in which the merit must fall by _LEAST_PROGRESS
_LEAST_PROGRESS = 0.9  # else Newton stalls and another start is cheaper


def newton(
    problem: BlockProblem, r: FloatArray, *, tolerance: float, steps: int, sigma: float = 1e-3
) -> tuple[FloatArray, float, int]:
    """From r, at most `steps` steps on a scaled problem: the best iterate, its residual and the steps done."""
    rho = 1.0 / _stiffness(problem)
    u, F = problem.slip(r), np.empty_like(r)
    merit = mark = alart_curnier(r, u, rho, problem.blocks, F)
    best, best_residual = r, residual_of(problem, r)
    for step in range(steps):
        judged = step % _PATIENCE == _PATIENCE - 1
        stuck = judged and merit > _LEAST_PROGRESS * mark
        if best_residual <= tolerance or sigma > _SIGMA_MOST or stuck:
            return best, best_residual, step
        mark = merit if judged else mark
        direction = _direction(problem, r, u, rho, F, sigma)
        length = 0.0 if direction is None else _step_length(problem, r, u, rho, direction, merit)
        sigma = _adapted(sigma, length)
        if direction is None or not length:
            continue
        r = r + length * direction
        u = problem.slip(r)
        merit = alart_curnier(r, u, rho, problem.blocks, F)
        residual = residual_of(problem, r)
        if residual < best_residual:
            best, best_residual = r, residual
    return best, best_residual, steps


def _step_length(
    problem: BlockProblem, r: FloatArray, u: FloatArray, rho: FloatArray, direction: FloatArray, merit: float
) -> float:
    """The first of 1, ½, ¼ … that reduces ‖F‖ enough, 0 for none."""
    change, trial = problem.W @ direction, np.empty_like(r)
    length = 1.0
    for _ in range(_HALVINGS):
        found = alart_curnier(r + length * direction, u + length * change, rho, problem.blocks, trial)
        if found <= (1.0 - 1e-3 * length) * merit:
            return length
        length *= 0.5
    return 0.0


def _adapted(sigma: float, length: float) -> float:
    """σ of the next step: smaller after a full step, larger after a short one or none."""
    if length == 0.0:
        return 100.0 * sigma
    if length == 1.0:
        return max(0.1 * sigma, _SIGMA_LEAST)
    return min(10.0 * sigma, 1.0) if length < 0.3 else sigma


def _stiffness(problem: BlockProblem) -> FloatArray:
    """1/ρ of every row: its own compliance, the mean of the two tangential ones in a cone."""
    diagonal = problem.W.diagonal().copy()
    cones = problem.blocks.cones
    diagonal[cones + 1] = diagonal[cones + 2] = 0.5 * (diagonal[cones + 1] + diagonal[cones + 2])
    diagonal[diagonal <= 1e-9 * diagonal.max(initial=0.0)] = 1.0
    return diagonal


def _direction(
    problem: BlockProblem, r: FloatArray, u: FloatArray, rho: FloatArray, F: FloatArray, sigma: float
) -> FloatArray | None:
    """The Newton direction, None where the Jacobian is singular or the direction not finite."""
    m = len(r)
    A, B, active = np.zeros((m, 3)), np.zeros((m, 3)), np.zeros(m, np.bool_)
    derivatives(r, u, rho, problem.blocks, A, B, active)
    rows = np.flatnonzero(active)
    direction: FloatArray = np.where(active, 0.0, -F)
    if len(rows):
        change = problem.W @ direction
        J, right = np.empty((len(rows), len(rows)), order="F"), np.empty(len(rows))
        assemble(problem.W, problem.blocks, A, B, active, rows, np.cumsum(active) - 1, sigma / rho, F, change, J, right)
        *_, solution, info = lapack.dgesv(J, right, overwrite_a=1, overwrite_b=1)
        if info or not np.isfinite(solution).all():
            return None
        direction[rows] = solution
    return direction


@kernel
def alart_curnier(r: FloatArray, u: FloatArray, rho: FloatArray, blocks: Blocks, F: FloatArray) -> float:
    """F(r) into F; returns its norm."""
    total = 0.0
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        F[i] = r[i] - min(max(r[i] - rho[i] * u[i], blocks.lower[b]), blocks.upper[b])
        total += F[i] * F[i]
    for c in range(len(blocks.cones)):
        i = blocks.cones[c]
        z = max(0.0, r[i] - rho[i] * u[i])
        y1, y2 = r[i + 1] - rho[i + 1] * u[i + 1], r[i + 2] - rho[i + 2] * u[i + 2]
        y, limit = sqrt(y1 * y1 + y2 * y2), blocks.mu[c] * z
        share = 1.0 if y <= limit else limit / y
        F[i] = r[i] - z
        F[i + 1] = r[i + 1] - share * y1
        F[i + 2] = r[i + 2] - share * y2
        total += F[i] ** 2 + F[i + 1] ** 2 + F[i + 2] ** 2
    return sqrt(total)


@kernel
def derivatives(
    r: FloatArray, u: FloatArray, rho: FloatArray, blocks: Blocks, A: FloatArray, B: FloatArray, active: BoolArray
) -> None:
    """F′ = A + B W, with 3 × 3 blocks kept in the rows of A and B (m, 3); rows that are not active have F′ = 1."""
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        active[i] = blocks.lower[b] < r[i] - rho[i] * u[i] < blocks.upper[b]
        B[i, 0] = rho[i]
    for c in range(len(blocks.cones)):
        i, mu = blocks.cones[c], blocks.mu[c]
        z = r[i] - rho[i] * u[i]
        y1, y2 = r[i + 1] - rho[i + 1] * u[i + 1], r[i + 2] - rho[i + 2] * u[i + 2]
        y = sqrt(y1 * y1 + y2 * y2)
        active[i] = active[i + 1] = active[i + 2] = z > 0.0
        B[i, 0] = rho[i]
        if y <= mu * z:  # sticks
            B[i + 1, 1] = rho[i + 1]
            B[i + 2, 2] = rho[i + 2]
            continue
        c1, c2, share = y1 / y, y2 / y, mu * z / y
        g11, g12, g22 = share * (1.0 - c1 * c1), -share * c1 * c2, share * (1.0 - c2 * c2)
        A[i + 1, 0], A[i + 1, 1], A[i + 1, 2] = -mu * c1, 1.0 - g11, -g12
        A[i + 2, 0], A[i + 2, 1], A[i + 2, 2] = -mu * c2, -g12, 1.0 - g22
        B[i + 1, 0], B[i + 1, 1], B[i + 1, 2] = mu * rho[i] * c1, rho[i + 1] * g11, rho[i + 2] * g12
        B[i + 2, 0], B[i + 2, 1], B[i + 2, 2] = mu * rho[i] * c2, rho[i + 1] * g12, rho[i + 2] * g22


@kernel
def assemble(
    W: FloatArray, blocks: Blocks, A: FloatArray, B: FloatArray, active: BoolArray, rows: IndexArray,
    position: IndexArray, shift: FloatArray, F: FloatArray, change: FloatArray, J: FloatArray, right: FloatArray,
) -> None:  # fmt: skip
    """J = A + B (W + shift) on the active rows, right = −F − B `change`; `change` is W times the inactive direction."""
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        if active[i]:
            p = position[i]
            for k in range(len(rows)):
                J[p, k] = B[i, 0] * W[i, rows[k]]
            J[p, p] += B[i, 0] * shift[i]
            right[p] = -F[i] - B[i, 0] * change[i]
    for c in range(len(blocks.cones)):
        i = blocks.cones[c]
        if not active[i]:
            continue
        p = position[i]
        for j in range(3):
            b0, b1, b2 = B[i + j, 0], B[i + j, 1], B[i + j, 2]
            for k in range(len(rows)):
                J[p + j, k] = b0 * W[i, rows[k]] + b1 * W[i + 1, rows[k]] + b2 * W[i + 2, rows[k]]
            for k in range(3):
                J[p + j, p + k] += A[i + j, k] + B[i + j, k] * shift[i + k]
            right[p + j] = -F[i + j] - b0 * change[i] - b1 * change[i + 1] - b2 * change[i + 2]
