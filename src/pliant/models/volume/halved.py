"""Assembly of many points in two halves, on a thread each where two are allowed (`core.threads`).

The halves are the same on one thread, and so is what comes out, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.threads import beside
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.volume import assembly

MANY = 20_000
"""Points from which on they are taken in two halves."""


def internal_forces(
    q: FloatArray,
    ptr: IndexArray,
    nodes: IntArray,
    G: FloatArray,
    weight: FloatArray,
    part: IntArray,
    material: IntArray,
    laws: Any,
    table: FloatArray,
    force: FloatArray,
    density: FloatArray,
) -> float:
    """`assembly.internal_forces`: forces added to `force` (n, 3), N, densities (p,) in J/m³; returns the energy, J."""

    def some(of: slice, into: FloatArray) -> float:
        points = (weight[of], part[of], material[of])
        given = (q, _ends(ptr, of), nodes, G, *points, laws, table)
        return float(assembly.internal_forces(*given, into, density[of]))

    if len(weight) < MANY:
        return some(slice(0, len(weight)), force)
    lower, upper = halves(len(weight))
    more = np.zeros_like(force)
    energies = beside(lambda: some(lower, force), lambda: some(upper, more))
    force += more
    return sum(energies)


def assemble(
    q: FloatArray,
    ptr: IndexArray,
    nodes: IntArray,
    G: FloatArray,
    weight: FloatArray,
    part: IntArray,
    material: IntArray,
    laws: Any,
    table: FloatArray,
    mode: int,
    positions: IntArray,
    scale: float,
    values: FloatArray,
    force: FloatArray,
) -> float:
    """`assembly.assemble`: tangent × `scale` added to `values` (b, 3, 3), forces to `force` (n, 3), N; returns the
    energy, J.
    """

    def some(of: slice, pairs: slice, into: FloatArray, push: FloatArray) -> float:
        points = (weight[of], part[of], material[of])
        given = (q, _ends(ptr, of), nodes, G, *points, laws, table, mode)
        return float(assembly.assemble(*given, positions[pairs], scale, into, push))

    if len(weight) < MANY:
        return some(slice(0, len(weight)), slice(0, len(positions)), values, force)
    lower, upper = halves(len(weight))
    size = np.diff(_ends(ptr, lower))
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


def _ends(ptr: IndexArray, of: slice) -> IndexArray:
    """Where the nodes of the points `of` begin and end."""
    return ptr[of.start : of.stop + 1]
