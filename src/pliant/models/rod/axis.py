"""The axis of a rod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.axis import Axis
from pliant.models.beam.section import section_at
from pliant.models.rod.projection import nearest_arc_lengths
from pliant.models.rod.rod_map import RodMap

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel


@dataclass(frozen=True, eq=False)
class RodAxis(Axis):
    """The axis of a rod, always a chain."""

    @classmethod
    def of(cls, model: RodModel) -> RodAxis:
        """The axis of `model`."""
        count, lengths = model.spec.contact_points, model.spec.lengths
        vertices = np.arange(len(lengths) * count + 1, dtype=np.int32)
        starts = np.concatenate([[0.0], np.cumsum(lengths)])[:-1]
        return cls.of_elements(
            model,
            lengths,
            [section_at(one, (k + 0.5) / count) for one in model.spec.section_list for k in range(count)],
            segments=np.stack([vertices[:-1], vertices[1:]], axis=1),
            map=RodMap.at(model, np.repeat(starts + 0.5 * lengths, count)),
        )

    @property
    def length(self) -> float:
        """Length at rest, m."""
        return float(self.model.spec.lengths.sum())

    def at(self, arc: FloatArray) -> RodMap:
        """The map of the axis points at arc lengths `arc` (p,), m."""
        return RodMap.at(self.model, np.clip(arc, 0.0, self.length))

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m, of the axis points nearest to `points` (p, 3) m."""
        return nearest_arc_lengths(q, self.model.spec.lengths, points)
