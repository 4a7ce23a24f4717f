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


def csr(data: FloatArray, indices: Any, indptr: Any, shape: tuple[int, int]) -> sparse.csr_matrix:
    """The CSR matrix of these arrays, which have to fit; SciPy's checks take longer than a small product."""
    made = copy(_empty(shape))
    made.data, made.indices, made.indptr = data, indices, indptr
    return made


def transposed_product(H: sparse.csr_matrix, x: FloatArray) -> FloatArray:
    """Hᵀx (columns,) for H in CSR and x (rows,), without making Hᵀ."""
    return sum_by(H.indices, H.data * np.repeat(x, np.diff(H.indptr)), H.shape[1])


def stacked(parts: Sequence[sparse.csr_matrix]) -> sparse.csr_matrix:
    """The rows of `parts`, CSR of one width, below each other."""
    ends = np.cumsum([0, *(part.indptr[-1] for part in parts)])
    indptr = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(parts, ends[:-1], strict=True))])
    data = np.concatenate([part.data for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    return csr(data, indices, indptr, (len(indptr) - 1, parts[0].shape[1]))


@lru_cache(maxsize=256)
def _empty(shape: tuple[int, int]) -> sparse.csr_matrix:
    """What `csr` copies; nobody else sees it, so it never caches anything about its entries."""
    return sparse.csr_matrix(shape)
