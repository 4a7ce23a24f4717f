"""The contract of a mapping: positions of riding points, and how rows over them become rows over the model's
unknowns.
"""

from __future__ import annotations

from typing import Any, Protocol

from scipy import sparse

from pliant.core.types import FloatArray


class PointMap(Protocol):
    """p points riding on one model whose positions or pose are q."""

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the riding points, (p, 3), m."""

    def selected(self, which: Any) -> PointMap:
        """The map of some of the points, in the order of `which`."""

    def pull(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the unknowns of the model, (m, unknowns), from rows H over the points' coordinates, (m, 3p)."""

    def pull_along(self, q: FloatArray, directions: FloatArray) -> sparse.csr_matrix:
        """Rows over the unknowns, (p w, unknowns), of each riding point along its own `directions` (p, w, 3)."""

    def pull_one(self, q: FloatArray, slope: FloatArray) -> sparse.csr_matrix:
        """The row over the unknowns, (1, unknowns), of one row over all riding points, `slope` (p, 3)."""
