"""Conjugate gradients on many right-hand sides at once, preconditioned by a factor of a matrix that is close.

A X = B with A sparse in blocks and a preconditioner P ≈ A⁻¹, every column with its own steps (M. R. Hestenes &
E. Stiefel, Methods of conjugate gradients for solving linear systems, J. Res. Nat. Bur. Standards 49, 1952); columns
share the products with A and P, which then run at the speed of matrix products. Arrays are (unknowns, m), row by row,
in elimination order.

The error of a column, ‖x − A⁻¹b‖_A, is measured by √(rᵀ P r), which equals it for P = A⁻¹ and is at hand in every
iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray


class Start(NamedTuple):
    """A known approximation X of A⁻¹B with its residual R = B − A X, both (unknowns, m), and xᵀA x of every column."""

    x: FloatArray
    r: FloatArray
    energy: FloatArray


class Solved(NamedTuple):
    """X and the residual B − A X, (unknowns, m); products with A; whether every column reached the tolerance.

    `definite` is false where a direction of negative curvature was met: A is not positive definite.
    """

    x: FloatArray
    r: FloatArray
    iterations: int
    reached: bool
    definite: bool = True


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    precondition: Callable[[FloatArray], FloatArray],
    rhs: FloatArray,
    *,
    tolerance: float,
    limit: int,
    start: Start | None = None,
) -> Solved:
    """Iterate until √(rᵀPr) ≤ tolerance × √(bᵀPb) in every column, at most `limit` times.

    `product` and `precondition` give A X and P R as new arrays. With a `start`, its energy takes the place of bᵀPb.
    """
    m = rhs.shape[1]
    x, r = (np.zeros(rhs.shape), rhs.copy()) if start is None else (start.x, start.r)
    p = precondition(r)
    height = column_products(r, p)
    enough = tolerance**2 * (height if start is None else start.energy)
    for iteration in range(limit + 1):
        if not (height > enough).any():  # NaN ends here too, and has not reached anything
            return Solved(x, r, iteration, bool((height <= enough).all()))
        if iteration == limit:
            break
        q = product(p)
        curvature = column_products(p, q)
        if ((curvature <= 0.0) & (height > enough)).any():
            return Solved(x, r, iteration + 1, reached=False, definite=False)
        with np.errstate(divide="ignore", invalid="ignore"):
            _advance(x, r, p, q, np.where(curvature > 0.0, height / curvature, 0.0))
            z = precondition(r)
            last, height = height, column_products(r, z)
            _redirect(p, z, np.where(last > 0.0, height / last, np.zeros(m)))
    return Solved(x, r, limit, reached=False)


def column_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """aᵀb of every column, (m,)."""
    out = np.empty(a.shape[1])
    _column_products(a, b, out)
    return out


@kernel
def _column_products(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    if a.shape[1] == 1:  # a loop over rows of one entry does not become vector code
        left, right = a.reshape(-1), b.reshape(-1)
        total = 0.0
        for i in range(len(left)):
            total += left[i] * right[i]
        out[0] = total
        return
    out[:] = 0.0
    for i in range(len(a)):
        left, right = a[i], b[i]
        for c in range(len(out)):
            out[c] += left[c] * right[c]


@kernel
def _advance(x: FloatArray, r: FloatArray, p: FloatArray, q: FloatArray, alpha: FloatArray) -> None:
    """X += P α and R −= Q α, column by column."""
    if x.shape[1] == 1:
        _add(x.reshape(-1), p.reshape(-1), alpha[0])
        _add(r.reshape(-1), q.reshape(-1), -alpha[0])
        return
    for i in range(len(x)):
        to, by = x[i], p[i]
        for c in range(len(alpha)):
            to[c] += alpha[c] * by[c]
        to, by = r[i], q[i]
        for c in range(len(alpha)):
            to[c] -= alpha[c] * by[c]


@inline
def _add(to: FloatArray, by: FloatArray, factor: float) -> None:
    for i in range(len(to)):
        to[i] += factor * by[i]


@kernel
def _redirect(p: FloatArray, z: FloatArray, beta: FloatArray) -> None:
    """P := Z + P β, column by column."""
    if p.shape[1] == 1:
        to, by = p.reshape(-1), z.reshape(-1)
        for i in range(len(to)):
            to[i] = by[i] + beta[0] * to[i]
        return
    for i in range(len(p)):
        to, by = p[i], z[i]
        for c in range(len(beta)):
            to[c] = by[c] + beta[c] * to[c]


@kernel
def block_product(
    indptr: IndexArray, indices: IntArray, values: FloatArray, position: IntArray, x: FloatArray, y: FloatArray
) -> None:
    """Add A X to Y, for the lower triangle of A in 3×3 blocks and X, Y (unknowns, m) in elimination order.

    Blocks of nodes that are not unknowns (position −1) are left out.
    """
    n, m = x.shape
    if m == 1:
        _product_one(indptr, indices, values, position, x.reshape(-1), y.reshape(-1))
        return
    given, found = np.empty(n), np.empty(n)
    for c in range(m):  # faster than all columns at once: the sums of a node stay in registers
        for i in range(n):
            given[i], found[i] = x[i, c], y[i, c]
        _product_one(indptr, indices, values, position, given, found)
        for i in range(n):
            y[i, c] = found[i]


@inline
def _product_one(
    indptr: IndexArray, indices: IntArray, values: FloatArray, position: IntArray, x: FloatArray, y: FloatArray
) -> None:
    for i in range(len(indptr) - 1):
        row = 3 * position[i]
        if row < 0:
            continue
        x0, x1, x2 = x[row], x[row + 1], x[row + 2]
        t0 = t1 = t2 = 0.0
        last = indptr[i + 1] - 1
        for q in range(indptr[i], last + 1):
            k = 3 * position[indices[q]]
            if k < 0:
                continue
            a, b, c = values[q, 0, 0], values[q, 0, 1], values[q, 0, 2]
            d, e, f = values[q, 1, 0], values[q, 1, 1], values[q, 1, 2]
            g, h, m = values[q, 2, 0], values[q, 2, 1], values[q, 2, 2]
            t0 += a * x[k] + b * x[k + 1] + c * x[k + 2]
            t1 += d * x[k] + e * x[k + 1] + f * x[k + 2]
            t2 += g * x[k] + h * x[k + 1] + m * x[k + 2]
            if q < last:
                y[k] += a * x0 + d * x1 + g * x2
                y[k + 1] += b * x0 + e * x1 + h * x2
                y[k + 2] += c * x0 + f * x1 + m * x2
        y[row] += t0
        y[row + 1] += t1
        y[row + 2] += t2


@kernel
def turn(rotations: FloatArray, x: FloatArray, back: bool) -> None:
    """Turn the three rows of every node of x (3 n, m) by its rotation (n, 3, 3), or `back` by its transpose."""
    for i in range(len(rotations)):
        R = rotations[i]
        u, v, w = x[3 * i], x[3 * i + 1], x[3 * i + 2]
        for c in range(x.shape[1]):
            a, b, d = u[c], v[c], w[c]
            if back:
                u[c] = R[0, 0] * a + R[1, 0] * b + R[2, 0] * d
                v[c] = R[0, 1] * a + R[1, 1] * b + R[2, 1] * d
                w[c] = R[0, 2] * a + R[1, 2] * b + R[2, 2] * d
            else:
                u[c] = R[0, 0] * a + R[0, 1] * b + R[0, 2] * d
                v[c] = R[1, 0] * a + R[1, 1] * b + R[1, 2] * d
                w[c] = R[2, 0] * a + R[2, 1] * b + R[2, 2] * d
