"""The two laws that everything iterative is solved with: boxes on single rows and Coulomb cones on three rows.

Bilateral, Signorini, bounded and imposed rows are boxes lower ≤ r ≤ upper: u = 0 inside, u ≥ 0 at the lower bound,
u ≤ 0 at the upper one, with u = W r + q. A cone is a contact with rows (normal, tangent, tangent): r in the Coulomb
cone K_μ, u + μ‖u_t‖e_n in its dual, and both orthogonal, which is Coulomb's law (De Saxcé and Feng, "The bipotential
method", Mathematical and Computer Modelling 28, 1998). Both say r = P(r − ρ ũ) for any ρ > 0, with the projection P on
the box or cone and ũ = u + μ‖u_t‖e_n: the natural map r − P(r − ρ ũ) measures how far r is from a solution.

Solvers work on scaled problems: r = scale · D r̂, u = scale · D⁻¹ û, Ŵ = D W D with a mean diagonal of about 1 and
‖q̂‖ = 1, so that ρ = 1 and every tolerance is relative. D is constant on a cone, which keeps cones circular.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray

_EPS = float(np.finfo(np.float64).eps)


class Blocks(NamedTuple):
    """First rows of the cones (c,), their μ (c,) > 0, rows of the boxes (b,), their bounds (b,) in N, ±inf for none."""

    cones: IndexArray
    mu: FloatArray
    boxes: IndexArray
    lower: FloatArray
    upper: FloatArray


NO_BLOCKS = Blocks(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
"""Neither boxes nor cones."""


@dataclass(frozen=True, eq=False)
class BlockProblem:
    """u = W r + q under the laws of `blocks`, which together name every row once. W (m, m), q (m,)."""

    W: FloatArray
    q: FloatArray
    blocks: Blocks

    def slip(self, r: FloatArray) -> FloatArray:
        """u = W r + q."""
        u: FloatArray = self.W @ r + self.q
        return u


@dataclass(frozen=True, eq=False)
class Scaling:
    """r = scale · D r̂ and u = scale · D⁻¹ û; D (m,)."""

    D: FloatArray
    scale: float

    def forces(self, r_hat: FloatArray) -> FloatArray:
        """r of the caller's problem."""
        return self.scale * self.D * r_hat

    def scaled_forces(self, r: FloatArray) -> FloatArray:
        """r̂ of the scaled problem."""
        return r / (self.scale * self.D)

    def scaled_slip(self, u: FloatArray) -> FloatArray:
        """û of the scaled problem."""
        return self.D * u / self.scale


def scaled(problem: BlockProblem, D: FloatArray) -> tuple[BlockProblem, Scaling]:
    """The problem in r̂ and û, for a positive D that is constant on every cone."""
    b = problem.blocks
    q = D * problem.q
    given = np.concatenate([b.lower, b.upper])
    lower, upper = b.lower / D[b.boxes], b.upper / D[b.boxes]
    if not (scale := float(np.linalg.norm(q))):
        finite = np.concatenate([lower, upper])[np.isfinite(given)]
        scale = float(np.abs(finite).max(initial=0.0)) or 1.0
    W = np.empty_like(problem.W)
    _scale(frozen(problem.W), frozen(D), W)
    return BlockProblem(W, q / scale, b._replace(lower=lower / scale, upper=upper / scale)), Scaling(D, scale)


@kernel
def _scale(W: FloatArray, D: FloatArray, scaled: FloatArray) -> None:
    """Scaled = D W D, without a second matrix on the way: fresh memory costs more than the products."""
    for i in range(len(D)):
        for j in range(len(D)):
            scaled[i, j] = D[i] * W[i, j] * D[j]


def uniform_scale(W: FloatArray) -> FloatArray:
    """D = 1/√(mean diagonal of W) on every row: keeps the proportions of the caller's rows."""
    mean = float(W.diagonal().mean()) if len(W) else 1.0
    return np.full(len(W), 1.0 / sqrt(mean) if mean > 0.0 else 1.0)


def equilibrating_scale(W: FloatArray, blocks: Blocks) -> FloatArray:
    """D that gives boxes and the mean of each cone a unit diagonal: rows of different units (m, m³, rad) then compare.

    Rows that nothing moves are scaled like the most compliant one.
    """
    diagonal = np.abs(W.diagonal())
    rows = blocks.cones[:, None] + np.arange(3)
    diagonal[rows] = diagonal[rows].mean(axis=1, keepdims=True) if len(rows) else 0.0
    diagonal[diagonal == 0.0] = float(diagonal.max(initial=0.0)) or 1.0
    D: FloatArray = 1.0 / np.sqrt(diagonal)
    return D


@kernel
def natural_map(r: FloatArray, u: FloatArray, blocks: Blocks, out: FloatArray) -> float:
    """out = r − P(r − ũ); returns its norm."""
    total = 0.0
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        out[i] = r[i] - min(max(r[i] - u[i], blocks.lower[b]), blocks.upper[b])
        total += out[i] * out[i]
    for c in range(len(blocks.cones)):
        i, mu = blocks.cones[c], blocks.mu[c]
        x = r[i] - u[i] - mu * sqrt(u[i + 1] ** 2 + u[i + 2] ** 2)
        y1, y2 = r[i + 1] - u[i + 1], r[i + 2] - u[i + 2]
        y = sqrt(y1 * y1 + y2 * y2)
        normal, ratio = x, 1.0  # inside the cone
        if mu * y <= -x:  # in the polar cone
            normal, ratio = 0.0, 0.0
        elif y > mu * x:
            normal = (x + mu * y) / (1.0 + mu * mu)
            ratio = mu * normal / y
        out[i] = r[i] - normal
        out[i + 1] = r[i + 1] - ratio * y1
        out[i + 2] = r[i + 2] - ratio * y2
        total += out[i] ** 2 + out[i + 1] ** 2 + out[i + 2] ** 2
    return sqrt(total)


def residual_of(problem: BlockProblem, r: FloatArray) -> float:
    """Norm of the natural map of a scaled problem at r, and its rounding: it is blind to slips below that of r."""
    return float(natural_map(r, problem.slip(r), problem.blocks, np.empty_like(r))) + rounding_of(r)


def rounding_of(r: FloatArray) -> float:
    """Slip that r − ρ u cannot hold for want of digits, for scaled r; no solution has forces that large."""
    return 4.0 * _EPS * float(np.linalg.norm(r))


def complementarity_gap(r: FloatArray, u: FloatArray, blocks: Blocks) -> float:
    """Σ |r · ũ| over the cones + Σ |(r − bound) u| over the boxes, the bound being the one that u's sign asks for."""
    rows = blocks.cones[:, None] + np.arange(3)
    force, slip = r[rows], u[rows]
    slip[:, 0] += blocks.mu * np.linalg.norm(slip[:, 1:], axis=1)
    bound = np.where(u[blocks.boxes] > 0.0, blocks.lower, blocks.upper)
    off = r[blocks.boxes] - np.where(np.isfinite(bound), bound, 0.0)
    return float(np.abs((force * slip).sum(axis=1)).sum() + np.abs(off * u[blocks.boxes]).sum())


def projected(r: FloatArray, blocks: Blocks) -> FloatArray:
    """The nearest forces to r that boxes and cones allow: the start made of a previous solution."""
    out = np.zeros_like(r)
    natural_map(r, np.zeros_like(r), blocks, out)
    allowed: FloatArray = r - out
    allowed[blocks.boxes] = np.clip(r[blocks.boxes], blocks.lower, blocks.upper)  # without rounding
    return allowed
