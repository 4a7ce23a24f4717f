"""Models whose matrix is stored by 3×3 blocks of a fixed pattern: what volumes and beams share.

Block rows that are constrained in all three directions are removed from the factor; single constrained directions are
decoupled in it. Both are exact: no penalty stands in for a support.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.core.arrays import frozen
from pliant.core.types import BoolArray, FloatArray, IndexArray
from pliant.models.body import Model
from pliant.models.model import GeometricStiffness, System
from pliant.models.volume.assembly import constrain
from pliant.models.workspace import Workspace
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.matrix import BlockMatrix, error_squares
from pliant.solvers.linear.pattern import BlockPattern
from pliant.solvers.linear.response import SolvedResponse
from pliant.solvers.linear.symbolic import Symbolic

_NO_ROWS = frozen(np.zeros(1, np.int32)), frozen(np.zeros(0, np.int32)), frozen(np.zeros(0))


class ConstrainedFactor(SolvedResponse):
    """A factor whose constrained unknowns (k,), decoupled in the matrix, are removed from right-hand sides.

    Supports take the forces on them, so that they appear neither in solutions nor in W. `memory` is the factor itself,
    whose memory can be used again.
    """

    def __init__(self, factor: CholeskyFactor, constrained: IndexArray) -> None:
        self.memory = factor
        self._constrained = constrained

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs over the free unknowns, of the shape of rhs."""
        free = np.array(rhs, np.float64)
        free.reshape(self.memory.size, -1)[self._constrained] = 0.0
        return self.memory.solve(free)

    def compliance(self, H: sparse.csr_matrix) -> FloatArray:
        """H A⁻¹ Hᵀ over the free unknowns, (m, m)."""
        free = np.ones(self.memory.size)
        free[self._constrained] = 0.0
        return self.memory.compliance(H @ sparse.diags(free, format="csr"))


class BlockModel(Model):
    """A model with a matrix of 3×3 blocks on `pattern`, and its `symbolic` factor."""

    pattern: BlockPattern
    symbolic: Symbolic

    @cached_property
    def constrained_unknowns(self) -> IndexArray:
        """Indices of the constrained unknowns."""
        return np.flatnonzero(self.constrained)

    @cached_property
    def constrained_flat(self) -> BoolArray:
        """Which unknowns are constrained, by their index."""
        return self.constrained.reshape(-1)

    @cached_property
    def partly_constrained(self) -> bool:
        """Whether some block row is constrained in one or two of its three directions."""
        rows = self.constrained.reshape(-1, 3)
        return bool((rows.any(axis=1) & ~rows.all(axis=1)).any())

    def blocks(self, workspace: Workspace | None = None) -> FloatArray:
        """Memory for the blocks of a matrix (b, 3, 3), its content undefined: spare memory, or new."""
        spare: FloatArray | None = None if workspace is None else workspace.take(self, "blocks")
        return np.empty((self.pattern.block_count, 3, 3)) if spare is None else spare

    def decouple_constrained(self, values: FloatArray) -> None:
        """Decouple single constrained directions in the blocks (b, 3, 3) of a matrix."""
        if self.partly_constrained:
            scale = float(np.abs(values[self.pattern.diagonal]).max())
            rows = self.constrained.reshape(-1, 3)
            constrain(values, self.pattern.indptr, self.pattern.indices, rows, scale)

    def constrained_factor(self, factor: CholeskyFactor) -> CholeskyFactor | ConstrainedFactor:
        """`factor`, of blocks with decoupled directions, for forces that may act on constrained unknowns too."""
        return ConstrainedFactor(factor, self.constrained_unknowns) if self.partly_constrained else factor


class BlockSystem(System):
    """A dx = r with the blocks `values` (b, 3, 3) of A."""

    takes_blocks: ClassVar[bool] = True
    model: Any
    values: FloatArray
    workspace: Workspace

    def product(self, x: FloatArray) -> FloatArray:
        """A x at the free unknowns, of the shape of x."""
        product = BlockMatrix(self.model.pattern, self.values).matvec(x.ravel()).reshape(x.shape)
        return np.where(self.model.constrained, 0.0, product)

    def error_squares(self, x: FloatArray, H: Any, lam: FloatArray) -> tuple[float, float]:
        """‖A x − r − Hᵀλ‖² and ‖r‖² + ‖Hᵀλ‖² over the free unknowns; H is None where there are no rows."""
        entries = _NO_ROWS if H is None else (frozen(H.indptr), frozen(H.indices), frozen(H.data))
        found: tuple[float, float] = error_squares(*self.equation(entries), frozen(lam), x.reshape(-1))
        return found

    def equation(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        """A, which unknowns are constrained, r and the `entries` of rows H, read-only, as kernels take them."""
        model, pattern = self.model, self.model.pattern
        return pattern.indptr, pattern.indices, self.values, model.constrained_flat, self.r.reshape(-1), *entries

    def add_stiffness(self, K: GeometricStiffness) -> None:
        """A += K."""
        K.add_to(self.values)

    def add_blocks(self, blocks: FloatArray) -> None:
        """A += `blocks` (n, 3, 3) N/m on the diagonal."""
        self.values[self.model.pattern.diagonal] += blocks

    def diagonal(self) -> FloatArray:
        """Diagonal of A, of the shape of dx."""
        diagonal: FloatArray = np.einsum("nii->ni", self.values[self.model.pattern.diagonal])
        return diagonal.reshape(self.model.constrained.shape)

    def release(self, factor: Any) -> None:
        """Return the memory of A and of its factor for the next linear solve."""
        self.workspace.give(self.model, "factor", factor if isinstance(factor, CholeskyFactor) else factor.memory)
        self.workspace.give(self.model, "blocks", self.values)
