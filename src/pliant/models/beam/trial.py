"""A step of a network of beams: residual and matrix at a displacement.

Forces and matrix are written in spins at the end of the step, so a correction is a spin too, and follows the rotation
so far by exp (`moved`). With the midpoint rule forces are evaluated at half the rotation vector of the step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pliant.core.arrays import writable
from pliant.core.immutable import evolve
from pliant.core.lie import rotation_exp
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.beam import dynamics, element
from pliant.models.beam.factor import BeamFactor, Twists
from pliant.models.free_spin import LEAST_ANGLE, free_turn, inertia_of, lost_moment
from pliant.models.model import Residual, StepStart
from pliant.models.slender_trial import SlenderTrial
from pliant.models.volume.blocks import BlockSystem
from pliant.models.workspace import Workspace
from pliant.solvers.linear.matrix import BlockMatrix

if TYPE_CHECKING:
    from pliant.models.beam.model import BeamModel


@dataclass(eq=False)
class BeamSystem(BlockSystem):
    """A dx = r of a beam: the blocks `values` (b, 3, 3) of A, r and the motion of constrained unknowns (n, 2, 3)."""

    model: BeamModel
    values: FloatArray
    r: FloatArray
    constrained_dx: FloatArray | None
    q: FloatArray
    workspace: Workspace
    twists: Twists | None = None

    def factorize(self) -> BeamFactor:
        """Numeric factor of A, in the memory of the last one."""
        return self.model.factorize(self.values, self.twists, out=self.workspace.take(self.model, "factor"))

    def product(self, x: FloatArray) -> FloatArray:
        """A x at the free unknowns, (n, 2, 3)."""
        product = super().product(x)
        if self.twists is not None:
            product[self.twists.nodes, 1] += self.twists.product(x)
        return product

    def add_mass(self, fraction: float) -> None:
        """A += σ M, with σ from the translations: `fraction` of their mean stiffness over their mean mass."""
        model = self.model
        typical = float(np.abs(self.diagonal()[:, 0]).mean()) / float(model.mass.mean())
        dynamics.add_mass(self.q, model.mass, model.inertia, fraction * typical, model.pattern.diagonal, self.values)


class BeamTrial(SlenderTrial):
    """One step of a `BeamModel` from q (n, 4, 3) and v (n, 2, 3)."""

    model: BeamModel

    def __init__(self, model: BeamModel, start: StepStart) -> None:
        super().__init__(model, start)
        scheme, controls = start.scheme, start.controls
        self._q, self._v = writable(start.q), writable(start.v)
        self._external = model.external_forces(start.gravity, controls)
        self._target = model.prescribed(controls)
        self._start_stiffness: FloatArray | None = None
        turned = np.flatnonzero(self._external[:, 1].any(axis=1) & ~model.constrained[:, 1, 0])
        moments = scheme.theta * self._external[turned, 1]
        self._twists = Twists(turned.astype(np.int32), moments) if len(turned) else None
        damping = model.spec.damping.mass * scheme.rate
        self._coefficients = (
            scheme.inertia, scheme.momentum, damping, scheme.rate, scheme.velocity, scheme.memory,
        )  # fmt: skip
        self._elements = model.elements
        if self._recalled is not None:
            self._elements = replace(model.elements, stiffness=self._recalled[0], rest=self._recalled[1])

    def velocities(self) -> FloatArray:
        """Velocities and spins at the end of the step, (n, 2, 3), m/s and rad/s."""
        out = np.empty(self.dx.shape)
        dynamics.end_velocities(self._v, self.dx, self._scheme.velocity, self._scheme.memory, out)
        gained = self._gained
        if gained is not None:
            out += gained / self._scheme.theta
        if self._scheme.memory:
            out[self.model.constrained] = self._scheme.rate * self.dx[self.model.constrained]
        elif self._scheme.inertia and not self._supported:
            self._restore_spin(out)
        return out

    def _restore_spin(self, out: FloatArray) -> None:
        """Add to velocities (n, 2, 3) the rotation whose angular momentum implicit Euler takes from a free body."""
        mass, end = self.model.mass, self.positions()
        lost = lost_moment(self.dx[:, 0], mass[:, None] * self._v[:, 0], mass)
        arms = end[:, 0] - mass @ end[:, 0] / mass.sum()
        own = np.einsum("nij,njk,nlk->il", end[:, 1:], self.model.inertia, end[:, 1:])
        spin = np.linalg.solve(inertia_of(arms, mass) + own, -lost)
        out[:, 0] += np.cross(spin, arms)
        out[:, 1] += spin

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """The displacement dx followed by `scale` × step, (n, 2, 3)."""
        out = np.empty(dx.shape)
        dynamics.add_step(dx, step, scale, out)
        return out

    def coordinate_scale(self) -> FloatArray:
        """Largest coordinates (m) and a radian, (2, 3)."""
        return np.stack([np.abs(self._q[:, 0]).max(axis=0), np.ones(3)])

    def residual(self) -> Residual:
        """Residual at dx, by a pass over the elements without stiffness."""
        return self._residual(*self.model.internal(self.evaluation_point(), self._elements))

    def elastic_balance(self) -> tuple[float, float]:
        """See `Trial`."""
        if self._recalled is not None:
            return 0.0, 0.0
        change = super().elastic_balance()[0]
        return change, change - float(np.vdot(self.model.internal(self.evaluation_point())[1], self.dx))

    def linearize(self, tangent: Tangent) -> tuple[BeamSystem, Residual]:
        """A and r at dx. A single solve of a body without supports is linearised where its rotation in the step leads,
        also where welds hold it: they act through rows.
        """
        ahead = None if tangent is not Tangent.WARPED or self.dx.any() else self._free_rotation()
        if ahead is None:
            return self._linearized(tangent)
        system, residual = self.at(ahead)._linearized(tangent)
        system.r = system.r + system.product(ahead)
        return system, residual

    def _free_rotation(self) -> FloatArray | None:
        """Displacement (n, 2, 3) of a body that goes on turning; None where it has supports, or hardly turns."""
        model, scheme = self.model, self._scheme
        if scheme.theta != 1.0 or not scheme.inertia or model.constrained.any() or not self._v.any():
            return None
        x, total = self._q[:, 0], model.mass.sum()
        momentum = model.momentum(self._q, self._v)
        arms = x - model.mass @ x / total
        own = np.einsum("nij,njk,nlk->il", self._q[:, 1:], model.inertia, self._q[:, 1:])
        moment = np.cross(arms, momentum[:, 0]).sum(axis=0) + momentum[:, 1].sum(axis=0)
        turn = free_turn(inertia_of(arms, model.mass) + own, moment, scheme.dt)
        if not np.linalg.norm(turn) > LEAST_ANGLE:
            return None
        ahead = np.empty(self.dx.shape)
        ahead[:, 0] = arms @ (rotation_exp(turn) - np.eye(3)).T
        ahead[:, 1] = turn
        return ahead

    def _linearized(self, tangent: Tangent) -> tuple[BeamSystem, Residual]:
        model, scheme = self.model, self._scheme
        x = self.evaluation_point()
        end = x if scheme.theta == 1.0 else self.positions()
        values = model.blocks(self.workspace)
        mass = scheme.inertia + model.spec.damping.mass * scheme.rate
        dynamics.fill_mass(end, model.mass, model.inertia, mass, model.pattern.diagonal, values)
        mode = element.PROJECTED if tangent is Tangent.PROJECTED else element.EXACT
        energy, internal = model.assemble(x, tangent=mode, scale=scheme.theta, values=values, elements=self._elements)
        if self._twists is not None:
            axes = np.arange(3)
            rows = model.pattern.diagonal[2 * self._twists.nodes + 1]
            values[rows[:, None], axes, axes] += self._twists.stiffening[:, None]
        damping = self._damping * scheme.rate
        if damping:
            values += damping * self._damping_stiffness()
        residual = self._residual(energy, internal)
        r = residual.r.copy() if self.dx.any() or not scheme.inertia else self._predicted(residual.r)
        constrained_dx = self.remaining_motion()
        if constrained_dx is not None:
            r -= BlockMatrix(model.pattern, values).matvec(constrained_dx.ravel()).reshape(r.shape)
        r[model.constrained] = 0.0
        return BeamSystem(model, values, r, constrained_dx, end, self.workspace, self._twists), residual

    def driven(self, motion: FloatArray) -> BeamTrial:
        """The same step with the translations of `motion` (n, 2, 3), m, added to the prescribed motion."""
        target = self._target.copy()
        target[:, 0] += motion[:, 0]
        return evolve(self, _target=target)

    def _displaced(self, q: FloatArray, dx: FloatArray, fraction: float) -> FloatArray:
        moved = np.empty(q.shape)
        dynamics.advance(q, dx, fraction, moved)
        return moved

    def _residual(self, energy: float, internal: FloatArray) -> Residual:
        """Residual from the internal forces (n, 2, 3) at the evaluation point."""
        r = self._external - internal
        squares = max(float(np.vdot(self._external, self._external)), float(np.vdot(internal, internal)))
        if self._scheme.inertia:
            squares = max(squares, self._subtract_inertia(self.dx, r))
            gained = self._gained
            if gained is not None:
                r -= self._scheme.momentum * self.model.momentum(self.positions(), gained)
            if self._damping and self.dx.any():
                K = BlockMatrix(self.model.pattern, self._damping_stiffness())
                force = K.matvec(self.dx.ravel()).reshape(r.shape)
                force *= self._damping * self._scheme.rate
                r -= force
                squares = max(squares, float(np.vdot(force, force)))
        return Residual(r, float(np.sqrt(squares)) if np.isfinite(energy) else np.inf)

    def _subtract_inertia(self, dx: FloatArray, r: FloatArray) -> float:
        model = self.model
        return float(dynamics.subtract_inertia(self._q, self._v, dx, model.mass, model.inertia, self._coefficients, r))

    def _predicted(self, r: FloatArray) -> FloatArray:
        """r at dx = 0, rotational inertia expanded about the free motion hω: gyroscopic moments to first order in h."""
        if not self._v[:, 1].any():
            return r.copy()
        model, scheme = self.model, self._scheme
        free = np.zeros(self.dx.shape)
        free[:, 1] = scheme.dt * self._v[:, 1]
        there, here = np.zeros(r.shape), np.zeros(r.shape)
        self._subtract_inertia(free, there)
        self._subtract_inertia(self.dx, here)
        linear = model.momentum(self._q, free)[:, 1] * (scheme.inertia + model.spec.damping.mass * scheme.rate)
        predicted = r.copy()
        predicted[:, 1] += there[:, 1] - here[:, 1] + linear
        return predicted

    def _damping_stiffness(self) -> FloatArray:
        """K(q) of Rayleigh damping, without geometric terms so that it never feeds energy in, (b, 3, 3)."""
        if self._start_stiffness is None:
            K = np.zeros((self.model.pattern.block_count, 3, 3))
            self.model.assemble(self._q, tangent=element.MATERIAL, scale=1.0, values=K)
            self._start_stiffness = K
        return self._start_stiffness

    def remaining_motion(self) -> FloatArray | None:
        """Motion that constrained unknowns still have to make, (n, 2, 3); None where there is none."""
        if not len(self.model.constrained_unknowns):
            return None
        ahead = np.empty(self.dx.shape)
        moves = dynamics.remaining_motion(
            self._q, self.dx, self._target, self.model.constrained, self.load_fraction, ahead
        )
        return ahead if moves else None
