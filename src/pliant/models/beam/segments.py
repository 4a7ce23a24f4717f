"""Straight segments between points embedded in a beam: the stiffness that the tension of a cable adds.

A segment x₁ − x₀ moves by J dx with J from the map of its ends. Its tension T over its length ℓ adds Jᵀ P J with
P = T/ℓ (I − u uᵀ), positive semi-definite. The lever arms of the ends turn with the beam, which adds a stiffness of
the order of T times an offset, of either sign (`turning_stiffness`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.beam.beam_map import BeamMap, chord_projection
from pliant.models.model import GeometricStiffness
from pliant.models.pieces import Ends, Pieces, turning_blocks
from pliant.solvers.linear.pattern import BlockPattern

if TYPE_CHECKING:
    from pliant.models.beam.beam import Beam

_SAME = 1e-6
"""Elements whose distances from a point differ by less than this fraction of the beam's size are equally near:
rounding, when the beam is placed in the world, may select either.
"""


@dataclass(frozen=True, eq=False)
class BeamSegments:
    """s segments with ends among the points of `map`.

    `ends` (s, 2) are the indices of both ends among the points, −1 for one on another body; `positions` (s, 8, 8) are
    those of their blocks in the matrix (node 1 then 2 of the first end, then of the last, translation and spin each),
    −1 above the diagonal and where there is none.
    """

    map: BeamMap
    ends: IntArray
    positions: IntArray

    @classmethod
    def of(cls, points: BeamMap, pieces: Sequence[Ends], pattern: BlockPattern) -> BeamSegments:
        """Segments on a compiled beam whose matrix has `pattern`."""
        ends = np.full((len(pieces), 2), -1, np.int32)
        for s, piece in enumerate(pieces):
            for point, sign in piece:
                ends[s, int(sign > 0.0)] = point
        rows = (2 * points.nodes[:, :, None] + np.arange(2)).reshape(-1, 4)
        mine = np.where(ends[:, :, None] >= 0, rows[ends], -1).reshape(-1, 8)
        positions = np.full((len(pieces), 8, 8), -1, np.int32)
        for s, a, b in np.ndindex(positions.shape):
            row, column = mine[s, a], mine[s, b]
            if row >= column >= 0:
                first, last = pattern.indptr[row : row + 2]
                position = first + np.searchsorted(pattern.indices[first:last], column)
                assert position < last
                assert pattern.indices[position] == column
                positions[s, a, b] = position
        return cls(points, ends, positions)

    def add_blocks(self, q: FloatArray, across: FloatArray, units: FloatArray, values: FloatArray) -> None:
        """Add Jᵀ across (I − u uᵀ) J, with `across` (s,) N/m and directions `units` (s, 3), to the blocks `values`."""
        _add_blocks(self.map.moves(q), self.ends, self.positions, across, units, values)


@dataclass(frozen=True, eq=False)
class BeamSegmentStiffness(GeometricStiffness):
    """Σ Jᵀ across (I − u uᵀ) J of `segments` at q (n, 4, 3), with directions `units` (s, 3) and `across` (s,), N/m."""

    segments: BeamSegments
    q: FloatArray
    across: FloatArray
    units: FloatArray

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to the blocks (b, 3, 3) of a beam."""
        self.segments.add_blocks(self.q, self.across, self.units, matrix)


@dataclass(frozen=True, eq=False)
class TurningStiffness(GeometricStiffness):
    """Blocks (k, 3, 3) of spins at `positions` (k,) in the matrix."""

    positions: IndexArray
    blocks: FloatArray

    def add_to(self, matrix: FloatArray) -> None:
        """Add K to the blocks (b, 3, 3) of a beam."""
        np.add.at(matrix, self.positions, self.blocks)


def coupled_nodes(spec: Beam, points: FloatArray, pieces: Sequence[Ends]) -> list[IntArray]:
    """Nodes that each segment between embedded `points` (p, 3), m, may couple; as the beam was made."""
    ends = spec.node_points[spec.element_nodes]
    _, away = chord_projection(ends[:, 0], ends[:, 1], points)
    distance = np.linalg.norm(away, axis=2)
    limit = distance.min(axis=1, keepdims=True) + _SAME * float(np.ptp(spec.node_points, axis=0).max())
    near = [np.unique(spec.element_nodes[row]) for row in distance <= limit]
    return [np.unique(np.concatenate([near[point] for point, _ in piece])).astype(np.int32) for piece in pieces]


@kernel
def _add_blocks(
    moves: FloatArray, ends: IntArray, positions: IntArray, across: FloatArray, units: FloatArray, values: FloatArray
) -> None:
    """Blocks Jᵀ across (I − u uᵀ) J of each segment; J is −moves of its first end and +moves of its last."""
    J, PJ = np.empty((3, 24)), np.empty((3, 24))
    for s in range(len(ends)):
        for end in range(2):
            sign = -1.0 if end == 0 else 1.0
            for c in range(12):
                for r in range(3):
                    J[r, 12 * end + c] = sign * moves[ends[s, end], r, c] if ends[s, end] >= 0 else 0.0
        for c in range(24):
            along = units[s, 0] * J[0, c] + units[s, 1] * J[1, c] + units[s, 2] * J[2, c]
            for r in range(3):
                PJ[r, c] = across[s] * (J[r, c] - along * units[s, r])
        for a in range(8):
            for b in range(8):
                if positions[s, a, b] >= 0:
                    K = values[positions[s, a, b]]
                    for r in range(3):
                        for c in range(3):
                            i, j = 3 * a + r, 3 * b + c
                            K[r, c] += J[0, i] * PJ[0, j] + J[1, i] * PJ[1, j] + J[2, i] * PJ[2, j]


@dataclass(frozen=True, eq=False)
class BeamPieces(Pieces):
    """Segments of a cable on a network of beams."""

    segments: BeamSegments | None = None

    def couplings(self) -> list[IntArray]:
        """Nodes that each segment may couple."""
        return coupled_nodes(self.body, self.points, self.ends)

    def bound(self, model: Any) -> BeamPieces:
        """The segments with their blocks in the matrix of the beams."""
        made = super().bound(model)
        return replace(made, segments=BeamSegments.of(made.map, self.ends, model.pattern))

    def stiffness(self, q: FloatArray, across: FloatArray, units: FloatArray) -> BeamSegmentStiffness:
        """Blocks of the nodes of the ends of each segment."""
        assert self.segments is not None
        return BeamSegmentStiffness(self.segments, q, across, units)

    def turning_stiffness(
        self, q: FloatArray, tensions: FloatArray, units: FloatArray, lengths: FloatArray
    ) -> TurningStiffness:
        """Blocks of the spins of the nodes of each point."""
        assert self.segments is not None
        points, ends, positions = self.segments.map, self.segments.ends, self.segments.positions
        arms = np.einsum("pij,pj->pi", points.frames(q), points.offset)
        B = turning_blocks(self.gradients(tensions, units), arms)
        spins = points.spins(q)
        found, blocks = [], []
        done: set[int] = set()
        for s, end in np.argwhere(ends >= 0):
            p = int(ends[s, end])
            if p in done:
                continue
            done.add(p)
            for a, b in ((1, 1), (1, 3), (3, 1), (3, 3)):  # the spins of the two nodes
                position = positions[s, 4 * end + a, 4 * end + b]
                if position >= 0:
                    found.append(position)
                    blocks.append(spins[p, :, 3 * a : 3 * a + 3].T @ B[p] @ spins[p, :, 3 * b : 3 * b + 3])
        return TurningStiffness(np.array(found, np.int64), np.array(blocks).reshape(-1, 3, 3))
