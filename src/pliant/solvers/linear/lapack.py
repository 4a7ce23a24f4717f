"""LU and Cholesky factorization called from inside kernels: LAPACK by the addresses that SciPy publishes, as `blas`
calls BLAS.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cython_lapack

from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.solvers.linear.blas import _address as routine_address
from pliant.solvers.linear.blas import _call as call
from pliant.solvers.linear.blas import address

_INT = 4  # bytes of a Fortran integer


class Lapack(NamedTuple):
    """What a kernel needs to solve a dense system: addresses of dgetrf and dgetrs, the character "T", and integers."""

    addresses: IndexArray
    characters: Any
    integers: IntArray


_TRANSPOSED = np.frombuffer(b"T", np.uint8).copy()


@cache
def _addresses() -> IndexArray:
    return np.array([routine_address(cython_lapack, name) for name in ("dgetrf", "dgetrs")], np.int64)


def lapack() -> Lapack:
    """A `Lapack` with scratch of its own, one for each call of a kernel."""
    return Lapack(_addresses(), _TRANSPOSED, np.zeros(4, np.int32))


@inline
def solve_rows(lib: Lapack, n: int, matrix: FloatArray, pivots: IntArray, x: FloatArray) -> bool:
    """x ← A⁻¹ x for A (n, n), whose rows stand in `matrix` (n²,) one behind the other and are overwritten; whether A is
    regular. `pivots` (n,) of int32 is scratch.
    """
    lib.integers[0], lib.integers[1], lib.integers[2] = n, 1, 0
    i, a, p = address(lib.integers), address(matrix), address(pivots)
    call(lib.addresses[0], (i, i, a, i, p, i + 2 * _INT))
    if lib.integers[2] != 0:
        return False
    # LAPACK reads columns: what it factorized is the transpose
    call(lib.addresses[1], (address(lib.characters), i, i + _INT, a, i, p, address(x), i, i + 2 * _INT))
    return bool(lib.integers[2] == 0)


@cache
def cholesky_addresses() -> IndexArray:
    """Addresses of dpotrf and dpotrs, (2,), for `solve_by_cholesky`."""
    return np.array([routine_address(cython_lapack, name) for name in ("dpotrf", "dpotrs")], np.int64)


@inline
def solve_by_cholesky(addresses: IndexArray, matrix: FloatArray, x: FloatArray) -> bool:
    """x ← A⁻¹ x for A (n, n), whose lower triangle stands by columns in `matrix` (n, n): A_ij in matrix[j, i]. L takes
    its place. Whether A is positive definite.
    """
    lower, integers = np.full(1, 76, np.uint8), np.empty(3, np.int32)  # 76 is the character "L"
    integers[0], integers[1], integers[2] = len(matrix), 1, 0
    c, i, a = address(lower), address(integers), address(matrix)
    call(addresses[0], (c, i, a, i, i + 2 * _INT))
    if integers[2] != 0:
        return False
    call(addresses[1], (c, i, i + _INT, a, i, address(x), i, i + 2 * _INT))
    return True
