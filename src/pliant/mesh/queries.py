"""Location of points in a mesh: the cell, the weights of its nodes, and the nearest cell for points outside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import InputError, MeshError
from pliant.core.kernels import inline, kernel
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.mesh.geometry import listed
from pliant.mesh.inversion import KINDS, depth, fill_jacobian, fill_shape, invert, solve3, start
from pliant.mesh.mesh import Mesh
from pliant.mesh.tree import LEAF, STACK, BoxTree, build_tree, holds, squared_distance

_INSIDE = 1e-9
"""Depth below its faces, in reference coordinates, to which a point counts as inside a cell: rounding."""


@dataclass(frozen=True, eq=False)
class Location:
    """Location of p points in a mesh.

    cells     (p,) cell that contains the point, or the nearest one
    nodes     (p, k) nodes of that cell
    weights   (p, k) their weights: Σ weights = 1 and Σ weights · nodes = the point, outside too (extrapolated there)
    inside    (p,) whether the point is inside the mesh
    distance  (p,) m, to the triangles of the surface; 0 inside
    """

    cells: IntArray
    nodes: IntArray
    weights: FloatArray
    inside: BoolArray
    distance: FloatArray

    def interpolate(self, values: FloatArray) -> FloatArray:
        """Values at the points (p, …) from `values` at the nodes of the mesh (n, …)."""
        return np.asarray(np.einsum("pk,pk...->p...", self.weights, np.asarray(values)[self.nodes]))


class Locator:
    """Finds points in a mesh: exact for tetrahedra with straight sides, by Newton's method for the others.

    Cells are found through a tree of bounding boxes; a point outside is attached to the cell under the nearest
    triangle of the surface, and its weights extend that cell's linearization beyond the face.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        corners = mesh.points[mesh.cells]
        lower, upper = corners.min(axis=1), corners.max(axis=1)
        # bent cells may bulge out of the box of their nodes
        bulge = 0.1 if mesh.element == "tet10" else 1e-9
        pad = bulge * (upper - lower).max(axis=1, keepdims=True)
        self._cell_tree = build_tree(lower - pad, upper + pad)

    def locate(
        self, points: Any, *, outside: Literal["nearest", "error"] = "nearest", what: str = "points"
    ) -> Location:
        """Locate `points` (p, 3) m. Those outside take the nearest cell, or raise an error that names them."""
        if outside not in ("nearest", "error"):
            raise InputError(f'outside must be "nearest" or "error", got {outside!r}')
        queries = np.atleast_2d(np.array(finite_array(what, points)))
        if queries.shape[1:] != (3,):
            raise InputError(f"{what} must have shape (p, 3), got {queries.shape}")
        mesh, kind = self.mesh, KINDS[self.mesh.element]
        cells = np.full(len(queries), -1, dtype=np.int32)
        weights = np.zeros((len(queries), mesh.cells.shape[1]))
        tree = self._cell_tree
        _find_cells(kind, mesh.points, mesh.cells, tree.lower, tree.upper, tree.order, queries, cells, weights)
        inside = cells >= 0
        distance = np.zeros(len(queries))
        strays = np.flatnonzero(~inside).astype(np.int64)
        if len(strays):
            self._attach_outside(queries, strays, cells, weights, distance)
        if len(strays) and outside == "error":
            self._raise_outside(queries, strays, distance, what)
        return Location(cells, mesh.cells[cells], weights, inside, distance)

    @cached_property
    def _surface_tree(self) -> BoxTree:
        surface = self.mesh.surface()
        corners = surface.points[surface.triangles]
        return build_tree(corners.min(axis=1), corners.max(axis=1))

    def _attach_outside(
        self, queries: FloatArray, rows: IndexArray, cells: IntArray, weights: FloatArray, distance: FloatArray
    ) -> None:
        surface, tree, mesh = self.mesh.surface(), self._surface_tree, self.mesh
        targets = queries[rows]
        nearest, feet = nearest_triangles(mesh.points, surface.triangles, tree, targets)
        cells[rows] = surface.triangle_cells[nearest]
        distance[rows] = np.linalg.norm(targets - feet, axis=1)
        extended = np.empty((len(rows), mesh.cells.shape[1]))
        _extend(KINDS[mesh.element], mesh.points, mesh.cells, cells[rows], feet, targets, extended)
        weights[rows] = extended

    def _raise_outside(self, queries: FloatArray, rows: IndexArray, distance: FloatArray, what: str) -> None:
        worst = rows[np.argmax(distance[rows])]
        low, high = (", ".join(f"{x:.4g}" for x in corner) for corner in self.mesh.bounds)
        place = ", ".join(f"{x:.4g}" for x in queries[worst])
        raise MeshError(
            f"{what}: {listed('point', rows)} of {len(queries)} outside the mesh; point {worst} at ({place}) m is "
            f"{distance[worst]:.3g} m from its surface. The mesh spans ({low}) to ({high}) m: move the points, and "
            "check their unit"
        )


@kernel
def _find_cells(
    kind: int,
    points: FloatArray,
    cells: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    order: IntArray,
    queries: FloatArray,
    found: IntArray,
    weights: FloatArray,
) -> None:
    """Write the deepest cell around each query and the shape functions there; `found` stays −1 outside."""
    k, first_leaf = cells.shape[1], len(lower) // 2
    stack = np.empty(STACK, dtype=np.int64)
    xi, n, dn, work = np.empty(3), np.empty(k), np.empty((k, 3)), np.empty((5, 3))
    for q in range(len(queries)):
        best, top = -_INSIDE, 1
        stack[0] = 0
        while top > 0:
            top -= 1
            node = stack[top]
            if not holds(lower, upper, node, queries[q]):
                continue
            if node < first_leaf:
                stack[top], stack[top + 1] = 2 * node + 2, 2 * node + 1
                top += 2
                continue
            begin = (node - first_leaf) * LEAF
            for cell in order[begin : min(begin + LEAF, len(order))]:
                start(kind, xi)
                if not invert(kind, points, cells[cell], queries[q], xi, n, dn, work):
                    continue
                inner = depth(kind, xi)
                if inner > best or (found[q] < 0 and inner == best):
                    best, found[q] = inner, cell
                    fill_shape(kind, xi, n, dn)
                    weights[q] = n
            if best > _INSIDE:
                break


