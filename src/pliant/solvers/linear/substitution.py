"""Forward and backward substitution with the supernodal factor, for one or many right-hand sides.

Vectors are in elimination order. Many right-hand sides are stored row by row, shape (unknowns, m), which BLAS reads as
the m × unknowns transpose: Y = L⁻¹ X becomes Yᵀ = Xᵀ L⁻ᵀ, and every row is contiguous.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray
from pliant.solvers.linear.blas import Blas, address, solve_right, subtract_product
from pliant.solvers.linear.fronts import Fronts
from pliant.solvers.linear.panel import solve_lower, solve_upper


@kernel
def solve_down(
    fronts: Fronts, b: int, panels: FloatArray, y: FloatArray, side: FloatArray, first: int, last: int
) -> None:
    """Forward substitution of the supernodes [first, last) in y; `side` has room for the tallest front."""
    for s in range(first, last):
        begin = b * fronts.start[s]
        k = b * fronts.start[s + 1] - begin
        rows = fronts.rows[fronts.row_ptr[s] : fronts.row_ptr[s + 1]]
        height = k + b * len(rows)
        for i in range(k):
            side[i] = y[begin + i]
        side[k:height] = 0.0
        solve_lower(panels, fronts.panel[s], height, k, side)
        for i in range(k):
            y[begin + i] = side[i]
        for i in range(len(rows)):
            for r in range(b):
                y[b * rows[i] + r] += side[k + b * i + r]


@kernel
def solve_up(
    fronts: Fronts, b: int, panels: FloatArray, y: FloatArray, side: FloatArray, first: int, last: int
) -> None:
    """Backward substitution of the supernodes [first, last) in y; `side` has room for the tallest front."""
    for s in range(last - 1, first - 1, -1):
        begin = b * fronts.start[s]
        k = b * fronts.start[s + 1] - begin
        rows = fronts.rows[fronts.row_ptr[s] : fronts.row_ptr[s + 1]]
        height = k + b * len(rows)
        for i in range(k):
            side[i] = y[begin + i]
        for i in range(len(rows)):
            for r in range(b):
                side[k + b * i + r] = y[b * rows[i] + r]
        solve_upper(panels, fronts.panel[s], height, k, side)
        for i in range(k):
            y[begin + i] = side[i]


@kernel
def solve_one(layout: Any, b: int, nodes: IntArray, panels: FloatArray, rhs: FloatArray, x: FloatArray) -> None:
    """Set x to A⁻¹ rhs, both in the caller's numbering; x must be zero where a node is not an unknown. `layout` is
    `Fronts` as a plain tuple.
    """
    fronts = Fronts(*layout)
    n = b * len(nodes)
    work = np.empty(2 * n)
    for j in range(len(nodes)):
        for r in range(b):
            work[b * j + r] = rhs[b * nodes[j] + r]
    solve_down(fronts, b, panels, work[:n], work[n:], 0, len(fronts.parent))
    solve_up(fronts, b, panels, work[:n], work[n:], 0, len(fronts.parent))
    for j in range(len(nodes)):
        for r in range(b):
            x[b * nodes[j] + r] = work[b * j + r]


@kernel
def forward(
    fronts: Fronts, lib: Blas, b: int, panels: FloatArray, x: FloatArray, work: FloatArray, start: int, stop: int
) -> None:
    """Turn x (unknowns, m) into L⁻¹ x over the supernodes [start, stop); `work` is (rows of the tallest front, m)."""
    m = x.shape[1]
    y = address(x)
    side = address(work)
    factor = address(panels)
    for s in range(start, stop):
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
def backward(
    fronts: Fronts, lib: Blas, b: int, panels: FloatArray, x: FloatArray, work: FloatArray, start: int, stop: int
) -> None:
    """Turn x (unknowns, m) into L⁻ᵀ x over the supernodes [start, stop); `work` is (rows of the tallest front, m)."""
    m = x.shape[1]
    y = address(x)
    side = address(work)
    factor = address(panels)
    for s in range(stop - 1, start - 1, -1):
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
