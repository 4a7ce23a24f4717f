"""The axis of a slender body as a curve: where it is nearest to points, and what rides there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray
from pliant.mappings.beam_map import BeamMap
from pliant.mappings.rod_map import RodMap
from pliant.mappings.rod_projection import nearest_places
from pliant.models.beam import BeamModel
from pliant.models.model import Model
from pliant.models.rod import RodModel

_ROUNDS = 4


class Curve(Protocol):
    """An axis of `length` m, from its base at arc length 0 to its tip."""

    @property
    def length(self) -> float:
        """Length of the axis at rest, m."""

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m, of the places on the axis that are nearest to `points` (p, 3) m, the body being at q."""

    def at(self, arc: FloatArray) -> Any:
        """The map of the places at arc lengths `arc` (p,), m, on the axis; it has frames, first columns along it."""


@dataclass(frozen=True, eq=False)
class BeamCurve:
    """The axis of a chain of beams; its pieces begin at arc lengths `starts` (m,), m, and have `lengths` (m,)."""

    model: BeamModel
    starts: FloatArray
    lengths: FloatArray

    @classmethod
    def of(cls, model: BeamModel) -> BeamCurve:
        """The axis of `model`, which has to be a chain in the order of its nodes."""
        edges = model.elements.edges
        if not np.array_equal(edges, np.stack([np.arange(len(edges)), np.arange(1, len(edges) + 1)], axis=1)):
            raise InputError(f"{model.name!r} branches: a chain of beams, node after node, has an axis to slide on")
        ends = np.cumsum(model.elements.length)
        return cls(model, np.concatenate([[0.0], ends[:-1]]), model.elements.length)

    @property
    def length(self) -> float:
        """Length of the axis at rest, m."""
        return float(self.starts[-1] + self.lengths[-1])

    def at(self, arc: FloatArray) -> BeamMap:
        """The map of the places at arc lengths `arc` (p,), m."""
        pieces = np.clip(np.searchsorted(self.starts, arc, side="right") - 1, 0, len(self.starts) - 1)
        along = np.clip((arc - self.starts[pieces]) / self.lengths[pieces], 0.0, 1.0)
        return BeamMap.at(self.model, pieces, along)

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m: the nearest place on the chords, then Newton's method on the axis itself."""
        start = q[:-1, 0]
        chord = q[1:, 0] - start
        away = points[:, None] - start
        along = np.clip(np.einsum("pmi,mi->pm", away, chord) / np.einsum("mi,mi->m", chord, chord), 0.0, 1.0)
        rest = away - along[:, :, None] * chord
        pieces = np.argmin(np.einsum("pmi,pmi->pm", rest, rest), axis=1)
        arc: FloatArray = self.starts[pieces] + along[np.arange(len(points)), pieces] * self.lengths[pieces]
        for _ in range(_ROUNDS):
            there = self.at(arc)
            ahead = np.einsum("pi,pi->p", points - there.points(q), there.frames(q)[:, :, 0])
            arc = np.clip(arc + ahead, 0.0, self.length)
        return arc


@dataclass(frozen=True, eq=False)
class RodCurve:
    """The axis of a rod."""

    model: RodModel

    @property
    def length(self) -> float:
        """Length of the axis at rest, m."""
        return float(self.model.spec.lengths.sum())

    def at(self, arc: FloatArray) -> RodMap:
        """The map of the places at arc lengths `arc` (p,), m."""
        return RodMap.at(self.model, np.clip(arc, 0.0, self.length))

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m, of the places on the axis that are nearest to `points` (p, 3) m."""
        return nearest_places(q, self.model.spec.lengths, points)


def curve_of(model: Model) -> Curve:
    """The axis of a slender model; an error for the others."""
    if isinstance(model, BeamModel):
        return BeamCurve.of(model)
    if isinstance(model, RodModel):
        return RodCurve(model)
    raise InputError(f"{model.name!r} has no axis to slide on; beams and rods have")
