"""The axis of a slender body in short segments, each a part of one section of a rod or of one piece of a beam."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.mappings.beam_map import BeamMap
from pliant.mappings.rod_map import RodMap
from pliant.models.beam import BeamModel
from pliant.models.rod import RodModel


@dataclass(frozen=True, eq=False)
class Strand:
    """S segments of an axis, between the points along it that touch others.

    segments    (S, 2) the points at the ends of each
    lengths     (S,) m, along the axis at rest
    radii       (S,) m, of the cross-section there
    low, high   (S,) where they begin and end in their section or piece, as fractions of it
    map         of one place of each on the axis
    """

    segments: IntArray
    lengths: FloatArray
    radii: FloatArray
    low: FloatArray
    high: FloatArray
    map: RodMap | BeamMap

    @classmethod
    def of(cls, model: RodModel | BeamModel) -> Strand:
        """The axis of `model`, with as many segments for each section or piece as it has contact points."""
        count = model.spec.contact_points
        low = np.arange(count) / count
        if isinstance(model, RodModel):
            pieces = model.spec.sections
            lengths = model.spec.lengths
            radii = np.array([section.radius for section in model.spec.section_list])
            vertices = np.arange(pieces * count + 1, dtype=np.int32)
            segments = np.stack([vertices[:-1], vertices[1:]], axis=1)
            starts = np.concatenate([[0.0], np.cumsum(lengths)])[:-1]
            where: RodMap | BeamMap = RodMap.at(model, np.repeat(starts + 0.5 * lengths, count))
        else:
            edges, lengths = model.elements.edges, model.elements.length
            pieces = len(edges)
            radii = np.full(pieces, model.spec.section.radius)
            inner = model.node_count + np.arange(pieces * (count - 1)).reshape(pieces, count - 1)
            chain = np.concatenate([edges[:, :1], inner, edges[:, 1:]], axis=1)
            segments = np.stack([chain[:, :-1].ravel(), chain[:, 1:].ravel()], axis=1).astype(np.int32)
            where = BeamMap.at(model, np.repeat(np.arange(pieces), count), np.full(pieces * count, 0.5))
        return cls(
            segments=segments,
            lengths=np.repeat(lengths / count, count),
            radii=np.repeat(radii, count),
            low=np.tile(low, pieces),
            high=np.tile(low + 1.0 / count, pieces),
            map=where,
        )

    def at(self, segments: Any, places: FloatArray) -> RodMap | BeamMap:
        """The map of `places` (m,) in [0, 1] on `segments` (m,)."""
        fraction = self.low[segments] + places * (self.high - self.low)[segments]
        chosen = self.map.selected(segments)
        if isinstance(chosen, RodMap):
            return replace(chosen, fraction=fraction)
        return replace(chosen, coordinate=fraction)
