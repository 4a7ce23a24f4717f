"""Cables through one volume, evaluated in one pass: a trunk has eight, and what a call costs outside of its kernel is
more than the lengths and directions of a few segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.constraints.rows import Rows, RowView, Stiffnesses
from pliant.core.arrays import frozen
from pliant.core.types import FloatArray
from pliant.models.pieces import Paths

if TYPE_CHECKING:
    from pliant.actuators.cable import CableRows


@dataclass(frozen=True, eq=False)
class CableBundle:
    """Neighbouring `members` without friction, each in the one body with the model `index`; the first of them is the
    constraint `first` of the world.
    """

    first: int
    members: tuple[CableRows, ...]
    short: float

    @property
    def index(self) -> int:
        """Index of the model."""
        return self.members[0].strands[0].index

    def rows(self, views: Sequence[RowView]) -> tuple[Rows, Sequence[Any]]:
        """Shortenings and their gradients, one row each, and what the cables remember."""
        lengths, gradients = self._paths.shortenings(views[0].q[self.index])
        H = views[0].blank(len(self.members))
        H[self.index] = gradients
        found = [cable.motor_law(view) for cable, view in zip(self.members, views, strict=True)]
        laws = [law for law, _ in found]
        return Rows.drives(H, self._rest - lengths, laws, self._keys), [memory for _, memory in found]

    def bounded_stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` λ ∂²L/∂q² of all cables at tensions λ (N), bounded from below where segments are short."""
        if not (lam > 0.0).any():
            return
        tensions = np.where(lam > 0.0, scale * lam, 0.0)
        yield self.index, self._paths.stiffness(q[self.index], tensions, self._rest_lengths, self.short)

    @cached_property
    def _paths(self) -> Paths:
        strands = [cable.strands[0] for cable in self.members]
        paths = [
            (strand.pieces, strand.order, cable.fixed) for strand, cable in zip(strands, self.members, strict=True)
        ]
        return strands[0].pieces.joined(paths)

    @cached_property
    def _rest(self) -> FloatArray:
        return np.array([cable.rest_length for cable in self.members])

    @cached_property
    def _rest_lengths(self) -> FloatArray:
        """Lengths at rest of the segments of all cables, m."""
        return np.asarray(frozen(np.concatenate([cable.rest_lengths for cable in self.members])))

    @cached_property
    def _keys(self) -> tuple[int, ...]:
        return tuple([cable.key for cable in self.members])
