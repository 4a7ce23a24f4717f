"""Hierarchical alternating least squares with inner repetitions and extrapolation.

With W fixed, the rows of H minimise ‖S − WᵀH‖² one after the other, each in closed form (Cichocki, Zdunek and Amari,
2007). Two things make it quick: the products with S cost far more than a sweep over the rows, so that a sweep is
repeated while it still moves something (Gillis and Glineur, Neural Computation 24, 2012), and both factors are
extrapolated along their last change, with a restart where the error rises (Ang and Gillis, Neural Computation 31,
2019). The best iterate is kept, so the error never rises.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.status import Status
from pliant.core.types import FloatArray

INNER_SWEEPS = 4
INNER_GAIN = 0.1
"""Another sweep over the rows is worth it while it moves more than this fraction of what the first one moved."""
EVERY = 5
"""Iterations between two looks at whether the error still falls."""
BLOCK = 64
"""Columns that a sweep handles together."""


@dataclass(frozen=True, eq=False)
class Factors:
    """S ≈ Wᵀ H: `W` (rank, contacts) and `H` (rank, snapshots), both ≥ 0; `squared` is ‖S − WᵀH‖², in N²."""

    W: FloatArray
    H: FloatArray
    squared: float
    iterations: int = 0
    status: Status = Status.FIXED_ITERATIONS


def hals(S: FloatArray, W: FloatArray, H: FloatArray, *, iterations: int, tolerance: float) -> Factors:
    """Improve the factors of S (contacts, snapshots) from `W` (rank, contacts) and `H` (rank, snapshots), both ≥ 0.

    Ends when the error falls by less than `tolerance` of itself in `EVERY` iterations, or after `iterations`.
    """
    total = float(np.vdot(S, S))
    S_transposed = np.ascontiguousarray(S.T)
    best = Factors(W, H, _squared(total, W, H @ S_transposed, H @ H.T))
    W_ahead, H_ahead = W, H
    mark = last = best.squared
    step, ceiling, held = 0.5, 1.0, True
    for iteration in range(1, iterations + 1):
        reach = 0.0 if held else step
        H_new = _swept(H_ahead, W_ahead @ S, W_ahead @ W_ahead.T)
        H_ahead = np.maximum(H_new + reach * (H_new - H), 0.0)
        product, gram = H_ahead @ S_transposed, H_ahead @ H_ahead.T
        W_new = _swept(W_ahead, product, gram)
        W_ahead = np.maximum(W_new + reach * (W_new - W), 0.0)
        squared = _squared(total, W_new, product, gram)
        if squared < best.squared:
            best = Factors(W_new, H_ahead, squared)
        if squared > last:  # overshot: a plain iteration from the best, which cannot rise, then more carefully
            W, H = W_ahead, H_ahead = best.W, best.H
            ceiling, step, held, last = step, step / 1.5, True, best.squared
        else:
            W, H, last = W_new, H_new, squared
            step, ceiling = (step, ceiling) if held else (min(ceiling, 1.05 * step), min(1.0, 1.01 * ceiling))
            held = False
        if iteration % EVERY == 0:
            if mark - best.squared <= 2.0 * tolerance * mark:
                return Factors(best.W, best.H, best.squared, iteration, Status.CONVERGED)
            mark = best.squared
    return Factors(best.W, best.H, best.squared, iterations, Status.ITERATION_LIMIT)


def fitted(S: FloatArray, W: FloatArray) -> FloatArray:
    """Weights (rank, snapshots) ≥ 0 that fit S (contacts, snapshots) with the modes `W` (rank, contacts) roughly."""
    H = np.zeros((len(W), S.shape[1]))
    _sweep(H, W @ S, W @ W.T, 30, 1e-6)
    return H


def _swept(X: FloatArray, product: FloatArray, gram: FloatArray) -> FloatArray:
    """Rows of X (rank, m) that minimise ½⟨X, gram X⟩ − ⟨X, product⟩ one after the other, a few times over."""
    X = X.copy()
    _sweep(X, product, gram, INNER_SWEEPS, INNER_GAIN**2)
    return X


@kernel
def _sweep(X, product, gram, sweeps, gain):
    """In blocks of columns that stay in the first cache."""
    rank, count = X.shape
    x = np.empty((rank, BLOCK))
    row = np.empty(BLOCK)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        for k in range(rank):
            for i in range(size):
                x[k, i] = X[k, start + i]
        first = 0.0
        for sweep in range(sweeps):
            moved = 0.0
            for k in range(rank):
                diagonal = gram[k, k]
                if diagonal <= 0.0:
                    continue
                for i in range(size):
                    row[i] = product[k, start + i]
                for j in range(rank):
                    g = gram[k, j]
                    for i in range(size):
                        row[i] -= g * x[j, i]
                inverse = 1.0 / diagonal
                for i in range(size):
                    new = max(x[k, i] + row[i] * inverse, 0.0)
                    change = new - x[k, i]
                    moved += diagonal * change * change
                    x[k, i] = new
            if sweep == 0:
                first = moved
            if moved <= gain * first:
                break
        for k in range(rank):
            for i in range(size):
                X[k, start + i] = x[k, i]


def _squared(total: float, W: FloatArray, product: FloatArray, gram: FloatArray) -> float:
    """‖S − WᵀH‖² from HSᵀ and HHᵀ; rounding leaves about 1e-15 ‖S‖² of it."""
    return max(total - 2.0 * float(np.vdot(W, product)) + float(np.vdot(W @ W.T, gram)), 0.0)
