"""W += YᵀY of the rows of Yᵀ = (L⁻¹ Hᵀ)ᵀ, two by two: each entry that is loaded feeds two products."""

from __future__ import annotations

from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IndexArray


@inline
def add_products(Y: FloatArray, rows: IndexArray, W: FloatArray) -> None:
    """W[i, j] += Yᵢ · Yⱼ for all i and j among the `rows` (k,) of Y (m, n)."""
    count, even = len(rows), len(rows) // 2 * 2
    for first in range(0, even, 2):
        i, k = rows[first], rows[first + 1]
        a, b = Y[i], Y[k]
        for other in range(0, first, 2):
            j, m = rows[other], rows[other + 1]
            c, d = Y[j], Y[m]
            ac = ad = bc = bd = 0.0
            for t in range(len(a)):
                ac += a[t] * c[t]
                ad += a[t] * d[t]
                bc += b[t] * c[t]
                bd += b[t] * d[t]
            _add(W, i, j, ac)
            _add(W, i, m, ad)
            _add(W, k, j, bc)
            _add(W, k, m, bd)
        aa = ab = bb = 0.0
        for t in range(len(a)):
            aa += a[t] * a[t]
            ab += a[t] * b[t]
            bb += b[t] * b[t]
        W[i, i] += aa
        W[k, k] += bb
        _add(W, k, i, ab)
    if even < count:
        i = rows[even]
        a = Y[i]
        for other in range(count):
            j = rows[other]
            c, value = Y[j], 0.0
            for t in range(len(a)):
                value += a[t] * c[t]
            if j == i:
                W[i, i] += value
            else:
                _add(W, i, j, value)


@inline
def _add(W: FloatArray, i: int, j: int, value: float) -> None:
    W[i, j] += value
    W[j, i] += value
