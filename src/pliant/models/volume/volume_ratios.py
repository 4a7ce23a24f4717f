"""det F of integration points and its gradient in the positions of the nodes."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pliant.core.types import FloatArray, IndexArray
from pliant.models.body import VolumeRatios
from pliant.models.volume.points import Points


def every_volume_ratio(p: Points, x: FloatArray) -> FloatArray:
    """det F of all integration points `p` with the nodes at x (n, 3), m, without the gradients."""
    spread = x.T[:, p.nodes]
    (a, b, c), (d, e, f), (g, h, i) = np.add.reduceat(spread[:, None] * p.gradients.T, p.ptr[:-1], axis=2)
    ratio: FloatArray = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return ratio


def volume_ratios(p: Points, points: IndexArray, x: FloatArray) -> VolumeRatios:
    """Those of some of the integration points `p` with the nodes at x (n, 3), m: ∂det F/∂xₐ = cof F Gₐ."""
    counts = p.ptr[points + 1] - p.ptr[points]
    ends = np.cumsum(counts)
    entries = np.repeat(p.ptr[points] - (ends - counts), counts) + np.arange(counts.sum())
    nodes, G = p.nodes[entries], p.gradients[entries]
    owner = np.repeat(np.arange(len(points)), counts)
    F = np.add.reduceat(x[nodes][:, :, None] * G[:, None, :], ends - counts)
    rows = F.transpose(1, 0, 2)
    cofactor = np.stack([np.cross(rows[1], rows[2]), np.cross(rows[2], rows[0]), np.cross(rows[0], rows[1])], 1)
    ratio = np.einsum("pi,pi->p", F[:, 0], cofactor[:, 0])
    values = np.einsum("kij,kj->ki", cofactor[owner], G)
    columns = 3 * nodes[:, None].astype(np.int64) + np.arange(3)
    gradient = sparse.csr_matrix(
        (values.ravel(), columns.ravel(), 3 * np.concatenate([[0], ends])), shape=(len(points), x.size)
    )
    return VolumeRatios(ratio, gradient, np.cbrt(p.weight[points]))
