"""A free rigid body as the steppers see it: six unknowns, a translation and a rotation vector of the step.

q (4, 3) holds the position of the centre of mass and the rows of R; v (2, 3) the velocity (m/s) and the spin ω
(rad/s), in world axes. The step is M (a dx − b v) = f with M = diag(m, R I Rᵀ) at the start of the step; the
gyroscopic torque −ω × Iω is a bias on the right. Rotations are updated by the exponential map, never by adding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pliant.core.lie import orthonormal, rotation_exp, rotation_log
from pliant.core.types import BoolArray, FloatArray
from pliant.materials import Tangent
from pliant.models.body import STATIONS, Model, Parts
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
        momentum = self._mass[3:, 3:] @ start.v[1]
        self._force = np.stack([model.spec.mass * start.gravity, -np.cross(start.v[1], momentum)])

    def moved(self, dx: FloatArray, step: FloatArray, scale: float) -> FloatArray:
        """The displacement dx followed by `scale` × step, (2, 3); rotations follow by exp."""
        turn = rotation_log(rotation_exp(scale * step[1]) @ rotation_exp(dx[1])) if dx[1].any() else scale * step[1]
        return np.stack([dx[0] + scale * step[0], turn])

    def coordinate_scale(self) -> FloatArray:
        """Largest coordinates: the position (m) and a radian, (2, 3)."""
        return np.stack([np.abs(self._q[0] + self.dx[0]), np.ones(3)])

    def residual(self) -> Residual:
        """Gravity, gyroscopic torque and inertia."""
        scheme = self._scheme
        change = scheme.momentum * self._v - scheme.inertia * self.dx
        kick = (self._mass @ change.ravel()).reshape(2, 3)
        scale = max(
            float(np.linalg.norm(self._force)), float(np.linalg.norm(self._mass @ self._v.ravel())) * scheme.momentum
        )
        return Residual(self._force + kick, scale)

    def linearize(self, tangent: Tangent) -> tuple[RigidSystem, Residual]:
        """A = a M, and r."""
        residual = self.residual()
        return RigidSystem(self._scheme.inertia * self._mass, self._mass, residual.r.copy()), residual

    def _advanced(self, fraction: float) -> FloatArray:
        turned = orthonormal(rotation_exp(fraction * self.dx[1]) @ self._q[1:])
        return np.vstack([self._q[0] + fraction * self.dx[0], turned])
