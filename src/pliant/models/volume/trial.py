"""A step of a deformable volume: residual and matrix at a displacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.immutable import evolve
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import GeometricStiffness, Residual, StepStart, Trial
from pliant.models.volume import assembly
from pliant.models.volume.blocks import BlockSystem, ConstrainedFactor
from pliant.models.workspace import Workspace
from pliant.solvers.linear.factor import CholeskyFactor
from pliant.solvers.linear.matrix import BlockMatrix

if TYPE_CHECKING:
    from pliant.models.volume.model import VolumeModel


ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""Remaining motion below this fraction of the coordinates counts as zero: q + dx is rounded several times."""


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


class NodalTrial(Trial):
    """A step of a model whose unknowns are the positions q (n, 3), m, of its nodes; v (n, 3), m/s."""

    def __init__(self, model: Any, start: StepStart) -> None:
        super().__init__(model, start)
        self._evaluated: tuple[Any, FloatArray] = (None, self._q)

    def evaluation_point(self) -> FloatArray:
        """Positions at which forces are evaluated, q + θ dx, (n, 3), m."""
        if self._evaluated[0] is not self.dx:  # needed several times; a displacement is replaced, never changed
            self._evaluated = (self.dx, self._q + self._scheme.theta * self.dx)
        return self._evaluated[1]

    def positions(self) -> FloatArray:
        """Positions at the end of the step, (n, 3), m."""
        return self._q + self.dx

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """dx + scale × step, (n, 3), m."""
        return dx + scale * step

    def coordinate_scale(self) -> FloatArray:
        """Largest coordinates, (3,), m."""
        return np.asarray(np.abs(self.evaluation_point()).max(axis=0))


class VolumeTrial(NodalTrial):
    """One step of a `VolumeModel`."""

    model: VolumeModel

    def __init__(self, model: VolumeModel, start: StepStart) -> None:
        super().__init__(model, start)
        self._target = model.prescribed(start.controls)
        self._start_stiffness: FloatArray | None = None

    def residual(self) -> Residual:
        """Residual at dx, by a pass over the elements without stiffness."""
        x = self.evaluation_point()
        return self._residual(x, *self.model.internal(x))

    def linearize(self, tangent: Tangent) -> tuple[VolumeSystem, Residual]:
        """A and r at dx."""
        model, scheme, x = self.model, self._scheme, self.evaluation_point()
        damping = model.spec.damping
        mass = scheme.inertia + damping.mass * scheme.rate
        rate = damping.stiffness * scheme.rate
        once = tangent is Tangent.WARPED  # one pass does for a solve that is not repeated: K(x) is K(q) or near it
        values = model.blocks(self.workspace)
        stiffness = scheme.theta + rate if once else scheme.theta
        energy, internal = model.assemble(x, mass=mass, stiffness=stiffness, tangent=tangent, values=values)
        if rate and not once:
            values += rate * self._damping_stiffness()
        warped = model.warps(tangent)
        if not warped:
            model.add_load_stiffness(x, scheme.theta, self._controls, values)
        residual = self._residual(x, energy, internal)
        constrained_dx = self.remaining_motion()
        r = (
            residual.r
            if constrained_dx is None
            else residual.r - BlockMatrix(model.pattern, values).matvec(constrained_dx)
        )
        system = VolumeSystem(
            model, values, np.where(model.constrained, 0.0, r), constrained_dx, self.workspace, warped
        )
        return system, residual

    def driven(self, motion: FloatArray) -> VolumeTrial:
        """The same step with `motion` (n, 3), m, added to the prescribed motion."""
        return evolve(self, _target=self._target + motion)

    def _residual(self, x: FloatArray, energy: float, internal: FloatArray) -> Residual:
        """Residual from the internal forces (n, 3), N, at the evaluation point x."""
        model, scheme, dx = self.model, self._scheme, self.dx
        external = model.external_forces(x, self._gravity, self._controls)
        r = np.empty(dx.shape)
        squares = assembly.balance(external, internal, model.mass.apply(scheme.momentum * self._v), r)
        if scheme.inertia and dx.any():
            damping = model.spec.damping
            r -= model.mass.apply((scheme.inertia + damping.mass * scheme.rate) * dx)
            if damping.stiffness:
                K = BlockMatrix(model.pattern, self._damping_stiffness())
                r -= damping.stiffness * scheme.rate * K.matvec(dx)
        return Residual(r, float(np.sqrt(max(squares))) if np.isfinite(energy) else np.inf)

    def _damping_stiffness(self) -> FloatArray:
        """Blocks (b, 3, 3) of K(q) of Rayleigh damping, positive semi-definite: it takes energy and never gives."""
        if self._start_stiffness is None:
            tangent = Tangent.WARPED if self.model.is_linear_law else Tangent.PROJECTED
            K = np.empty((self.model.pattern.block_count, 3, 3))
            self.model.assemble(self._q, mass=0.0, stiffness=1.0, tangent=tangent, values=K)
            self._start_stiffness = K
        return self._start_stiffness

    def remaining_motion(self) -> FloatArray | None:
        """Motion that constrained nodes still have to make, (n, 3), m, zero at free ones; None where there is none."""
        chosen = self.model.constrained_unknowns
        target = self._target.ravel()[chosen]
        ahead = self.load_fraction * (target - self._q.ravel()[chosen]) - self.dx.ravel()[chosen]
        if not (np.abs(ahead) > ROUNDING * np.abs(target)).any():
            return None
        motion = np.zeros(self.dx.shape)
        motion.ravel()[chosen] = ahead
        return motion
