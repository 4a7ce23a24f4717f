"""Small array operations that NumPy spells in a way that hides their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.types import FloatArray


def sum_by(index: Any, values: Any, count: int) -> FloatArray:
    """total[i] = Σ values[k] over the k with index[k] = i, shape (count,); both are read flat."""
    total: FloatArray = np.bincount(np.ravel(index), np.ravel(values), count)  # type: ignore[assignment]
    return total


def csr(values: FloatArray, columns: Any, starts: Any, shape: tuple[int, int]) -> sparse.csr_matrix:
    """A CSR matrix of parts that fit, without SciPy's checks, which take longer than a small matrix takes to fill.

    `values` and `columns` (entries,), `starts` (rows + 1,); columns need neither be sorted nor occur once.
    """
    made = copy(_template(shape))
    made.data, made.indices, made.indptr = values, columns, starts
    return made


def stacked(parts: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
    """The rows of all `parts`, one below the other; they have the same columns."""
    filled = [part for part in parts if part.nnz]
    count = sum(part.shape[0] for part in parts)
    shape = (count, parts[0].shape[1])
    if not filled:
        return _template(shape)
    starts = np.zeros(count + 1, np.int32)
    row = end = 0
    for part in parts:
        rows = part.shape[0]
        np.add(part.indptr[1:], end, out=starts[row + 1 : row + rows + 1], casting="unsafe")
        row += rows
        end += int(part.indptr[-1])
    values = np.concatenate([part.data for part in filled])
    columns = np.concatenate([part.indices for part in filled])
    return csr(values, columns.astype(np.int32, copy=False), starts, shape)


def empty_csr(shape: tuple[int, int]) -> sparse.csr_matrix:
    """A CSR matrix without entries; shared, so not to be changed in place."""
    return _template(shape)


def transposed_product(H: sparse.csr_matrix, x: FloatArray) -> FloatArray:
    """Hᵀ x, shape (columns,), without forming Hᵀ."""
    weights = H.data * np.repeat(x, np.diff(H.indptr))
    return sum_by(H.indices, weights, H.shape[1])


@lru_cache(maxsize=1024)
def _template(shape: tuple[int, int]) -> sparse.csr_matrix:
    """An empty matrix; copied, or read, but never changed."""
    return sparse.csr_matrix(shape)
