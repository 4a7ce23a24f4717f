"""The axis of a network of beams."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pliant.core.types import FloatArray
from pliant.models.axis import Axis
from pliant.models.beam.beam_map import BeamMap
from pliant.models.beam.section import inner_radii

if TYPE_CHECKING:
    from pliant.models.beam.model import BeamModel

_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class BeamAxis(Axis):
    """The axis of beams; as a chain its pieces begin at arc lengths `starts` (m,), m."""

    @classmethod
    def of(cls, model: BeamModel) -> BeamAxis:
        """As many segments for each piece as it has contact points."""
        count, edges = model.spec.contact_points, model.elements.edges
        pieces = len(edges)
        inner = model.node_count + np.arange(pieces * (count - 1)).reshape(pieces, count - 1)
        chain = np.concatenate([edges[:, :1], inner, edges[:, 1:]], axis=1)
        low = np.arange(count) / count
        in_order = np.stack([np.arange(pieces), np.arange(1, pieces + 1)], axis=1)
        return cls(
            model=model,
            segments=np.stack([chain[:, :-1].ravel(), chain[:, 1:].ravel()], axis=1).astype(np.int32),
            lengths=np.repeat(model.elements.length / count, count),
            radii=np.repeat(np.full(pieces, model.spec.section.radius), count),
            bores=inner_radii([model.spec.section], pieces, count),
            low=np.tile(low, pieces),
            high=np.tile(low + 1.0 / count, pieces),
            map=BeamMap.at(model, np.repeat(np.arange(pieces), count), np.full(pieces * count, 0.5)),
            ends=np.cumsum(model.elements.length),
            is_chain=np.array_equal(edges, in_order),
        )

    @cached_property
    def starts(self) -> FloatArray:
        """Arc lengths at which the pieces begin, (m,), m."""
        return np.concatenate([[0.0], self.ends[:-1]])

    @property
    def length(self) -> float:
        """Length at rest, m."""
        return float(self.starts[-1] + self.model.elements.length[-1])

    def at(self, arc: FloatArray) -> BeamMap:
        """The map of the places at arc lengths `arc` (p,), m."""
        starts, lengths = self.starts, self.model.elements.length
        pieces = np.clip(np.searchsorted(starts, arc, side="right") - 1, 0, len(starts) - 1)
        along = np.clip((arc - starts[pieces]) / lengths[pieces], 0.0, 1.0)
        return BeamMap.at(self.model, pieces, along)

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m: the nearest place on the chords, then Newton's method on the axis itself."""
        start = q[:-1, 0]
        chord = q[1:, 0] - start
        away = points[:, None] - start
        along = np.clip(np.einsum("pmi,mi->pm", away, chord) / np.einsum("mi,mi->m", chord, chord), 0.0, 1.0)
        rest = away - along[:, :, None] * chord
        pieces = np.argmin(np.einsum("pmi,pmi->pm", rest, rest), axis=1)
        on_chord = along[np.arange(len(points)), pieces] * self.model.elements.length[pieces]
        arc: FloatArray = self.starts[pieces] + on_chord
        for _ in range(_ROUNDS):
            there = self.at(arc)
            ahead = np.einsum("pi,pi->p", points - there.points(q), there.frames(q)[:, :, 0])
            arc = np.clip(arc + ahead, 0.0, self.length)
        return arc
