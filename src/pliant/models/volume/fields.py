"""Loads that vary in space and time: fields over the nodes, facets or cells of a mesh, and amplitudes over time.

A field is given as one value for all, one for each node, one for each facet or cell of the loaded region, or as a
function of the position, which is sampled at the nodes; between nodes the shape functions interpolate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pliant.core.arrays import sum_by
from pliant.core.checks import finite_array, finite_number
from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Mesh


def sampled(what: str, given: Any, mesh: Mesh, count: Callable[[], int], shape: tuple[int, ...]) -> FloatArray:
    """The values of a field: of `shape` where it is uniform, else (n, …) of the nodes, or of the facets or cells that
    are loaded, `count` of them. A function gets the points (n, 3), m, of the mesh as it was made.
    """
    nodes = mesh.node_count
    if callable(given):
        try:
            returned = given(mesh.points.copy())
        except TypeError as error:
            raise InputError(f"{what} must be a function of points (n, 3), but it fails: {error}") from error
        values = finite_array(what, returned)
        if values.shape == shape:
            return values
        if values.shape != (nodes, *shape):
            raise InputError(
                f"the function {what} returned the shape {values.shape}; for points (n, 3) it must return "
                f"{('n', *shape)}, one value for each point, or one of {shape} for all"
            )
        return values
    values = finite_array(what, given)
    if values.shape == shape:
        return values
    pieces = count()
    if values.shape[1:] != shape or values.shape[:1] not in ((nodes,), (pieces,)):
        raise InputError(
            f"{what} must have shape {shape}, {(nodes, *shape)} with one value for each node, or "
            f"{(pieces, *shape)} with one for each facet or cell of its region; got {values.shape}"
        )
    if nodes == pieces:
        raise InputError(
            f"{what} has {nodes} values, as many as there are nodes and as facets or cells in its region, so that "
            "their meaning is not certain: give a function of the position"
        )
    return values


@dataclass(frozen=True, eq=False)
class FieldForces:
    """Nodal forces of a field on m facets or cells with nodes (m, k): `local` (m, k, k) are ∫ Nₐ Nᵦ over each."""

    cells: IntArray
    local: FloatArray
    count: int

    @cached_property
    def weights(self) -> FloatArray:
        """∫ Nₐ over all, (n,), m² or m³."""
        return sum_by(self.cells, self.local.sum(axis=2), self.count)

    @cached_property
    def _by_node(self) -> sparse.csr_matrix:
        rows, columns = np.broadcast_arrays(self.cells[:, :, None], self.cells[:, None, :])
        entries = (self.local.ravel(), (rows.ravel(), columns.ravel()))
        return sparse.csr_matrix(entries, shape=(self.count, self.count))

    @cached_property
    def _by_cell(self) -> sparse.csr_matrix:
        columns = np.broadcast_to(np.arange(len(self.cells))[:, None], self.cells.shape)
        entries = (self.local.sum(axis=2).ravel(), (self.cells.ravel(), columns.ravel()))
        return sparse.csr_matrix(entries, shape=(self.count, len(self.cells)))

    def forces(self, values: FloatArray) -> FloatArray:
        """Forces (n, 3), N, of a field `values` as `sampled` gives it."""
        if values.ndim == 1:
            return self.weights[:, None] * values
        return np.asarray((self._by_node if len(values) == self.count else self._by_cell) @ values)


def nodal_forces(share: Any, value: FloatArray) -> FloatArray:
    """Forces (n, 3), N, of a load with the value (3,), or a field, and its `share`: weights (n,) or `FieldForces`."""
    return share.forces(value) if isinstance(share, FieldForces) else share[:, None] * value


def checked_amplitude(name: str, amplitude: Any) -> Any:
    """An amplitude over time: None, a function of t (s), or pairs (t, factor) as an array (k, 2)."""
    if amplitude is None or callable(amplitude):
        return amplitude
    table = finite_array(f"amplitude of a {name}", amplitude)
    if table.ndim != 2 or table.shape[1] != 2 or not len(table):
        raise InputError(
            f"amplitude of a {name} must be a function of t (s) or pairs [(t, factor), …], got the shape {table.shape}"
        )
    if (np.diff(table[:, 0]) <= 0.0).any():
        raise InputError(f"the times of the amplitude of a {name} must rise: {table[:, 0].tolist()!r:.60}")
    return table


class TimedLoad:
    """A load with an `amplitude`: its value is multiplied by it."""

    amplitude: Any
    value: FloatArray

    def factor(self, time: float) -> float:
        """The amplitude at `time` (s): of a table it is interpolated, and constant before its first and after its last
        line.
        """
        if self.amplitude is None:
            return 1.0
        if callable(self.amplitude):
            return finite_number(f"amplitude of a {type(self).__name__} at {time:g} s", self.amplitude(time))
        return float(np.interp(time, self.amplitude[:, 0], self.amplitude[:, 1]))

    def value_at(self, time: float) -> FloatArray:
        """Its value at `time` (s)."""
        return np.asarray(self.factor(time) * self.value)
