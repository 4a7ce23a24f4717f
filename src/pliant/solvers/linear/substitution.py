"""Forward and backward substitution with the supernodal factor, for one or many right-hand sides.

Vectors are in elimination order. Many right-hand sides are stored row by row, shape (unknowns, m), which BLAS reads as
the m × unknowns transpose: Y = L⁻¹ X becomes Yᵀ = Xᵀ L⁻ᵀ, and every row is contiguous.
"""

from __future__ import annotations

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray
from pliant.solvers.linear.blas import Blas, address, solve_right, subtract_product
from pliant.solvers.linear.fronts import Fronts
from pliant.solvers.linear.panel import solve_lower, solve_upper


@kernel
def solve_one(
    fronts: Fronts, b: int, nodes: IntArray, panels: FloatArray, rhs: FloatArray, x: FloatArray, work: FloatArray
) -> None:
    """Set x to A⁻¹ rhs, both in the caller's numbering; x must be zero where a node is not an unknown.

    `work` has room for the unknowns and for the tallest front.
    """
    n = b * len(nodes)
    for j in range(len(nodes)):
        for r in range(b):
            work[b * j + r] = rhs[b * nodes[j] + r]
    for s in range(len(fronts.parent)):
        first = b * fronts.start[s]
        k = b * fronts.start[s + 1] - first
        rows = fronts.rows[fronts.row_ptr[s] : fronts.row_ptr[s + 1]]
        height = k + b * len(rows)
        for i in range(k):
            work[n + i] = work[first + i]
        work[n + k : n + height] = 0.0
        solve_lower(panels, fronts.panel[s], height, k, work[n:])
        for i in range(k):
            work[first + i] = work[n + i]
        for i in range(len(rows)):
            for r in range(b):
                work[b * rows[i] + r] += work[n + k + b * i + r]
    for s in range(len(fronts.parent) - 1, -1, -1):
        first = b * fronts.start[s]
        k = b * fronts.start[s + 1] - first
        rows = fronts.rows[fronts.row_ptr[s] : fronts.row_ptr[s + 1]]
        height = k + b * len(rows)
        for i in range(k):
            work[n + i] = work[first + i]
        for i in range(len(rows)):
            for r in range(b):
                work[n + k + b * i + r] = work[b * rows[i] + r]
        solve_upper(panels, fronts.panel[s], height, k, work[n:])
        for i in range(k):
            work[first + i] = work[n + i]
    for j in range(len(nodes)):
        for r in range(b):
            x[b * nodes[j] + r] = work[b * j + r]


@kernel
def forward(fronts: Fronts, lib: Blas, b: int, panels: FloatArray, x: FloatArray, work: FloatArray) -> None:
    """Turn x into L⁻¹ x, for x of shape (unknowns, m); `work` has the shape (rows of the tallest front, m)."""
    m = x.shape[1]
    y = address(x)
    side = address(work)
    factor = address(panels)
    for s in range(len(fronts.parent)):
        first = b * fronts.start[s]
        k = b * fronts.start[s + 1] - first
        rows = fronts.row_ptr[s + 1] - fronts.row_ptr[s]
        height = k + b * rows
        corner = factor + 8 * fronts.panel[s]
        mine = y + 8 * first * m
        solve_right(lib, m, k, corner, height, mine, m, True)
        if rows == 0:
            continue
        for i in range(b * rows):
            work[i, :] = 0.0
        subtract_product(lib, m, b * rows, k, mine, m, corner + 8 * k, height, True, side, m)
        for i in range(rows):
            row = b * fronts.rows[fronts.row_ptr[s] + i]
            for r in range(b):
                for c in range(m):
                    x[row + r, c] += work[b * i + r, c]


@kernel
def backward(fronts: Fronts, lib: Blas, b: int, panels: FloatArray, x: FloatArray, work: FloatArray) -> None:
    """Turn x into L⁻ᵀ x, for x of shape (unknowns, m); `work` has the shape (rows of the tallest front, m)."""
    m = x.shape[1]
    y = address(x)
    side = address(work)
    factor = address(panels)
    for s in range(len(fronts.parent) - 1, -1, -1):
        first = b * fronts.start[s]
        k = b * fronts.start[s + 1] - first
        rows = fronts.row_ptr[s + 1] - fronts.row_ptr[s]
        height = k + b * rows
        corner = factor + 8 * fronts.panel[s]
        mine = y + 8 * first * m
        for i in range(rows):
            row = b * fronts.rows[fronts.row_ptr[s] + i]
            for r in range(b):
                for c in range(m):
                    work[b * i + r, c] = x[row + r, c]
        if rows > 0:
            subtract_product(lib, m, k, b * rows, side, m, corner + 8 * k, height, False, mine, m)
        solve_right(lib, m, k, corner, height, mine, m, False)
