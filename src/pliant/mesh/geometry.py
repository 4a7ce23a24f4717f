"""Measures of cells as array functions: Jacobians, volumes, shape quality, and the wording of cell lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.mesh.elements import ELEMENTS, HEX_CORNERS, shape_gradients
from pliant.mesh.quadrature import gauss

_CHUNK = 20_000
"""Cells whose Jacobians are held in memory at once: at most 40 MB with 27 points each."""


def jacobian_determinants(points: FloatArray, cells: IntArray, element: str, xi: FloatArray) -> FloatArray:
    """Determinants det ∂x/∂ξ of each cell at the reference points `xi` (q, 3): shape (m, q), m³."""
    gradients = shape_gradients(element, xi)
    result = np.empty((len(cells), len(xi)))
    for start in range(0, len(cells), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        jacobians = np.einsum("mki,qkj->mqij", points[cells[chunk]], gradients, optimize=True)
        result[chunk] = _determinants(jacobians)
    return result


def cell_volumes(points: FloatArray, cells: IntArray, element: str) -> FloatArray:
    """Signed volume of each cell, m³, shape (m,): exact for straight and for curved cells."""
    if element == "tet4":
        corners = points[cells]
        return _determinants(corners[:, 1:] - corners[:, :1]) / 6.0
    # det J of a tet10 has degree 3, of a hex8 degree 2 in each variable: these rules integrate them exactly
    xi, weights = gauss(element, 3)
    return jacobian_determinants(points, cells, element, xi) @ weights


def worst_volumes(points: FloatArray, cells: IntArray, element: str) -> FloatArray:
    """Smallest of the signed volume and of det J × reference volume at the stiffness points, m³, shape (m,).

    Positive for every cell that an assembly can use; a tetrahedron with straight sides has just its volume.
    """
    volumes = cell_volumes(points, cells, element)
    if element == "tet4":
        return volumes
    xi, weights = gauss(element)
    local = jacobian_determinants(points, cells, element, xi).min(axis=1) * weights.sum()
    return np.asarray(np.minimum(volumes, local))


def longest_edges(points: FloatArray, cells: IntArray, element: str) -> FloatArray:
    """Length of the longest edge between corners of each cell, m, shape (m,)."""
    edges = ELEMENTS[element].edges
    squared = [((points[cells[:, a]] - points[cells[:, b]]) ** 2).sum(axis=1) for a, b in edges]
    return np.asarray(np.sqrt(np.max(squared, axis=0)))


def mean_ratio(points: FloatArray, cells: IntArray) -> FloatArray:
    """Quality of the corner tetrahedra, 12 (3V)^⅔ / Σ l²: 1 for a regular one, 0 for a flat one. Shape (m,).

    Reference: A. Liu and B. Joe, "Relationship between tetrahedron shape measures", BIT 34, 1994.
    """
    volumes = np.maximum(cell_volumes(points, cells[:, :4], "tet4"), 0.0)
    squared = sum(((points[cells[:, a]] - points[cells[:, b]]) ** 2).sum(axis=1) for a, b in ELEMENTS["tet4"].edges)
    return np.asarray(12.0 * np.cbrt(3.0 * volumes) ** 2 / squared)


def scaled_jacobian(points: FloatArray, cells: IntArray) -> FloatArray:
    """Quality of hexahedra, the least det J over the corners with unit edges: 1 for a box. Shape (m,)."""
    gradients = shape_gradients("hex8", HEX_CORNERS)
    jacobians = np.einsum("mki,qkj->mqij", points[cells], gradients, optimize=True)
    lengths = np.linalg.norm(jacobians, axis=2)
    return np.asarray((_determinants(jacobians) / np.prod(lengths, axis=2)).min(axis=1))


def listed(what: str, indices: Iterable[int], limit: int = 5) -> str:
    """Text of a list of indices: "cell 3", "cells 12, 57 and 3 more"."""
    given = [int(i) for i in indices]
    if len(given) == 1:
        return f"{what} {given[0]}"
    head, rest = given[:limit], len(given) - limit
    if rest > 0:
        return f"{what}s {', '.join(map(str, head))} and {rest} more"
    return f"{what}s {', '.join(map(str, head[:-1]))} and {head[-1]}"


def connected(first: Any, second: Any, count: int) -> tuple[int, IntArray]:
    """Count of components of a graph of `count` nodes with edges `first`–`second`, and the component of each node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(count, count))
    found, labels = connected_components(graph, directed=False)
    return int(found), labels


def _determinants(m: FloatArray) -> FloatArray:
    """Determinants of 3×3 matrices (…, 3, 3), written out: ten times faster than the general routine."""
    determinant: FloatArray = (
        m[..., 0, 0] * (m[..., 1, 1] * m[..., 2, 2] - m[..., 1, 2] * m[..., 2, 1])
        - m[..., 0, 1] * (m[..., 1, 0] * m[..., 2, 2] - m[..., 1, 2] * m[..., 2, 0])
        + m[..., 0, 2] * (m[..., 1, 0] * m[..., 2, 1] - m[..., 1, 1] * m[..., 2, 0])
    )
    return determinant
