"""Semi-smooth Newton on the function of Alart and Curnier: the second-order finish of the friction solver.

F(r) = 0 with, for each contact and ρ_n, ρ_t > 0,

    F_n = r_n − max(0, z),   F_t = r_t − P_disk(μ max(0, z))(y),   z = r_n − ρ_n u_n,   y = r_t − ρ_t u_t

(Alart and Curnier, "A mixed formulation for frictional contact problems prone to Newton like solution methods", CMAME
92, 1991); a box has F = r − clip(r − ρ u). An open contact or a box at its bound gives an identity row and leaves the
linear system, so a step factorizes the active rows only, and on boxes alone it is an active-set step.

Redundant contacts make the Jacobian singular. W is replaced in it by W + σ diag(1/ρ): the Newton step of the proximal
problem around the current r, which has the same solutions whatever σ is. σ is proportional to ‖F‖ (Levenberg and
Marquardt), so that convergence stays quadratic; `line_search` finds how far to go along forces that move nothing.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from scipy.linalg import lapack

from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.solvers.contact.blocks import BlockProblem, Blocks, residual_of
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.line_search import alart_curnier, best_length

_SIGMA = (
    1e-2  # σ / ‖F‖ at first: forces that move nothing change by 100 at most, where those of the problem are about 1
)
_SIGMA_LEAST = 1e-10  # relative to the compliance: rounding then changes forces that move nothing by 1e-6 at most
_SIGMA_MOST = 1.0  # beyond, steps are gradient steps: Gauss–Seidel is better at those
_PROGRESS = 0.99  # a step that leaves more than this of the merit is a flat one
_FLAT_STEPS = 30  # in sequence; each settles one redundant contact, so more means that Newton stalls


def newton(
    problem: BlockProblem, r: FloatArray, *, tolerance: float, steps: int, budget: Budget
) -> tuple[FloatArray, float]:
    """From r, at most `steps` steps on a scaled problem: the best iterate and its residual."""
    rho = 1.0 / _stiffness(problem)
    u, F = problem.slip(r), np.empty_like(r)
    merit = alart_curnier(r, u, rho, problem.blocks, F)
    best, best_residual = r, residual_of(problem, r)
    damping, flat = _SIGMA, 0
    for _ in range(steps):
        if best_residual <= budget.allowed(tolerance) or flat > _FLAT_STEPS or budget.spent:
            break
        sigma = min(max(damping * merit, _SIGMA_LEAST), _SIGMA_MOST)
        direction = _direction(problem, r, u, rho, F, sigma, budget)
        if direction is None:
            damping, flat = 10.0 * damping, flat + 1
            continue
        length, found, longest = best_length(r, u, direction, problem.W @ direction, rho, problem.blocks, merit)
        if found <= _PROGRESS * merit:
            damping, flat = damping * (0.3 if length >= 0.5 else 1.0), 0
        elif longest > 0.0:
            length, flat = longest, flat + 1
        elif found < merit:
            damping, flat = 3.0 * damping, flat + 1
        elif sigma < _SIGMA_MOST:
            damping, flat = 30.0 * damping, flat + 1
            continue
        else:
            break
        r = r + length * direction
        u = problem.slip(r)
        merit = alart_curnier(r, u, rho, problem.blocks, F)
        residual = residual_of(problem, r)
        if residual < best_residual:
            best, best_residual = r, residual
    return best, best_residual


def _stiffness(problem: BlockProblem) -> FloatArray:
    """1/ρ of every row: its own compliance, the mean of the two tangential ones in a cone."""
    diagonal = problem.W.diagonal().copy()
    cones = problem.blocks.cones
    diagonal[cones + 1] = diagonal[cones + 2] = 0.5 * (diagonal[cones + 1] + diagonal[cones + 2])
    diagonal[diagonal <= 1e-9 * diagonal.max(initial=0.0)] = 1.0
    return diagonal


def _direction(
    problem: BlockProblem, r: FloatArray, u: FloatArray, rho: FloatArray, F: FloatArray, sigma: float, budget: Budget
) -> FloatArray | None:
    """The Newton direction, None where the Jacobian is singular or the direction not finite."""
    m = len(r)
    A, B, active = np.zeros((m, 3)), np.zeros((m, 3)), np.zeros(m, np.bool_)
    derivatives(r, u, rho, problem.blocks, A, B, active)
    rows = np.flatnonzero(active)
    budget.take(1, len(rows) ** 3 / 3.0 + 6.0 * m * m)
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
        c1, c2, fraction = y1 / y, y2 / y, mu * z / y
        g11, g12, g22 = fraction * (1.0 - c1 * c1), -fraction * c1 * c2, fraction * (1.0 - c2 * c2)
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
