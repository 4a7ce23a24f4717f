"""The elastic matrix of blended elements, turned with them: what finds the fixed point that a Laplacian creeps towards.

A Laplacian takes a turn for a strain. Where a slender body bends it turns far and is strained little, so that rounds
over the Laplacian reduce the remaining error by a fraction of ω (h/ℓ)² each: thousands of rounds for a finger. With the
small-strain stiffness of the blends, μ = w ω and λ = 2w(1 − ω)/3, and of the air, μ = w and λ = 0, turned with the
elements, the same fixed point is found in a few steps.
"""

from __future__ import annotations

import numpy as np

from experiments.fang_published.blend import Elements
from pliant.core.errors import SingularError
from pliant.core.types import BoolArray, FloatArray
from pliant.materials.laws import COROTATED, PARAMETER_COUNT
from pliant.models.volume import assembly
from pliant.solvers.linear import BlockPattern, analyze

SHIFT = 1e-6
"""Fraction of the diagonal that is added, so that air without a rotation of its own is no mechanism."""


class BlendTangent:
    """The matrix of `elements`, bodies first and `air_from` on of air, over `count` nodes, `constrained`
    (count, 3) of which do not move; springs (count,) may stand beside it. All in N/m over two.
    """

    def __init__(
        self, count: int, body: Elements, air: list[Elements], constrained: BoolArray, where: FloatArray
    ) -> None:
        parts = [body, *air]
        cells = np.concatenate([part.cells for part in parts])
        order = np.argsort(cells, axis=1)
        self._nodes = np.ascontiguousarray(np.take_along_axis(cells, order, axis=1).ravel(), np.int32)
        self._ptr = 4 * np.arange(len(cells) + 1, dtype=np.int64)
        G = np.concatenate([part.G for part in parts])
        self._G = np.ascontiguousarray(np.take_along_axis(G, order[:, :, None], axis=1).reshape(-1, 3))
        self._weight = np.concatenate([part.strength for part in parts])
        kinds, of_body = np.unique(body.omega, return_inverse=True)
        self._table = np.zeros((len(kinds) + 1, PARAMETER_COUNT))
        self._table[:-1, 0], self._table[:-1, 1] = kinds, 2.0 * (1.0 - kinds) / 3.0
        self._table[-1, 0] = 1.0
        of_air = np.full(len(cells) - len(of_body), len(kinds))
        self._material = np.concatenate([of_body, of_air]).astype(np.int32)
        self._pattern = BlockPattern.from_cliques(count, self._ptr, self._nodes)
        _, self._positions = self._pattern.clique_positions(self._ptr, self._nodes)
        self._constrained = constrained
        self._symbolic = analyze(self._pattern, coordinates=where, keep=~constrained.all(axis=1))
        self.factorizations = 0

    def factorize(self, x: FloatArray, springs: FloatArray, normals: FloatArray) -> None:
        """The matrix at x (count, 3) m with `springs` (count,) along `normals` (count, 3)."""
        cells = len(self._weight)
        values = np.zeros((self._pattern.block_count, 3, 3))
        laws = np.full(len(self._table), COROTATED, np.int32)
        part, force = np.zeros(cells, np.int32), np.zeros_like(x)
        points = (self._ptr, self._nodes, self._G, self._weight, part, self._material, laws, self._table)
        no_mass = (self._pattern.diagonal, np.zeros(0), 0.0)
        assembly.assemble_corotated(x, *points, self._positions, 0.5, *no_mass, values, force)
        own = values[self._pattern.diagonal]
        shift = SHIFT * np.einsum("nii->n", own) / 3.0
        values[self._pattern.diagonal] += shift[:, None, None] * np.eye(3)
        values[self._pattern.diagonal] += springs[:, None, None] * normals[:, :, None] * normals[:, None, :]
        if (self._constrained.any(axis=1) & ~self._constrained.all(axis=1)).any():
            largest = float(np.abs(own).max())
            assembly.constrain(values, self._pattern.indptr, self._pattern.indices, self._constrained, largest)
        try:
            self._factor = self._symbolic.factorize(values)
        except SingularError as error:
            raise SingularError(f"the elastic matrix of the blends is singular: {error}") from error
        self.factorizations += 1

    def solve(self, force: FloatArray) -> FloatArray:
        """K⁻¹ `force`, both (count, 3); 0 at constrained unknowns."""
        return np.where(self._constrained, 0.0, self._factor.solve(np.where(self._constrained, 0.0, force)))
