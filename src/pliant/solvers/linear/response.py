"""How a model moves under the forces of rows, by factors that keep nothing of them."""

from __future__ import annotations

from typing import Any

from pliant.core.arrays import transposed_product
from pliant.core.types import FloatArray


class SolvedResponse:
    """A factor of A whose A⁻¹ Hᵀ λ is one more solve."""

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs, of the shape of rhs."""
        raise NotImplementedError

    def response(self, H: Any, lam: FloatArray) -> FloatArray:
        """A⁻¹ Hᵀ λ, (unknowns,), of rows H (rows, unknowns) with forces λ (rows,)."""
        return self.solve(transposed_product(H, lam))
