"""The linear core: factorize once per step, solve with many right-hand sides, and condense W = H A⁻¹ Hᵀ.

Once per model, ``BlockPattern.from_cliques`` and ``analyze``; each step, ``symbolic.factorize``, ``factor.solve`` and
``factor.compliance``.
"""

from pliant.solvers.linear.dense import DenseFactor
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.solvers.linear.pattern import BlockPattern
from pliant.solvers.linear.symbolic import Symbolic, analyze

__all__ = ["BlockMatrix", "BlockPattern", "CholeskyFactor", "DenseFactor", "Symbolic", "analyze"]
