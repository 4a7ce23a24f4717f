"""The axis of a slender body: a line in short segments, with the projection of points onto it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Axis:
    """S segments of an axis between its contact points; each lies in one element.

    segments    (S, 2) the points at the ends of each
    lengths     (S,) m, along the axis at rest
    radii       (S,) m, of the cross-section there
    bores       (S,) m, inner radii of a hollow body; None where a part of it is solid
    low, high   (S,) fractions of the element at which they begin and end
    map         of one axis point of each
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

    @classmethod
    def of_elements(cls, model: Any, lengths: FloatArray, sections: Sequence[Any], **rest: Any) -> Self:
        """As many segments for each element as it has contact points; `sections` is one, or one for each segment."""
        count, elements = model.spec.contact_points, len(lengths)
        low = np.arange(count) / count
        radii, bores = ([getattr(s, name, 0.0) for s in sections] for name in ("radius", "inner"))
        return cls(
            model=model,
            lengths=np.repeat(lengths / count, count),
            radii=np.broadcast_to(radii, (elements * count,)).copy(),
            bores=np.broadcast_to(bores, (elements * count,)).copy() if min(bores) > 0.0 else None,
            low=np.tile(low, elements),
            high=np.tile(low + 1.0 / count, elements),
            ends=np.cumsum(lengths),
            **rest,
        )

    def on_segments(self, segments: Any, fractions: FloatArray) -> Any:
        """The map of the points at `fractions` (m,), in [0, 1], of `segments` (m,)."""
        along = self.low[segments] + fractions * (self.high - self.low)[segments]
        return self.map.selected(segments).at_fractions(along)

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
        """The map of the points at arc lengths `arc` (p,), m, of a chain; first columns of its frames are tangents."""
        raise NotImplementedError

    def nearest(self, q: FloatArray, points: FloatArray) -> FloatArray:
        """Arc lengths (p,), m, of the points of a chain nearest to `points` (p, 3) m, the body being at q."""
        raise NotImplementedError
