"""The axis of a network of beams."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.axis import Axis
from pliant.models.beam.beam_map import BeamMap, chord_projection

if TYPE_CHECKING:
    from pliant.models.beam.model import BeamModel

_ROUNDS = 4
"""Newton steps from the chord onto the axis; few are enough, since the axis of an element is close to its chord."""


@dataclass(frozen=True, eq=False)
class BeamAxis(Axis):
    """The axis of beams."""

    @classmethod
    def of(cls, model: BeamModel) -> BeamAxis:
        """The axes of all elements."""
        count, edges, length = model.spec.contact_points, model.elements.edges, model.elements.length
        elements = len(edges)
        inner = model.node_count + np.arange(elements * (count - 1)).reshape(elements, count - 1)
        chain = np.concatenate([edges[:, :1], inner, edges[:, 1:]], axis=1)
        return cls.of_elements(
            model,
            length,
            [model.spec.section],
            segments=np.stack([chain[:, :-1].ravel(), chain[:, 1:].ravel()], axis=1).astype(np.int32),
            map=BeamMap.at(model, np.repeat(np.arange(elements), count), np.full(elements * count, 0.5)),
            is_chain=np.array_equal(edges, np.stack([np.arange(elements), np.arange(1, elements + 1)], axis=1)),
        )

    @cached_property
    def starts(self) -> FloatArray:
        """Arc lengths at which the elements begin, (m,), m."""
        return np.concatenate([[0.0], self.ends[:-1]])

    @property
    def length(self) -> float:
        """Length at rest, m."""
        return float(self.starts[-1] + self.model.elements.length[-1])

    def at(self, arc: FloatArray) -> BeamMap:
        """The map of the axis points at arc lengths `arc` (p,), m."""
        starts, lengths = self.starts, self.model.elements.length
        pieces = np.clip(np.searchsorted(starts, arc, side="right") - 1, 0, len(starts) - 1)
        along = np.clip((arc - starts[pieces]) / lengths[pieces], 0.0, 1.0)
        return BeamMap.at(self.model, pieces, along)

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m: the nearest point of the chords, then Newton's method on the axis itself."""
        along, rest = chord_projection(q[:-1, 0], q[1:, 0], points)
        pieces = np.argmin(np.einsum("pmi,pmi->pm", rest, rest), axis=1)
        on_chord = along[np.arange(len(points)), pieces] * self.model.elements.length[pieces]
        arc: FloatArray = self.starts[pieces] + on_chord
        for _ in range(_ROUNDS):
            there = self.at(arc)
            ahead = np.einsum("pi,pi->p", points - there.points(q), there.frames(q)[:, :, 0])
            arc = np.clip(arc + ahead, 0.0, self.length)
        return arc
