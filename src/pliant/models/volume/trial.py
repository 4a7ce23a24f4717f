"""A step of a deformable volume: residual and matrix at a displacement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.immutable import evolve, filled
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.model import GeometricStiffness, Residual, StepStart, Trial
from pliant.models.volume.adjoint import VolumeAdjoint
from pliant.models.volume.balance import balance, has_motion_left
from pliant.models.volume.free_rotation import free_rotation, widened, widening, without_moment
from pliant.models.volume.joined import JoinedSolve
from pliant.models.volume.linear_adjoint import LinearVolumeAdjoint
from pliant.models.volume.memory import Remembered
from pliant.models.volume.rest_slope import rest_slope
from pliant.models.volume.rotation_slope import RotationSlope
from pliant.models.volume.shape_limits import end_of_step
from pliant.models.volume.system import VolumeSystem
from pliant.solvers.linear.matrix import BlockMatrix

if TYPE_CHECKING:
    from pliant.models.volume.model import VolumeModel


ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""Remaining motion below this fraction of the coordinates counts as zero: q + dx is rounded several times."""
FEW = 2
"""Linear solves of a step, or of its two parts, that do not iterate to a tolerance."""
UNRESOLVED = 0.2
"""Change of η in a step beyond its linearisation that is reported: of 40 swinging beams, all 16 that gained energy had
0.4 or more, in 8 steps or more; of the others none was above the limit in more than 2.
"""
FLAT = 1e-12
"""det F up to which an element has no volume but for round-off: beyond its limits a law without a barrier is in
equilibrium at zero, on either side of which the next solve may end.
"""


class NodalTrial(Trial):
    """A step of a model whose unknowns are the positions q (n, 3), m, of its nodes; v (n, 3), m/s."""

    def __init__(self, model: Any, start: StepStart) -> None:
        super().__init__(model, start)
        self._zero = self.dx
        self._evaluated: tuple[Any, FloatArray] = (self.dx, self._lagging.copy())
        self._placed: tuple[Any, FloatArray] = (None, self._q)
        gained = None if self._first is None else self._gained
        self._velocity = self._v if gained is None else self._v - gained

    @property
    def still(self) -> bool:
        """Whether the displacement is that of the start, zero."""
        return self.dx is self._zero

    def evaluation_point(self) -> FloatArray:
        """Positions at which forces are evaluated, q + θ dx, (n, 3), m."""
        if self._evaluated[0] is not self.dx:  # needed several times; a displacement is replaced, never changed
            self._evaluated = (self.dx, self._lagging + self._scheme.theta * self.dx)
        return self._evaluated[1]

    def positions(self) -> FloatArray:
        """Positions at the end of the step, (n, 3), m."""
        if self.dx is self._zero and self._first is None:
            return self.evaluation_point()
        if self._placed[0] is not self.dx:  # asked for by the check of the elements, then by the state
            self._placed = (self.dx, self._q + self.dx)
        return self._placed[1]

    def accept(self, q: FloatArray) -> None:
        """The step has led to q (n, 3), which belongs to the state from now on."""
        self._placed = self._evaluated = (None, q)

    def _displaced(self, q: FloatArray, dx: FloatArray, fraction: float) -> FloatArray:
        return q + fraction * dx

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """dx + scale × step, (n, 3), m."""
        return step if dx is self._zero and scale == 1.0 else dx + scale * step

    def coordinate_scale(self) -> FloatArray:
        """Largest coordinates, (3,), m."""
        return np.asarray(np.abs(self.evaluation_point()).max(axis=0))


