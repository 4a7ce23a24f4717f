"""A step of a rod in the making: residual and matrix at the displacement found so far.

Inertia is that of particles (`models.rod.inertia`) which go from x to x⁺ in the step, d = x⁺ − x, and J is their
Jacobian. The step of implicit Euler is tested at its end, which makes it the minimum of Σ μ|d − h v|²/2h² plus the
potential at the end, with a symmetric matrix; the midpoint rule is the variational integrator of the action
Σ μ|d|²/2h − h U(midpoint), in the form that holds the momentum p = M v at the start,

    Euler      J(q⁺)ᵀ μ (d/h − J(q) v)/h = f(q⁺)          M(q⁺) v⁺ = J(q⁺)ᵀ μ d/h
    midpoint   J(q)ᵀ μ (d/h − J(q) v)·2/h = f(midpoint)   M(q⁺) v⁺ = (J(q⁺) + J(q))ᵀ μ d/h − M(q) v.

Both second columns are what the momentum at the end is, so Coriolis and centrifugal terms are all there. The midpoint
rule keeps linear and angular momentum of a free rod to the tolerance of the iteration, since Σ x × μ d = Σ x⁺ × μ d,
and its energy in a band of order h² (J. Marsden, M. West, "Discrete mechanics and variational integrators", Acta
Numerica, 2001); its matrix J(q)ᵀ μ J(q⁺) is not symmetric and takes an LU factor.

At dx = 0 everything is expanded about the free motion h v instead, so that one linear solve is consistent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.errors import SingularError
from pliant.core.lie import rotation_exp
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.beam import dynamics
from pliant.models.model import Residual
from pliant.models.rod import kinematics, step
from pliant.models.rod.factor import RodFactor
from pliant.models.rod.stations import Sweep
from pliant.models.scheme import Scheme
from pliant.solvers.linear.dense import DenseFactor

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel

LARGE = 80
"""Unknowns from which on LAPACK is worth its call."""


@dataclass(eq=False)
class RodSystem:
    """A dx = r of a rod: A (n, n) over the active unknowns, r and the motion of held unknowns (2 + 2N, 3)."""

    model: RodModel
    A: FloatArray
    r: FloatArray
    held_dx: FloatArray | None
    sweep: Sweep
    symmetric: bool

    def factorize(self) -> RodFactor:
        """Numeric factor of A over the free unknowns."""
        model = self.model
        return RodFactor(self.A[model.free_block], model.free, model.size, symmetric=self.symmetric)

    def product(self, x: FloatArray) -> FloatArray:
        """A x at the free unknowns, (2 + 2N, 3)."""
        out = np.zeros(x.shape)
        out.ravel()[self.model.active] = self.A @ x.ravel()[self.model.active]
        out[self.model.held] = 0.0
        return out

    def add_mass(self, share: float) -> None:
        """A += σ M, with σ from the strains: `share` of their stiffness over their mass."""
        M = self.model.mass_matrix(self.sweep)
        typical = np.abs(np.diag(self.A))[6:].sum() / np.diag(M)[6:].sum()
        self.A = self.A + share * typical * M

    def diagonal(self) -> FloatArray:
        """Diagonal of A, (2 + 2N, 3); 0 at strains that may not change."""
        out = np.zeros(self.r.size)
        out[self.model.active] = np.diag(self.A)
        return out.reshape(self.r.shape)

    def release(self, factor: Any) -> None:
        """Nothing to hand back."""


class RodTrial:
    """One step of a `RodModel` from q (4 + 2N, 3) and v (2 + 2N, 3); see `models.model.Trial`."""

    def __init__(
        self,
        model: RodModel,
        q: FloatArray,
        v: FloatArray,
        scheme: Scheme,
        gravity: FloatArray,
        controls: Mapping[Any, FloatArray],
    ) -> None:
        self.model = model
        self.dx: FloatArray = np.zeros(model.held.shape)
        self.blend = 1.0
        self._q = q if q.flags.writeable else q.copy()
        self._v = v if v.flags.writeable else v.copy()
        self._scheme = scheme
        self._external, self._moments = model.external(gravity, controls)
        self._target = model.prescribed(controls)
        self._symmetric = scheme.theta == 1.0 and not self._moments.any()
        self._moving = bool(scheme.inertia) and bool(self._v.any())
        self._kept: dict[float, tuple[FloatArray, Sweep]] = {}
        one_freedom = model.turned_basis or not model.held[:2].any()
        self._base_stays = one_freedom or bool((self._q[:4] == self._target).all())

    def evaluation_point(self) -> FloatArray:
        """q (4 + 2N, 3) at which forces are evaluated."""
        return self._advanced(self.dx, self._scheme.theta)

    def positions(self) -> FloatArray:
        """q (4 + 2N, 3) at the end of the step."""
        return self._advanced(self.dx, 1.0)

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """The displacement dx followed by `scale` × step, (2 + 2N, 3); the base turns by exp."""
        out = np.empty(dx.shape)
        kinematics.add_step(dx, step, self.model.basis, scale, out)
        return out

    def reach(self) -> FloatArray:
        """Largest coordinates (m), a radian, and the largest stretch vector, (2 + 2N, 3)."""
        reach = np.ones(self.dx.shape)
        reach[0] = np.abs(self._q[0]).max()
        reach[3::2] = np.abs(self._q[5::2]).max()
        return reach

    def velocities(self) -> FloatArray:
        """Rates at the end of the step, (2 + 2N, 3): those with the momentum that the particles have there."""
        scheme, model, stations = self._scheme, self.model, self.model.stations
        if not scheme.inertia:
            return np.zeros(self.dx.shape)
        start, end = self._start, self._swept(self.dx, 1.0)
        count, p = len(model.active), np.empty(self.dx.shape)
        A, rates, known = np.empty((count, count)), np.empty(count), np.zeros(count)
        step.end_momentum(
            start.kinds, stations.first, stations.mu, model.basis, start.frames, start.C, start.P, end.frames, end.C,
            end.P, end.q[0] - start.q[0], scheme.rate, scheme.memory != 0.0, self._momenta, p, A,
        )  # fmt: skip
        M = model.based(A)
        if len(model.held_active):
            known[:6] = np.where(model.held[:2], self._base_rates(), 0.0).ravel()
        rates[model.held_active] = known[model.held_active]
        wanted = p.ravel()[model.active]
        if count > LARGE:
            free = model.free_active
            wanted -= M @ known
            rates[free] = DenseFactor(M[np.ix_(free, free)], symmetric=True).solve(wanted[free])
        elif not step.solve_free(M, model.free_active, model.held_active, known, wanted, rates):
            raise SingularError(f"the mass matrix of {model.name!r} is not positive definite: refine the rod less")
        v = np.zeros(self.dx.size)
        v[model.active] = rates
        return v.reshape(self.dx.shape)

    def residual(self) -> Residual:
        """Residual at dx."""
        return self._forces(self.dx)[0]

    def linearize(self, tangent: Tangent) -> tuple[RodSystem, Residual]:
        """A and r at dx."""
        if self._moving and not self.dx.any():
            free = self._scheme.dt * self._v
            system, residual = self._linearized(free, tangent)
            there = np.zeros(free.size)
            there[self.model.active] = system.A @ free.ravel()[self.model.active]
            system.r = residual.r + there.reshape(free.shape)
            residual = self.residual()
        else:
            system, residual = self._linearized(self.dx, tangent)
        system.held_dx = held_dx = self._held_motion()
        if held_dx is not None:
            active = self.model.active
            system.r.ravel()[active] -= system.A @ held_dx.ravel()[active]
        system.r[self.model.held] = 0.0
        return system, residual

    def drive(self, motion: FloatArray) -> None:
        """Move where the held base has to be by the translation of `motion` (2 + 2N, 3), m."""
        self._target = self._target.copy()
        self._target[0] += motion[0]
        self._base_stays = False

    def must_move(self) -> bool:
        """Whether the held base is not yet where supports want it."""
        return self._held_motion() is not None

    def _linearized(self, dx: FloatArray, tangent: Tangent) -> tuple[RodSystem, Residual]:
        model, scheme, damping, stations = self.model, self._scheme, self.model.spec.damping, self.model.stations
        residual, at, forces = self._forces(dx)
        end = self._swept(dx, 1.0) if scheme.inertia else at
        same = scheme.theta == 1.0
        left, count = end if same else self._start, len(model.active)
        geometry = 0.0 if tangent is Tangent.PROJECTED else scheme.theta
        scales = (
            scheme.inertia + damping.mass * scheme.rate, geometry, scheme.theta + damping.stiffness * scheme.rate
        )  # fmt: skip
        A = np.empty((count, count))
        step.matrix(
            at.kinds, stations.first, stations.fraction, stations.mu, model.stiffness, at.q, at.ends, at.frames, at.C,
            at.P, left.frames, left.C, left.P, end.frames, end.C, end.P, same, forces, self._moments, scales, A,
        )  # fmt: skip
        A = model.based(A)
        symmetric = self._symmetric or (same and not geometry)
        if symmetric and not model.held[1].all():  # a base that may turn, under a moment that is not yet balanced
            A = 0.5 * (A + A.T)
        return RodSystem(model, A, residual.r.copy(), None, end, symmetric), residual

    def _forces(self, dx: FloatArray) -> tuple[Residual, Sweep, FloatArray]:
        """Residual at dx, the rod where forces are evaluated, and the forces on its particles there (S, 3, 3)."""
        model, scheme, damping, stations = self.model, self._scheme, self.model.spec.damping, self.model.stations
        at, start = self._swept(dx, scheme.theta), self._start
        end = self._swept(dx, 1.0) if scheme.inertia else at
        tested = at if scheme.theta == 1.0 else start
        rates = (
            scheme.inertia + damping.mass * scheme.rate, scheme.momentum, damping.stiffness * scheme.rate
        )  # fmt: skip
        r, forces = np.empty(dx.shape), np.empty(self._external.shape)
        outer, inner = step.residual(
            at.kinds, stations.first, stations.mu, model.basis, model.held, model.stiffness, model.rest, at.q,
            at.frames, at.C, at.P, tested.frames, tested.C, tested.P, start.frames, end.frames, end.q[0] - start.q[0],
            self._external, self._moments, self._momenta, dx, rates, r, forces,
        )  # fmt: skip
        if scheme.theta < 1.0:
            forces = self._external
        return Residual(r, float(np.sqrt(max(outer, inner, self._momentum_square)))), at, forces

    @cached_property
    def _start(self) -> Sweep:
        return self.model.sweep(self._q)

    @property
    def _momenta(self) -> FloatArray:
        """Momenta of the particles at the start, (S, 3, 3), kg·m/s."""
        return self._carried[0]

    @property
    def _momentum_square(self) -> float:
        """Squared norm of the momentum of the start over h, N²."""
        return self._carried[1]

    @cached_property
    def _carried(self) -> tuple[FloatArray, float]:
        momenta = np.zeros(self._external.shape)
        if not self._moving:
            return momenta, 0.0
        model, stations, start, p = self.model, self.model.stations, self._start, np.empty(self.dx.shape)
        step.momenta(
            start.kinds, stations.first, stations.mu, model.basis, self._v, start.frames, start.C, start.P, momenta, p
        )  # fmt: skip
        free = p.ravel()[model.free]
        return momenta, self._scheme.momentum**2 * float(free @ free)

    def _base_rates(self) -> FloatArray:
        """Rates (2, 3) of a base that moves as the step did."""
        scheme = self._scheme
        base = scheme.next_velocity(self.dx[:2], self._v[:2])
        if scheme.memory and self.dx[1].any():
            base[1] += scheme.memory * (rotation_exp(self.dx[1]) @ self._v[1] - self._v[1])
        return base

    def _advanced(self, dx: FloatArray, fraction: float) -> FloatArray:
        out = np.empty(self._q.shape)
        kinematics.advance(self._q, dx, self.model.basis, fraction, out)
        return out

    def _swept(self, dx: FloatArray, fraction: float) -> Sweep:
        """Poses and Jacobian after `fraction` of dx; the last ones are kept."""
        if not dx.any():
            return self._start
        kept = self._kept.get(fraction)
        if kept is not None and kept[0] is dx:
            return kept[1]
        sweep = self.model.sweep(self._advanced(dx, fraction))
        self._kept[fraction] = (dx, sweep)
        return sweep

    def _held_motion(self) -> FloatArray | None:
        """What the held base still has to move, (2 + 2N, 3), zero at free unknowns; None where nothing has to: it is
        free, has its one freedom, or stands where it has to.
        """
        if self._base_stays:
            return None
        ahead = np.zeros(self.dx.shape)
        pose, motion = self._q[:4].reshape(1, 4, 3), self.dx[:2].reshape(1, 2, 3)
        target, held = self._target.reshape(1, 4, 3), self.model.held[:2].reshape(1, 2, 3)
        moves = dynamics.remaining_motion(pose, motion, target, held, self.blend, ahead[:2].reshape(1, 2, 3))
        return ahead if moves else None
