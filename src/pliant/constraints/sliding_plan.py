"""What stays the same in the rows of a channel from step to step: arguments of its kernels, and all of its rows but
their gaps and gradients, as long as the same points slide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pliant.constraints.row_blocks import RowBlocks
from pliant.constraints.rows import RowLaw, Rows
from pliant.core.arrays import frozen
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.models.rod import RodModel
from pliant.models.volume.barycentric import BarycentricMap

Entries = tuple[IntArray, IntArray]
"""Columns (entries,) of rows, and where they begin (m + 1,)."""
_MOST_KNOWN = 64
"""Sets of sliding points whose rows are kept."""


class KnownRows(NamedTuple):
    """The rows of one set of sliding points: their `columns` but gaps and gradients (`Rows`), and their entries in the
    unknowns of the `volume` and of the `rod`.
    """

    columns: dict[str, Any]
    volume: Entries
    rod: Entries


@dataclass(frozen=True, eq=False)
class SlidingPlan:
    """Constant arguments of the kernels of a channel.

    `starts` (N + 1,) m are the arc lengths of the sections, `nodes` (k, j) and `weights` (k, j) those of the points in
    their cells, `active` (6 + Nn,) the unknowns of the rod.
    """

    kinds: IntArray
    basis: FloatArray
    starts: FloatArray
    nodes: IntArray
    weights: FloatArray
    active: IntArray
    friction: float
    fixed_end: bool
    first_key: int
    _known: dict[bytes, KnownRows] = field(default_factory=dict)

    @classmethod
    def of(cls, model: RodModel, embedded: BarycentricMap, spec: Any, first_key: int) -> SlidingPlan:
        """The plan of the channel `spec`, whose points are `embedded` in the volume, around the rod `model`."""
        starts = np.concatenate([[0.0], np.cumsum(model.spec.lengths)])
        given = model.spec.active, model.basis, starts, embedded.nodes, embedded.weights, model.active.astype(np.int32)
        return cls(*given, friction=spec.friction, fixed_end=spec.fixed_end, first_key=first_key)

    @cached_property
    def width(self) -> int:
        """Rows of a sliding point: two along the normals of the axis, and with friction one along it."""
        return 3 if self.friction else 2

    @cached_property
    def most(self) -> int:
        """Rows where all points slide."""
        points = len(self.nodes)
        return self.width * (points - 1) + 3 if self.fixed_end else self.width * points

    def space(self) -> tuple[BoolArray, FloatArray, FloatArray, FloatArray]:
        """Room for which points slide (k,), and for gaps (most,) and gradients in the volume (most, 3j) and in the rod
        (most, 6 + Nn).
        """
        points, each = self.nodes.shape
        most = self.most
        own, rod = np.empty((most, 3 * each)), np.empty((most, len(self.active)))
        return np.empty(points, np.bool_), np.empty(most), own, rod

    def known(self, slides: BoolArray) -> KnownRows:
        """The rows where the points `slides` (k,) do; the same arrays as long as these stay, so that what is derived
        from them can be kept.
        """
        name = slides.tobytes()
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[name] = self._made(np.flatnonzero(slides))
        return found

    def _made(self, inner: IndexArray) -> KnownRows:
        width, count = self.width, len(self.nodes)
        rows, end = width * len(inner), 3 * self.fixed_end
        points = np.concatenate([np.repeat(inner, width), np.full(end, count - 1)])
        own = (3 * inner[:, None] + np.arange(width)).ravel()
        keys = self.first_key + np.concatenate([own, 3 * count + np.arange(end)]).astype(np.int64)
        columns = (3 * self.nodes[points][:, :, None] + np.arange(3)).astype(np.int32)
        law: Any = RowLaw.BILATERAL
        if self.friction:
            law = np.full(rows + end, RowLaw.BILATERAL)
            law[2:rows:3] = RowLaw.GUIDE
        mu, gap = self.friction, np.zeros(rows + end)
        made = vars(Rows.of(RowBlocks(len(gap), ()), gap, law, lower=-mu, upper=mu, key=keys))
        shared = {name: value for name, value in made.items() if name not in ("H", "gap")}
        for name, value in shared.items():
            if isinstance(value, np.ndarray):
                shared[name] = frozen(value)
        return KnownRows(
            columns=shared,
            volume=(frozen(columns.ravel()), _ends(len(gap), 3 * self.nodes.shape[1])),
            rod=(frozen(np.tile(self.active, len(gap))), _ends(len(gap), len(self.active))),
        )


def _ends(rows: int, each: int) -> IntArray:
    """Where `rows` rows of `each` entries begin, (rows + 1,)."""
    made: IntArray = frozen(each * np.arange(rows + 1, dtype=np.int32))
    return made
