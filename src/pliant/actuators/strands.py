"""The parts of a cable in one body: its via points there, and the middles of straight pieces inside the material."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Locator
from pliant.models.body import Model
from pliant.models.pieces import Pieces
from pliant.models.point_map import PointMap


@dataclass(frozen=True, eq=False)
class Strand:
    """The via points on one body: their indices `order` (p,) along the path, the indices `own` (s,) of the segments
    that end at one of them, and these segments on the body, `pieces`.
    """

    body: Any
    order: IntArray
    own: IntArray
    pieces: Pieces
    index: int = -1


@dataclass(frozen=True, eq=False)
class Middles:
    """The middles of straight pieces inside one volume, as points of its material: the `segments` (s,) of the cable
    that they belong to, and their `map` in the model of `index`.
    """

    index: int
    segments: IntArray
    map: PointMap

    @classmethod
    def of(cls, strand: Strand, via: FloatArray, model: Model) -> Middles | None:
        """Those of a strand in a volume; pieces outside the material, between guides in the air, are straight."""
        if not getattr(strand.body, "takes_fibres", False):
            return None
        inner = strand.own[np.isin(strand.own, strand.order) & np.isin(strand.own + 1, strand.order)]
        middles = 0.5 * (via[inner] + via[inner + 1])
        inside = Locator(strand.body.mesh).locate(middles).distance <= 0.0 if len(inner) else np.zeros(0, bool)
        if not inside.any():
            return None
        return cls(strand.index, inner[inside], model.embed(middles[inside], what="middles of a cable"))

    def bends(self, path: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bend of the material along each piece, rad, and its sagitta, m, for the cable's path (k, 3) m.

        An arc of angle θ over a chord c has the sagitta c/2 tan(θ/4).
        """
        chords = path[self.segments + 1] - path[self.segments]
        lengths = np.maximum(np.linalg.norm(chords, axis=1), np.finfo(float).tiny)
        away = self.map.points(q) - path[self.segments]
        sagitta = np.linalg.norm(np.cross(away, chords), axis=1) / lengths
        return 4.0 * np.arctan(2.0 * sagitta / lengths), sagitta
