"""Assembly of many points in two halves, on a thread each where two are allowed (`core.threads`).

The halves are the same on one thread, and so is what comes out, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.threads import beside
from pliant.core.types import FloatArray, IntArray
from pliant.models.volume import assembly
from pliant.models.volume.points import PointArrays

MANY = 20_000
"""Points above which they are divided: with fewer a second thread is not worth its start."""


def internal_forces(
    q: FloatArray, points: PointArrays, laws: Any, table: FloatArray, force: FloatArray, density: FloatArray
) -> float:
    """`assembly.internal_forces`: forces added to `force` (n, 3), N, densities (p,) in J/m³; returns the energy, J."""

    def some(of: slice, into: FloatArray) -> float:
        return float(assembly.internal_forces(q, *_chosen(points, of), laws, table, into, density[of]))

    if len(density) < MANY:
        return some(slice(0, len(density)), force)
    lower, upper = halves(len(density))
    more = np.zeros_like(force)
    energies = beside(lambda: some(lower, force), lambda: some(upper, more))
    force += more
    return sum(energies)


def assemble(
    q: FloatArray,
    points: PointArrays,
    laws: Any,
    table: FloatArray,
    mode: int,
    positions: IntArray,
    scale: float,
    values: FloatArray,
    force: FloatArray,
) -> float:
    """`assembly.assemble`: tangent × `scale` added to `values` (b, 3, 3), forces to `force`; returns the energy, J."""
    count = len(points[3])

    def some(of: slice, pairs: slice, into: FloatArray, push: FloatArray) -> float:
        given = (q, *_chosen(points, of), laws, table, mode)
        return float(assembly.assemble(*given, positions[pairs], scale, into, push))

    if count < MANY:
        return some(slice(0, count), slice(0, len(positions)), values, force)
    lower, upper = halves(count)
    size = np.diff(_chosen(points, lower)[0])
    first = int(np.sum(size * (size + 1) // 2))
    also, more = np.zeros_like(values), np.zeros_like(force)
    energies = beside(
        lambda: some(lower, slice(0, first), values, force),
        lambda: some(upper, slice(first, len(positions)), also, more),
    )
    values += also
    force += more
    return sum(energies)


def halves(count: int) -> tuple[slice, slice]:
    """The first and the second half of `count` points."""
    return slice(0, count // 2), slice(count // 2, count)


def _chosen(points: PointArrays, of: slice) -> PointArrays:
    ptr, nodes, G, weight, part, material = points
    return ptr[of.start : of.stop + 1], nodes, G, weight[of], part[of], material[of]
