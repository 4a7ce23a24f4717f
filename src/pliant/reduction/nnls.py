"""Non-negative least squares: x ≥ 0 with G x ≈ b, of many right-hand sides in full, or of one with few entries.

The active-set method of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23) lets one entry in at a
time. `non_negative_fit` takes it to its end, by SciPy: with Ψ = QR, ‖s − Ψb‖² = ‖Qᵀs − Rb‖² + ‖s − QQᵀs‖², so that the
problem of each snapshot has as many rows as there are modes, whatever the number of contacts. `sparse_nnls` stops as
soon as the residual is small enough, which SciPy's does not: the entries are then few. The factor Q R of the columns in
use is kept and grows by a column at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from pliant.core.checks import finite_array, non_negative
from pliant.core.errors import ConvergenceError, InputError
from pliant.core.threads import one_blas_thread
from pliant.core.types import FloatArray, IndexArray

_DEPENDENT = 1e-10
"""A column is dependent where its component outside the span of the active ones is below this fraction of it."""


def non_negative_fit(basis: Any, snapshots: Any) -> FloatArray:
    """Weights (rank, snapshots) ≥ 0, N, of `basis` (contacts, rank) that fit `snapshots` (contacts, snapshots) best."""
    from scipy.optimize import nnls  # loaded here: it takes long, and only offline work needs it

    modes = finite_array("basis", basis, shape=(None, None))
    S = finite_array("snapshots", snapshots, shape=(None, None))
    if len(modes) != len(S):
        raise InputError(f"basis has {len(modes)} contacts, the snapshots {len(S)}; both need the same rows")
    weights: FloatArray = np.zeros((modes.shape[1], S.shape[1]))
    live = np.flatnonzero(modes.any(axis=0))
    if not len(live):
        return weights
    with one_blas_thread():
        Q, R = np.linalg.qr(modes[:, live])
        right = Q.T @ S
        for column in np.flatnonzero(S.any(axis=0)):
            weights[live, column] = nnls(R, right[:, column])[0]
    return weights


def fit_error(basis: FloatArray, snapshots: FloatArray, weights: FloatArray | None = None) -> float:
    """‖S − ΨB‖ / ‖S‖ in Frobenius norm, with the best B ≥ 0 unless `weights` (rank, snapshots), N, are given; 0 where
    there are no forces. `basis` is (contacts, rank), `snapshots` (contacts, snapshots), N.
    """
    size = float(np.linalg.norm(snapshots))
    if size == 0.0:
        return 0.0
    B = non_negative_fit(basis, snapshots) if weights is None else weights
    return float(np.linalg.norm(snapshots - basis @ B)) / size


@dataclass(frozen=True, eq=False)
class SparseSolution:
    """`support` (a,), ascending, and the `values` (a,) > 0 there; `residual` is ‖G x − b‖ / ‖b‖."""

    support: IndexArray
    values: FloatArray
    residual: float
    iterations: int


def sparse_nnls(G: Any, b: Any, *, tolerance: float = 1e-3) -> SparseSolution:
    """x ≥ 0 with few entries and ‖G x − b‖ ≤ tolerance ‖b‖, for G (m, n) and b (m,).

    With a tolerance of 0 it is the least-squares solution; a `ConvergenceError` where that misses the tolerance. The
    next entry let in is the one whose column has the smallest angle to the residual.
    """
    matrix = np.asfortranarray(finite_array("G", G, shape=(None, None)))
    wanted = finite_array("b", b, shape=(len(matrix),))
    non_negative("tolerance", tolerance)
    norm = float(np.linalg.norm(wanted))
    if not norm:
        raise InputError("b is zero: there is nothing to match")
    solving = _ActiveSet(matrix, wanted)
    iterations = 0
    while (residual := float(np.linalg.norm(solving.rest)) / norm) > tolerance and solving.let_in():
        iterations += 1
        if iterations > 3 * matrix.shape[1]:
            raise ConvergenceError(f"the active set cycles at a residual of {residual:.2e}; scale the columns")
    if residual > tolerance > 0.0:
        raise ConvergenceError(
            f"‖G x − b‖ of x ≥ 0 is at least {residual:.2e} ‖b‖; loosen the tolerance {tolerance:.2e}"
        )
    order = np.argsort(solving.support)
    support = np.array(solving.support, np.int64)[order]
    return SparseSolution(support, solving.x[order], residual, iterations)


class _ActiveSet:
    """Columns in use, their factor Q R, the least-squares solution over them, and what it leaves of b."""

    def __init__(self, G: FloatArray, b: FloatArray) -> None:
        self.G, self.b = G, b
        self.lengths = np.linalg.norm(G, axis=0)
        self.floor = 1e-12 * float(np.linalg.norm(b))  # rounding of the residual
        self.support: list[int] = []
        self.x: FloatArray = np.zeros(0)
        self.rest = b.copy()
        self.Q: FloatArray = np.zeros((len(b), 0))
        self.R: FloatArray = np.zeros((0, 0))

    def let_in(self) -> bool:
        """Let one column in, and those out that would become negative; False where none lowers the residual."""
        cosine = self.rest @ self.G
        np.divide(cosine, self.lengths, out=cosine, where=self.lengths > 0.0)  # else 0
        cosine[self.support] = -1.0
        while True:
            column = int(np.argmax(cosine))
            if cosine[column] <= self.floor:
                return False
            if self._append(column):
                break
            cosine[column] = -1.0
        self._settle()
        return True

    def _append(self, column: int) -> bool:
        """Grow the factor by a column; False where it depends on the others or rounding makes its value negative."""
        if len(self.support) >= len(self.b):
            return False
        g = self.G[:, column]
        r = self.Q.T @ g
        rest = g - self.Q @ r
        more = self.Q.T @ rest
        rest -= self.Q @ more
        length = float(np.linalg.norm(rest))
        if length <= _DEPENDENT * self.lengths[column] or float(rest @ self.b) <= 0.0:
            return False
        size = len(self.support)
        R = np.zeros((size + 1, size + 1))
        R[:size, :size], R[:size, size], R[size, size] = self.R, r + more, length
        self.Q, self.R = np.column_stack([self.Q, rest / length]), R
        self.support.append(column)
        self.x = np.append(self.x, 0.0)
        return True

    def _settle(self) -> None:
        """The least-squares solution over the support, made non-negative by leaving columns out on the way to it."""
        while True:
            z = linalg.solve_triangular(self.R, self.Q.T @ self.b)
            if (z > 0.0).all():
                break
            bad = np.flatnonzero(z <= 0.0)
            fraction = self.x[bad] / np.maximum(self.x[bad] - z[bad], np.finfo(float).tiny)
            self.x = self.x + float(fraction.min()) * (z - self.x)
            self.x[bad[fraction <= fraction.min()]] = 0.0
            kept = self.x > 0.0
            self.support = [column for column, stays in zip(self.support, kept, strict=True) if stays]
            self.x = self.x[kept]
            self.Q, self.R = np.linalg.qr(self.G[:, self.support])
        self.x = z
        self.rest = self.b - self.G[:, self.support] @ z
