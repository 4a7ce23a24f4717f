"""Points embedded between the nodes of a deformable model, each a weighted mean of a few nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.core.arrays import csr, frozen
from pliant.core.checks import check_array, check_indices
from pliant.core.errors import InputError
from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.mesh import Locator, Mesh
from pliant.models.point_map import CarrierBound, PointMap
from pliant.models.polyline import measure_segments


@dataclass(frozen=True, eq=False)
class BarycentricMap(PointMap):
    """x_k = Σⱼ weights[k, j] q[nodes[k, j]]: p points on n nodes of three unknowns.

    `nodes` (p, j) and `weights` (p, j), which sum to one for each point.
    """

    nodes: IntArray
    weights: FloatArray
    node_count: int

    is_linear: ClassVar[bool] = True

    @classmethod
    def of_points(cls, mesh: Mesh, points: FloatArray, *, what: str, reach: float = 0.0) -> BarycentricMap:
        """Embedded points (p, 3), m, inside `mesh`; one farther outside than `reach` (m) is an error that names it.

        A point outside is extrapolated from the nearest cell.
        """
        locator = Locator(mesh)
        where = locator.locate(points)
        if (where.distance > reach).any():
            locator.locate(points, outside="error", what=what)
        return cls(np.ascontiguousarray(where.nodes, np.int32), where.weights, mesh.node_count)

    def check(self, shape: tuple[int, ...]) -> None:
        """An error where the arrays of the map, read from a file, do not belong together or to a q of `shape`."""
        if shape != (self.node_count, 3):
            raise InputError(f"points of a body of {self.node_count} nodes do not belong to positions of shape {shape}")
        check_array("nodes of points in a body", self.nodes, (len(self.nodes), *self.nodes.shape[1:2]), np.int32)
        check_indices("nodes of points in a body", self.nodes, 0, shape[0])
        check_array("weights of points in a body", self.weights, self.nodes.shape)

    def selected(self, which: Any) -> BarycentricMap:
        """The map of some of the points, in the order of `which`."""
        return BarycentricMap(np.ascontiguousarray(self.nodes[which]), self.weights[which], self.node_count)

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the embedded points, (p, 3), m."""
        positions = np.empty((len(self.nodes), 3))
        _mean_places(frozen(q), *self.means, positions)
        return positions

    def segments(self, q: FloatArray, order: IntArray, fixed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lengths (s,), m, and directions (s, 3) of the segments of a path through the points, in one pass."""
        lengths, units = np.empty(len(fixed) - 1), np.empty((len(fixed) - 1, 3))
        path_segments(frozen(q), *self.means, frozen(order), frozen(fixed), lengths, units)
        return lengths, units

    @classmethod
    def joined(cls, parts: Sequence[BarycentricMap]) -> BarycentricMap:
        """The points of all `parts`, one after the other."""
        nodes, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("nodes", "weights"))
        return cls(nodes, weights, parts[0].node_count)

    def shortenings(
        self, q: FloatArray, order: IntArray, fixed: FloatArray, points: IndexArray, ends: IndexArray
    ) -> tuple[FloatArray, sparse.csr_matrix]:
        """`shortening` of several paths, one after the other: lengths (c,), m, and the rows (c, 3n). `points` and
        `ends` (c + 1,) are where the paths begin among the points of the map, and in `fixed`.
        """
        columns, _ = self._all_columns
        values, lengths = np.empty(len(columns)), np.empty(len(points) - 1)
        _path_shortenings(frozen(q), *self.means, order, fixed, points, ends, lengths, values)
        starts = (3 * self.nodes.shape[1] * points).astype(np.int32)
        return lengths, csr(values, columns, starts, (len(lengths), 3 * self.node_count))

    def shortening(self, q: FloatArray, order: IntArray, fixed: FloatArray) -> tuple[float, sparse.csr_matrix]:
        """Length L of a path through the points, m, and −∂L/∂q (1, 3n), in one pass; `order` and `fixed` read-only."""
        columns, ends = self._all_columns
        values = np.empty(len(columns))
        length = _path_shortening(frozen(q), *self.means, order, fixed, values)
        values.setflags(False)  # kernels read it twice
        return length, csr(values, columns, ends, (1, 3 * self.node_count))

    def pull_back(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """Rows over the nodes, (m, 3n)."""
        return H @ self._matrix

    def pull_back_along(self, q: FloatArray, directions: FloatArray) -> sparse.csr_matrix:
        """Rows over the nodes, (p w, 3n), of each embedded point along its own `directions` (p, w, 3)."""
        count, each = directions.shape[0] * directions.shape[1], 3 * self.nodes.shape[1]
        values = (self.weights[:, None, :, None] * directions[:, :, None, :]).ravel()
        columns = np.repeat(self._all_columns[0].reshape(-1, each), directions.shape[1], axis=0).ravel()
        return csr(values, columns, each * np.arange(count + 1, dtype=np.int32), (count, 3 * self.node_count))

    def blocks(self, q: FloatArray) -> tuple[FloatArray, IntArray]:
        """Derivatives (p, 3, 3j) of the points by the coordinates of their nodes, and their columns (p, 3j)."""
        values = (self.weights[:, None, :, None] * np.eye(3)[:, None]).reshape(len(self.nodes), 3, -1)
        return values, self._all_columns[0].reshape(len(self.nodes), -1)

    def pull_back_row(self, q: FloatArray, slope: FloatArray) -> sparse.csr_matrix:
        """The row over the nodes, (1, 3n), of one row over all points, `slope` (p, 3); nodes may occur twice."""
        values = (self.weights[:, :, None] * slope[:, None, :]).ravel()
        columns, ends = self._all_columns
        return csr(values, columns, ends, (1, 3 * self.node_count))

    def node_poses(self, q: FloatArray) -> FloatArray:
        """Positions of the nodes, (n, 1, 3), m."""
        return q[:, None]

    def carriers(self, q: FloatArray) -> FloatArray:
        """Positions of the nodes, (n, 1, 3), m."""
        return q[:, None]

    def carrier_velocities(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Velocities of the nodes, (n, 3), m/s."""
        return v

    def carrier_bound(self, which: IndexArray) -> CarrierBound:
        """The points `which` (k,) are means of nodes, which have no frames: each is a carrier of its own."""
        stretch = np.abs(self.weights[which]).sum(axis=1)
        return CarrierBound(self.nodes[which].reshape(-1, 1), stretch, np.zeros(len(which)))

    @cached_property
    def means(self) -> tuple[IntArray, FloatArray]:
        """Nodes and weights as kernels take them."""
        return frozen(self.nodes), frozen(self.weights)

    @cached_property
    def _all_columns(self) -> tuple[IntArray, IntArray]:
        columns = (3 * self.nodes[:, :, None] + np.arange(3, dtype=np.int32)).ravel()
        return frozen(columns), frozen(np.array([0, len(columns)], np.int32))

    @cached_property
    def _matrix(self) -> sparse.csr_matrix:
        count, width = self.nodes.shape
        ptr = np.arange(count + 1) * width
        by_point = sparse.csr_matrix((self.weights.ravel(), self.nodes.ravel(), ptr), shape=(count, self.node_count))
        return sparse.kron(by_point, sparse.eye(3), format="csr")


@kernel
def _mean_places(q: FloatArray, nodes: IntArray, weights: FloatArray, positions: FloatArray) -> None:
    """Weighted means of the nodes' positions into `positions` (p, 3)."""
    for p in range(len(nodes)):
        x = y = z = 0.0
        for j in range(nodes.shape[1]):
            n, w = nodes[p, j], weights[p, j]
            x += w * q[n, 0]
            y += w * q[n, 1]
            z += w * q[n, 2]
        positions[p, 0], positions[p, 1], positions[p, 2] = x, y, z


@inline
def _path(
    q: FloatArray, nodes: IntArray, weights: FloatArray, order: IntArray, fixed: FloatArray, path: FloatArray
) -> None:
    """`fixed` (k, 3) with the embedded points in place of those with the indices `order`, into `path`."""
    if len(order) < len(fixed):
        path[:] = fixed
    for p in range(len(nodes)):
        x = y = z = 0.0
        for j in range(nodes.shape[1]):
            n, w = nodes[p, j], weights[p, j]
            x += w * q[n, 0]
            y += w * q[n, 1]
            z += w * q[n, 2]
        k = order[p]
        path[k, 0], path[k, 1], path[k, 2] = x, y, z


@kernel
def path_segments(
    q: FloatArray, nodes: IntArray, weights: FloatArray, order: IntArray, fixed: FloatArray, lengths: FloatArray,
    units: FloatArray,
) -> None:  # fmt: skip
    """Lengths (s,) and directions (s, 3) of the segments of the path."""
    path = np.empty((len(fixed), 3))
    _path(q, nodes, weights, order, fixed, path)
    measure_segments(path, lengths, units)


@kernel
def _path_shortening(
    q: FloatArray, nodes: IntArray, weights: FloatArray, order: IntArray, fixed: FloatArray, values: FloatArray
) -> float:
    """The length of the path; −∂L/∂q by points, their nodes and x, y, z into `values`."""
    count = len(fixed)
    path, lengths, units = np.empty((count, 3)), np.empty(count - 1), np.empty((count - 1, 3))
    _path(q, nodes, weights, order, fixed, path)
    total: float = measure_segments(path, lengths, units)
    entry = 0
    for p in range(len(nodes)):
        k = order[p]
        x = y = z = 0.0
        if k < count - 1:
            x, y, z = units[k, 0], units[k, 1], units[k, 2]
        if k > 0:
            x, y, z = x - units[k - 1, 0], y - units[k - 1, 1], z - units[k - 1, 2]
        for j in range(nodes.shape[1]):
            w = weights[p, j]
            values[entry], values[entry + 1], values[entry + 2] = w * x, w * y, w * z
            entry += 3
    return total


@kernel
def _path_shortenings(
    q: FloatArray, nodes: IntArray, weights: FloatArray, order: IntArray, fixed: FloatArray, points: IndexArray,
    ends: IndexArray, lengths: FloatArray, values: FloatArray,
) -> None:  # fmt: skip
    """`_path_shortening` of paths one after the other."""
    each = 3 * nodes.shape[1]
    for c in range(len(lengths)):
        own, path = slice(points[c], points[c + 1]), slice(ends[c], ends[c + 1])
        entries = values[each * points[c] : each * points[c + 1]]
        lengths[c] = _path_shortening(q, nodes[own], weights[own], order[own], fixed[path], entries)


class NodeMap(PointMap):
    """The nodes of a deformable model themselves."""

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the nodes, (n, 3), m."""
        return q

    def carrier_velocities(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Velocities of the nodes, (n, 3), m/s."""
        return v

    def pull_back(self, q: FloatArray, H: sparse.csr_matrix) -> sparse.csr_matrix:
        """H itself."""
        return H
