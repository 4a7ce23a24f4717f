"""Points that ride on a rigid frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pliant.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FrameMap:
    """x_k = position + R local_k for p points `local` (p, 3), m, fixed in a frame.

    q (4, 3) holds the position and the rows of R; the unknowns are a translation (m) and a rotation vector (rad)
    about the position, both in world axes.
    """

    local: FloatArray

    @property
    def count(self) -> int:
        """Number of riding points."""
        return len(self.local)

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the riding points, (p, 3), m."""
        positions: FloatArray = q[0] + self.local @ q[1:].T
        return positions

    def rows(self, q: FloatArray, members: IntArray, weights: FloatArray, directions: FloatArray) -> sparse.csr_matrix:
        """Rows (m, 6): d · δx = d · (δp + δθ × Σ w R local); see `PointMap.rows`."""
        shares = np.where(members >= 0, weights, 0.0)
        arms = np.einsum("mk,mki->mi", shares, self.local[members]) @ q[1:].T
        total = shares.sum(axis=1, keepdims=True)
        return sparse.csr_matrix(np.hstack([total * directions, np.cross(arms, directions)]))
