"""Stiffness of cables, fibres and pressures on a reduced volume."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

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
        flat = J.reshape(-1, J.shape[2])
        lengthwise = (units[:, None, :] @ J)[:, 0]
        A += flat.T @ (across[:, None, None] * J).reshape(flat.shape)
        A += lengthwise.T @ ((along - across)[:, None] * lengthwise)


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
        J, EA, rest = self.pieces.J, self.bars.stiffness, self.bars.rest
        vectors = self.start + J @ y
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-12 * rest)
        units = vectors / lengths[:, None]
        strain = lengths / rest - 1.0
        force += np.einsum("si,sim->m", (EA * strain)[:, None] * units, J)
        if scale:
            across = EA * (1.0 / rest - 1.0 / lengths)
            if tangent is not Tangent.EXACT:
                across = np.maximum(across, 0.0)
            self.pieces.add_stiffness(scale * EA / rest, scale * across, units, K)
        return 0.5 * EA * float(rest @ strain**2)


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
