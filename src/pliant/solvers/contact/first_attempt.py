"""The first attempt on boxes and cones alone, in one call: what solves nearly every step with friction.

Scaling, the start, sweeps or full Newton steps (`full_steps`), and the residual of what they found take one kernel. The
same lines in NumPy take longer than the iteration for a hundred rows. Problems with eliminated or given rows are left
to `solve`, as are those that the attempt leaves above the tolerance, with what it reached.
"""

from __future__ import annotations

from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.status import Status
from pliant.core.types import FloatArray
from pliant.solvers.contact.blocks import Blocks, natural_map
from pliant.solvers.contact.budget import Budget
from pliant.solvers.contact.full_steps import full_steps, residual_at
from pliant.solvers.contact.laws import BOX, CONE, MixedProblem, classify
from pliant.solvers.contact.result import ComplementarityResult
from pliant.solvers.linear.lapack import lapack

_OTHER, _SOLVED, _FAILED = 0, 1, 2


class Attempt(NamedTuple):
    """The best λ (m,), N, of an attempt that failed, and the iterations and multiply–adds that it took."""

    lam: FloatArray
    iterations: int
    operations: float


def first_attempt(
    p: MixedProblem, warm: FloatArray | None, tolerance: float, negligible: float, budget: Budget
) -> ComplementarityResult | Attempt | None:
    """The result of the problem with `tolerance` and `negligible` as in `solve`, from λ = `warm` (m,), or the attempt
    that failed; None where there are rows of other laws.
    """
    m = len(p.delta_free)
    lam, delta = np.empty(m), np.empty(m)
    laws = frozen(p.law), frozen(p.mu), frozen(p.lower), frozen(p.upper), frozen(p.target)
    W = frozen(p.W if p.W.flags.c_contiguous else np.ascontiguousarray(p.W))
    start = frozen(np.zeros(m) if warm is None else warm)
    given = W, frozen(p.delta_free), *laws, start, tolerance, negligible, *budget.first, lapack()
    found, residual, gap, iterations, operations = _attempt(*given, lam, delta)
    if found == _SOLVED:
        return ComplementarityResult(lam, delta, Status.CONVERGED, residual, gap, iterations)
    return Attempt(lam, iterations, operations) if found == _FAILED else None


@kernel
def _attempt(  # type: ignore[no-untyped-def]
    W, delta_free, law, mu, lower, upper, target, warm, tolerance, negligible, limit, operations, lib, lam, delta
):
    """Fill λ and δ (m,); returns whether they satisfy the laws, their residual, the complementarity gap, and the
    iterations and multiply–adds taken.
    """
    m = len(law)
    role, given = np.empty(m, np.int8), np.empty(m)
    low, high = np.empty(m), np.empty(m)
    classify(law, mu, lower, upper, target, role, given, low, high)
    blocks, known = _blocks(role, mu, low, high)
    D, q, r = np.empty(m), np.empty(m), np.empty(m)
    if not known or not _equilibrate(W, blocks, D):
        return _OTHER, 0.0, 0.0, 0, 0.0
    size = reach = 0.0
    for i in range(m):
        q[i] = D[i] * (delta_free[i] - target[i])
        size += q[i] * q[i]
        reach += D[i] * D[i]
    scale = sqrt(size)
    if not (scale > 0.0 and scale < inf):
        return _OTHER, 0.0, 0.0, 0, 0.0
    bound = max(tolerance, negligible * sqrt(reach) / scale)
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        blocks.lower[b] /= D[i] * scale
        blocks.upper[b] /= D[i] * scale
    scaled, columns = np.empty((m, m)), np.empty((m, m))
    for i in range(m):
        q[i] /= scale
        r[i] = warm[i] / (scale * D[i])
        row, from_ = scaled[i], W[i]
        for j in range(m):
            row[j] = D[i] * from_[j] * D[j]
    for i in range(m):
        for j in range(m):
            columns[i, j] = scaled[j, i]
    u, F = np.empty(m), np.empty(m)
    _project(r, blocks, u, F)
    residual, iterations, taken = full_steps(scaled, columns, q, blocks, r, bound, limit, operations, lib)
    if not residual <= bound:
        for i in range(m):
            lam[i] = scale * D[i] * r[i]
        return _FAILED, residual, 0.0, iterations, taken
    best = r.copy()
    _project(r, blocks, u, F)  # no force outside its cone, not even by the tolerance
    if not residual_at(columns, q, r, blocks, u, F) <= bound:
        r[:] = best
    for i in range(m):
        lam[i] = scale * D[i] * r[i]
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]  # bounds exactly: scaling back rounds
        if r[i] <= blocks.lower[b]:
            lam[i] = low[i]
        elif r[i] >= blocks.upper[b]:
            lam[i] = high[i]
    for i in range(m):
        total, row = delta_free[i], W[i]
        for j in range(m):
            total += row[j] * lam[j]
        delta[i] = total
        r[i] = lam[i] / (scale * D[i])
        u[i] = D[i] * (total - target[i]) / scale
    residual = natural_map(r, u, blocks, F)
    gap = _gap(lam, delta, target, blocks, low, high)
    return _SOLVED if residual <= bound else _FAILED, residual, gap, iterations, taken


