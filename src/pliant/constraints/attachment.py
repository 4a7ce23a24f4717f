"""Attachments: points of two bodies, or of one body and the world or an obstacle, constrained to coincide by bilateral
rows. An obstacle that moves takes the points with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.keys import ATTACHMENTS, row_keys
from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, Stiffnesses, model_index
from pliant.core.lie import rotation_log
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.models.body import ContactRole, Model
from pliant.models.model import MatrixStiffness


@one_line
@dataclass(frozen=True, eq=False)
class Attachment:
    """`points` (k, 3), m, in the initial state, at which body `a` is welded to body or obstacle `b`, or to the world
    (None).

    `reach` is the largest distance of a point outside the mesh of a volume, or from the axis of a beam or a rod, m.
    `frames` constrains the rotations of beams, rods and rigid bodies too.
    """

    a: Any
    b: Any
    points: FloatArray
    reach: float = 0.0
    name: str = "attachment"
    frames: bool = False


@dataclass(frozen=True, eq=False)
class AttachmentRows(Constraint):
    """Three rows for each point, δ = x_a − x_b; with frames three more, δ = log(Q_a Q_bᵀ) in rad, Q the rotation since
    the initial state. `sides` are the indices of the models with their embedded points; `carrier` is the obstacle that
    a single one is welded to, None: the world.
    """

    spec: Attachment
    sides: tuple[tuple[int, Any], ...]
    key: int
    start_frames: tuple[FloatArray, ...] = ()
    carrier: Any = None

    @classmethod
    def build(cls, spec: Attachment, models: Sequence[Model], key: int) -> AttachmentRows:
        """The rows of `spec` in a world of `models`; a point outside a volume is an error that names it."""
        sides = []
        carrier = spec.b if spec.b is not None and spec.b.contact_role == ContactRole.OBSTACLE else None
        for body in [spec.a] if spec.b is None or carrier is not None else [spec.a, spec.b]:
            index = model_index(models, body)
            what = f"points of {spec.name!r} on {models[index].name!r}"
            sides.append((index, models[index].embed(spec.points, what=what, reach=spec.reach, placed=True)))
        start = tuple(points.frames(models[k].initial()[0]).copy() for k, points in sides) if spec.frames else ()
        return cls(spec, tuple(sides), key, start, carrier)

    def carried(self, index: int) -> list[Any]:
        """Its points on the body."""
        own = [k for k, (side, _) in enumerate(self.sides) if side == index]
        return [(self.sides[k][1], partial(self._carried_by, k)) for k in own]

    def _carried_by(self, k: int, points: Any) -> AttachmentRows:
        return replace(self, sides=(*self.sides[:k], (self.sides[k][0], points), *self.sides[k + 1 :]))

    def constrains(self, index: int) -> bool:
        """Whether body `index` is attached to something."""
        return any(index == side for side, _ in self.sides)

    welds = constrains

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """Differences of the positions of both sides, and their gradients."""
        count = 3 * len(self.spec.points)
        H = view.blank(count)
        gap: FloatArray = np.zeros(count)
        for sign, (index, points) in zip((1.0, -1.0), self.sides, strict=False):
            q = view.q[index]
            gap += sign * points.points(q).ravel()
            H[index] = H[index] + points.pull_back(q, sign * sparse.identity(count, format="csr"))
        if len(self.sides) == 1:
            gap -= self._carried(view.time).ravel()
        if self.spec.frames:
            gap = np.concatenate([gap, self._angles(view)])
            turns = self._spins(view, count)
            filled = {k: sparse.vstack([h, turns[k]], format="csr") for k, h in H.filled.items()}
            H = RowBlocks(2 * count, view.sizes, filled)
        return Rows.of(H, gap, RowLaw.BILATERAL, key=row_keys(ATTACHMENTS, self.key, len(gap))), None

    def _carried(self, time: float) -> FloatArray:
        """Where the world, or the obstacle that carries them, has the points at `time` (s), (k, 3), m."""
        if self.carrier is None:
            return self.spec.points
        turn, shift = self._motion(time)
        return self.spec.points @ turn.T + shift

    def _motion(self, time: float) -> tuple[FloatArray, FloatArray]:
        """Rotation (3, 3) and shift (3,) m of the carrier from time 0, x ↦ R x + s."""
        start, now = self.carrier.pose(0.0), self.carrier.pose(time)
        turn = now[1:] @ start[1:].T
        return turn, now[0] - turn @ start[0]

    def _angles(self, view: RowView) -> FloatArray:
        """log(Q_a Q_bᵀ) of each point, (3k,), rad."""
        turned = [
            np.einsum("kri,ksi->krs", points.frames(view.q[index]), start)
            for (index, points), start in zip(self.sides, self.start_frames, strict=True)
        ]
        if len(turned) == 2:
            turned[0] = np.einsum("kri,ksi->krs", *turned)
        elif self.carrier is not None:
            turned[0] = turned[0] @ self._motion(view.time)[0].T
        return np.concatenate([rotation_log(R) for R in turned[0]])

    def _spins(self, view: RowView, count: int) -> RowBlocks:
        """Gradients of the angles: the spins of both sides."""
        H = view.blank(count)
        for sign, (index, points) in zip((1.0, -1.0), self.sides, strict=False):
            H[index] = H[index] + points.pull_back_spins(view.q[index], sign * sparse.identity(count, format="csr"))
        return H

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Indices of the models whose points turn with them."""
        return tuple(index for index, points in self.sides if not points.is_linear)

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the rods."""
        return tuple(index for index, points in self.sides if points.forces_stiffen)

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of all rows."""
        return row_keys(ATTACHMENTS, self.key, (6 if self.spec.frames else 3) * len(self.spec.points))

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` × (−λ ∂²δ/∂q²) of rods. A point of a rod and its frame are nonlinear in the strains, so that a force
        or a moment there adds stiffness; it is the only stiffness of an inextensible rod that hangs between two points.
        The moments at the ends of a twisted ring keep it plane against the forces there.
        """
        forces, moments = np.split(lam.reshape(-1, 3), 2) if self.spec.frames else (lam.reshape(-1, 3), None)
        for sign, (index, points) in zip((1.0, -1.0), self.sides, strict=False):
            if points.forces_stiffen and lam.any():
                K = points.load_stiffness(q[index], sign * forces, None if moments is None else sign * moments)
                yield index, MatrixStiffness(scale * K)
