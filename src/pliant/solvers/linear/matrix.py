"""A symmetric matrix of node blocks, its lower triangle stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.solvers.linear.pattern import BlockPattern


@dataclass(frozen=True, eq=False)
class BlockMatrix:
    """A = Aᵀ with blocks on `pattern`: ``values[q]`` is the block of row i and column j ≤ i, shape (nnzb, b, b).

    ``values[q, r, c]`` is A[b i + r, b j + c]. Diagonal blocks are stored whole and must be symmetric: solvers read
    their lower triangle, `matvec` reads all of them.
    """

    pattern: BlockPattern
    values: FloatArray

    def __post_init__(self) -> None:
        b = self.pattern.block
        if self.values.shape != (self.pattern.block_count, b, b) or self.values.dtype != np.float64:
            raise InputError(
                f"values must be float64 of shape {(self.pattern.block_count, b, b)}, "
                f"got {self.values.dtype} of shape {self.values.shape}"
            )

    @staticmethod
    def zeros(pattern: BlockPattern) -> BlockMatrix:
        """A matrix of zeros on `pattern`, to be assembled into."""
        return BlockMatrix(pattern, np.zeros((pattern.block_count, pattern.block, pattern.block)))

    @property
    def size(self) -> int:
        """Scalar rows: node_count × block."""
        return self.pattern.node_count * self.pattern.block

    def matvec(self, x: Any) -> FloatArray:
        """A x for x of shape (n b,) or (n, b); the result has the shape of x."""
        given = np.asarray(x, np.float64)
        nodes = (self.pattern.node_count, self.pattern.block)
        if given.shape != nodes and given.shape != (self.size,):
            raise InputError(f"x must have shape ({self.size},) or {nodes}, got {given.shape}")
        flat = np.ascontiguousarray(given).reshape(-1)
        product = np.zeros(self.size)
        _matvec(self.pattern.indptr, self.pattern.indices, np.ascontiguousarray(self.values), flat, product)
        return product.reshape(given.shape)

    def to_scipy(self) -> sparse.csr_matrix:
        """The full symmetric matrix as SciPy CSR, shape (n b, n b)."""
        p, shape = self.pattern, (self.size, self.size)
        rows = np.repeat(np.arange(p.node_count), np.diff(p.indptr))
        strictly = self.values * (rows != p.indices)[:, None, None]
        lower = sparse.bsr_matrix((self.values, p.indices, p.indptr), shape=shape)
        upper = sparse.bsr_matrix((strictly, p.indices, p.indptr), shape=shape).T
        return (lower.tocsr() + upper.tocsr()).tocsr()


@kernel
def _matvec(indptr: IndexArray, indices: IntArray, values: FloatArray, x: FloatArray, product: FloatArray) -> None:
    """Add A x to `product`, each stored off-diagonal block used twice."""
    b = values.shape[1]
    for i in range(len(indptr) - 1):
        for q in range(indptr[i], indptr[i + 1] - 1):
            j = indices[q]
            for r in range(b):
                total = 0.0
                x_row = x[b * i + r]
                for c in range(b):
                    total += values[q, r, c] * x[b * j + c]
                    product[b * j + c] += values[q, r, c] * x_row
                product[b * i + r] += total
        diagonal = indptr[i + 1] - 1
        for r in range(b):
            total = 0.0
            for c in range(b):
                total += values[diagonal, r, c] * x[b * i + c]
            product[b * i + r] += total
