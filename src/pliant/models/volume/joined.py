"""The linear solve of a small volume from the start of a step, with its stages joined.

The same kernels as in the stages, in the same order on the same numbers, so the same bits. What kernels take of a model
is laid out once, and the matrix, its factor and the half-solved rows keep their memory from step to step: for a body of
some hundred cells the objects between the stages take as long as the kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.types import FloatArray
from pliant.models.model import GeometricStiffness
from pliant.models.workspace import Workspace
from pliant.solvers.linear.blas import blas_arrays
from pliant.solvers.linear.factor import PIVOT_TOLERANCE
from pliant.solvers.linear.half_solves import FOUR, backward_with_error, forward_rows
from pliant.solvers.linear.multifrontal import factorize_all
from pliant.solvers.linear.response import Solved

if TYPE_CHECKING:
    from pliant.models.volume.model import VolumeModel

KIND = "joined solve"
"""Kind of this memory in a workspace."""


class JoinedSolve:
    """A dx = r + Hᵀλ of a `model`. `VolumeTrial.joined_solve` sets the matrix `values` (b, 3, 3), the `forces` (n, 3),
    N, without λ, and the same with zeros at constrained unknowns, `r`. Then follow `add_stiffness`, `factorize`,
    `condense`, which sets `finite`, whether L⁻¹ r is, and `solved`; `release` in any case. `still` and `rest` (n, 3),
    m, are no displacement and the positions at rest, read-only as kernels take them.
    """

    def __init__(self, model: VolumeModel) -> None:
        symbolic, pattern, shape = model.symbolic, model.pattern, model.constrained.shape
        self.values, self.forces, self.r = np.empty((pattern.block_count, 3, 3)), np.empty(shape), np.empty(shape)
        self.factor: Any = None
        self.still, self.rest = frozen(np.zeros(shape)), frozen(model.rest)
        self._shape, flat = shape, self.r.reshape(-1)
        self._matrix = symbolic.layout, blas_arrays(), self.values, pattern.diagonal, symbolic.nodes, PIVOT_TOLERANCE
        self._layout = symbolic.layout, 3, symbolic.nodes
        self._pattern = symbolic.layout, 3, symbolic.position, symbolic.nodes
        self._right, self._y, self.finite = frozen(flat), np.empty(symbolic.unknown_count), False
        self._equation = pattern.indptr, pattern.indices, self.values, model.constrained_flat, flat
        self._entries: tuple[Any, ...] = ()
        self._Y = np.empty((0, len(self._y)))

    @classmethod
    def take(cls, workspace: Workspace, model: VolumeModel) -> JoinedSolve | None:
        """That of `model` with the factor of an earlier step; None where there is none yet, where one call does not
        factorize the warped tangent, or where the residual has more parts: the body is large, of another law, with
        directions to decouple, a consistent mass or a memory.
        """
        made: JoinedSolve | None = workspace.take(model, KIND)
        if made is None:
            plain = model.is_linear_law and model.memory is None and model.mass.blocks is None
            if not plain or model.symbolic.halves is not None or model.partly_constrained:
                return None
            made = cls(model)
        made.factor = workspace.take(model, "factor")
        if made.factor is None:
            workspace.give(model, KIND, made)
            return None
        return made

    def release(self, workspace: Workspace, model: VolumeModel) -> None:
        """Leave matrix and factor to the next step."""
        workspace.give(model, "factor", self.factor)
        self.factor = None
        workspace.give(model, KIND, self)

    def add_stiffness(self, K: GeometricStiffness) -> None:
        """A += K, unless K belongs to stresses: A is a warped tangent."""
        if not K.of_stress:
            K.add_to(self.values)

    def factorize(self) -> bool:
        """A = L Lᵀ; False where A is not positive definite."""
        return bool(factorize_all(*self._matrix, *self.factor.storage) < 0)

    def condense(self, H: Any, W: FloatArray, delta: FloatArray, *, alone: bool = False) -> JoinedSolve:
        """Add H A⁻¹ Hᵀ to W (m, m) and H A⁻¹ r to `delta` (m,) of a few rows H, as `Motion.condense` does."""
        total = len(delta) + 1  # r passes through the factor as one more row
        wanted = total if total % FOUR == 1 else FOUR * ((total + FOUR - 1) // FOUR)
        if len(self._Y) != wanted:
            self._Y = np.empty((wanted, len(self._y)))
        self._entries = frozen(H.indptr), frozen(H.indices), frozen(H.data)
        given = *self._pattern, self.factor.panels, *self._entries, self._right, True
        self.finite = bool(forward_rows(*given, self._y, self._Y, W, delta) < np.inf)
        return self

    def solved(self, lam: FloatArray) -> Solved:
        """The motion under λ (m,) of the rows, and how far it is from solving the system."""
        x = np.zeros(self._shape)
        solved = *self._layout, self.factor.panels, self._y, self._Y
        error, total = backward_with_error(*solved, *self._equation, *self._entries, frozen(lam), x.reshape(-1))
        return x, error, total
