"""A step of a rod: residual and matrix at a displacement.

Inertia is that of particles (`models.rod.inertia`) which go from x to x⁺ in the step, d = x⁺ − x, with the velocities
u = J(q) v at the start, J being their Jacobian. For the particles the two schemes are the usual ones; particular are
the Jacobian with which forces and inertia are tested, and that the velocity of the particles at the end is projected to
one of the rod, in the norm of the mass:

    Euler      J(q⁺)ᵀ (f − μ (d/h − u)/h) = elastic forces at q⁺           M(q⁺) v⁺ = J(q⁺)ᵀ μ d/h
    midpoint   Ĵᵀ (f − μ (d/h − u)·2/h) = elastic forces at the mid strain   M(q⁺) v⁺ = J(q⁺)ᵀ μ (2d/h − u).

No Coriolis or centrifugal term is left out, since none was split off. The step of Euler is the minimum of
Σ μ|d − h u|²/2h² plus the potential at the end, so its matrix is symmetric.

For the midpoint rule Ĵ is such that d = Ĵ dx and rotations of the base move particles about their mean positions
(x + x⁺)/2: then the work of all forces is the change of the kinetic energy of particles with the velocity 2d/h − u at
the end, and angular momentum changes by the moment of f. With y the positions seen from the base, whose rotation in the
step has Cayley's vector w (tan(θ/2)/(θ/2) times the rotation vector),

    d = δp + w × (x + x⁺)/2 + (1 + ½ [w]×) R δy,        δy = ∫₀¹ J_y(ψ + τ δψ) dτ δψ,

the integral by two Gauss points, exact to (δψ)⁴ of it. So a free rod keeps its linear and angular momentum to the
tolerance of the iteration, whatever the step, and its energy but for what the projection takes, of order h³ a second.
That is given back by scaling the part of v⁺ that is no rigid motion (energy–momentum methods: J. Simo, N. Tarnow, "The
discrete energy–momentum method", ZAMP 43, 1992; projection to invariants: E. Hairer, C. Lubich, G. Wanner, "Geometric
Numerical Integration", IV.4), by `energy.RESTORED` at most. The matrix is not symmetric and takes an LU factor; it is
exact for a base that does not turn.

At dx = 0 everything is expanded about the free motion h v instead, so that one linear solve is consistent.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pliant.core.arrays import writable
from pliant.core.immutable import evolve
from pliant.core.lie import cross_matrix
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.beam import dynamics
from pliant.models.model import Residual
from pliant.models.rod import kinematics, step
from pliant.models.rod.energy import restore_energy
from pliant.models.rod.free_rod import add_rotation, restore_spin
from pliant.models.rod.one_call import OneCallTrial
from pliant.models.rod.stations import Sweep
from pliant.models.rod.system import RodSystem
from pliant.solvers.linear.dense import DenseFactor

_IDENTITY = np.eye(3)


class RodTrial(OneCallTrial):
    """One step of a `RodModel` from q (4 + 2N, 3) and v (2 + 2N, 3)."""

    @cached_property
    def _moving(self) -> bool:
        return bool(self._scheme.inertia) and bool(self._v.any())

    @cached_property
    def _external(self) -> FloatArray:
        """Forces on the particles of the stations, (S, 3, 3), N."""
        return self.model.particle_forces(self._gravity, self._loads[0])

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """The displacement dx followed by `scale` × step, (2 + 2N, 3); the base turns by exp."""
        if dx is self._still and scale == 1.0:
            return step
        out = np.empty(dx.shape)
        kinematics.add_step(dx, step, self.model.basis, scale, out)
        return out

    def positions(self) -> FloatArray:
        """q at the end of the step; in dynamics that of the sweep, which the velocities need as well."""
        if self.dx is self._still:
            return self._q.copy()
        if self._begun is not None and not self._has_swept(self.dx):
            return self._end()[1].copy()
        end = self._swept(self.dx, 1.0) if self._scheme.inertia else self._start
        return super().positions() if end is self._start else end.q.copy()

    def evaluation_point(self) -> FloatArray:
        """q at which forces are evaluated, after the fraction θ of the step."""
        if self.dx is self._still and self._first is None:
            return self._q
        return super().evaluation_point()

    def coordinate_scale(self) -> FloatArray:
        """Largest coordinates (m), a radian, and the largest stretch vector, (2 + 2N, 3)."""
        scale = np.ones(self.dx.shape)
        scale[0] = np.abs(self._q[0]).max()
        scale[3::2] = np.abs(self._q[5::2]).max()
        return scale

    def velocities(self) -> FloatArray:
        """Rates at the end of the step, (2 + 2N, 3): those with the momentum that the particles have there."""
        scheme, model, stations = self._scheme, self.model, self.model.stations
        if not scheme.inertia:
            return np.zeros(self.dx.shape)
        if self._begun is not None:
            return self._end()[2]
        start, end = self._start, self._swept(self.dx, 1.0)
        carried = self._momenta(1.0 / (1.0 - scheme.theta) if scheme.lag else 0.0)
        count, p = len(model.active), np.empty(self.dx.shape)
        A, rates, known = np.empty((count, count)), np.empty(count), np.zeros(count)
        energy = step.end_momentum(
            start.kinds, stations.first, stations.mu, model.basis, start.frames, end.frames, end.C, end.P,
            end.q[0] - start.q[0], (scheme.velocity, scheme.memory), carried, p, A,
        )  # fmt: skip
        M = model.based(A)
        self._set_known_rates(known)
        rates[model.constrained_active] = known[model.constrained_active]
        wanted = p.ravel()[model.active]
        if not model.is_small:
            free = model.free_active
            wanted -= M @ known
            rates[free] = DenseFactor(M[np.ix_(free, free)], symmetric=True).solve(wanted[free])
        elif not step.solve_free(M, model.free_active, model.constrained_active, known, wanted, rates):
            raise self._refined_too_much()
        if scheme.memory and not known.any():
            restore_energy(rates, M, p.ravel()[model.active], model.free_active, float(energy))
        v = np.zeros(self.dx.size)
        v[model.active] = rates
        if scheme.theta == 1.0 and self._moving and not model.is_supported:  # a weld is not seen in these rates
            restore_spin(v.reshape(self.dx.shape), stations.mu, start.frames, end.frames, self._carried[0], model.basis)
        return v.reshape(self.dx.shape)

    def energy_gain(self) -> tuple[float, float]:
        """Kinetic and elastic energy gained up to dx less the work of gravity and forces, and what it had, J; none of a
        rod that remembers, whose energy is not that of its strains.
        """
        if self._recalled is not None:
            return 0.0, 0.0
        model, given = self.model, (self._gravity, self._controls)
        ends = (self._q, self._v), (self.positions(), self.velocities())
        had, has = (model.kinetic_energy(q, v) + model.elastic_energy(q) for q, v in ends)
        before, after = (model.potential_energy(q, *given) for q, _ in ends)
        return has - had + after - before, had

    def residual(self) -> Residual:
        """Residual at dx."""
        return self._forces(self.dx)[0]

    def linearize(self, tangent: Tangent) -> tuple[RodSystem, Residual]:
        """A and r at dx."""
        at_once = self._in_one_call and self.dx is self._still
        if at_once:
            system, residual = self._begin(tangent)
        elif self._moving and not self.dx.any():
            free = self._free_motion()
            system, residual = self._linearized(free, tangent)
            there = np.zeros(free.size)
            there[self.model.active] = system.A @ free.ravel()[self.model.active]
            system.r = residual.r + there.reshape(free.shape)
            residual = self.residual()
        else:
            system, residual = self._linearized(self.dx, tangent)
        system.constrained_dx = constrained_dx = self.remaining_motion()
        if constrained_dx is not None:
            active = self.model.active
            system.r.ravel()[active] -= system.A @ constrained_dx.ravel()[active]
        elif at_once:
            return system, residual
        system.r[self.model.constrained] = 0.0
        return system, residual

    def _free_motion(self) -> FloatArray:
        """Displacement (2 + 2N, 3) of the rod that goes on as it moves: h v, and for a free rod what its rotation about
        the centre of mass adds to it in the second order.
        """
        free = self._scheme.dt * self._v
        if self._scheme.theta == 1.0 and not len(self.model.constrained_active):
            mu, basis = self.model.stations.mu, self.model.basis
            add_rotation(free, mu, self._start.frames, self._carried[0], basis, self._scheme.dt)
        return free

    def driven(self, motion: FloatArray) -> RodTrial:
        """The same step with the translation of `motion` (2 + 2N, 3), m, added to the prescribed motion of the base."""
        target = self._target.copy()
        target[0] += motion[0]
        return evolve(self, _target=target, _base_stays=False)

    def _linearized(self, dx: FloatArray, tangent: Tangent) -> tuple[RodSystem, Residual]:
        model, scheme, damping, stations = self.model, self._scheme, self.model.spec.damping, self.model.stations
        residual, forces = self._forces(dx)
        count, end = len(model.active), self._swept(dx, 1.0)
        exact, same = tangent is not Tangent.PROJECTED, scheme.theta == 1.0
        inertia = scheme.inertia + damping.mass * scheme.rate
        parts = np.empty((len(self._tests), count, count))
        for fraction, part in zip(self._tests, parts, strict=True):
            at = self._tested(dx, fraction)
            scales = inertia, fraction if exact else 0.0, scheme.theta + self._damping * scheme.rate
            step.matrix(
                at.kinds, stations.first, stations.fraction, stations.mu, self._stiffness, at.q, at.ends, at.frames,
                at.C, at.P, end.frames, end.C, end.P, same, forces, self._moments, scales, part,
            )  # fmt: skip
        A = model.based(parts[0] if same else 0.5 * (parts[0] + parts[1]))
        symmetric = self._symmetric or (same and not exact)
        if symmetric and model.base_turns:  # under a moment that is not yet balanced
            A = 0.5 * (A + A.T)
        return RodSystem(model, A, residual.r.copy(), None, end, symmetric, not exact), residual

    def _forces(self, dx: FloatArray) -> tuple[Residual, FloatArray]:
        """Residual at dx, and the forces less inertia on the particles, (S, 3, 3)."""
        model, scheme, damping, stations = self.model, self._scheme, self.model.spec.damping, self.model.stations
        start, end = self._start, self._swept(dx, 1.0)
        bent = end.q if scheme.theta == 1.0 else self._displaced(self._lagging, dx, scheme.theta)
        rates = scheme.inertia + damping.mass * scheme.rate, scheme.momentum, self._damping * scheme.rate
        parts, forces = np.empty((len(self._tests), *dx.shape)), np.empty(self._external.shape)
        outer = inner = 0.0
        for fraction, r in zip(self._tests, parts, strict=True):
            at = self._tested(dx, fraction)
            turn = _IDENTITY if scheme.theta == 1.0 else self._mean_turn(dx, at)
            outer, inner = step.residual(
                at.kinds, stations.first, stations.mu, model.basis, model.constrained, self._stiffness, self._rest,
                bent, at.frames, at.C, at.P, start.frames, end.frames, end.q[0] - start.q[0], self._external,
                self._moments, self._momenta(1.0), dx, rates, scheme.theta < 1.0, turn, r, forces,
            )  # fmt: skip
        r = parts[0] if len(parts) == 1 else parts.sum(axis=0) / len(parts)
        return Residual(r, float(np.sqrt(max(outer, inner, self._carried[1])))), forces

    def _tested(self, dx: FloatArray, fraction: float) -> Sweep:
        """The rod with the strains after `fraction` of dx; the base of the midpoint rule moves half as far."""
        if self._scheme.theta == 1.0:
            return self._swept(dx, 1.0)
        return self._swept(dx, fraction, 0.5)

    def _mean_turn(self, dx: FloatArray, at: Sweep) -> FloatArray:
        """What takes forces to those that strains are tested with, `at` half the step: R_half ((1 + ½ [w]×) R)ᵀ."""
        if not dx[1].any():
            return _IDENTITY
        spin = self.model.basis @ dx[1]
        half = 0.5 * float(np.linalg.norm(spin))
        mean = self._q[1:4] + 0.5 * np.tan(half) / half * cross_matrix(spin) @ self._q[1:4]
        return np.ascontiguousarray(at.q[1:4] @ mean.T)

    @cached_property
    def _start(self) -> Sweep:
        if self._begun is not None:
            return Sweep.filled(self._q, self._begun, self.model.spec.active, self.model.stations)
        return self.model.sweep(self._q)

    def _has_swept(self, dx: FloatArray) -> bool:
        """Whether the sweep at the end of the step is kept."""
        kept = self._kept.get(1.0)
        return kept is not None and kept[0] is dx

    @cached_property
    def _carried(self) -> tuple[FloatArray, float]:
        """Momenta (S, 3, 3) of the particles at the start, kg·m/s, and the squared norm of Jᵀ of them over h, N²."""
        momenta = np.zeros(self._external.shape)
        if not self._moving:
            return momenta, 0.0
        model, stations, start, p = self.model, self.model.stations, self._start, np.empty(self.dx.shape)
        step.momenta(
            start.kinds, stations.first, stations.mu, model.basis, self._v, start.frames, start.C, start.P, momenta, p
        )  # fmt: skip
        free = p.ravel()[model.free]
        return momenta, self._scheme.momentum**2 * float(free @ free)

    def _momenta(self, lag: float) -> FloatArray:
        """Momenta (S, 3, 3) of the particles at the start, kg·m/s, less `lag` × κ of their change in the first part of
        the step.
        """
        momenta = self._carried[0]
        return momenta if self._first is None else momenta - lag * self._scheme.lag * (momenta - self._began)

    @cached_property
    def _began(self) -> FloatArray:
        """Momenta (S, 3, 3) of the particles where the first part of the step began, kg·m/s."""
        assert self._first is not None
        model, stations, momenta = self.model, self.model.stations, np.zeros(self._external.shape)
        at = model.sweep(writable(self._first.q))
        step.momenta(
            at.kinds, stations.first, stations.mu, model.basis, writable(self._first.v), at.frames, at.C, at.P, momenta,
            np.empty(self.dx.shape),
        )  # fmt: skip
        return momenta

    def _displaced(self, q: FloatArray, dx: FloatArray, fraction: float) -> FloatArray:
        out = np.empty(q.shape)
        kinematics.advance(q, dx, self.model.basis, fraction, out)
        return out

    def _swept(self, dx: FloatArray, fraction: float, base: float | None = None) -> Sweep:
        """Poses and Jacobian after `fraction` of dx, the base after `base` of its own; the last ones are kept."""
        kept = self._kept.get(fraction)
        if kept is not None and kept[0] is dx:
            return kept[1]
        if dx.any():
            q = self._displaced(self._q, dx, fraction)
            if base is not None:
                q[:4] = self._displaced(self._q, dx, base)[:4]
            sweep = self.model.sweep(q)
        else:
            sweep = self._start
        self._kept[fraction] = (dx, sweep)
        return sweep

    def remaining_motion(self) -> FloatArray | None:
        """Motion that a constrained base still has to make, (2 + 2N, 3); None where it is free or in place."""
        if self._base_stays:
            return None
        ahead = np.zeros(self.dx.shape)
        pose, motion = self._q[:4].reshape(1, 4, 3), self.dx[:2].reshape(1, 2, 3)
        target, constrained = self._target.reshape(1, 4, 3), self.model.constrained[:2].reshape(1, 2, 3)
        moves = dynamics.remaining_motion(
            pose, motion, target, constrained, self.load_fraction, ahead[:2].reshape(1, 2, 3)
        )
        return ahead if moves else None
