"""Attachments: points of two bodies held together, or points of one body held in the world, by bilateral rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pliant.constraints.rows import RowLaw, Rows, RowView
from pliant.core.types import FloatArray
from pliant.mappings import BarycentricMap, FrameMap
from pliant.models.model import Model
from pliant.models.rigid import RigidModel
from pliant.models.volume import VolumeModel


@dataclass(frozen=True, eq=False)
class Attachment:
    """Points `points` (k, 3), m, where they are when the world begins, of body `a` welded to body `b`, or to the world.

    `reach` is how far outside the mesh of a volume a point may lie, m.
    """

    a: Any
    b: Any
    points: FloatArray
    reach: float = 0.0
    name: str = "attachment"
    frames: bool = False


@dataclass(frozen=True, eq=False)
class AttachmentRows:
    """Rows of an attachment, three for each point: δ = x_a − x_b."""

    spec: Attachment
    sides: tuple[tuple[int, Any], ...]
    key: int

    @classmethod
    def build(cls, spec: Attachment, models: Sequence[Model], key: int) -> AttachmentRows:
        """The rows of `spec` in a world of `models`; a point outside a volume is an error that names it."""
        handles = [spec.a] if spec.b is None else [spec.a, spec.b]
        return cls(spec, tuple(_side(spec, handle, models) for handle in handles), key)

    def rows(self, view: RowView) -> tuple[Rows, None]:
        """Differences of the positions of both sides, and their gradients."""
        count = 3 * len(self.spec.points)
        H = view.blank(count)
        gap = np.zeros(count)
        for sign, (number, riding) in zip((1.0, -1.0), self.sides, strict=False):
            q = view.q[number]
            gap += sign * riding.points(q).ravel()
            H[number] = H[number] + riding.pull(q, sign * sparse.identity(count, format="csr"))
        if len(self.sides) == 1:
            gap -= self.spec.points.ravel()
        keys = (self.key << 20) + np.arange(count)
        return Rows.of(H, gap, RowLaw.BILATERAL, key=keys), None


def _side(spec: Attachment, handle: Any, models: Sequence[Model]) -> tuple[int, Any]:
    number = next(k for k, model in enumerate(models) if model.spec is handle)
    model = models[number]
    if isinstance(model, VolumeModel):
        what = f"points of {spec.name!r} on {model.name!r}"
        return number, BarycentricMap.of_points(model.mesh, spec.points, what=what, reach=spec.reach)
    assert isinstance(model, RigidModel)
    pose = model.initial()[0]
    return number, FrameMap((spec.points - pose[0]) @ pose[1:])