def nearest_triangles(
    points: FloatArray, triangles: IntArray, tree: BoxTree, queries: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Nearest of `triangles` (t, 3) over `points` (n, 3), m, to each of the `queries` (p, 3), m, and the feet on them.

    `tree` is that of the triangles' boxes. Shapes (p,) and (p, 3), m.
    """
    feet, nearest = np.empty((len(queries), 3)), np.empty(len(queries), dtype=np.int32)
    _find_nearest(points, triangles, tree.lower, tree.upper, tree.order, queries, feet, nearest)
    return nearest, feet


@kernel
def _find_nearest(
    points: FloatArray,
    triangles: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    order: IntArray,
    queries: FloatArray,
    feet: FloatArray,
    nearest: IntArray,
) -> None:
    """Write the nearest triangle of each query and the foot (3,) on it, by branch and bound."""
    first_leaf = len(lower) // 2
    stack = np.empty(STACK, dtype=np.int64)
    foot = np.empty(3)
    for q in range(len(queries)):
        best, top = np.inf, 1
        stack[0] = 0
        while top > 0:
            top -= 1
            node = stack[top]
            if squared_distance(lower, upper, node, queries[q]) >= best:
                continue
            if node < first_leaf:
                near, far = 2 * node + 1, 2 * node + 2
                if squared_distance(lower, upper, far, queries[q]) < squared_distance(lower, upper, near, queries[q]):
                    near, far = far, near
                stack[top], stack[top + 1] = far, near
                top += 2
                continue
            begin = (node - first_leaf) * LEAF
            for triangle in order[begin : min(begin + LEAF, len(order))]:
                a, b, c = triangles[triangle]
                squared = closest_on_triangle(points[a], points[b], points[c], queries[q], foot)
                if squared < best:
                    best, nearest[q] = squared, triangle
                    feet[q] = foot


@inline
def closest_on_triangle(a: FloatArray, b: FloatArray, c: FloatArray, p: FloatArray, foot: FloatArray) -> float:
    """Write the point of the triangle abc nearest to p and return the squared distance, m².

    Reference: C. Ericson, "Real-Time Collision Detection", 2005, section 5.1.5.
    """
    ab0, ab1, ab2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    ac0, ac1, ac2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    d1 = ab0 * (p[0] - a[0]) + ab1 * (p[1] - a[1]) + ab2 * (p[2] - a[2])
    d2 = ac0 * (p[0] - a[0]) + ac1 * (p[1] - a[1]) + ac2 * (p[2] - a[2])
    d3 = ab0 * (p[0] - b[0]) + ab1 * (p[1] - b[1]) + ab2 * (p[2] - b[2])
    d4 = ac0 * (p[0] - b[0]) + ac1 * (p[1] - b[1]) + ac2 * (p[2] - b[2])
    d5 = ab0 * (p[0] - c[0]) + ab1 * (p[1] - c[1]) + ab2 * (p[2] - c[2])
    d6 = ac0 * (p[0] - c[0]) + ac1 * (p[1] - c[1]) + ac2 * (p[2] - c[2])
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    if d1 <= 0.0 and d2 <= 0.0:
        v, w = 0.0, 0.0
    elif d3 >= 0.0 and d4 <= d3:
        v, w = 1.0, 0.0
    elif d6 >= 0.0 and d5 <= d6:
        v, w = 0.0, 1.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v, w = d1 / (d1 - d3), 0.0
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        v, w = 0.0, d2 / (d2 - d6)
    elif va <= 0.0 and d4 >= d3 and d5 >= d6:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        v = 1.0 - w
    else:
        v, w = vb / (va + vb + vc), vc / (va + vb + vc)
    foot[0], foot[1], foot[2] = a[0] + v * ab0 + w * ac0, a[1] + v * ab1 + w * ac1, a[2] + v * ab2 + w * ac2
    return float((p[0] - foot[0]) ** 2 + (p[1] - foot[1]) ** 2 + (p[2] - foot[2]) ** 2)


@kernel
def _extend(
    kind: int,
    points: FloatArray,
    cells: IntArray,
    owners: IntArray,
    feet: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
) -> None:
    """Write N(ξ) + ∂N/∂ξ J⁻¹ (target − x(ξ)) with ξ at the foot: reproduces the target, and sums to one."""
    k = cells.shape[1]
    xi, n, dn, work = np.empty(3), np.empty(k), np.empty((k, 3)), np.empty((5, 3))
    for q in range(len(feet)):
        cell = cells[owners[q]]
        start(kind, xi)
        invert(kind, points, cell, feet[q], xi, n, dn, work)
        fill_shape(kind, xi, n, dn)
        fill_jacobian(points, cell, dn, work[:3])
        for i in range(3):
            work[3, i] = targets[q, i]
            for a in range(k):
                work[3, i] -= points[cell[a], i] * n[a]
        solve3(work[:3], work[3], work[4])
        for a in range(k):
            weights[q, a] = n[a] + dn[a, 0] * work[4, 0] + dn[a, 1] * work[4, 1] + dn[a, 2] * work[4, 2]