class VolumeTrial(NodalTrial):
    """One step of a `VolumeModel`."""

    model: VolumeModel
    has_adjoint = True

    def __init__(self, model: VolumeModel, start: StepStart) -> None:
        super().__init__(model, start)
        self._target = model.prescribed(start.controls)
        self._damping: tuple[FloatArray | None, FloatArray] = (None, self._q)
        self._ended: tuple[FloatArray | None, FloatArray] = (None, self._v)
        scheme = self._scheme
        loose = not model.is_supported
        turns = loose and scheme.dt and scheme.theta == 1.0 and bool(self._v.any())
        self._rotation = free_rotation(self._q, self._v, model.mass, scheme.dt) if turns else None
        if self._rotation is not None:
            self._velocity, self.velocity_offset = self._rotation.velocity, self._rotation.offset
        chords = loose and scheme.memory and bool(self._v.any())
        self._widening = widening(self._q, self._v, model.mass, scheme) if chords else None
        self._remembered = self._begun()
        self._softened = None if self._remembered is None else self._remembered.softened

    def velocities(self) -> FloatArray:
        """Velocities at the end of the step, (n, 3), m/s."""
        if self._ended[0] is self.dx:
            return self._ended[1]
        if self._rotation is None:  # a consistent mass couples free nodes to the acceleration of supports
            prescribed = self.model.constrained if self.model.mass.blocks is None else None
            return self._scheme.next_velocity(self.dx, self._v, prescribed, self._gained)
        return self._rotation.velocities(self.positions(), self.dx, self.model.mass, self._scheme.dt)

    def is_inverted(self) -> bool:
        """Whether elements are inverted at the end of the step. Where the velocities there are a multiple of dx, one
        pass gives both of them and the positions.
        """
        model, scheme = self.model, self._scheme
        if not model.may_invert:
            return False
        if scheme.memory or self._rotation is not None or self._first is not None or self.still:
            return super().is_inverted()
        p, x, v = model.points, np.empty(self.dx.shape), np.empty(self.dx.shape)
        least = end_of_step(frozen(self._q), self.dx, scheme.velocity, p.nodes, p.ptr, p.gradients, x, v)
        self._placed, self._ended = (self.dx, x), (self.dx, v)
        return bool(least <= FLAT)

    def residual(self) -> Residual:
        """Residual at dx, by a pass over the elements without stiffness."""
        x = self.evaluation_point()
        energy, internal = self._internal(x)
        return self._residual(x, energy, internal)[0]

    def linearize(self, tangent: Tangent) -> tuple[VolumeSystem, Residual]:
        """A and r at dx. A single solve is linearised where the free rotation of the step leads."""
        if tangent is not Tangent.WARPED or self._rotation is None or self._moves():
            return self._linearized(tangent)
        ahead = self._rotation.displacement
        system, residual = self.at(ahead)._linearized(tangent, damped=False)  # damping counts from there
        residual = Residual(residual.r + system.product(ahead), residual.scale)
        return replace(system, r=residual.r), residual

    def _linearized(self, tangent: Tangent, *, damped: bool = True) -> tuple[VolumeSystem, Residual]:
        model, scheme, x = self.model, self._scheme, self.evaluation_point()
        damping = model.spec.damping
        mass = scheme.inertia + damping.mass * scheme.rate
        rate = damping.stiffness * scheme.rate
        once = tangent is Tangent.WARPED  # one pass does for a solve that is not repeated: K(x) is K(q) or near it
        values = model.blocks(self.workspace)
        stiffness = scheme.theta + rate if once else scheme.theta
        if self._widening is None:
            energy, internal = model.assemble(x, mass=mass, stiffness=stiffness, tangent=tangent, values=values)
            if self._softened is not None:
                self._soften(x, tangent, values, internal)
        else:
            S, wide = self._widening, widened(x, self._widening, model.mass)
            energy, internal = model.assemble(wide, mass=0.0, stiffness=stiffness, tangent=tangent, values=values)
            if self._softened is not None:
                self._soften(wide, tangent, values, internal)
            values[:] = S @ values @ S
            model.mass.add_to(values, mass)
            internal = without_moment(internal @ S, x, model.mass.nodal)
        if self._remembered is not None:
            self._remembered.add_forces(x, internal)
            if tangent is Tangent.EXACT:  # as stresses of the elastic law, which other tangents omit or clip
                self._remembered.add_stiffness(scheme.theta, values)
        if rate and not once:
            values += rate * self.damping_stiffness()
        warped = model.warps(tangent)
        if not warped:
            model.add_load_stiffness(x, scheme.theta, self._controls, values)
        residual, free, left = self._residual(x, energy, internal, damped=damped)
        constrained_dx = None
        if left:
            constrained_dx = self._motion_left()
            r = residual.r - BlockMatrix(model.pattern, values).matvec(constrained_dx)
            free = np.where(model.constrained, 0.0, r)
        own = {"model": model, "values": values, "r": free, "constrained_dx": constrained_dx, "warped": warped}
        return filled(VolumeSystem, {**own, "workspace": self.workspace}), residual

    def joined_solve(self) -> JoinedSolve | None:
        """A dx = r at the start of the step with all of its stages (`Trial.joined_solve`)."""
        model, scheme, damping = self.model, self._scheme, self.model.spec.damping
        plain = self._rotation is None and self._widening is None and self._remembered is None and self._first is None
        if not (plain and self.still) or (model.supports and self.must_move()):
            return None
        made = JoinedSolve.take(self.workspace, model)
        if made is None:
            return None
        x = self.evaluation_point()
        inertia = scheme.inertia + damping.mass * scheme.rate
        stiffness = scheme.theta + damping.stiffness * scheme.rate
        internal = model.assemble(x, mass=inertia, stiffness=stiffness, tangent=Tangent.WARPED, values=made.values)[1]
        _, left = balance(
            model.mass.nodal, frozen(self._gravity), model.loads(x, self._controls), internal, frozen(self._velocity),
            scheme.momentum, model.constrained, frozen(self._target) if model.supports else made.rest, frozen(self._q),
            made.still, self.load_fraction, ROUNDING, made.forces, made.r,
        )  # fmt: skip
        if left:
            made.release(self.workspace, model)
        return None if left else made

    def _soften(self, x: FloatArray, tangent: Tangent, values: FloatArray, force: FloatArray) -> None:
        """Add the softening at x (n, 3), m, to the blocks `values` (b, 3, 3) of the matrix and to `force` (n, 3), N."""
        assert self._softened is not None
        kind = tangent if tangent is not Tangent.WARPED or self.model.warps(tangent) else Tangent.EXACT
        self._softened.add(x, self._scheme.theta, kind, values, force)

    def _moves(self) -> bool:
        """Whether the displacement is not zero."""
        return not self.still and bool(self.dx.any())

    def _internal(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Elastic energy (J) and internal forces (n, 3), N, at the evaluation point x."""
        if self._widening is None:
            energy, force = self.model.internal(x)
            if self._softened is not None:
                self._softened.add_forces(x, force)
        else:
            wide = widened(x, self._widening, self.model.mass)
            energy, force = self.model.internal(wide)
            if self._softened is not None:
                self._softened.add_forces(wide, force)
            force = without_moment(force @ self._widening, x, self.model.mass.nodal)
        if self._remembered is not None:
            self._remembered.add_forces(x, force)
        return energy, force

    def elastic_balance(self) -> tuple[float, float]:
        """See `Trial`."""
        if self._remembered is not None or self._softened is not None:
            return 0.0, 0.0
        change = self.model.internal(self.positions())[0] - self.model.internal(self._q)[0]
        return change, change - float(np.vdot(self._internal(self.evaluation_point())[1], self.dx))

    def _begun(self) -> Remembered | None:
        """The stresses and the softening that the step begins with; None where there are none."""
        memory, scheme = self.model.memory, self._scheme
        if memory is None:
            return None
        if self._history is None:
            self._history = memory.start(self._q)
        return memory.at_start(self._history, scheme)

    def history(self) -> FloatArray | None:
        """Stresses of the branches and largest energies at the end of the step, see `models.volume.memory`."""
        memory, history = self.model.memory, self._history
        if memory is None or history is None:
            return None
        return memory.after(history, self._scheme, self.positions())

    def warnings(self, iterations: int) -> tuple[str, ...]:
        """A warning where the softening changed farther than few linear solves follow, and those of the shape."""
        found = super().warnings(iterations)
        if self._softened is None or iterations > FEW or not self._scheme.dt:
            return found
        missed = self._softened.missed(self._q, self.positions())
        if missed <= UNRESOLVED:
            return found
        text = (
            f"the softening of {self.model.name!r} changed within the step by {missed:.2f} more than its linear solve "
            "expected, which may gain energy: give the stepper a tolerance, a smaller dt, or the material a larger m"
        )
        return (*found, text)

    def adjoint(self, stiffnesses: Iterable[GeometricStiffness]) -> VolumeAdjoint:
        """The volume in the adjoint of the step."""
        return VolumeAdjoint(self, stiffnesses)

    def rest_slope(self, w: FloatArray) -> FloatArray:
        """The derivative of w · r of the step at its end, without rows, by the rest positions, (n, 3)."""
        return rest_slope(self, w, self._velocity, self._gravity, self._controls)

    def linear_adjoint(
        self, stiffnesses: Callable[[FloatArray], Sequence[Any]], factor: Any = None
    ) -> LinearVolumeAdjoint:
        """The volume in the adjoint of a step of one linear solve; `stiffnesses` are terms of A by rows at q (n, 3).
        `factor` is that of A where it was kept.
        """
        return LinearVolumeAdjoint(self, stiffnesses, factor)

    @property
    def turning(self) -> RotationSlope | None:
        """How the rotation that the step takes by itself follows its start (`free_rotation`); None without one."""
        if self._rotation is None:
            return None
        return RotationSlope(self.model.name, self._q, self._v, self.dx, self.model.mass, self._scheme.dt)

    @property
    def widens(self) -> bool:
        """Whether the step takes forces of a wider shape, that of a body which turns (`widening`)."""
        return self._widening is not None

    def driven(self, motion: FloatArray) -> VolumeTrial:
        """The same step with `motion` (n, 3), m, added to the prescribed motion."""
        return evolve(self, _target=self._target + motion)

    def _residual(
        self, x: FloatArray, energy: float, internal: FloatArray, *, damped: bool = True
    ) -> tuple[Residual, FloatArray, bool]:
        """Residual from the internal forces (n, 3), N, at the evaluation point x, with stiffness-proportional damping
        where `damped`; r (n, 3), N, with zeros at constrained unknowns; whether these have motion left.
        """
        model, scheme, dx = self.model, self._scheme, self.dx
        mass, loads, velocity = model.mass, model.loads(x, self._controls), self._velocity
        r, free = np.empty(dx.shape), np.empty(dx.shape)
        rate = scheme.momentum if mass.blocks is None else 0.0
        squares, left = balance(
            mass.nodal, frozen(self._gravity), loads, internal, frozen(velocity), rate, model.constrained,
            frozen(self._target), frozen(self._q), frozen(dx), self.load_fraction, ROUNDING, r, free,
        )  # fmt: skip
        if mass.blocks is not None:
            momentum = mass.apply(scheme.momentum * velocity)
            r += momentum
            squares = max(squares, float(np.vdot(momentum, momentum)))
            free = np.where(model.constrained, 0.0, r)
        if scheme.inertia and self._moves():
            damping = model.spec.damping
            r -= model.mass.apply((scheme.inertia + damping.mass * scheme.rate) * dx)
            if damping.stiffness and damped:
                K = BlockMatrix(model.pattern, self.damping_stiffness())
                force = damping.stiffness * scheme.rate * K.matvec(dx)
                r -= force
                squares = max(squares, float(np.vdot(force, force)))
            free = np.where(model.constrained, 0.0, r)
        return Residual(r, sqrt(squares) if isfinite(energy) and squares >= 0.0 else np.inf), free, left

    def damping_stiffness(self) -> FloatArray:
        """Blocks (b, 3, 3) of the K of Rayleigh damping, positive semi-definite: it takes energy and never gives.

        K is that of the middle of the step: about it the displacement of a rotation is a rotation to first order, which
        K does not resist. At the start of the step it is a stretch of second order, by which the bulk modulus of a
        nearly incompressible body would brake every large motion.
        """
        if self._damping[0] is not self.dx:  # residual and matrix ask for it at the same displacement
            tangent = Tangent.WARPED if self.model.is_linear_law else Tangent.PROJECTED
            K = np.empty((self.model.pattern.block_count, 3, 3))
            self.model.assemble(self._q + 0.5 * self.dx, mass=0.0, stiffness=1.0, tangent=tangent, values=K)
            self._damping = (self.dx, K)
        return self._damping[1]

    def remaining_motion(self) -> FloatArray | None:
        """Motion that constrained nodes still have to make, (n, 3), m, zero at free ones; None where there is none."""
        chosen = self.model.constrained_unknowns
        start, aim = frozen(self._q.reshape(-1)), frozen(self._target.reshape(-1))
        way = start, frozen(self.dx.reshape(-1)), self.load_fraction
        if not has_motion_left(chosen, aim, *way, ROUNDING):
            return None
        return self._motion_left()

    def _motion_left(self) -> FloatArray:
        """Motion of constrained nodes to where they belong, (n, 3), m, zero at free ones."""
        chosen = self.model.constrained_unknowns
        target = self._target.ravel()[chosen]
        ahead = self.load_fraction * (target - self._q.ravel()[chosen]) - self.dx.ravel()[chosen]
        motion = np.zeros(self.dx.shape)
        motion.ravel()[chosen] = ahead
        return motion
