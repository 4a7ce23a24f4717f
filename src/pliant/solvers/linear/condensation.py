"""Rows of H in the form that kernels take, and W = H C Hᵀ for a compliance C that is known on the touched columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray


def csr_parts(H: Any, width: int) -> tuple[IndexArray, IntArray, FloatArray]:
    """(indptr, indices, data) of a sparse or dense H of shape (m, width), in the types of the kernels."""
    rows = sparse.csr_matrix(H)
    if rows.shape[1] != width:
        raise InputError(f"H must have {width} columns, one per scalar unknown of the body, got shape {rows.shape}")
    data = np.ascontiguousarray(rows.data, np.float64)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32, copy=False), data


def touched_columns(columns: IntArray, width: int) -> tuple[IntArray, IntArray]:
    """The distinct columns, ascending, and the place of every entry of `columns` among them."""
    mask = np.zeros(width, np.bool_)
    mask[columns] = True
    touched = np.flatnonzero(mask).astype(np.int32)
    number = np.cumsum(mask, dtype=np.int32) - 1
    return touched, number[columns].astype(np.int32)


@kernel
def sandwich(ptr: IndexArray, columns: IntArray, values: FloatArray, inner: FloatArray) -> FloatArray:
    """H C Hᵀ, exactly symmetric, for H in CSR (m rows) and C dense and symmetric."""
    m = len(ptr) - 1
    W = np.empty((m, m))
    product = np.empty(len(inner))
    for i in range(m):
        product[:] = 0.0
        for q in range(ptr[i], ptr[i + 1]):
            factor = values[q]
            row = inner[columns[q]]
            for c in range(len(product)):
                product[c] += factor * row[c]
        for j in range(i + 1):
            total = 0.0
            for q in range(ptr[j], ptr[j + 1]):
                total += values[q] * product[columns[q]]
            W[i, j] = total
            W[j, i] = total
    return W
