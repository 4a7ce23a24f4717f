"""Stiffness of cables, fibres and pressures on a reduced volume."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray
from pliant.materials import Tangent
from pliant.models.volume.fibre import FibreBars
from pliant.models.volume.pressure import PressureFacets, facet_positions
from pliant.models.volume.segments import Segments
from pliant.solvers.linear.matrix import BlockMatrix
from pliant.solvers.linear.pattern import BlockPattern


@dataclass(frozen=True, eq=False)
class ModalPieces:
    """Jacobian `J` (s, 3, m) of the segments of a cable or a fibre: ∂(x₁ − x₀)/∂z."""

    J: FloatArray

    @classmethod
    def of(cls, segments: Segments, motions: FloatArray) -> ModalPieces:
        """Of segments embedded in a volume with the given motions (3n, m)."""
        by_node = motions.reshape(-1, 3, motions.shape[1])[segments.nodes]
        return cls(np.add.reduceat(segments.coefficients[:, None, None] * by_node, segments.ptr[:-1], axis=0))

    def add_stiffness(self, along: FloatArray, across: FloatArray, units: FloatArray, A: FloatArray) -> None:
        """Add Σ Jᵀ (along u uᵀ + across (I − u uᵀ)) J, N/m, to A (m, m)."""
        J = self.J
        weighted = np.empty(J.shape)
        _weight(J, along, across, units, weighted)
        A += J.reshape(-1, J.shape[2]).T @ weighted.reshape(-1, J.shape[2])


@kernel
def _weight(J, along, across, units, weighted):  # type: ignore[no-untyped-def]
    """(along u uᵀ + across (I − u uᵀ)) J of each segment into `weighted` (s, 3, k)."""
    for s in range(J.shape[0]):
        x, y, z = units[s, 0], units[s, 1], units[s, 2]
        t, d = across[s], along[s] - across[s]
        for k in range(J.shape[2]):
            lengthwise = d * (x * J[s, 0, k] + y * J[s, 1, k] + z * J[s, 2, k])
            weighted[s, 0, k] = t * J[s, 0, k] + x * lengthwise
            weighted[s, 1, k] = t * J[s, 1, k] + y * lengthwise
            weighted[s, 2, k] = t * J[s, 2, k] + z * lengthwise


@dataclass(frozen=True, eq=False)
class ModalBars:
    """The bars of a fibre in a reduced volume: `start` (s, 3), m, are their vectors at rest."""

    bars: FibreBars
    pieces: ModalPieces
    start: FloatArray

    @classmethod
    def of(cls, bars: FibreBars, rest: FloatArray, modes: FloatArray) -> ModalBars:
        """Of bars in a body with the modes (3n, k) over its rest shape (n, 3)."""
        return cls(bars, ModalPieces.of(bars.segments, modes), bars.segments.vectors(rest))

    def add(self, y: FloatArray, tangent: Tangent, scale: float, force: FloatArray, K: FloatArray) -> float:
        """Add internal forces (k,) and `scale` × stiffness (k, k) along the modes at y (k,); returns the energy, J."""
        J, bars = self.pieces.J, self.bars
        along, across, units = np.empty(len(J)), np.empty(len(J)), np.empty((len(J), 3))
        exact = tangent is Tangent.EXACT
        energy = _bar_response(
            frozen(y), J, self.start, bars.rest, bars.stiffness, exact, scale, along, across, units, force
        )
        if scale:
            self.pieces.add_stiffness(along, across, units, K)
        return float(energy)


@kernel
def _bar_response(y, J, start, rest, stiffness, exact, scale, along, across, units, force):  # type: ignore[no-untyped-def]
    """Forces of bars with the Jacobian `J` (s, 3, k) added to `force` (k,), and their `scale` × stiffness `along` and
    `across` (s,) their directions `units` (s, 3); returns their energy.
    """
    energy = 0.0
    for s in range(len(rest)):
        squares = 0.0
        for i in range(3):
            total = start[s, i]
            for k in range(len(y)):
                total += J[s, i, k] * y[k]
            units[s, i] = total
            squares += total * total
        length = max(np.sqrt(squares), 1e-12 * rest[s])  # never zero
        strain = length / rest[s] - 1.0
        energy += 0.5 * stiffness[s] * rest[s] * strain * strain
        along[s] = scale * stiffness[s] / rest[s]
        across[s] = scale * stiffness[s] * (1.0 / rest[s] - 1.0 / length)
        if not exact:  # only the exact tangent keeps what a pressed bar softens
            across[s] = max(across[s], 0.0)
        for i in range(3):
            units[s, i] /= length
            f = stiffness[s] * strain * units[s, i]
            for k in range(len(y)):
                force[k] += f * J[s, i, k]
    return energy


@dataclass(frozen=True, eq=False)
class ModalFacets:
    """Facets under pressure over local indices of their `nodes` (c,), and the block pattern over these."""

    nodes: IntArray
    facets: PressureFacets
    pattern: BlockPattern

    @classmethod
    def of(cls, facets: PressureFacets) -> ModalFacets:
        """Of facets of a volume."""
        nodes, local = np.unique(facets.facets, return_inverse=True)
        own: IntArray = local.reshape(facets.facets.shape).astype(np.int32)
        ptr = np.arange(len(own) + 1) * own.shape[1]
        pattern = BlockPattern.from_cliques(len(nodes), ptr, own.ravel())
        return cls(nodes, replace(facets, facets=own, positions=facet_positions(own, pattern)), pattern)

    def add_stiffness(self, pressure: Any, q: FloatArray, scale: float, motions: FloatArray, A: FloatArray) -> None:
        """Subtract `scale` × Dᵀ sym(∂f/∂q) D of a pressure (Pa) at q (n, 3) from A (m, m), for motions D (3n, m)."""
        values = np.zeros((self.pattern.block_count, 3, 3))
        self.facets.add_stiffness(pressure, q[self.nodes], scale, values)
        own = motions.reshape(-1, 3, motions.shape[1])[self.nodes].reshape(-1, motions.shape[1])
        A += own.T @ (BlockMatrix(self.pattern, values).to_scipy() @ own)
