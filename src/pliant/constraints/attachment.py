"""Attachments: points of two bodies held together, or points of one body held in the world, by bilateral rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.keys import ATTACHMENTS, row_keys
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, Stiffnesses
from pliant.core.lie import rotation_log
from pliant.core.types import FloatArray, IndexArray
from pliant.models.body import Model
from pliant.models.model import MatrixStiffness


@dataclass(frozen=True, eq=False)
class Attachment:
    """Points `points` (k, 3), m, where they are when the world begins, of body `a` welded to body `b`, or to the world.

    `reach` is how far outside the mesh of a volume, or from the axis of a beam or a rod, a point may lie, m. `frames`
    welds the directions of beams, rods and rigid bodies too.
    """

    a: Any
    b: Any
    points: FloatArray
    reach: float = 0.0
    name: str = "attachment"
    frames: bool = False


@dataclass(frozen=True, eq=False)
class AttachmentRows(Constraint):
    """Rows of an attachment, three for each point, δ = x_a − x_b, and where frames are welded three more for each,
    δ = log(Q_a Q_bᵀ) in rad, with Q the rotation of a side's frame since the world began.
    """

    spec: Attachment
    sides: tuple[tuple[int, Any], ...]
    key: int
    start_frames: tuple[FloatArray, ...] = ()

    @classmethod
    def build(cls, spec: Attachment, models: Sequence[Model], key: int) -> AttachmentRows:
        """The rows of `spec` in a world of `models`; a point outside a volume is an error that names it."""
        handles = [spec.a] if spec.b is None else [spec.a, spec.b]
        sides = tuple(_side(spec, handle, models) for handle in handles)
        start = tuple(riding.frames(models[k].initial()[0]).copy() for k, riding in sides) if spec.frames else ()
        return cls(spec, sides, key, start)

    @property
    def name(self) -> str:
        """Name of the attachment."""
        return self.spec.name

    def holds(self, index: int) -> bool:
        """Whether body `index` is attached to something."""
        return any(index == side for side, _ in self.sides)

    def welds(self, index: int) -> bool:
        """Whether body `index` is attached."""
        return self.holds(index)

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Differences of the positions of both sides, and their gradients."""
        count = 3 * len(self.spec.points)
        H = view.blank(count)
        gap: FloatArray = np.zeros(count)
        for sign, (number, riding) in zip((1.0, -1.0), self.sides, strict=False):
            q = view.q[number]
            gap += sign * riding.points(q).ravel()
            H[number] = H[number] + riding.pull(q, sign * sparse.identity(count, format="csr"))
        if len(self.sides) == 1:
            gap -= self.spec.points.ravel()
        if self.spec.frames:
            gap = np.concatenate([gap, self._angles(view)])
            H = [sparse.vstack([h, turn], format="csr") for h, turn in zip(H, self._spins(view, count), strict=True)]
        return Rows.of(H, gap, RowLaw.BILATERAL, key=row_keys(ATTACHMENTS, self.key, len(gap))), None

    def _angles(self, view: RowView) -> FloatArray:
        """log(Q_a Q_bᵀ) of each point, (3k,), rad."""
        turned = [
            np.einsum("kri,ksi->krs", riding.frames(view.q[number]), start)
            for (number, riding), start in zip(self.sides, self.start_frames, strict=True)
        ]
        if len(turned) == 2:
            turned[0] = np.einsum("kri,ksi->krs", *turned)
        return np.concatenate([rotation_log(R) for R in turned[0]])

    def _spins(self, view: RowView, count: int) -> list[sparse.csr_matrix]:
        """Gradients of the angles: the spins of both sides."""
        H = view.blank(count)
        for sign, (number, riding) in zip((1.0, -1.0), self.sides, strict=False):
            turn = riding.pull_spins(view.q[number], sign * sparse.identity(count, format="csr"))
            H[number] = H[number] + turn
        return H

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the rods."""
        return tuple(index for index, points in self.sides if points.forces_stiffen)

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows of the places."""
        return row_keys(ATTACHMENTS, self.key, 3 * len(self.spec.points))

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` × (−λ ∂²δ/∂q²) of rods. A place of a rod is no linear function of its strains, so that the force
        there adds stiffness: all of it where a rod without stretch hangs between two places.
        """
        for sign, (index, points) in zip((1.0, -1.0), self.sides, strict=False):
            if points.forces_stiffen and lam.any():
                K = points.load_stiffness(q[index], sign * lam.reshape(-1, 3))
                yield index, MatrixStiffness(scale * K)


def _side(spec: Attachment, handle: Any, models: Sequence[Model]) -> tuple[int, Any]:
    number = next(k for k, model in enumerate(models) if model.spec is handle)
    model = models[number]
    what = f"points of {spec.name!r} on {model.name!r}"
    return number, model.embed(spec.points, what=what, reach=spec.reach, placed=True)
