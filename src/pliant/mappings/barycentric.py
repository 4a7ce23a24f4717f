"""Points that ride on the nodes of a deformable model, each a weighted mean of a few nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IntArray
from pliant.mesh import Locator, Mesh


@dataclass(frozen=True, eq=False)
class BarycentricMap:
    """x_k = Σⱼ weights[k, j] q[nodes[k, j]]: p points on n nodes of three unknowns.

    `nodes` (p, j) and `weights` (p, j), which sum to one for each point.
    """

    nodes: IntArray
    weights: FloatArray
    node_count: int

    @classmethod
    def of_nodes(cls, nodes: IntArray, node_count: int) -> BarycentricMap:
        """Riding points that are nodes themselves, (p,)."""
        column = np.ascontiguousarray(nodes, np.int32)[:, None]
        return cls(column, np.ones(column.shape), node_count)

    @classmethod
    def of_points(cls, mesh: Mesh, points: FloatArray, *, what: str) -> BarycentricMap:
        """Riding points anywhere inside `mesh` (p, 3), m; one outside is an error that names it and `what`."""
        where = Locator(mesh).locate(points, outside="error", what=what)
        return cls(np.ascontiguousarray(where.nodes, np.int32), where.weights, mesh.node_count)

    @property
    def count(self) -> int:
        """Number of riding points."""
        return len(self.nodes)

    def points(self, q: FloatArray) -> FloatArray:
        """Positions of the riding points, (p, 3), m."""
        if self.nodes.shape[1] == 1:
            return q[self.nodes[:, 0]]
        positions: FloatArray = np.einsum("pj,pji->pi", self.weights, q[self.nodes])
        return positions

    def rows(self, q: FloatArray, members: IntArray, weights: FloatArray, directions: FloatArray) -> sparse.csr_matrix:
        """Rows (m, 3n) of combinations of riding points along `directions`; see `PointMap.rows`."""
        ptr, columns, values = _rows(members, weights, directions, self.nodes, self.weights)
        return sparse.csr_matrix((values, columns, ptr), shape=(len(members), 3 * self.node_count))


@kernel
def _rows(
    members: IntArray, weights: FloatArray, directions: FloatArray, nodes: IntArray, shares: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """CSR of the rows; a node that two members share keeps an entry for each, which products add up."""
    count = 0
    for i in range(members.shape[0]):
        for k in range(members.shape[1]):
            if members[i, k] >= 0:
                count += 3 * nodes.shape[1]
    ptr = np.zeros(members.shape[0] + 1, np.int32)
    columns = np.empty(count, np.int32)
    values = np.empty(count)
    n = 0
    for i in range(members.shape[0]):
        for k in range(members.shape[1]):
            point = members[i, k]
            if point < 0:
                continue
            for j in range(nodes.shape[1]):
                w = weights[i, k] * shares[point, j]
                if w == 0.0:
                    continue
                for axis in range(3):
                    columns[n] = 3 * nodes[point, j] + axis
                    values[n] = w * directions[i, axis]
                    n += 1
        ptr[i + 1] = n
    return ptr, columns[:n], values[:n]
