"""How far the integration points of a volume are from shapes that its elements cannot follow, in one pass."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import kernel
from pliant.models.volume.assembly import deformation_gradient


@kernel
def shape_limits(q, nodes, ptr, G):
    """The smallest det F of the points, and an upper bound of their stretches.

    The bound is ‖FᵀF‖^½: the Frobenius norm exceeds the largest eigenvalue little where one stretch prevails. Inputs
    are the nodes' positions q (n, 3), m, and, for point p, entries ptr[p]:ptr[p+1] of `nodes` and of the gradients G of
    their shape functions, 1/m.
    """
    least, largest = np.inf, 0.0
    F = np.empty((3, 3))
    for p in range(len(ptr) - 1):
        deformation_gradient(q, nodes, G, ptr[p], ptr[p + 1], F)
        least = min(
            least,
            F[0, 0] * (F[1, 1] * F[2, 2] - F[1, 2] * F[2, 1])
            + F[0, 1] * (F[1, 2] * F[2, 0] - F[1, 0] * F[2, 2])
            + F[0, 2] * (F[1, 0] * F[2, 1] - F[1, 1] * F[2, 0]),
        )
        norm = 0.0
        for i in range(3):
            for j in range(3):
                entry = F[0, i] * F[0, j] + F[1, i] * F[1, j] + F[2, i] * F[2, j]
                norm += entry * entry
        largest = max(largest, norm)
    return least, largest**0.25
