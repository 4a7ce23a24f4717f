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

from pliant.core.lie import rotation_exp
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.models.beam import dynamics
from pliant.models.model import Residual
from pliant.models.rod import geometric, kinematics
from pliant.models.rod.factor import RodFactor
from pliant.models.rod.stations import Sweep
from pliant.models.scheme import Scheme
from pliant.solvers.linear.dense import DenseFactor

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel


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
        A = self.A[np.ix_(model.free_active, model.free_active)]
        A = 0.5 * (A + A.T) if self.symmetric else A
        return RodFactor(A, model.free, model.size, symmetric=self.symmetric)

    def product(self, x: FloatArray) -> FloatArray:
        """A x at the free unknowns, (2 + 2N, 3)."""
        out = np.zeros(x.size)
        out[self.model.active] = self.A @ x.ravel()[self.model.active]
        out = out.reshape(x.shape)
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
        scheme, model = self._scheme, self.model
        if not scheme.inertia:
            return np.zeros(self.dx.shape)
        end = self._swept(self.dx, 1.0)
        moved = model.stations.mu[:, :, None] * end.steps(self._start) * scheme.rate
        none = np.zeros_like(self._moments)
        momentum = end.pull(moved, none, model.basis)
        if scheme.memory:
            momentum += self._start.pull(moved - self._momenta, none, model.basis)
        v = np.zeros(self.dx.size)
        base = scheme.next_velocity(self.dx[:2], self._v[:2])
        if scheme.memory and self.dx[1].any():
            base[1] += scheme.memory * (rotation_exp(self.dx[1]) @ self._v[1] - self._v[1])
        v[:6] = np.where(model.held[:2], base, 0.0).ravel()
        M, free = model.mass_matrix(end), model.free_active
        p = momentum.ravel()[model.active][free]
        if v.any():
            p -= M[np.ix_(free, model.held_active)] @ v[model.active[model.held_active]]
        v[model.free] = DenseFactor(M[np.ix_(free, free)], symmetric=True).solve(p)
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

    def must_move(self) -> bool:
        """Whether the held base is not yet where supports want it."""
        return self._held_motion() is not None

    def _linearized(self, dx: FloatArray, tangent: Tangent) -> tuple[RodSystem, Residual]:
        model, scheme, damping = self.model, self._scheme, self.model.spec.damping
        residual, sweep, forces = self._forces(dx)
        count = len(model.active)
        if scheme.inertia:
            scale = scheme.inertia + damping.mass * scheme.rate
            end = self._swept(dx, 1.0)
            A = model.mass_matrix(end, scale, None if scheme.theta == 1.0 else self._start)
        else:
            A = np.zeros((count, count))
        if tangent is not Tangent.PROJECTED:
            A += model.based(self._load_stiffness(sweep, forces))
        stiffness = (scheme.theta + damping.stiffness * scheme.rate) * model.stiffness.ravel()
        A[np.arange(6, count), np.arange(6, count)] += stiffness[model.active[6:] - 6]
        symmetric = self._symmetric or (scheme.theta == 1.0 and tangent is Tangent.PROJECTED)
        return RodSystem(model, A, residual.r.copy(), None, sweep, symmetric), residual

    def _load_stiffness(self, sweep: Sweep, forces: FloatArray) -> FloatArray:
        """−∂(Jᵀ f)/∂q × θ over the active unknowns, (n, n), base in world axes."""
        model, stations = self.model, self.model.stations
        A = np.zeros((len(model.active), len(model.active)))
        geometric.subtract_load_stiffness(
            sweep.q, sweep.kinds, stations.first, stations.fraction, sweep.ends, sweep.frames, sweep.C, sweep.P,
            forces, self._moments, self._scheme.theta, A,
        )  # fmt: skip
        return A

    def _forces(self, dx: FloatArray) -> tuple[Residual, Sweep, FloatArray]:
        """Residual at dx, the rod where forces are evaluated, and the forces on its particles there (S, 3, 3)."""
        model, scheme, damping = self.model, self._scheme, self.model.spec.damping
        sweep = self._swept(dx, scheme.theta)
        internal = np.zeros(dx.shape)
        internal[2:] = model.stiffness * (sweep.q[4:] - model.rest[4:])
        external = sweep.pull(self._external, self._moments, model.basis)
        r, forces = external - internal, self._external
        squares = max(self._square(external), self._square(internal))
        if scheme.inertia:
            moved = model.stations.mu[:, :, None] * self._swept(dx, 1.0).steps(self._start)
            kick = (scheme.inertia + damping.mass * scheme.rate) * moved
            none = np.zeros_like(self._moments)
            if self._moving:
                kick -= scheme.momentum * self._momenta
                squares = max(squares, self._momentum_square)
            tested = sweep if scheme.theta == 1.0 else self._start
            r -= tested.pull(kick, none, model.basis)
            if damping.stiffness:
                r[2:] -= damping.stiffness * scheme.rate * model.stiffness * dx[2:]
            forces = forces - kick if scheme.theta == 1.0 else forces
        return Residual(r, float(np.sqrt(squares))), sweep, forces

    def _square(self, r: FloatArray) -> float:
        free = r.ravel()[self.model.free]
        return float(free @ free)

    @cached_property
    def _start(self) -> Sweep:
        return self.model.sweep(self._q)

    @cached_property
    def _momenta(self) -> FloatArray:
        """Momenta of the particles at the start, (S, 3, 3), kg·m/s."""
        momenta: FloatArray = self.model.stations.mu[:, :, None] * self._start.velocities(self._v, self.model.basis)
        return momenta

    @cached_property
    def _momentum_square(self) -> float:
        """Squared norm of the momentum of the start over h, N²."""
        r = self._start.pull(self._momenta, np.zeros_like(self._moments), self.model.basis)
        return self._scheme.momentum**2 * self._square(r)

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
        """What the held base still has to move, (2 + 2N, 3), zero at free unknowns; None where nothing has to."""
        model = self.model
        if not model.supports and not model.turned_basis and self._at_rest:
            return None
        ahead = np.zeros(self.dx.shape)
        pose, motion = self._q[:4].reshape(1, 4, 3), self.dx[:2].reshape(1, 2, 3)
        target, held = self._target.reshape(1, 4, 3), model.held[:2].reshape(1, 2, 3)
        if model.turned_basis:
            return None
        moves = dynamics.remaining_motion(pose, motion, target, held, self.blend, ahead[:2].reshape(1, 2, 3))
        return ahead if moves else None

    @cached_property
    def _at_rest(self) -> bool:
        """Whether the base stands where it was made, or is free."""
        model = self.model
        return not model.held[:2].any() or bool((self._q[:4] == self._target).all())
