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

from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.status import Status
from pliant.core.types import FloatArray

INNER_SWEEPS = 4
INNER_GAIN = 0.1
"""Most sweeps over the rows, and the change relative to the first sweep's below which another does not pay."""
EVERY = 5
"""Iterations between two checks of whether the error still falls."""
BLOCK = 64
"""Columns that a sweep handles together: with the modes they fit into the first cache."""


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
    best = np.array(W, order="C"), np.array(H, order="C")
    start = best[0].copy(), best[1].copy(), best[0].copy(), best[1].copy()
    work = np.empty_like(best[0]), np.empty_like(best[1]), np.empty_like(best[0]), np.empty_like(best[1])
    grams = np.empty((len(W), len(W))), np.empty((len(W), len(W)))
    both, total = (frozen(np.ascontiguousarray(S)), frozen(np.ascontiguousarray(S.T))), float(np.vdot(S, S))
    squared, done, settled = _descend(*both, total, best, start, work, grams, iterations, tolerance)
    return Factors(*best, squared, done, Status.CONVERGED if settled else Status.ITERATION_LIMIT)


@kernel
def _descend(S, S_transposed, total, best, start, work, grams, iterations, tolerance):
    """The whole descent: ‖S − WᵀH‖² of the `best`, which replace the start, iterations, and whether they settled."""
    W, H, W_ahead, H_ahead = start
    W_new, H_new, product_W, product_H = work
    gram, other = grams
    _products(W, S, product_H, other)
    _products(H, S_transposed, product_W, gram)
    least = mark = last = _squared(total, _inner(W, product_W), other, gram)
    step, ceiling, held = 0.5, 1.0, True
    for iteration in range(1, iterations + 1):
        reach = 0.0 if held else step
        if iteration > 1:
            _products(W_ahead, S, product_H, other)
        _sweep(H_ahead, product_H, other, INNER_SWEEPS, INNER_GAIN**2, H, reach, H_new, H_ahead)
        _products(H_ahead, S_transposed, product_W, gram)
        overlap = _sweep(W_ahead, product_W, gram, INNER_SWEEPS, INNER_GAIN**2, W, reach, W_new, W_ahead)
        np.dot(W_new, W_new.T, other)
        squared = _squared(total, overlap, other, gram)
        if squared < least:
            least = squared
            _copy(W_new, best[0])
            _copy(H_ahead, best[1])
        if squared > last:  # overshot: a plain iteration from the best, which cannot rise, then more carefully
            for into in (W, W_ahead):
                _copy(best[0], into)
            for into in (H, H_ahead):
                _copy(best[1], into)
            ceiling, step, held, last = step, step / 1.5, True, least
        else:
            W, W_new, H, H_new, last = W_new, W, H_new, H, squared
            if not held:
                step, ceiling = min(ceiling, 1.05 * step), min(1.0, 1.01 * ceiling)
            held = False
        if iteration % EVERY == 0:
            if mark - least <= 2.0 * tolerance * mark:
                return least, iteration, True
            mark = least
    return least, iterations, False


@inline
def _products(X, S, product, gram):
    np.dot(X, S, product)
    np.dot(X, X.T, gram)


@inline
def _inner(first, second):
    total = 0.0
    for k in range(first.shape[0]):
        for i in range(first.shape[1]):
            total += first[k, i] * second[k, i]
    return total


@inline
def _copy(source, into):
    for k in range(source.shape[0]):
        for i in range(source.shape[1]):
            into[k, i] = source[k, i]


@inline
def _squared(total, overlap, first, second):
    """‖S − WᵀH‖² from ‖S‖², ⟨W, HSᵀ⟩, WWᵀ and HHᵀ; rounding leaves about 1e-15 ‖S‖² of it."""
    return max(total - 2.0 * overlap + _inner(first, second), 0.0)


@inline
def _sweep(X, product, gram, sweeps, gain, before, reach, found, ahead):
    """Rows of X (rank, m) that minimise ½⟨X, gram X⟩ − ⟨X, product⟩ one after the other, so many times over or until it
    moves little, into `found`; the same carried on by `reach` of what they moved from `before`, into `ahead`. Returns
    ⟨found, product⟩. X and `ahead` may be the same. In blocks of columns that stay in the first cache.
    """
    rank, count = X.shape
    x = np.empty((rank, BLOCK))
    row = np.empty(BLOCK)
    overlap = 0.0
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
                new = x[k, i]
                carried = max(new + reach * (new - before[k, start + i]), 0.0)
                overlap += new * product[k, start + i]
                found[k, start + i] = new
                ahead[k, start + i] = carried
    return overlap
