"""The axis of a rod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.axis import Axis
from pliant.models.beam.section import inner_radii
from pliant.models.rod.projection import nearest_places
from pliant.models.rod.rod_map import RodMap

if TYPE_CHECKING:
    from pliant.models.rod.model import RodModel


@dataclass(frozen=True, eq=False)
class RodAxis(Axis):
    """The axis of a rod, always a chain."""

    @classmethod
    def of(cls, model: RodModel) -> RodAxis:
        """As many segments for each section as it has contact points."""
        count, pieces, lengths = model.spec.contact_points, model.spec.sections, model.spec.lengths
        sections = model.spec.section_list
        vertices = np.arange(pieces * count + 1, dtype=np.int32)
        starts = np.concatenate([[0.0], np.cumsum(lengths)])[:-1]
        low = np.arange(count) / count
        return cls(
            model=model,
            segments=np.stack([vertices[:-1], vertices[1:]], axis=1),
            lengths=np.repeat(lengths / count, count),
            radii=np.repeat(np.array([section.radius for section in sections]), count),
            bores=inner_radii(sections, pieces, count),
            low=np.tile(low, pieces),
            high=np.tile(low + 1.0 / count, pieces),
            map=RodMap.at(model, np.repeat(starts + 0.5 * lengths, count)),
            ends=np.cumsum(lengths),
        )

    @property
    def length(self) -> float:
        """Length at rest, m."""
        return float(self.model.spec.lengths.sum())

    def at(self, arc: FloatArray) -> RodMap:
        """The map of the places at arc lengths `arc` (p,), m."""
        return RodMap.at(self.model, np.clip(arc, 0.0, self.length))

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m, of the places on the axis that are nearest to `points` (p, 3) m."""
        return nearest_places(q, self.model.spec.lengths, points)
