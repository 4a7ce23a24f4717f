"""Smoothing domains of linear tetrahedra: what keeps tet4 from locking in bending and in volume.

Shear energy is evaluated on the mean deformation gradient of each edge's domain (a sixth of every cell around the
edge; Nguyen-Thoi et al. 2009, "edge-based smoothed finite elements"), volume energy on the mean over patches of whole
cells. A patch is the star of one edge: a greedy partition takes the stars with the most free cells first. Its patches
couple no nodes that the edge domains do not couple already, so the volume part adds nothing to the matrix pattern;
smoothing over nodes, the usual choice, widens it by a quarter. On the Kuhn split of a box the patches are its
hexahedra, and near incompressibility they are far more accurate than nodes; on unstructured meshes both are alike
(docs/results.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray

_EDGES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
"""The edges of a tetrahedron by its corners."""


class Domains(NamedTuple):
    """Smoothing domains as pairs: cell `cell[k]` gives `volume[k]` (m³) of its volume to domain `domain[k]`."""

    domain: IndexArray
    cell: IndexArray
    volume: FloatArray


def edge_domains(cells: IntArray, volumes: FloatArray, material: IntArray) -> Domains:
    """A sixth of every cell to each of its edges; edges on an interface have a domain on each side of it."""
    _, edge_of_cell = _edges(cells, material)
    cell = np.repeat(np.arange(len(cells)), 6)
    return Domains(edge_of_cell.ravel(), cell, np.repeat(volumes / 6.0, 6))


def star_domains(points: FloatArray, cells: IntArray, volumes: FloatArray, material: IntArray) -> Domains:
    """Whole cells, partitioned into stars of edges within one material."""
    ends, edge_of_cell = _edges(cells, material)
    length = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    by_length = np.argsort(-np.round(length / length.max(), 9), kind="stable")
    star_cells = np.argsort(edge_of_cell.ravel(), kind="stable") // 6
    star_ptr = np.concatenate([[0], np.cumsum(np.bincount(edge_of_cell.ravel(), minlength=len(ends)))])
    patch = _partition(star_ptr, star_cells, edge_of_cell, by_length)
    return Domains(patch, np.arange(len(cells)), volumes)


def _edges(cells: IntArray, material: IntArray) -> tuple[IndexArray, IndexArray]:
    """Distinct (edge, material) pairs: their end nodes (e, 2) and their indices by cell (m, 6)."""
    pairs = np.sort(cells[:, _EDGES].astype(np.int64), axis=2)
    node_count = int(cells.max()) + 1
    keys = (material.astype(np.int64)[:, None] * node_count + pairs[:, :, 0]) * node_count + pairs[:, :, 1]
    unique, index = np.unique(keys, return_inverse=True)
    ends = np.stack([unique // node_count % node_count, unique % node_count], axis=1)
    return ends, index.reshape(keys.shape)


@kernel
def _partition(star_ptr, star_cells, edge_of_cell, by_length):
    """Greedy partition: stars with the most unassigned cells first, among equals the longest edge first."""
    edge_count = star_ptr.shape[0] - 1
    free = np.empty(edge_count, np.int64)
    largest = 0
    for k in range(edge_count):
        free[k] = star_ptr[k + 1] - star_ptr[k]
        largest = max(largest, free[k])
    patch = np.full(edge_of_cell.shape[0], -1, np.int64)
    count = 0
    for size in range(largest, 0, -1):
        for k in by_length:
            if free[k] != size:
                continue
            for n in range(star_ptr[k], star_ptr[k + 1]):
                cell = star_cells[n]
                if patch[cell] < 0:
                    patch[cell] = count
                    for edge in edge_of_cell[cell]:
                        free[edge] -= 1
            count += 1
    return patch
