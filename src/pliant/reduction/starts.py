"""Where a non-negative factorization starts from: singular vectors, extreme snapshots, chance."""

from __future__ import annotations

import numpy as np

from pliant.core.types import FloatArray, IndexArray

FAINT = 1e-3
"""Snapshots below this fraction of the most intense one are too faint to define a mode."""


def from_singular_vectors(S: FloatArray, rank: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The positive or the negative part of each pair of singular vectors, whichever is larger, (rank, contacts) and
    (rank, snapshots); zeros are filled with the mean of S (NNDSVDa: Boutsidis and Gallopoulos, Pattern Recognition 41,
    2008). The singular vectors are those of a random range of S after two power iterations.
    """
    width = min(rank + 10, *S.shape)
    range_: FloatArray = np.linalg.qr(S @ rng.normal(size=(S.shape[1], width)))[0]
    for _ in range(2):
        range_ = np.linalg.qr(S @ (S.T @ range_))[0]
    left, sigma, right = np.linalg.svd(range_.T @ S, full_matrices=False)
    U, V = (range_ @ left).T[:rank], right[:rank]
    parts = [(np.maximum(U, 0.0), np.maximum(V, 0.0)), (np.maximum(-U, 0.0), np.maximum(-V, 0.0))]
    sizes = [(np.linalg.norm(u, axis=1), np.linalg.norm(v, axis=1)) for u, v in parts]
    weight = [a * b for a, b in sizes]
    first = (weight[0] >= weight[1])[:, None]
    W, H = np.zeros((rank, S.shape[0])), np.zeros((rank, S.shape[1]))
    for factor, k in ((W, 0), (H, 1)):
        scaled = (_scaled(p[k], s[k], sigma[: len(U)] * w) for p, s, w in zip(parts, sizes, weight))
        factor[: len(U)] = np.where(first, *scaled)
    fill = float(S.mean())
    return np.where(W > 0.0, W, fill), np.where(H > 0.0, H, fill)


def _scaled(X: FloatArray, sizes: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(X * (np.sqrt(weights) / np.maximum(sizes, 1e-300))[:, None])


def extreme_snapshots(S: FloatArray, rank: int) -> IndexArray:
    """The `rank` snapshots that span the cone of S best (rank,): each in turn the farthest from the span of those
    before, all scaled to the same sum, in which the extreme rays of a cone are the corners of a polytope (successive
    projection: Gillis and Vavasis, IEEE PAMI 36, 2014).
    """
    sums = S.sum(axis=0)
    bright = np.flatnonzero(sums > FAINT * sums.max())
    left = S[:, bright] / sums[bright]
    distance = (left**2).sum(axis=0)
    chosen: list[int] = []
    directions: FloatArray = np.zeros((S.shape[0], 0))
    for _ in range(min(rank, len(bright))):
        best = int(distance.argmax())
        chosen.append(best)
        new = left[:, best] - directions @ (directions.T @ left[:, best])
        new -= directions @ (directions.T @ new)
        size = float(np.linalg.norm(new))
        if size <= 1e-12:  # of columns of unit length: in the span of those chosen
            break
        new /= size
        directions = np.column_stack([directions, new])
        distance = np.maximum(distance - (new @ left) ** 2, 0.0)
    return np.asarray(bright[chosen])


def from_extremes(S: FloatArray, rank: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Extreme snapshots as modes, with the weights that fit each alone; random factors fill the rest."""
    W, H = from_chance(S, rank, rng)
    picked = extreme_snapshots(S, rank)
    W[: len(picked)] = S[:, picked].T / np.linalg.norm(S[:, picked], axis=0)[:, None]
    H[: len(picked)] = W[: len(picked)] @ S / rank
    return W, H


def from_chance(S: FloatArray, rank: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Uniform random factors whose product has the mean of S, (rank, contacts) and (rank, snapshots)."""
    scale = 2.0 * np.sqrt(S.mean() / rank)
    return scale * rng.random((rank, S.shape[0])), scale * rng.random((rank, S.shape[1]))
