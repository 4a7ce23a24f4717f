"""A symmetric matrix of node blocks, its lower triangle stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.errors import InputError
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
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
    if b == 3:
        _matvec_3(indptr, indices, values, x, product)
        return
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


@kernel
def error_squares(
    indptr: IndexArray, indices: IntArray, values: FloatArray, fixed: BoolArray, r: FloatArray, h_ptr: IntArray,
    h_columns: IntArray, h_values: FloatArray, lam: FloatArray, x: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """‖A x − r − Hᵀλ‖² and ‖r‖² + ‖Hᵀλ‖² over the unknowns that are not `fixed`, for blocks of three."""
    product, push = np.zeros(len(x)), np.zeros(len(x))
    _matvec_3(indptr, indices, values, x, product)
    for i in range(len(h_ptr) - 1):
        for q in range(h_ptr[i], h_ptr[i + 1]):
            push[h_columns[q]] += h_values[q] * lam[i]
    error = total = 0.0
    for i in range(len(x)):
        if not fixed[i]:
            error += (product[i] - r[i] - push[i]) ** 2
            total += r[i] ** 2 + push[i] ** 2
    return error, total


@inline
def _matvec_3(indptr: IndexArray, indices: IntArray, values: FloatArray, x: FloatArray, product: FloatArray) -> None:
    """`_matvec` for blocks of three, written out: this is in every step."""
    for i in range(len(indptr) - 1):
        x0, x1, x2 = x[3 * i], x[3 * i + 1], x[3 * i + 2]
        t0 = t1 = t2 = 0.0
        last = indptr[i + 1] - 1
        for q in range(indptr[i], last + 1):
            k = 3 * indices[q]
            a, b, c = values[q, 0, 0], values[q, 0, 1], values[q, 0, 2]
            d, e, f = values[q, 1, 0], values[q, 1, 1], values[q, 1, 2]
            g, h, m = values[q, 2, 0], values[q, 2, 1], values[q, 2, 2]
            t0 += a * x[k] + b * x[k + 1] + c * x[k + 2]
            t1 += d * x[k] + e * x[k + 1] + f * x[k + 2]
            t2 += g * x[k] + h * x[k + 1] + m * x[k + 2]
            if q < last:
                product[k] += a * x0 + d * x1 + g * x2
                product[k + 1] += b * x0 + e * x1 + h * x2
                product[k + 2] += c * x0 + f * x1 + m * x2
        product[3 * i] += t0
        product[3 * i + 1] += t1
        product[3 * i + 2] += t2
