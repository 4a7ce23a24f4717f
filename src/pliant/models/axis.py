"""The axis of a slender body: a line in short segments, with the places on it nearest to given points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Axis:
    """S segments of an axis, between the points along it that touch others; each is a part of one element.

    segments    (S, 2) the points at the ends of each
    lengths     (S,) m, along the axis at rest
    radii       (S,) m, of the cross-section there
    bores       (S,) m, inner radii of a hollow body; None where a part of it is solid
    low, high   (S,) where they begin and end in their element, as fractions of it
    map         of one place of each on the axis
    ends        (E,) m, arc lengths of the far ends of the elements, one after the other

    An axis that is one chain, without branches, also has arc lengths: `length`, `at` and `nearest`.
    """

    model: Any
    segments: IntArray
    lengths: FloatArray
    radii: FloatArray
    bores: FloatArray | None
    low: FloatArray
    high: FloatArray
    map: Any
    ends: FloatArray
    is_chain: bool = True

    def on_segments(self, segments: Any, places: FloatArray) -> Any:
        """The map of `places` (m,) in [0, 1] on `segments` (m,)."""
        return self.map.selected(segments).at_fractions(
            self.low[segments] + places * (self.high - self.low)[segments],
        )

    def chain(self) -> Axis:
        """The axis itself; an error where it branches."""
        if not self.is_chain:
            raise InputError(
                f"{self.model.name!r} branches: a chain of beams, node after node, has an axis to slide on"
            )
        return self

    @property
    def length(self) -> float:
        """Length of a chain at rest, m, from its base at arc length 0 to its tip."""
        raise NotImplementedError

    def at(self, arc: FloatArray) -> Any:
        """The map of the places at arc lengths `arc` (p,), m, of a chain; its frames have first columns along it."""
        raise NotImplementedError

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m, of the places of a chain that are nearest to `points` (p, 3) m, the body being at q."""
        raise NotImplementedError
