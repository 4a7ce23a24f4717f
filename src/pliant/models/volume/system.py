"""The linear system of a step of a deformable volume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.model import GeometricStiffness
from pliant.models.volume.blocks import BlockSystem, ConstrainedFactor
from pliant.models.workspace import Workspace
from pliant.solvers.linear.factor import CholeskyFactor

if TYPE_CHECKING:
    from pliant.models.volume.model import VolumeModel


@dataclass(eq=False)
class VolumeSystem(BlockSystem):
    """A dx = r of a volume: the blocks `values` (b, 3, 3) of A, r and the motion of constrained nodes (n, 3).

    A `warped` tangent omits the stiffness of stresses. That of a pressure, −p ∂²V/∂q², is then omitted as well: in
    equilibrium the two cancel where a part rotates, and one without the other makes it unstable.
    """

    model: VolumeModel
    values: FloatArray
    r: FloatArray
    constrained_dx: FloatArray | None
    workspace: Workspace
    warped: bool = False

    @property
    def operations(self) -> float:
        """Floating-point operations of `factorize`."""
        return self.model.symbolic.flops

    def factorize(self) -> CholeskyFactor | ConstrainedFactor:
        """Numeric factor of A, in the memory of the last one."""
        return self.model.factorize(self.values, out=self.workspace.take(self.model, "factor"))

    def add_mass(self, fraction: float) -> None:
        """A += σ M."""
        typical = float(np.abs(self.diagonal()).mean()) / float(self.model.mass.nodal.mean())
        self.model.mass.add_to(self.values, fraction * typical)

    def add_stiffness(self, K: GeometricStiffness) -> None:
        """A += K, unless A is warped and K belongs to stresses."""
        if not (self.warped and K.of_stress):
            K.add_to(self.values)
