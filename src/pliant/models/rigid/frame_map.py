"""Points fixed in a rigid frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.core.arrays import csr, frozen
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.model import MatrixStiffness
from pliant.models.pieces import Pieces, turning_blocks
from pliant.models.point_map import CarrierBound, PointMap


@dataclass(frozen=True, eq=False)
class FrameMap(PointMap):
    """x_k = position + R local_k for p points `local` (p, 3), m, fixed in a frame.

    q (4, 3) holds the position and the rows of R; the unknowns are a translation (m) and a rotation vector (rad) about
    the position, both in world axes.
    """

    local: FloatArray
    unknown_count: ClassVar[int] = 6

    def selected(self, which: Any) -> FrameMap:
        """The map of some of the points, in the order of `which`."""
        return FrameMap(self.local[which])

    def carrying(self, q: FloatArray, points: FloatArray) -> FrameMap:
        """The map of points that stand at `points` (p, 3), m, when the frame is at q."""
        return FrameMap((points - q[0]) @ q[1:])

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the embedded points, (p, 3), m."""
        return np.asarray(q[0] + self.local @ q[1:].T)

    def pull_back(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over translation and rotation, (m, 6): δx = δp + δθ × R local."""
        values = np.empty((H.shape[0], 6))
        arms = frozen(self.local @ q[1:].T)
        _fill_rows(frozen(H.data), frozen(H.indices), frozen(H.indptr), arms, values)
        return _csr_of_six(values)

    def pull_back_row(self, q: FloatArray, slope: FloatArray) -> sparse.csr_matrix:
        """The row over translation and rotation, (1, 6), of one row over all embedded points, `slope` (p, 3)."""
        return sparse.csr_matrix(slope.reshape(1, -1) @ self.jacobian(q).reshape(-1, 6))

    def blocks(self, q: FloatArray) -> tuple[FloatArray, IntArray]:
        """Derivatives (p, 3, 6) of the embedded points by translation and rotation, and their columns (p, 6)."""
        return self.jacobian(q), np.tile(np.arange(6, dtype=np.int32), (len(self.local), 1))

    def jacobian(self, q: FloatArray) -> FloatArray:
        """Derivatives of the positions by translation and rotation, (p, 3, 6)."""
        x, y, z = (self.local @ q[1:].T).T
        jacobian = np.zeros((len(self.local), 3, 6))
        jacobian[:, range(3), range(3)] = 1.0
        jacobian[:, 0, 4], jacobian[:, 0, 5] = z, -y
        jacobian[:, 1, 3], jacobian[:, 1, 5] = -z, x
        jacobian[:, 2, 3], jacobian[:, 2, 4] = y, -x
        return jacobian

    def carriers(self, q: FloatArray) -> FloatArray:
        """The pose itself, (1, 4, 3), m."""
        return q[None]

    def carrier_velocities(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Velocities of the points, (p, 3), m/s."""
        arms, velocities = self.local @ q[1:].T, np.empty_like(self.local)
        for axis, after, last in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            velocities[:, axis] = v[0, axis] + (v[1, after] * arms[:, last] - v[1, last] * arms[:, after])
        return velocities

    def carrier_bound(self, which: IndexArray) -> CarrierBound:
        """The points `which` (k,) turn with the frame, each about its position."""
        count = len(which)
        arms = np.linalg.norm(self.local[which], axis=1)
        return CarrierBound(np.zeros((count, 1), np.int32), np.ones(count), arms)

    def frames(self, q: FloatArray) -> FloatArray:
        """The frame at each of the embedded points, (p, 3, 3)."""
        return np.broadcast_to(q[1:], (len(self.local), 3, 3))

    def pull_back_spins(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over translation and rotation, (m, 6), from rows over the spins of the points' frames, (m, 3p)."""
        spins = np.tile(np.hstack([np.zeros((3, 3)), np.eye(3)]), (len(self.local), 1))
        return sparse.csr_matrix(H @ spins)


def _csr_of_six(values: FloatArray) -> sparse.csr_matrix:
    """The rows `values` (m, 6) as a CSR matrix."""
    count = len(values)
    return csr(values.ravel(), *_pattern_of_six(count), (count, 6))


@lru_cache(maxsize=256)
def _pattern_of_six(count: int) -> tuple[IntArray, IntArray]:
    """Columns and starts of full rows (count, 6), read-only since they are shared."""
    columns, starts = np.tile(np.arange(6, dtype=np.int32), count), 6 * np.arange(count + 1, dtype=np.int32)
    columns.setflags(write=False)
    starts.setflags(write=False)
    return columns, starts


@kernel
def _fill_rows(data: FloatArray, columns: IntArray, starts: IntArray, arms: FloatArray, values: FloatArray) -> None:
    """Rows (m, 6) over translation and rotation from rows over the coordinates of points with `arms` (p, 3) m."""
    for m in range(len(values)):
        for k in range(6):
            values[m, k] = 0.0
        for k in range(starts[m], starts[m + 1]):
            p, axis, value = columns[k] // 3, columns[k] % 3, data[k]
            values[m, axis] += value
            after, last = (axis + 1) % 3, (axis + 2) % 3
            values[m, 3 + after] += value * arms[p, last]
            values[m, 3 + last] -= value * arms[p, after]


@dataclass(frozen=True, eq=False)
class FramePieces(Pieces):
    """Pieces of a cable on a rigid body."""

    def stiffness(self, q: FloatArray, across: FloatArray, units: FloatArray) -> MatrixStiffness:
        """Σ Jᵀ across (I − u uᵀ) J over the six unknowns, (6, 6)."""
        points = self.map.jacobian(q)
        J = np.zeros((len(self.ends), 3, 6))
        for s, piece in enumerate(self.ends):
            for p, sign in piece:
                J[s] += sign * points[p]
        P = np.eye(3) - units[:, :, None] * units[:, None, :]
        return MatrixStiffness(np.einsum("s,sia,sij,sjb->ab", across, J, P, J))

    def turning_stiffness(
        self, q: FloatArray, tensions: FloatArray, units: FloatArray, lengths: FloatArray
    ) -> MatrixStiffness:
        """Σ B over the points, at the rotation, (6, 6)."""
        K = np.zeros((6, 6))
        K[3:, 3:] = turning_blocks(self.gradients(tensions, units), self.map.local @ q[1:].T).sum(axis=0)
        return MatrixStiffness(K)
