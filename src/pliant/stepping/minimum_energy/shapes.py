"""Configurations of all bodies as one flat vector: energy, forces, and inverted cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pliant.core.arrays import writable
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray
from pliant.models.volume import VolumeModel
from pliant.stepping.bodies import StepBodies
from pliant.stepping.minimum_energy.curved import curves
from pliant.stepping.minimum_energy.mixed import Expected, mixed_body


class Energy(NamedTuple):
    """The energy of bodies and loads (J, infinite where a material is undefined), the forces r = −∂E/∂q (N,) in N,
    zero at constrained unknowns, and the largest norm of a force in them.
    """

    total: float
    r: FloatArray
    scale: float


class Shapes:
    """The volumes of a step, `bodies` at the present configuration; flat vectors have N = Σ 3 nodes entries."""

    def __init__(self, bodies: StepBodies) -> None:
        self.bodies = bodies
        self.models: tuple[VolumeModel, ...] = bodies.world.volumes
        trials: Any = bodies.trials
        pairs = list(zip(self.models, (trial.workspace for trial in trials), strict=True))
        self._mixed = [mixed_body(model, space) for model, space in pairs]
        self._curves = [curves(model, space) for model, space in pairs]
        self.constrained = np.concatenate([model.constrained.ravel() for model in self.models])
        self._ends = np.cumsum([model.size for model in self.models])[:-1]

    def split(self, flat: FloatArray) -> list[FloatArray]:
        """One array (n, 3) for each body."""
        return [part.reshape(-1, 3) for part in np.split(flat, self._ends)]

    def place(self, dx: FloatArray) -> None:
        """Move all bodies to `dx` (N,), m, from the start of the step."""
        self.bodies = self.bodies.at(self.split(dx))

    def energy(self, dx: FloatArray) -> Energy:
        """Energy and forces at the displacement dx (N,), m, from the start."""
        self.place(dx)
        total, scale, forces = 0.0, 0.0, []
        for trial, model, mixed in zip(self.bodies.trials, self.models, self._mixed, strict=True):
            x = trial.evaluation_point()
            elastic, internal = mixed.energy(x)
            potential, external = model.external(x, self.bodies.gravity, self.bodies.controls)
            total += elastic + potential
            forces.append(np.where(model.constrained, 0.0, external - internal).ravel())
            scale = max(scale, _norm(internal), _norm(external))
        r = np.concatenate(forces)
        return Energy(total if np.isfinite(total) and np.isfinite(r).all() else np.inf, r, scale)

    def curved(self, dx: FloatArray) -> FloatArray:
        """The displacement (N,), m, that a step dx (N,), m, from the present configuration curves into."""
        triples = zip(self.bodies.trials, self._curves, self.split(dx), strict=True)
        return np.concatenate([bent.moved(trial.evaluation_point(), part).ravel() for trial, bent, part in triples])

    def rate(self, dx: FloatArray) -> float:
        """Largest rate at which a step dx (N,), m, from the present configuration strains or rotates a cell."""
        triples = zip(self.bodies.trials, self._curves, self.split(dx), strict=True)
        return max(bent.rate(trial.evaluation_point(), part) for trial, bent, part in triples)

    def expected(self, dx: FloatArray) -> list[Expected]:
        """What a step dx (N,), m, from the present configuration is expected to lead to, for each body."""
        triples = zip(self.bodies.trials, self._mixed, self.split(dx), strict=True)
        return [mixed.expected(trial.evaluation_point(), part) for trial, mixed, part in triples]

    def forces(self, expected: Sequence[Expected]) -> FloatArray:
        """External less `expected` internal forces (N,), N, at present, zero at constrained unknowns."""
        parts = []
        for trial, model, mixed, known in zip(self.bodies.trials, self.models, self._mixed, expected, strict=True):
            x = trial.evaluation_point()
            external = model.external_forces(x, self.bodies.gravity, self.bodies.controls)
            parts.append(np.where(model.constrained, 0.0, external - mixed.forces(x, known)).ravel())
        return np.concatenate(parts)

    def inverted(self) -> int:
        """Inverted cells at the present configuration."""
        trials = zip(self.bodies.trials, self.models, strict=True)
        return sum(inverted_cells(model, trial.evaluation_point()) for trial, model in trials)


def inverted_cells(model: VolumeModel, q: FloatArray) -> int:
    """Tetrahedra of a body at q (n, 3) m with a volume ≤ 0; of other cells, 1 where some integration point has."""
    if model.mesh.element != "tet4":
        return int(model.least_volume_ratio(q) <= 0.0)
    return int(count_inverted(writable(q), model.mesh.cells))


@kernel
def count_inverted(q: FloatArray, cells: IntArray) -> int:
    """Tetrahedra `cells` (t, 4) with a volume ≤ 0 at q (n, 3), m; what is not a number counts as such."""
    count = 0
    for t in range(cells.shape[0]):
        o, a, b, c = cells[t, 0], cells[t, 1], cells[t, 2], cells[t, 3]
        ax, ay, az = q[a, 0] - q[o, 0], q[a, 1] - q[o, 1], q[a, 2] - q[o, 2]
        bx, by, bz = q[b, 0] - q[o, 0], q[b, 1] - q[o, 1], q[b, 2] - q[o, 2]
        cx, cy, cz = q[c, 0] - q[o, 0], q[c, 1] - q[o, 1], q[c, 2] - q[o, 2]
        volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        count += not volume > 0.0
    return count


def _norm(x: FloatArray) -> float:
    return float(np.sqrt(np.vdot(x, x)))
