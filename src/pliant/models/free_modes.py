"""Rigid motions that no support resists, and their treatment in quasi-static solves (inertia relief)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.core.types import BoolArray, FloatArray

Product = Callable[[FloatArray], FloatArray]
"""The product of a mass matrix with a vector, both of the shape of dx."""


@dataclass(frozen=True, eq=False)
class FreeModes:
    """Rigid motions of a body that its supports leave free, M-orthonormal: `modes` Φ (unknowns, f), `weighted` M Φ.

    `twists` (6, f) are their translations and rotations about the centre of mass.
    """

    modes: FloatArray
    twists: FloatArray
    weighted: FloatArray

    @property
    def count(self) -> int:
        """How many of the six rigid motions are free."""
        return int(self.modes.shape[1])

    def balanced(self, r: FloatArray) -> FloatArray:
        """r less the inertia forces of the rigid acceleration it would cause: a load that needs no support."""
        flat = r.ravel()
        return np.asarray((flat - self.weighted @ (self.modes.T @ flat)).reshape(r.shape))

    def without_rigid_motion(self, dx: FloatArray, compliance: FloatArray) -> FloatArray:
        """dx less the rigid motion A⁻¹MΦ a that makes it M-orthogonal to rigid motions: ΦᵀM (dx − A⁻¹MΦ a) = 0.

        `compliance` is A⁻¹MΦ (unknowns, f). A plain projection of dx would spoil Newton's convergence, since dead loads
        give rotations a stiffness.
        """
        flat = dx.ravel()
        a = np.linalg.solve(self.weighted.T @ compliance, self.weighted.T @ flat)
        return np.asarray((flat - compliance @ a).reshape(dx.shape))

    def acceleration(self, r: FloatArray) -> FloatArray:
        """Linear and angular acceleration (6,) in m/s² and rad/s² that r would cause."""
        return self.twists @ (self.modes.T @ r.ravel())


def is_pinned(points: FloatArray) -> bool:
    """Whether fixed points (k, 3), m, span a triangle that is not too narrow, so that no rigid motion is free."""
    if len(points) < 3:
        return False
    arms = points - points[0]
    far = arms[int(np.einsum("ki,ki->k", arms, arms).argmax())]
    normals = np.cross(far, arms)
    length = float(far @ far)
    return float(np.einsum("ki,ki->k", normals, normals).max()) > 1e-6 * length * length  # height > base/1000


def motions_of_points(q: FloatArray, mass: FloatArray) -> tuple[FloatArray, float]:
    """Rigid motions (n, 3, 6) of points q (n, 3) about their centre of mass, and the length, m, of unit rotations."""
    arm = q - mass @ q / mass.sum()
    size = float(np.abs(arm).max())
    motions = np.zeros((*q.shape, 6))
    for axis in range(3):
        motions[:, axis, axis] = 1.0
        motions[:, :, 3 + axis] = np.cross(np.eye(3)[axis], arm) / size
    return motions, size


def motions_of_frames(q: FloatArray, mass: FloatArray) -> tuple[FloatArray, float]:
    """The same for points with frames, which rotate with them, (n, 2, 3, 6)."""
    points, size = motions_of_points(q[:, 0], mass)
    motions = np.zeros((len(q), 2, 3, 6))
    motions[:, 0] = points
    motions[:, 1, :, 3:] = np.eye(3) / size
    return motions, size


def open_modes(constrained: BoolArray, motions: FloatArray, size: float, weigh: Product) -> FreeModes | None:
    """The rigid `motions` (…, 6) that move no unknown of `constrained`, M-orthonormal (`weigh` gives M x); or None."""
    fixed = motions[constrained]
    small = fixed if len(fixed) <= 6 else np.linalg.qr(fixed, mode="r")  # the same singular values and right vectors
    _, singular, rows = np.linalg.svd(small, full_matrices=True) if len(fixed) else (None, np.zeros(0), np.eye(6))
    resisted = int((singular > 1e-9 * np.sqrt(max(len(fixed), 1))).sum())  # of the scaled motions, O(1)
    if resisted == 6:
        return None
    open_twists = rows[resisted:].T
    modes = motions.reshape(-1, 6) @ open_twists
    weighted = np.stack([weigh(np.ascontiguousarray(x).reshape(constrained.shape)).ravel() for x in modes.T], axis=1)
    triangle = np.linalg.inv(np.linalg.cholesky(modes.T @ weighted)).T
    twists = open_twists @ triangle
    twists[3:] /= size
    return FreeModes(modes @ triangle, twists, weighted @ triangle)
