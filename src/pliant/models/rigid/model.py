"""A free rigid body as the steppers see it: six unknowns, a translation and a rotation vector of the step.

q (4, 3) holds the position of the centre of mass and the rows of R; v (2, 3) the velocity (m/s) and the spin ω
(rad/s), in world axes. With φ the rotation vector of the step, R⁺ = exp(φ) R, and the angular momentum L = R I Rᵀ ω,

    implicit Euler     J (φ − φ₀)/h² = τ,   L⁺ = L + hτ              J = R I Rᵀ, φ₀ the rotation without torque
    implicit midpoint  (L⁺ − L)/h = τ,      L⁺ = R⁺ (2 I Rᵀφ/h − Rᵀ L)

so that without torque both keep angular momentum and kinetic energy to rounding (`models.free_spin`); the second is of
second order. Rotations are updated by the exponential map, never by adding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.lie import rotation_exp, rotation_log, turned_frame
from pliant.core.types import BoolArray, FloatArray
from pliant.materials import Tangent
from pliant.models.body import STATIONS, Model, Parts
from pliant.models.free_spin import free_turn
from pliant.models.model import GeometricStiffness, Residual, StepStart, System, Trial
from pliant.models.rigid.body import RigidBody
from pliant.models.rigid.frame_map import FrameMap
from pliant.models.surfaces import ContactShape, Skin
from pliant.solvers.linear.dense import DenseFactor

PSEUDO_RATE = 100.0
"""Rate of the inertia that replaces stiffness in quasi-static solves, 1/s: a step of 10 ms, 1 mm under gravity."""


@dataclass(frozen=True, eq=False)
class RigidModel(Model):
    """A compiled `RigidBody`. None of its six unknowns is constrained."""

    spec: RigidBody
    constrained: BoolArray = field(default_factory=lambda: np.zeros((2, 3), bool))

    @classmethod
    def compiled(cls, spec: RigidBody, placement: Any, parts: Parts) -> RigidModel:
        """The model of `spec`, which says itself where it stands."""
        parts.refuse(spec, "loads", "supports", "fibres")
        return cls(spec)

    def with_numbers(self, spec: RigidBody) -> Self:
        """The body with another mass."""
        return replace(self, spec=spec)

    def skin(self, *, stations: int = STATIONS, every: int = 1) -> Skin:
        """Points and triangles of its shape."""
        shape = self.spec.shape
        return Skin(None, shape.points, shape.triangles, shape.radius)

    def initial(self) -> tuple[FloatArray, FloatArray]:
        """Pose (4, 3) and velocities (2, 3) at the start."""
        return self.spec.pose(), np.array([self.spec.velocity, self.spec.spin], float)

    def trial(self, start: StepStart) -> RigidTrial:
        """A step from pose q and velocities v."""
        return RigidTrial(self, start)

    def embed(self, points: FloatArray, *, what: str, reach: float = 0.0, placed: bool = False) -> FrameMap:
        """The map of points (p, 3), m, fixed in the body."""
        pose = self.initial()[0]
        return FrameMap((points - pose[0]) @ pose[1:] if placed else points)

    def contact_shape(self, exclude: Any = None) -> ContactShape:
        """Its surface and its solid; `exclude` is for other bodies."""
        return self.spec.shape.contact_shape(moves=True)

    def node_positions(self, q: FloatArray) -> FloatArray:
        """Positions of the points of its shape, (p, 3), m."""
        return np.asarray(q[0] + self.spec.shape.points @ q[1:].T)

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """M (6, 6) in world axes, kg and kg·m²."""
        M = np.zeros((6, 6))
        M[range(3), range(3)] = self.spec.mass
        M[3:, 3:] = q[1:] @ self.spec.inertia @ q[1:].T
        return M

    @cached_property
    def inverse_inertia(self) -> FloatArray:
        """I⁻¹ (3, 3) in body axes, 1/(kg·m²)."""
        inverse: FloatArray = np.linalg.inv(self.spec.inertia).astype(np.float64, copy=False)
        return inverse

    def kinetic_energy(self, q: FloatArray, v: FloatArray) -> float:
        """Kinetic energy, J."""
        return 0.5 * float(v.ravel() @ self.mass_matrix(q) @ v.ravel())

    def potential_energy(self, q: FloatArray, gravity: FloatArray, controls: Mapping[Any, FloatArray]) -> float:
        """Potential of gravity, J."""
        return -self.spec.mass * float(gravity @ q[0])


@dataclass(eq=False)
class RigidSystem(System):
    """A dx = r of a rigid body: A (6, 6) and r (2, 3)."""

    A: FloatArray
    mass: FloatArray
    r: FloatArray
    constrained_dx: FloatArray | None = None
    elastic: ClassVar[bool] = False

    def factorize(self) -> DenseFactor:
        """Cholesky factor of A."""
        return DenseFactor(0.5 * (self.A + self.A.T), symmetric=True)

    def product(self, x: FloatArray) -> FloatArray:
        """A x, (2, 3)."""
        return np.asarray((self.A @ x.ravel()).reshape(2, 3))

    def add_mass(self, fraction: float) -> None:
        """A += `fraction` of the mass term of a step of 10 ms."""
        self.A = self.A + fraction * PSEUDO_RATE**2 * self.mass

    def add_stiffness(self, K: GeometricStiffness) -> None:
        """A += K."""
        K.add_to(self.A)

    def diagonal(self) -> FloatArray:
        """Diagonal of A, (2, 3)."""
        return np.diag(self.A).reshape(2, 3)


class RigidTrial(Trial):
    """One step of a rigid body."""

    def __init__(self, model: RigidModel, start: StepStart) -> None:
        super().__init__(model, start)
        self._mass = model.mass_matrix(start.q)
        self._moment: FloatArray = self._mass[3:, 3:] @ start.v[1]
        self._free_turn: FloatArray = free_turn(self._mass[3:, 3:], self._moment, start.scheme.dt)
        self._force = np.stack([model.spec.mass * start.gravity, np.zeros(3)])

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """The displacement dx followed by `scale` × step, (2, 3); rotations follow by exp."""
        turn = rotation_log(rotation_exp(scale * step[1]) @ rotation_exp(dx[1])) if dx[1].any() else scale * step[1]
        return np.stack([dx[0] + scale * step[0], turn])

    def coordinate_scale(self) -> FloatArray:
        """Largest coordinates: the position (m) and a radian, (2, 3)."""
        return np.stack([np.abs(self._q[0] + self.dx[0]), np.ones(3)])

    def velocities(self) -> FloatArray:
        """Velocity and spin at the end of the step, (2, 3)."""
        v = super().velocities()
        if self._scheme.dt:
            R = rotation_exp(self.dx[1]) @ self._q[1:]
            v[1] = R @ (self.model.inverse_inertia @ (R.T @ (self._moment + self._scheme.dt * self._torque())))
        return v

    def _torque(self) -> FloatArray:
        """The torque that the rotation of the step takes, (3,), N·m: the change ΔL of angular momentum over h.

        Midpoint: I turn/h = (L + exp(−turn) (L + ΔL))/2, so that without torque L and the energy stay. Other θ add
        (θ − ½) ΔL − κ ΔL₁, of which only torques, not the rotation of the axes, are a part.
        """
        scheme, turn = self._scheme, self.dx[1]
        if not scheme.dt:
            return np.zeros(3)
        if scheme.theta == 1.0:
            torque: FloatArray = scheme.inertia * (self._mass[3:, 3:] @ (turn - self._free_turn))
            return torque
        back = rotation_exp(-turn)
        mean = 0.5 * (self._moment + back @ self._moment)  # in axes that turn with the body, from those of the start
        rest = scheme.rate * (self._mass[3:, 3:] @ turn) - mean
        if self._first is not None:
            began = self._first.q[1:] @ (self.model.spec.inertia @ (self._first.q[1:].T @ self._first.v[1]))
            rest = rest + scheme.lag * (self._moment - began)
        if scheme.theta == 0.5:
            change: FloatArray = 2.0 * (back.T @ rest)
        else:
            change = np.linalg.solve(0.5 * back + (scheme.theta - 0.5) * np.eye(3), rest)
        return change * scheme.rate

    def residual(self) -> Residual:
        """Gravity and inertia."""
        scheme = self._scheme
        gained = self._gained
        speed = self._v[0] if gained is None else self._v[0] - gained[0]
        push = self.model.spec.mass * (scheme.momentum * speed - scheme.inertia * self.dx[0])
        kick = np.stack([push, -self._torque()])
        scale = max(
            float(np.linalg.norm(self._force)), float(np.linalg.norm(self._mass @ self._v.ravel())) * scheme.momentum
        )
        return Residual(self._force + kick, scale)

    def linearize(self, tangent: Tangent) -> tuple[RigidSystem, Residual]:
        """A = a M, and r."""
        residual = self.residual()
        return RigidSystem(self._scheme.inertia * self._mass, self._mass, residual.r.copy()), residual

    def positions(self) -> FloatArray:
        """Position and rows of the rotation at the end of the step, (4, 3)."""
        known: tuple[FloatArray, FloatArray] | None = self.__dict__.get("_placed")
        if known is None or known[0] is not self.dx:  # a copy of the trial at another dx has the pose of the first
            known = self.__dict__["_placed"] = self.dx, super().positions()
        return known[1]

    def _displaced(self, q: FloatArray, dx: FloatArray, fraction: float) -> FloatArray:
        made = np.empty((4, 3))
        made[0] = q[0] + fraction * dx[0]
        turned_frame(frozen(dx)[1], fraction, frozen(q)[1:], made[1:])
        return made
