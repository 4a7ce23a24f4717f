"""Assembly of many points in two halves, on a thread each where two are allowed (`core.threads`).

Tangents are halved in space: the second half adds to blocks of its own, which then join those of the first; few belong
to both. Forces are halved by index. The halves are the same on one thread, and so is what comes out, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.threads import beside
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.volume import assembly
from pliant.models.volume.points import PointArrays, Points
from pliant.models.volume.split import chosen_points
from pliant.models.volume.tetrahedra import Tetrahedra

MANY = 20_000
"""Points above which they are divided: with fewer a second thread is not worth its start."""


class PointSet(NamedTuple):
    """Points that are assembled at once, the blocks of their pairs of nodes, and by lanes where they are corotated
    tetrahedra.
    """

    points: PointArrays
    positions: IntArray
    cells: Tetrahedra | None


@dataclass(frozen=True, eq=False)
class DividedPoints:
    """All points of a body, or two halves of them where there are many; `blocks` (c,) of the matrix are those that the
    second half adds to, and its positions refer to them.
    """

    first: PointSet
    second: PointSet | None = None
    blocks: IndexArray | None = None

    @classmethod
    def of(
        cls, points: Points, positions: IntArray, rest: FloatArray, laws: IntArray, table: FloatArray
    ) -> DividedPoints:
        """The points of a body at `rest` (n, 3), m; `positions` of the blocks of their pairs."""
        if points.count < MANY:
            return cls(PointSet(points.arrays, positions, Tetrahedra.of(points, laws, table)))
        size = np.diff(points.ptr)
        pairs = size * (size + 1) // 2
        axis = int(np.ptp(rest, axis=0).argmax())
        place = np.add.reduceat(rest[points.nodes, axis], points.ptr[:-1]) / size
        order = np.argsort(place, kind="stable")
        middle = order[np.searchsorted(np.cumsum(pairs[order]), pairs.sum() // 2)]
        lower = place <= place[middle]
        sets = []
        for chosen in (lower, ~lower):
            some = chosen_points(points, chosen)
            sets.append(PointSet(some.arrays, positions[np.repeat(chosen, pairs)], Tetrahedra.of(some, laws, table)))
        blocks, local = np.unique(sets[1].positions, return_inverse=True)
        return cls(sets[0], sets[1]._replace(positions=local.reshape(-1).astype(np.int32)), blocks.astype(np.int64))

    def assemble(
        self, add: Callable[[PointSet, FloatArray, bool], tuple[float, FloatArray]], values: FloatArray
    ) -> tuple[float, FloatArray]:
        """Energy (J) and forces (n, 3) in N of all points by `add(points, values, first)`, which sets the blocks
        `values` (b, 3, 3), or adds to zeros where not `first`, and says both.
        """
        second, blocks = self.second, self.blocks
        if second is None or blocks is None:
            return add(self.first, values, True)
        more = np.empty((len(blocks), 3, 3))

        def beyond() -> tuple[float, FloatArray]:
            more[:] = 0.0
            return add(second, more, False)

        (energy, force), (other, push) = beside(lambda: add(self.first, values, True), beyond)
        half = len(blocks) // 2
        beside(
            lambda: add_blocks(values, blocks, more, 0, half),
            lambda: add_blocks(values, blocks, more, half, len(blocks)),
        )
        return energy + other, force + push


@kernel
def add_blocks(values: FloatArray, blocks: IndexArray, more: FloatArray, first: int, last: int) -> None:
    """Add the blocks [first, last) of `more` (c, 3, 3) to those of `values` that `blocks` (c,) names."""
    for c in range(first, last):
        for i in range(3):
            for j in range(3):
                values[blocks[c], i, j] += more[c, i, j]


def internal_forces(
    q: FloatArray, points: PointArrays, laws: Any, table: FloatArray, force: FloatArray, density: FloatArray
) -> float:
    """`assembly.internal_forces`: forces added to `force` (n, 3), N, densities (p,) in J/m³; returns the energy, J."""

    def some(of: slice, into: FloatArray) -> float:
        return float(assembly.internal_forces(q, *_chosen(points, of), laws, table, into, density[of]))

    if len(density) < MANY:
        return float(assembly.internal_forces(q, *points, laws, table, force, density))
    lower, upper = halves(len(density))
    more = np.zeros_like(force)
    energies = beside(lambda: some(lower, force), lambda: some(upper, more))
    force += more
    return sum(energies)


def halves(count: int) -> tuple[slice, slice]:
    """The first and the second half of `count` points."""
    return slice(0, count // 2), slice(count // 2, count)


def _chosen(points: PointArrays, of: slice) -> PointArrays:
    ptr, nodes, G, weight, part, material = points
    return ptr[of.start : of.stop + 1], nodes, G, weight[of], part[of], material[of]


class Divisions:
    """The points of a body that are integrated one by one, divided once for each split of the law of volume. An object,
    not a cached function: compiled bodies are sent to other processes.
    """

    def __init__(self, points: Points, positions: IntArray, *fixed: Any) -> None:
        self._whole, self._fixed = (points, positions), fixed
        self._made: dict[Any, DividedPoints] = {}

    def own(self, split: Any) -> tuple[Points, IntArray]:
        """These points, without those of the patches of `split`, and the positions of their blocks."""
        return self._whole if split is None else (split.shape, split.positions)

    def __call__(self, split: Any) -> DividedPoints:
        """The points of `split`, None: all of them, as they are assembled."""
        found = self._made.get(split)
        if found is None:
            found = self._made[split] = DividedPoints.of(*self.own(split), *self._fixed)
        return found
