"""Small array operations, named for their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray


def sum_by(index: Any, values: Any, count: int) -> FloatArray:
    """total[i] = Σ values[k] over the k with index[k] = i, shape (count,); both are read flat."""
    return np.bincount(np.ravel(index), np.ravel(values), count)  # type: ignore[return-value]


def csr(values: FloatArray, columns: Any, starts: Any, shape: tuple[int, int]) -> sparse.csr_matrix:
    """A CSR matrix without SciPy's checks, which take longer than filling a small matrix.

    `values` and `columns` (entries,), `starts` (rows + 1,); columns may be unsorted and occur twice.
    """
    made = sparse.csr_matrix.__new__(sparse.csr_matrix)
    made.__dict__ = {**_template(shape).__dict__, "data": values, "indices": columns, "indptr": starts}
    return made


def frozen(array: Any) -> Any:
    """A read-only view. Kernels are compiled separately for read-only and writable arrays; this avoids the second."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(False)  # by position: the keyword takes as long as the view
    return view


def writable(array: FloatArray) -> FloatArray:
    """The array itself, or a copy where it is read-only: for kernels that are compiled for writable arrays."""
    return array if array.flags.writeable else array.copy()


def selected_rows(H: sparse.csr_matrix, rows: IndexArray) -> sparse.csr_matrix:
    """The `rows` (m,) of H in their order: what H[rows] is, in a tenth of its time for a small matrix."""
    counts = np.diff(H.indptr)[rows]
    starts = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(counts, out=starts[1:])
    taken = np.arange(starts[-1]) + np.repeat(H.indptr[rows] - starts[:-1], counts)
    return csr(H.data[taken], H.indices[taken], starts, (len(rows), H.shape[1]))


def stacked(parts: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
    """The rows of all `parts`, one below the other; they have the same columns."""
    filled = [part for part in parts if len(part.data)]
    counts = [part.shape[0] for part in parts]
    shape = (sum(counts), parts[0].shape[1])
    if not filled:
        return _template(shape)
    starts = np.zeros(shape[0] + 1, np.int32)
    row = end = 0
    for part, rows in zip(parts, counts, strict=True):
        if len(part.data):
            np.add(part.indptr[1:], end, out=starts[row + 1 : row + rows + 1], casting="unsafe")
            end = int(starts[row + rows])
        elif end:
            starts[row + 1 : row + rows + 1] = end
        row += rows
    if len(filled) == 1:  # of two constraints, one acts on this body
        return csr(filled[0].data, filled[0].indices.astype(np.int32, copy=False), starts, shape)
    values = np.concatenate([part.data for part in filled])
    columns = np.concatenate([part.indices for part in filled])
    return csr(values, columns.astype(np.int32, copy=False), starts, shape)


def empty_csr(shape: tuple[int, int]) -> sparse.csr_matrix:
    """A CSR matrix without entries; shared, so not to be changed in place."""
    return _template(shape)


def add_product(H: sparse.csr_matrix, x: FloatArray, total: FloatArray) -> None:
    """Total (rows,) += H x; x is read flat."""
    _add_product(frozen(H.data), frozen(H.indices), frozen(H.indptr), frozen(x.reshape(-1)), total)


@kernel
def _add_product(values: FloatArray, columns: IntArray, starts: IntArray, x: FloatArray, total: FloatArray) -> None:
    for i in range(len(total)):
        value = 0.0
        for k in range(starts[i], starts[i + 1]):
            value += values[k] * x[columns[k]]
        total[i] += value


def transposed_product(H: sparse.csr_matrix, x: FloatArray) -> FloatArray:
    """Hᵀ x, shape (columns,), without forming Hᵀ."""
    total = np.zeros(H.shape[1])
    _add_transposed(frozen(H.data), frozen(H.indices), frozen(H.indptr), frozen(x), total)
    return total


@kernel
def _add_transposed(values: FloatArray, columns: IntArray, starts: IntArray, x: FloatArray, total: FloatArray) -> None:
    for i in range(len(x)):
        for k in range(starts[i], starts[i + 1]):
            total[columns[k]] += values[k] * x[i]


@lru_cache(maxsize=1024)
def _template(shape: tuple[int, int]) -> sparse.csr_matrix:
    """An empty matrix; copied, or read, but never changed."""
    return sparse.csr_matrix(shape)
