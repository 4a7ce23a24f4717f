"""How much each node of a volume has turned between two shapes."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.materials.rotations import signed_svd


@kernel
def node_rotations(
    indptr: IndexArray, indices: IntArray, held: BoolArray, before: FloatArray, after: FloatArray
) -> FloatArray:
    """Rotations (n, 3, 3) of the nodes from the positions `before` to `after`, (n, 3) m, whatever the elements are.

    Each is the polar rotation of Σ e′eᵀ over the edges e of the lower triangle of a pattern, e′ after: exact where the
    surroundings move rigidly. Nodes with `held` (n, 3) directions keep theirs.
    """
    n = len(before)
    C = np.zeros((n, 3, 3))
    for i in range(n):
        for q in range(indptr[i], indptr[i + 1] - 1):
            j = indices[q]
            x, y, z = before[j, 0] - before[i, 0], before[j, 1] - before[i, 1], before[j, 2] - before[i, 2]
            weight = 1.0 / (x * x + y * y + z * z)
            for r in range(3):
                e = weight * (after[j, r] - after[i, r])
                C[i, r, 0] += e * x
                C[i, r, 1] += e * y
                C[i, r, 2] += e * z
                C[j, r, 0] += e * x
                C[j, r, 1] += e * y
                C[j, r, 2] += e * z
    U, V, s = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for i in range(n):
        if held[i].any():
            C[i] = np.eye(3)
            continue
        signed_svd(C[i], U, s, V)
        for r in range(3):
            for c in range(3):
                C[i, r, c] = U[r, 0] * V[c, 0] + U[r, 1] * V[c, 1] + U[r, 2] * V[c, 2]
    return C
