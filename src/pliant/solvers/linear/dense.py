"""Factors of small dense systems, with the methods of the sparse factor: rods, rigid bodies, reduced models."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from pliant.core.arrays import frozen
from pliant.core.checks import finite_array
from pliant.core.errors import InputError, SingularError
from pliant.core.kernels import kernel
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray
from pliant.solvers.linear.response import SolvedResponse

_TOLERANCE = 1e-14  # a pivot below this fraction of its row's scale is rounding


class DenseFactor(SolvedResponse):
    """A = L Lᵀ where A is symmetric positive definite, P A = L U where it is not symmetric.

    `symmetric` says which; None looks whether A equals its transpose to the last bit. A symmetric matrix that is not
    positive definite raises `SingularError`; pass ``symmetric=False`` to factorize it all the same. `lower` (n, n) is
    L, whatever stands above its diagonal.
    """

    lower: FloatArray

    def __init__(self, A: Any, *, symmetric: bool | None = None) -> None:
        matrix = finite_array("A", A, shape=(None, None))
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"A must be square, got shape {matrix.shape}")
        self.symmetric = bool(np.array_equal(matrix, matrix.T)) if symmetric is None else symmetric
        with one_blas_thread():
            if self.symmetric:
                self.lower = _cholesky(matrix)
            else:
                self._lu, self._pivots = _lu(matrix)
        self._size = len(matrix)

    @property
    def size(self) -> int:
        """Unknowns."""
        return self._size

    def solve(self, rhs: Any) -> FloatArray:
        """A⁻¹ rhs for rhs of shape (n,), (n, m), or any shape of n entries such as (nodes, 3); the shape is kept."""
        return self._solve(rhs, transposed=False)

    def solve_transposed(self, rhs: Any) -> FloatArray:
        """A⁻ᵀ rhs, shapes as in `solve`."""
        return self._solve(rhs, transposed=True)

    def half_solve(self, rhs: Any) -> FloatArray:
        """L⁻¹ rhs, shape (n,) or (n, m); only where A is symmetric positive definite."""
        if not self.symmetric:
            raise InputError(
                "half_solve needs a symmetric positive definite matrix; this one is factorized as L U: use solve"
            )
        given = self._columns(rhs)
        with one_blas_thread():
            y, _ = linalg.lapack.dtrtrs(self.lower, given, lower=1)
        return np.asarray(y[:, 0] if np.ndim(rhs) == 1 else y)

    def compliance(self, H: Any) -> FloatArray:
        """W = H A⁻¹ Hᵀ, shape (m, m), for H sparse or dense of shape (m, n); exactly symmetric where A is."""
        rows = H.toarray() if hasattr(H, "toarray") else np.asarray(H, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.size:
            raise InputError(f"H must have shape (m, {self.size}), got {rows.shape}")
        if rows.size == 0:
            return np.zeros((len(rows), len(rows)))
        if not self.symmetric:
            product: FloatArray = rows @ self.solve(rows.T)
            return product
        y = self.half_solve(rows.T)
        with one_blas_thread():
            return np.asarray(y.T @ y)  # NumPy forms one triangle of such a product and mirrors it

    def _columns(self, rhs: Any) -> FloatArray:
        given = np.asarray(rhs, np.float64)
        if given.ndim == 0 or (given.shape[0] != self.size and given.size != self.size):
            raise InputError(f"rhs must have shape ({self.size},) or ({self.size}, m), got {given.shape}")
        return given.reshape(self.size, -1) if given.size else np.zeros((self.size, 0))

    def _solve(self, rhs: Any, *, transposed: bool) -> FloatArray:
        given = self._columns(rhs)
        if given.size == 0:
            return np.zeros(np.shape(rhs))
        with one_blas_thread():
            if self.symmetric:
                x, _ = linalg.lapack.dpotrs(self.lower, given, lower=1)
            else:
                x, _ = linalg.lapack.dgetrs(self._lu, self._pivots, given, trans=int(transposed))
        return np.ascontiguousarray(x).reshape(np.shape(rhs))


def _cholesky(matrix: FloatArray) -> FloatArray:
    if matrix.size == 0:
        return matrix
    lower, info = linalg.lapack.dpotrf(matrix, lower=1)
    if not info and is_sound(lower, frozen(matrix.diagonal())):
        return np.asarray(lower)
    pivots = lower.diagonal()[: info - 1 if info > 0 else None]
    sound = pivots**2 > _TOLERANCE * np.abs(matrix.diagonal()[: len(pivots)])
    if info or not sound.all():
        row = int(info) - 1 if sound.all() else int(np.argmin(sound))
        raise SingularError(
            f"the dense matrix of {len(matrix)} unknowns is not positive definite at unknown {row}: "
            "constrain it, give it mass or damping, or pass symmetric=False if the system is meant to be indefinite",
            row=row,
        )
    return np.asarray(lower)


@kernel
def is_sound(lower: FloatArray, diagonal: FloatArray) -> bool:
    """Whether no pivot of L (n, n) is rounding of the `diagonal` (n,) of its matrix."""
    sound = True
    for i in range(len(diagonal)):
        sound = sound and lower[i, i] ** 2 > _TOLERANCE * abs(diagonal[i])
    return sound


def _lu(matrix: FloatArray) -> tuple[FloatArray, Any]:
    if matrix.size == 0:
        return matrix, np.empty(0, np.int32)
    lu, pivots, _ = linalg.lapack.dgetrf(matrix)
    largest = np.abs(matrix).max(axis=0)
    small = np.flatnonzero(~(np.abs(np.diagonal(lu)) > _TOLERANCE * largest))
    if len(small):
        row = int(small[0])
        raise SingularError(
            f"the dense matrix of {len(matrix)} unknowns is singular at unknown {row}: "
            "constrain it, or give it mass or damping",
            row=row,
        )
    return lu, pivots
