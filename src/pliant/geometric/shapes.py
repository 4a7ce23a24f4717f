"""Shapes of all bodies as one flat vector: energy, forces, and whether any cell is turned inside out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pliant.core.types import FloatArray
from pliant.geometric.mixed import mixed_body
from pliant.models.volume import VolumeModel
from pliant.models.volume.readouts import least_volume_ratio
from pliant.stepping.motion import Motion


class Energy(NamedTuple):
    """The energy of bodies and loads (J, infinite where a material is undefined), the forces r = −∂E/∂q (N,) in N,
    zero at held unknowns, those under expected pressures, the largest norm of a force, and the pressures of the patches
    of each body, Pa.
    """

    total: float
    r: FloatArray
    mixed: FloatArray
    scale: float
    pressures: list[FloatArray]


class Shapes:
    """The volumes of a `Motion`; flat vectors have N = Σ 3 nodes entries, body after body."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        self.models: tuple[VolumeModel, ...] = motion.world.volumes
        self.held = np.concatenate([model.held.ravel() for model in self.models])
        self._ends = np.cumsum([model.size for model in self.models])[:-1]

    def split(self, flat: FloatArray) -> list[FloatArray]:
        """One array (n, 3) for each body."""
        return [part.reshape(-1, 3) for part in np.split(flat, self._ends)]

    def place(self, dx: FloatArray) -> None:
        """Move all bodies to `dx` (N,), m, from the start of the step."""
        self.motion.dx = self.split(dx)

    def energy(self, dx: FloatArray, pressures: Sequence[FloatArray] | None = None) -> Energy:
        """All forces at the displacement dx (N,), m, from the start; with the `pressures` of patches for `mixed`."""
        self.place(dx)
        given = [None] * len(self.models) if pressures is None else pressures
        total, scale, forces, mixed, own = 0.0, 0.0, [], [], []
        for trial, model, pressure in zip(self.motion.trials, self.models, given, strict=True):
            x = trial.evaluation_point()
            elastic, internal, other, now = mixed_body(model).energy(x, pressure)
            potential, external = model.external(x, self.motion.gravity, self.motion.controls)
            total += elastic + potential
            forces.append(np.where(model.held, 0.0, external - internal).ravel())
            mixed.append(forces[-1] if other is internal else np.where(model.held, 0.0, external - other).ravel())
            own.append(now)
            scale = max(scale, _norm(internal), _norm(external))
        r = np.concatenate(forces)
        if not (np.isfinite(total) and np.isfinite(r).all()):
            total = np.inf
        return Energy(total, r, np.concatenate(mixed), scale, own)

    def expected(self, dx: FloatArray) -> list[FloatArray]:
        """Pressures of the patches of each body after a step dx (N,), m, from the present shape."""
        trials = zip(self.motion.trials, self.models, self.split(dx), strict=True)
        return [mixed_body(model).expected(trial.evaluation_point(), part) for trial, model, part in trials]

    def inverted(self) -> int:
        """Cells turned inside out at the present shape."""
        trials = zip(self.motion.trials, self.models, strict=True)
        return sum(inverted_cells(model, trial.evaluation_point()) for trial, model in trials)


def inverted_cells(model: VolumeModel, q: FloatArray) -> int:
    """Tetrahedra of a body at q (n, 3) m with a volume ≤ 0; of other cells, 1 where some integration point has."""
    if model.mesh.element != "tet4":
        return int(least_volume_ratio(model, q) <= 0.0)
    corners = q[model.mesh.cells]
    a, b, c = (corners[:, k] - corners[:, 0] for k in (1, 2, 3))
    return int(np.count_nonzero(np.einsum("ti,ti->t", np.cross(a, b), c) <= 0.0))


def _norm(x: FloatArray) -> float:
    return float(np.sqrt(np.vdot(x, x)))
