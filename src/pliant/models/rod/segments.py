"""Straight segments of a cable between points embedded in a rod: the stiffness that its tension adds in statics.

The tension T of segments of length ℓ pushes the points by −g, g = ∂(Σ T ℓ)/∂x. In the strains of the rod
∂²(Σ T ℓ)/∂q² = Σ Jᵀ T/ℓ (I − u uᵀ) J + ∂(Jᵀ g)/∂q with g held: the segments turn, and the points move along curves.
The second part is of either sign, and as large as the bending stiffness where cables twist or bend a rod far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.model import MatrixStiffness
from pliant.models.pieces import Pieces


@dataclass(frozen=True, eq=False)
class RodPieces(Pieces):
    """Segments of a cable on a rod. Steps in time omit their stiffness, which inertia outweighs."""

    def turning_stiffness(
        self, q: FloatArray, tensions: FloatArray, units: FloatArray, lengths: FloatArray
    ) -> MatrixStiffness:
        """All of ∂²(Σ T ℓ)/∂q² over the active unknowns, (n, n)."""
        moves, _ = self.map.jacobians(q)
        J = np.zeros((len(self.ends), 3, moves.shape[2]))
        for s, piece in enumerate(self.ends):
            for p, sign in piece:
                J[s] += sign * moves[p]
        across = np.sqrt(tensions / lengths)[:, None, None] * (J - units[:, :, None] * (units[:, None] @ J))
        flat = across.reshape(-1, moves.shape[2])
        return MatrixStiffness(flat.T @ flat + self.map.load_stiffness(q, -self.gradients(tensions, units)))
