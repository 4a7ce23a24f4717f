"""The contract of a map of embedded points: their positions, and the pull-back of rows to the unknowns of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.core.arrays import csr
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.polyline import segments, shortening_slope


@dataclass(frozen=True, eq=False)
class CarrierBound:
    """How k embedded points follow what carries them: each the e `carriers` (k e', e) of its element.

    `stretch` (k,) is how far a point moves at most when all its carriers move by one, `arm` (k,) m the same when their
    frames turn by one, and `bow` what the longest element adds to the arm, as a fraction of its length.
    """

    carriers: IntArray
    stretch: FloatArray
    arm: FloatArray
    bow: float = 0.0


class PointMap:
    """p points embedded in one model whose positions or pose are q."""

    is_linear: ClassVar[bool] = False
    """Whether the points are linear functions of the unknowns, so that their gradient is the same at every q."""
    forces_stiffen: ClassVar[bool] = False
    """Whether forces at the points stiffen the model noticeably; the map then has `load_stiffness`."""

    @property
    def unknown_count(self) -> int:
        """Number of unknowns of the model, constrained ones included."""
        raise NotImplementedError

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the embedded points, (p, 3), m."""
        raise NotImplementedError

    def check(self, shape: tuple[int, ...]) -> None:
        """An error where the arrays of the map, read from a file, do not belong together or to a q of `shape`; for
        maps whose kernels index without checks.
        """

    def selected(self, which: Any) -> PointMap:
        """The map of some of the points, in the order of `which`."""
        raise NotImplementedError

    def pull_back(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the unknowns of the model, (m, unknowns), from rows H over the points' coordinates, (m, 3p)."""
        raise NotImplementedError

    def pull_back_along(self, q: FloatArray, directions: FloatArray) -> sparse.csr_matrix:
        """Rows over the unknowns, (p w, unknowns), of each point along its own `directions` (p, w, 3)."""
        derivatives, columns = self.blocks(q)
        values = np.einsum("pwr,prc->pwc", directions, derivatives)
        count, width, each = values.shape
        ends = each * np.arange(count * width + 1, dtype=np.int32)
        repeated = np.repeat(columns, width, axis=0).ravel() if width > 1 else columns.ravel()
        return csr(values.ravel(), repeated, ends, (count * width, self.unknown_count))

    def pull_back_row(self, q: FloatArray, slope: FloatArray) -> sparse.csr_matrix:
        """The row over the unknowns, (1, unknowns), of one row over all points, `slope` (p, 3)."""
        raise NotImplementedError

    def path(self, q: FloatArray, order: IntArray, fixed: FloatArray) -> FloatArray:
        """The polyline `fixed` (k, 3), m, with the embedded points in place of those with the indices `order` (p,)."""
        path = fixed.copy()
        path[order] = self.points(q)
        return path

    def segments(self, q: FloatArray, order: IntArray, fixed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lengths (s,), m, and directions (s, 3) of the segments of that path."""
        return segments(self.path(q, order, fixed))

    def shortening(self, q: FloatArray, order: IntArray, fixed: FloatArray) -> tuple[float, sparse.csr_matrix]:
        """The length L of that path, m, and −∂L/∂q (1, unknowns)."""
        lengths, units = self.segments(q, order, fixed)
        return float(lengths.sum()), self.pull_back_row(q, shortening_slope(units)[order])

    def blocks(self, q: FloatArray) -> tuple[FloatArray, IntArray]:
        """Derivatives (p, 3, b) of the points by b unknowns each, and the indices of those, (p, b)."""
        raise NotImplementedError

    def carrying(self, q: FloatArray, points: FloatArray) -> PointMap:
        """The map of points at `points` (p, 3), m, at q, each fixed to the material of the point that it replaces."""
        raise NotImplementedError

    def node_poses(self, q: FloatArray) -> FloatArray:
        """Positions and, where there are any, frames (k = 4, else 1) of all nodes of the body, (n, k, 3), m."""
        raise NotImplementedError

    def carriers(self, q: FloatArray) -> FloatArray:
        """Positions and, where there are any, frames (k = 4, else 1) of what carries the points, (n, k, 3), m: the
        nodes of a volume or a beam, the frame of a rigid body, else the points themselves.
        """
        return self.points(q)[:, None]

    def carrier_velocities(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Velocities (n, 3), m/s, of the same carriers, or of the points."""
        raise NotImplementedError

    def carrier_bound(self, which: IndexArray) -> CarrierBound:
        """How the points `which` (k,) follow their carriers."""
        count = len(which)
        return CarrierBound(which[:, None].astype(np.int32), np.ones(count), np.zeros(count))

    # Only where the model has frames

    def frames(self, q: FloatArray) -> FloatArray:
        """Frames at the points, (p, 3, 3), no unit; on a slender body first columns along its axis."""
        raise NotImplementedError

    def pull_back_spins(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the unknowns, (m, unknowns), from rows over the spins of the points' frames, (m, 3p)."""
        raise NotImplementedError

    # Only where forces stiffen

    def load_stiffness(self, q: FloatArray, f: FloatArray, moments: FloatArray | None = None) -> FloatArray:
        """−∂(Jᵀ f)/∂q for dead forces f (p, 3) N at the points, over the active unknowns; with `moments` (p, 3) N·m
        −∂²/∂q² of their product with the rotation vectors of the frames more.
        """
        raise NotImplementedError
