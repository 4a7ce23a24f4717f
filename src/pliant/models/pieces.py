"""Straight segments of a cable between embedded points of one body, whose tension stiffens the body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from pliant.core.types import FloatArray, IntArray
from pliant.models.model import GeometricStiffness

if TYPE_CHECKING:
    from pliant.models.body import Model

Ends = Sequence[tuple[int, float]]
"""Ends of a segment on the body: index among the embedded points, and −1 for the first end or 1 for the last."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """s segments with `ends` among `points` (p, 3), m, of `body`, given in the frame in which it was made.

    `map` is that of the points once the body is compiled. A kind that the tension stiffens overrides `stiffness`.
    """

    body: Any
    points: FloatArray
    ends: Sequence[Ends]
    what: str
    reach: float = 0.0
    map: Any = None

    def couplings(self) -> list[IntArray]:
        """Sets of nodes that the stiffness couples, beyond those of the elements."""
        return []

    def bound(self, model: Model) -> Self:
        """The segments on the compiled body."""
        return replace(self, map=model.embed(self.points, what=self.what, reach=self.reach))

    def stiffness(self, q: FloatArray, across: FloatArray, units: FloatArray) -> GeometricStiffness | None:
        """Σ Jᵀ across (I − u uᵀ) J with `across` (s,) N/m and directions `units` (s, 3); None where it is left out."""
        return None
