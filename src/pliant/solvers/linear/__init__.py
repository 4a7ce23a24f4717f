"""The linear core: factorize once per step, solve with many right-hand sides, and condense W = H A⁻¹ Hᵀ."""

from pliant.solvers.linear.matrix import BlockMatrix
from pliant.solvers.linear.pattern import BlockPattern

__all__ = ["BlockMatrix", "BlockPattern"]