@inline
def _blocks(role, mu, low, high):  # type: ignore[no-untyped-def]
    """Boxes and cones, and whether there are only these, and at least one cone."""
    m = len(role)
    cones, boxes = np.empty(m, np.int64), np.empty(m, np.int64)
    cone = box = i = 0
    known = True
    while i < m:
        if role[i] == CONE:
            cones[cone] = i
            cone += 1
            i += 3
            continue
        known = known and role[i] == BOX
        boxes[box] = i
        box += 1
        i += 1
    friction, lower, upper = np.empty(cone), np.empty(box), np.empty(box)
    for c in range(cone):
        friction[c] = mu[cones[c]]
        known = known and isfinite(friction[c])
    for b in range(box):
        lower[b], upper[b] = low[boxes[b]], high[boxes[b]]
    return Blocks(cones[:cone], friction, boxes[:box], lower, upper), known and cone > 0


@inline
def _equilibrate(W, blocks, D):  # type: ignore[no-untyped-def]
    """`blocks.equilibrating_scale` into D (m,), and whether W is finite."""
    m, most, total = len(D), 0.0, 0.0
    for i in range(m):
        row = W[i]
        for j in range(m):
            total += abs(row[j])
        D[i] = abs(row[i])
    for c in range(len(blocks.cones)):
        i = blocks.cones[c]
        mean = (D[i] + D[i + 1] + D[i + 2]) / 3.0
        D[i], D[i + 1], D[i + 2] = mean, mean, mean
    for i in range(m):
        most = max(most, D[i])
    for i in range(m):
        D[i] = D[i] if D[i] > 0.0 else most
        D[i] = 1.0 / sqrt(D[i]) if D[i] > 0.0 else 1.0
    return total < inf


@inline
def _project(r, blocks, zero, scratch):  # type: ignore[no-untyped-def]
    """`blocks.projected` in place."""
    zero[:] = 0.0
    natural_map(r, zero, blocks, scratch)
    for i in range(len(r)):
        r[i] -= scratch[i]
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        r[i] = min(max(r[i], blocks.lower[b]), blocks.upper[b])  # without rounding


@inline
def _gap(lam, delta, target, blocks, low, high):  # type: ignore[no-untyped-def]
    """`blocks.complementarity_gap`."""
    total = 0.0
    for c in range(len(blocks.cones)):
        i = blocks.cones[c]
        u0, u1, u2 = delta[i] - target[i], delta[i + 1] - target[i + 1], delta[i + 2] - target[i + 2]
        normal = u0 + blocks.mu[c] * sqrt(u1 * u1 + u2 * u2)
        total += abs(lam[i] * normal + lam[i + 1] * u1 + lam[i + 2] * u2)
    for b in range(len(blocks.boxes)):
        i = blocks.boxes[b]
        u = delta[i] - target[i]
        asked = low[i] if u > 0.0 else high[i]
        total += abs((lam[i] - (asked if isfinite(asked) else 0.0)) * u)
    return total
