"""A deformable volume restricted to a subspace: again a volume for the steppers, with k unknowns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.materials import Tangent
from pliant.materials.laws import LINEAR
from pliant.models.model import StepStart
from pliant.models.volume.memory import Memory
from pliant.models.volume.model import VolumeModel
from pliant.models.volume.volume import Volume
from pliant.models.workspace import Workspace
from pliant.reduced.chart import Chart, CurvedChart, FloatingChart, LinearChart, rigid_motions
from pliant.reduced.modal_memory import ModalHistory, ModalMemory
from pliant.reduced.modal_pieces import ModalBars, ModalFacets, ModalPieces
from pliant.reduced.strain_modes import StrainModes
from pliant.reduced.subspace import Subspace
from pliant.reduced.subspace_trial import SubspaceTrial

OFF = 1e-6
"""Largest distance of a state from the subspace, as a fraction of the size of the body: far above rounding."""

Recalled = tuple[StrainModes, ModalHistory | None]
"""Strain modes with the laws as they act in a step, and the stresses that it begins with."""


@dataclass(frozen=True, eq=False)
class SubspaceModel(VolumeModel):
    """A `VolumeModel` that moves in the modes of `subspace`; read-outs and contacts see the full volume.

    `chart` maps modes to nodes, `strain` to the integration points in use, `dead` gravity and nodal loads to forces;
    `memory` and `modal_memory` are those of these points.
    """

    subspace: Subspace
    chart: Chart
    strain: StrainModes
    bars: tuple[ModalBars, ...]
    dead: tuple[FloatArray, ...]
    modal_memory: ModalMemory | None

    @classmethod
    def of(cls, model: VolumeModel, subspace: Subspace) -> SubspaceModel:
        """`model` restricted to `subspace`, which was made for it."""
        if model.split is not None:
            raise InputError(
                f'{model.name!r} has anti_locking="volume", whose patches cannot be sampled at integration points: '
                "reduce the body with anti_locking=True"
            )
        if model.memory is not None and model.memory.softening is not None:
            raise InputError(
                f"{model.name!r} softens, and a reduced body does not know the largest energies of its points: reduce "
                "it with the base of its pl.materials.Mullins, or reduce only its contacts (contact_tolerance)"
            )
        modes = _zero_at_supports(model, np.array(subspace.modes, np.float64, order="C"))
        if subspace.curvature is not None:
            _check_curved(model, modes)
            curvature = _zero_at_supports(model, np.array(subspace.curvature, np.float64, order="C"))
            chart: Chart = CurvedChart.of(model.rest, modes, curvature, model.mass)
        elif not model.constrained.any():
            modes = _orthonormal(model, modes)
            _check_floating(model)
            chart = FloatingChart.of(model.rest, modes, model.mass)
        else:
            chart = LinearChart.of(model.rest, _orthonormal(model, modes), model.mass)
        if model.constrained.any():
            _check_constrained(model)
        chosen, weights = _sampled(subspace)
        strain = StrainModes.of(model.points, chart.modes, model.laws, model.table, chosen, weights)
        modal = None if model.memory is None else ModalMemory.of(model.memory, model.points, strain, chosen)
        given = {own.name: getattr(model, own.name) for own in fields(VolumeModel)}
        parts = chart.modes.reshape(len(model.rest), 3, -1)
        loads: list[Any] = [model.mass.nodal, *(getattr(share, "weights", share) for _, share in model.nodal_loads)]
        return cls(
            **given | {"memory": None if modal is None else replace(modal.memory, _stiffer={})},
            subspace=subspace,
            chart=chart,
            strain=strain,
            modal_memory=modal,
            bars=tuple(ModalBars.of(bar, model.rest, chart.modes) for bar in model.fibres),
            dead=tuple(np.einsum("n,nik->ik", share, parts) for share in loads),
        )

    def with_numbers(self, spec: Volume) -> SubspaceModel:  # type: ignore[override]
        """The full volume with other numbers, restricted to the same modes."""
        own: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(VolumeModel)}
        if self.memory is not None:
            own["memory"] = Memory.of(self.points, self.positions, self.rest, self.spec.materials)
        return self.subspace.reduced(VolumeModel(**own).with_numbers(spec))

    def trial(self, start: StepStart) -> SubspaceTrial:  # type: ignore[override]
        """A step from positions q and velocities v (n, 3)."""
        workspace, q = start.workspace or Workspace(), start.q
        known = workspace.take(self, "reached") or ()
        if not any(q is each for each in known):
            self._check_on(q)
        workspace.give(self, "reached", (*known[-1:], q))
        return SubspaceTrial(self, start._replace(workspace=workspace))

    def full_trial(self, start: StepStart) -> Any:
        """The same step of the full-order volume, with reactions at its supports."""
        if start.scheme.dt or start.scheme.instantaneous:
            self._check_known("the forces of the full-order volume, such as reactions,")
        return super().trial(start)

    def cell_stress(self, q: FloatArray, history: FloatArray | None = None) -> FloatArray:
        """Mean Cauchy stress of each cell, (m, 3, 3), Pa."""
        if history is not None:
            self._check_known("stresses of cells")
        return super().cell_stress(q, history)

    @property
    def knows_all_points(self) -> bool:
        """Whether its history is that of all integration points of the full-order volume."""
        return self.modal_memory is None or not self.modal_memory.sampled

    def _check_known(self, what: str) -> None:
        if not self.knows_all_points:
            raise InputError(
                f"{self.name!r} remembers at the {self.strain.B.shape[0]} integration points in use, of "
                f"{self.points.count}; {what} need all: run the full body, or a Subspace without points and weights"
            )

    def elastic_energy(self, q: FloatArray) -> float:
        """Elastic energy, J, by the integration points in use."""
        return self.strained(self.chart.at(q).y, Tangent.EXACT, 0.0)[0]

    def strained(
        self, y: FloatArray, tangent: Tangent, scale: float, recalled: Recalled | None = None
    ) -> tuple[float, FloatArray, FloatArray]:
        """Energy (J), internal forces (k,) and `scale` × stiffness (k, k) along the modes at y, fibres included; of a
        step with what is `recalled`.
        """
        parts, slopes = self.chart.parts(y)
        exact = tangent is Tangent.WARPED and not self.is_linear_law  # for the other laws warping has no meaning
        kind = Tangent.EXACT if exact else tangent
        strain, history = (self.strain, None) if recalled is None else recalled
        energy, force, K = strain.response(parts, kind, scale)
        if history is not None:  # its stiffness as that of the law's stresses, which other tangents omit or clip
            history.add(parts, scale if kind is Tangent.EXACT else 0.0, force, K)
        for bars in self.bars:
            energy += bars.add(parts, tangent, scale, force, K)
        return (energy, force, K) if slopes is None else (energy, force @ slopes, slopes.T @ K @ slopes)

    def work(self, y: FloatArray) -> FloatArray:
        """Virtual work of each integration point in use on each motion at y (k,): (k, p)."""
        parts, slopes = self.chart.parts(y)
        work = self.strain.work(parts)
        return work if slopes is None else slopes.T @ work

    def pieces(self, segments: Any, workspace: Workspace) -> ModalPieces:
        """Jacobian of the segments of a cable by the modes, constant for a constrained body."""
        return workspace.once(self, segments, lambda: ModalPieces.of(segments, self.chart.modes))

    def modal_facets(self, facets: Any, workspace: Workspace) -> ModalFacets:
        """Facets under pressure over their own nodes."""
        return workspace.once(self, facets, lambda: ModalFacets.of(facets))

    def nearest(self, q: FloatArray) -> FloatArray:
        """Positions (n, 3), m, in the subspace nearest to q (n, 3)."""
        return self.chart.positions(self.chart.at(q))

    def reached(self, q: FloatArray, workspace: Workspace) -> None:
        """Note the end q of a step, so that the next one need not check that it lies in the subspace."""
        known = workspace.take(self, "reached") or ()
        workspace.give(self, "reached", (*known[-1:], q))

    def _check_on(self, q: FloatArray) -> None:
        away = float(np.abs(self.nearest(q) - q).max())
        if away > OFF * float(np.ptp(self.rest, axis=0).max()):
            raise InputError(
                f"{self.name!r} is {1e3 * away:.3g} mm away from the space of its {self.subspace.size} modes: "
                "begin from the initial state of the reduced world, or from model.nearest(q)"
            )


def _sampled(subspace: Subspace) -> tuple[Any, Any]:
    """Integration points in use (c,), ascending, and their weights (c,); None where all are."""
    if subspace.points is None:
        return None, None if subspace.weights is None else np.asarray(subspace.weights, np.float64)
    points = np.asarray(subspace.points, np.int64)
    order = np.argsort(points, kind="stable")
    return points[order], None if subspace.weights is None else np.asarray(subspace.weights, np.float64)[order]


def _zero_at_supports(model: VolumeModel, modes: FloatArray) -> FloatArray:
    """The modes (3n, k), zero at constrained nodes."""
    fixed = modes[model.constrained_unknowns]
    if fixed.size and np.abs(fixed).max() > 1e-9 * np.abs(modes).max():  # rounding of the snapshots
        raise InputError(f"a mode of {model.name!r} moves constrained nodes; take snapshots with the same supports")
    modes[model.constrained_unknowns] = 0.0
    return modes


def _orthonormal(model: VolumeModel, modes: FloatArray) -> FloatArray:
    """The modes made orthonormal, for accuracy, in the absolute masses: consistent ones may be negative at corners."""
    root = np.repeat(np.sqrt(np.abs(model.mass.nodal)), 3)[:, None]
    length = np.sqrt(((root * modes) ** 2).sum(axis=0))
    triangle: Any = np.linalg.qr(root * modes / np.where(length > 0.0, length, 1.0), mode="r")
    if not (np.abs(np.diagonal(triangle)) > 1e-10).all():  # of columns of unit length
        raise InputError(f"the {modes.shape[1]} modes of {model.name!r} are linearly dependent; remove redundant ones")
    return np.ascontiguousarray(np.linalg.solve(triangle.T, (modes / length).T).T)


def _check_curved(model: VolumeModel, modes: FloatArray) -> None:
    if not model.constrained.any():
        raise InputError(f"{model.name!r} is unconstrained: a curved subspace needs supports; use curvature=False")
    off = modes.T @ (np.repeat(model.mass.nodal, 3)[:, None] * modes) - np.eye(modes.shape[1])
    if np.abs(off).max() > 1e-8:  # above rounding; with other masses they are off by more
        raise InputError(
            f"the modes of the curved subspace of {model.name!r} are not orthonormal in its nodal masses (off by "
            f"{np.abs(off).max():.1e}), but its curvature counts in their coordinates"
        )


def _check_floating(model: VolumeModel) -> None:
    if (model.laws == LINEAR).any():
        raise InputError(f"{model.name!r} is free and its material has no rotation: reduce it with materials.Corotated")


def _check_constrained(model: VolumeModel) -> None:
    """A constrained body must be constrained against all rigid motions."""
    motions = rigid_motions(model.rest - model.rest.mean(axis=0))
    motions[:, 3:] /= float(np.ptp(model.rest, axis=0).max())
    if np.linalg.matrix_rank(motions[model.constrained_unknowns], tol=1e-9 * np.sqrt(len(motions))) < 6:
        raise InputError(
            f"the supports of {model.name!r} leave a rigid motion free, which modes follow for small angles only: "
            "constrain all rigid motions, or none"
        )
