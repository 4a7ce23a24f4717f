"""The linear system of a rod, dense over its active unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.types import FloatArray
from pliant.models.model import GeometricStiffness, MatrixStiffness, System
from pliant.models.rod.factor import RodFactor, error_squares
from pliant.models.rod.stations import Sweep
from pliant.models.rod.step import add_symmetric_part

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel


@dataclass(eq=False)
class RodSystem(System):
    """A dx = r of a rod: A (n, n) over the active unknowns, r and the motion of constrained unknowns (2 + 2N, 3)."""

    model: RodModel
    A: FloatArray
    r: FloatArray
    constrained_dx: FloatArray | None
    sweep: Sweep
    symmetric: bool
    projected: bool = False

    def factorize(self) -> RodFactor:
        """Numeric factor of A over the free unknowns."""
        model = self.model
        return RodFactor(self.A[model.free_block], model.free, model.size, symmetric=self.symmetric)

    def product(self, x: FloatArray) -> FloatArray:
        """A x at the free unknowns, (2 + 2N, 3)."""
        out = np.zeros(x.shape)
        out.ravel()[self.model.active] = self.A @ x.ravel()[self.model.active]
        out[self.model.constrained] = 0.0
        return out

    def error_of(self, x: FloatArray, push: FloatArray | None = None) -> tuple[float, float]:
        """‖A x − r‖² and ‖r‖² over the free unknowns; with `push` (size,) that is added to r."""
        A, active, constrained, r = self.equation()
        if push is not None:
            r = np.where(constrained, 0.0, r + push)
        found: tuple[float, float] = error_squares(A, active, constrained, r, frozen(x.reshape(-1)))
        return found

    def equation(self) -> tuple[Any, ...]:
        """A, its unknowns, which unknowns are constrained, and r, as kernels take them."""
        model = self.model
        return self.A, model.active, model.constrained.reshape(-1), self.r.reshape(-1)

    def add_mass(self, fraction: float) -> None:
        """A += σ M, with σ from the strains: `fraction` of their stiffness over their mass."""
        M = self.model.mass_matrix(self.sweep)
        typical = np.abs(np.diag(self.A))[6:].sum() / np.diag(M)[6:].sum()
        self.A = self.A + fraction * typical * M

    def constrain_base(self) -> tuple[int, float]:
        """A += a spring at the one freedom of the base, as stiff as the rod; the unknown, and the spring (N/m, N·m)."""
        (unknown,) = self.model.free[self.model.free < 6]
        size = 1.0 if unknown >= 3 else float(self.model.spec.lengths.sum())
        spring = float(np.abs(np.diag(self.A))[6:].mean()) / size**2
        self.A = self.A.copy()
        self.A[unknown, unknown] += spring
        return int(unknown), spring

    def add_stiffness(self, K: GeometricStiffness) -> None:
        """A += the symmetric part of K (n, n) over the active unknowns. A projected matrix, kept positive definite, has
        no stiffness of loads: its positive part alone would stiffen the rod.
        """
        if not self.projected:
            if isinstance(K, MatrixStiffness):
                added = np.ascontiguousarray(K.K)
            else:
                added = np.zeros_like(self.A)
                K.add_to(added)
            add_symmetric_part(added, self.A)

    def diagonal(self) -> FloatArray:
        """Diagonal of A, (2 + 2N, 3); 0 at strains that may not change."""
        out = np.zeros(self.r.size)
        out[self.model.active] = np.diag(self.A)
        return out.reshape(self.r.shape)
