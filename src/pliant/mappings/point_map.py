"""The contract of a mapping: positions of riding points, and rows of H for directions at combinations of them."""

from __future__ import annotations

from typing import Protocol

from scipy import sparse

from pliant.core.types import FloatArray, IntArray


class PointMap(Protocol):
    """p points riding on one model with positions or pose q.

    A row at riding points k with weights w and a direction d (3,) is the gradient of d · Σ w x_k in the unknowns of the
    model; its transpose carries a force λ d, shared by w, from the points to the unknowns.
    """

    @property
    def count(self) -> int:
        """Number of riding points."""

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the riding points, (p, 3), m."""

    def rows(self, q: FloatArray, members: IntArray, weights: FloatArray, directions: FloatArray) -> sparse.csr_matrix:
        """Rows (m, unknowns) for m combinations: `members` (m, k) numbers of riding points, −1 where there is none,
        their `weights` (m, k), and `directions` (m, 3).
        """
