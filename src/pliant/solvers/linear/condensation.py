"""Rows of H in the form that kernels take, and W = H C Hᵀ for a compliance C that is known on the touched columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import frozen
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray

_TILE = 32  # rows and columns: two tiles of 8 kB fit into the first-level cache


def csr_parts(H: Any, width: int) -> tuple[IntArray, IntArray, FloatArray]:
    """(indptr, indices, data) of a sparse or dense H of shape (m, width), in the types of the kernels."""
    rows = H if isinstance(H, sparse.csr_matrix) else sparse.csr_matrix(H)
    if rows.shape[1] != width:
        raise InputError(f"H must have {width} columns, one per scalar unknown of the body, got shape {rows.shape}")
    ptr, columns = rows.indptr.astype(np.int32, copy=False), rows.indices.astype(np.int32, copy=False)
    return frozen(ptr), frozen(columns), frozen(np.ascontiguousarray(rows.data, np.float64))


@kernel
def touched_columns(columns: IntArray, width: int) -> tuple[IntArray, IntArray]:
    """The distinct columns, ascending, and the place of every entry of `columns` among them."""
    place = np.full(width, -1, np.int32)
    for column in columns:
        place[column] = 0
    count = 0
    touched = np.empty(min(width, len(columns)), np.int32)
    for column in range(width):
        if place[column] == 0:
            place[column] = count
            touched[count] = column
            count += 1
    local = np.empty(len(columns), np.int32)
    for k in range(len(columns)):
        local[k] = place[columns[k]]
    return touched[:count].copy(), local


@kernel
def mirror(W: FloatArray) -> None:
    """Copy the lower triangle of W into the upper one, tile by tile, so that cache lines are used whole."""
    m = len(W)
    for row in range(0, m, _TILE):
        for column in range(0, row + 1, _TILE):
            for i in range(row, min(row + _TILE, m)):
                for j in range(column, min(column + _TILE, i)):
                    W[j, i] = W[i, j]


@kernel
def _combine(
    ptr: IntArray, columns: IntArray, values: FloatArray, table: FloatArray, out: FloatArray, lower: bool
) -> None:
    """Set out to H `table`, its lower triangle only when `lower`; non-zeros are taken three at a time."""
    for i in range(len(out)):
        row = out[i, : i + 1] if lower else out[i, :]
        row[:] = 0.0
        q = ptr[i]
        while q < ptr[i + 1]:
            a = table[columns[q]]
            u = values[q]
            if q + 3 <= ptr[i + 1]:
                b = table[columns[q + 1]]
                c = table[columns[q + 2]]
                v = values[q + 1]
                w = values[q + 2]
                for j in range(len(row)):
                    row[j] += u * a[j] + v * b[j] + w * c[j]
                q += 3
            else:
                for j in range(len(row)):
                    row[j] += u * a[j]
                q += 1


def sandwich(ptr: IntArray, columns: IntArray, values: FloatArray, inner: FloatArray) -> FloatArray:
    """H C Hᵀ, exactly symmetric, for H in CSR (m rows) and C dense and symmetric."""
    m = len(ptr) - 1
    half = np.empty((m, len(inner)))
    _combine(ptr, columns, values, inner, half, False)
    W = np.empty((m, m))
    _combine(ptr, columns, values, np.ascontiguousarray(half.T), W, True)
    mirror(W)
    return W
