"""Rigid motions that no support resists, and what to do with them in statics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.types import FloatArray
from pliant.models.beam import BeamModel
from pliant.models.body import Model
from pliant.models.rod import RodModel
from pliant.models.volume import VolumeModel

OPEN_BASE = 1e-3
"""Share of the mass that statics add to a rod whose base slides or turns."""


@dataclass(frozen=True, eq=False)
class FreeModes:
    """The rigid motions of a body that its supports leave open, M-orthonormal: `modes` (unknowns, f).

    `twists` (6, f) are their translations and rotations about `center`, the centre of mass.
    """

    modes: FloatArray
    twists: FloatArray
    weighted: FloatArray

    @property
    def count(self) -> int:
        """How many of the six rigid motions are open."""
        return int(self.modes.shape[1])

    def balanced(self, r: FloatArray) -> FloatArray:
        """r less the inertia forces of the rigid acceleration it would cause: a load that needs no support."""
        flat = r.ravel()
        rest: FloatArray = (flat - self.weighted @ (self.modes.T @ flat)).reshape(r.shape)
        return rest

    def held(self, dx: FloatArray, compliance: FloatArray) -> FloatArray:
        """dx with its rigid part, in the sense of M, held by inertia forces: ΦᵀM (dx − A⁻¹MΦ a) = 0.

        `compliance` is A⁻¹MΦ (unknowns, f). Simply dropping the rigid part would spoil Newton's convergence, since dead
        loads give rotations a stiffness.
        """
        flat = dx.ravel()
        a = np.linalg.solve(self.weighted.T @ compliance, self.weighted.T @ flat)
        rest: FloatArray = (flat - compliance @ a).reshape(dx.shape)
        return rest

    def acceleration(self, r: FloatArray) -> FloatArray:
        """Linear and angular acceleration (6,) in m/s² and rad/s² that r would cause."""
        return self.twists @ (self.modes.T @ r.ravel())


def free_modes(model: Model, q: FloatArray) -> FreeModes | None:
    """The open rigid motions of a volume, a beam or a rod standing at q; None where its supports resist all six, and
    for a rod whose base slides or turns, which `open_base_share` is for.
    """
    q = finite_array(f"positions of {model.name!r}", q)
    if isinstance(model, VolumeModel):
        if _is_pinned(q[model.held.all(axis=1)]):
            return None
        mass = model.mass.nodal
        motions, size = _motions_of_points(q, mass)
        weigh: Callable[[FloatArray], FloatArray] = model.mass.apply
    elif isinstance(model, BeamModel):
        if model.held.all(axis=(1, 2)).any():  # a clamped node resists all
            return None
        motions, size = _motions_of_frames(q, model.mass)
        weigh = partial(model.momentum, q)
    elif isinstance(model, RodModel) and not model.turned_basis and not model.held[:2].all():
        motions, size, weigh = _motions_of_base(model, q)
    else:
        return None
    return _open(model, motions, size, weigh)


def _is_pinned(points: FloatArray) -> bool:
    """Whether points (k, 3), m, that are held span a triangle that is not too narrow: no rigid motion is then open."""
    if len(points) < 3:
        return False
    arms = points - points[0]
    far = arms[int(np.einsum("ki,ki->k", arms, arms).argmax())]
    normals = np.cross(far, arms)
    length = float(far @ far)
    return float(np.einsum("ki,ki->k", normals, normals).max()) > 1e-6 * length * length


def _motions_of_points(q: FloatArray, mass: FloatArray) -> tuple[FloatArray, float]:
    """Translations and rotations of the points q (n, 3) about their centre of mass, (n, 3, 6), and their size, m: by
    which rotations are divided.
    """
    arm = q - mass @ q / mass.sum()
    size = float(np.abs(arm).max())
    motions = np.zeros((*q.shape, 6))
    for axis in range(3):
        motions[:, axis, axis] = 1.0
        motions[:, :, 3 + axis] = np.cross(np.eye(3)[axis], arm) / size
    return motions, size


def _motions_of_frames(q: FloatArray, mass: FloatArray) -> tuple[FloatArray, float]:
    """The same of points that have frames, which turn with them, (n, 2, 3, 6)."""
    points, size = _motions_of_points(q[:, 0], mass)
    motions = np.zeros((len(q), 2, 3, 6))
    motions[:, 0] = points
    motions[:, 1, :, 3:] = np.eye(3) / size
    return motions, size


def _motions_of_base(model: RodModel, q: FloatArray) -> tuple[FloatArray, float, Callable[[FloatArray], FloatArray]]:
    """The same of the base of a rod, whose strains keep still, (2 + 2N, 3, 6), and the mass matrix as a function."""
    sweep = model.sweep(q)
    M, mass = model.mass_matrix(sweep), model.stations.mu[:, 0]
    center = mass @ sweep.frames[:, 0] / mass.sum()  # from the base
    size = float(np.abs(sweep.frames[:, 0] - center).max())
    motions = np.zeros((*model.held.shape, 6))
    motions[0, :, :3] = np.eye(3)
    motions[0, :, 3:] = np.cross(np.eye(3), -center).T / size
    motions[1, :, 3:] = np.eye(3) / size

    def weigh(x: FloatArray) -> FloatArray:
        out = np.zeros(x.shape)
        out.ravel()[model.active] = M @ x.ravel()[model.active]
        return out

    return motions, size, weigh


def _open(
    model: Model, motions: FloatArray, size: float, weigh: Callable[[FloatArray], FloatArray]
) -> FreeModes | None:
    """Those of the rigid `motions` (…, 6) that move no held unknown, M-orthonormal; `weigh` is the product with M."""
    held = motions[model.held]
    small = held if len(held) <= 6 else np.linalg.qr(held, mode="r")  # the same singular values and right vectors
    _, singular, rows = np.linalg.svd(small, full_matrices=True) if len(held) else (None, np.zeros(0), np.eye(6))
    resisted = int((singular > 1e-9 * np.sqrt(max(len(held), 1))).sum())
    if resisted == 6:
        return None
    open_twists = rows[resisted:].T
    modes = motions.reshape(-1, 6) @ open_twists
    weighted = np.stack([weigh(np.ascontiguousarray(x).reshape(model.held.shape)).ravel() for x in modes.T], axis=1)
    triangle = np.linalg.inv(np.linalg.cholesky(modes.T @ weighted)).T
    twists = open_twists @ triangle
    twists[3:] /= size
    return FreeModes(modes @ triangle, twists, weighted @ triangle)


def open_base_share(model: Model) -> float:
    """The share of mass that statics need at least for `model`: one for a rod whose base slides or turns, which only
    rows such as those of its drive and its channel can hold; 0 for others.

    The rows see the difference of its compliance there and of what they hold it by, so that it must not be too large:
    with 1e-6 the rows of a pulled rod seem to contradict each other.
    """
    return OPEN_BASE if isinstance(model, RodModel) and model.turned_basis else 0.0
