"""The volume mesh: nodes, cells of one element kind, checked once and never changed afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import as_array, finite_array, index_array
from pliant.core.declared import declared
from pliant.core.errors import InputError, MeshError
from pliant.core.immutable import KeepsArraysReadOnly
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.mesh import geometry
from pliant.mesh.conversion import converted
from pliant.mesh.elements import Element, ElementName, element_table
from pliant.mesh.geometry import listed
from pliant.mesh.surface import Surface, extract_surface

_FLAT = 1e-12
"""A cell is flat where its volume is below this times the cube of its longest edge: rounding of coordinates."""
_ORTHOGONAL = 1e-8
"""Largest entry of |RRᵀ − I| of a rotation matrix: accepts matrices that were written with ten digits."""


@dataclass(frozen=True, eq=False)
class Mesh(KeepsArraysReadOnly):
    """A volume mesh in metres.

    points   (n, 3) float64, m; read-only
    cells    (m, k) int32 node indices in the order of VTK; read-only
    element  "tet4" (k = 4), "tet10" (k = 10) or "hex8" (k = 8)

    The constructor takes copies and checks them: finite points, indices in range, every node used (an unused one
    would make the stiffness singular), no repeated cell, every cell of positive volume. Use `Mesh.oriented` for
    cells whose node order may be mirrored.
    """

    points: FloatArray
    cells: IntArray
    element: ElementName

    def __post_init__(self) -> None:
        table = element_table(self.element)
        points = np.array(finite_array("points", self.points, shape=(None, 3)))
        cells = _checked_cells(self.cells, table, len(points))
        _check_nodes_used(cells, len(points))
        _check_no_repeats(cells)
        _check_volumes(points, cells, self.element)
        self._store(points, cells)

    def _store(self, points: FloatArray, cells: IntArray) -> None:
        points.setflags(write=False)
        cells.setflags(write=False)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "cells", cells)

    @classmethod
    def oriented(cls, points: Any, cells: Any, element: ElementName) -> Mesh:
        """A mesh from cells of either orientation: those of negative volume are mirrored."""
        table = element_table(element)
        points = finite_array("points", points, shape=(None, 3))
        cells = _checked_cells(cells, table, len(points))
        wrong = geometry.cell_volumes(points, cells, element) < 0.0
        cells[wrong] = cells[wrong][:, table.flip]
        return cls(points, cells, element)

    @property
    def table(self) -> Element:
        """The table of the element: faces, edges, names in other software."""
        return element_table(self.element)

    @property
    def node_count(self) -> int:
        """Count of nodes."""
        return len(self.points)

    @property
    def cell_count(self) -> int:
        """Count of cells."""
        return len(self.cells)

    @property
    def bounds(self) -> FloatArray:
        """Lower and upper corner of the box around the nodes, m, shape (2, 3)."""
        return np.array([self.points.min(axis=0), self.points.max(axis=0)])

    @cached_property
    def volume(self) -> float:
        """Volume of the cells together, m³."""
        return float(self.cell_volumes().sum())

    @property
    def corner_cells(self) -> IntArray:
        """The corner nodes of each cell, shape (m, 4) for tetrahedra of either order, (m, 8) for hexahedra."""
        return self.cells[:, : self.table.corner_count]

    def cell_volumes(self) -> FloatArray:
        """Volume of each cell, m³, shape (m,)."""
        return geometry.cell_volumes(self.points, self.cells, self.element)

    def edges(self) -> IntArray:
        """Every edge between corners once, as pairs of nodes in ascending order, shape (e, 2)."""
        pairs = np.sort(self.cells[:, self.table.edges].reshape(-1, 2), axis=1).astype(np.int64)
        keys = np.unique(pairs[:, 0] * self.node_count + pairs[:, 1])
        return np.column_stack([keys // self.node_count, keys % self.node_count]).astype(np.int32)

    def surface(self) -> Surface:
        """The boundary, outward; computed once."""
        return self._surface

    @cached_property
    def _surface(self) -> Surface:
        return extract_surface(self.points, self.cells, self.element)

    def quality(self) -> FloatArray:
        """Shape of each cell, shape (m,): 1 for a regular tetrahedron or a box, towards 0 for a flat cell.

        Tetrahedra: mean ratio of the corners. Hexahedra: least scaled Jacobian over the corners.
        """
        if self.element == "hex8":
            return geometry.scaled_jacobian(self.points, self.cells)
        return geometry.mean_ratio(self.points, self.cells)

    def check_quality(self, *, minimum: float = 0.02) -> None:
        """Raise a `MeshError` that names the worst cells when some quality is below `minimum` (usual: 0.01–0.2)."""
        quality = self.quality()
        poor = np.flatnonzero(quality < minimum)
        if len(poor):
            worst = poor[np.argsort(quality[poor], kind="stable")]
            raise MeshError(
                f"{listed('cell', worst)} of {self.cell_count} {_are(worst)} badly shaped (quality "
                f"{quality[worst[0]]:.3g}, minimum {minimum:g}): remesh there, or lower `minimum` knowing that such "
                "cells make the stiffness ill-conditioned"
            )

    def translated(self, vector: Any) -> Mesh:
        """The mesh moved by `vector` (3,) m."""
        return self._moved(self.points + finite_array("vector", vector, shape=(3,)))

    def rotated(self, rotation: Any, *, center: Any = (0.0, 0.0, 0.0)) -> Mesh:
        """The mesh rotated about `center` (3,) m by a matrix (3, 3), a rotation vector (3,) rad or a SciPy Rotation."""
        pivot = finite_array("center", center, shape=(3,))
        return self._moved((self.points - pivot) @ rotation_matrix(rotation).T + pivot)

    def scaled(self, factor: Any) -> Mesh:
        """The mesh scaled about the origin by one factor or one per axis, all > 0."""
        factors = finite_array("factor", factor)
        if factors.shape not in ((), (3,)) or not (factors > 0.0).all():
            raise InputError(f"factor must be one number > 0 or three, got {factor!r}")
        return self._moved(self.points * factors)

    def mapped(self, function: Callable[[FloatArray], FloatArray]) -> Mesh:
        """The mesh with every node moved to `function(points)`, (n, 3) m to (n, 3) m; cell volumes must stay > 0."""
        return self._moved(function(np.array(self.points)))

    def reshaped(self, points: Any) -> Mesh:
        """The same cells over other `points` (n, 3), m. Patches of cells that are chosen by lengths of edges (the
        anti-locking of tet4) stay those of this mesh, so that what is computed changes continuously with the points.
        """
        mesh = self._moved(points)
        object.__setattr__(mesh, "_reference", self.reference)
        return mesh

    @property
    def reference(self) -> FloatArray:
        """Points (n, 3), m, by whose edges patches of cells are chosen: those of the mesh that was `reshaped`."""
        return getattr(self, "_reference", self.points)

    def with_element(self, element: ElementName) -> Mesh:
        """The same shape in another element.

        "tet4" → "tet10" adds a node at the middle of every edge, after the existing ones; "tet10" → "tet4" drops
        them; "hex8" → "tet4" splits every cell in 6, and conforms; "hex8" → "tet10" does both.
        """
        table = element_table(element)
        if element == self.element:
            return self
        points, cells = converted(self.points, self.cells, self.element, table.name)
        return Mesh(points, cells, table.name)

    def _moved(self, points: Any) -> Mesh:
        """The same cells over other points; the topology is not checked again."""
        points = np.array(finite_array("points", points, shape=self.points.shape))
        _check_volumes(points, self.cells, self.element)
        mesh = object.__new__(Mesh)
        object.__setattr__(mesh, "element", self.element)
        mesh._store(points, self.cells)
        return mesh

    def __reduce__(self) -> tuple[Any, ...]:
        # pickled arrays come back writable, so a mesh is rebuilt through its constructor
        return Mesh, (self.points, self.cells, self.element)

    def __repr__(self) -> str:
        size = " × ".join(f"{s:.4g}" for s in np.ptp(self.bounds, axis=0))
        return f"Mesh({self.node_count} nodes, {self.cell_count} {self.element}, {size} m)"


def _are(indices: IndexArray) -> str:
    return "is" if len(indices) == 1 else "are"


def _checked_cells(cells: Any, table: Element, node_count: int) -> IntArray:
    """A copy of `cells` as int32 (m, k), in range and without a node repeated inside a cell."""
    given = as_array(cells)
    if given.ndim != 2 or given.shape[1] != table.node_count or given.dtype.kind not in "iu":
        raise MeshError(
            f"cells of a {table.name} mesh must be integers of shape (m, {table.node_count}), got {given.dtype} "
            f"of shape {given.shape}"
        )
    if len(given) == 0:
        raise MeshError("the mesh has no cells; a body needs at least one")
    outside = np.flatnonzero(((given < 0) | (given >= node_count)).any(axis=1))
    if len(outside):
        raise MeshError(
            f"{listed('cell', outside)} {'refers' if len(outside) == 1 else 'refer'} to nodes outside "
            f"0…{node_count - 1} (cell {outside[0]} has nodes {given[outside[0]].tolist()}); node indices start at 0"
        )
    ordered = np.sort(given, axis=1)
    folded = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(folded):
        raise MeshError(
            f"{listed('cell', folded)} {'has' if len(folded) == 1 else 'have'} the same node twice (cell {folded[0]}: "
            f"{given[folded[0]].tolist()}); remove collapsed cells"
        )
    return np.array(given, dtype=np.int32, order="C")


def _check_nodes_used(cells: IntArray, node_count: int) -> None:
    unused = np.flatnonzero(np.bincount(cells.ravel(), minlength=node_count) == 0)
    if len(unused):
        raise MeshError(
            f"{listed('node', unused)} of {node_count} {_are(unused)} used by no cell and would make the stiffness "
            "singular; pass them through pl.mesh.drop_unused_nodes(points, cells) first"
        )


def _check_no_repeats(cells: IntArray) -> None:
    ordered = np.sort(cells, axis=1)
    order = np.lexsort(ordered.T)
    same = (ordered[order][1:] == ordered[order][:-1]).all(axis=1)
    if same.any():
        repeated = np.sort(order[1:][same])
        raise MeshError(f"{listed('cell', repeated)} {_are(repeated)} repeated; remove repeated cells")


def _check_volumes(points: FloatArray, cells: IntArray, element: str) -> None:
    """Raise a `MeshError` that names inverted and flat cells."""
    worst = geometry.worst_volumes(points, cells, element)
    limit = _FLAT * geometry.longest_edges(points, cells, element) ** 3
    bad = np.flatnonzero(~(worst > limit))
    if len(bad) == 0:
        return
    inverted = bad[worst[bad] < -limit[bad]]
    if len(inverted):
        least = inverted[np.argmin(worst[inverted])]
        raise MeshError(
            f"{listed('cell', inverted)} {_are(inverted)} inverted (signed volume {worst[least]:.3g} m³ in cell "
            f"{least}): if only the node order is mirrored, build the mesh with Mesh.oriented(points, cells, element); "
            "otherwise move the nodes so that the cells do not fold"
        )
    raise MeshError(
        f"{listed('cell', bad)} {_are(bad)} flat (volume {worst[bad[0]]:.3g} m³ in cell {bad[0]}, whose nodes are "
        f"{cells[bad[0]].tolist()}): remove or remesh flat cells, they have no stiffness"
    )


def rotation_matrix(rotation: Any) -> FloatArray:
    """A proper rotation matrix (3, 3) from a matrix, a rotation vector or a SciPy Rotation."""
    from scipy.spatial.transform import Rotation

    if isinstance(rotation, Rotation):
        return np.asarray(rotation.as_matrix(), dtype=np.float64)
    array = finite_array("rotation", rotation)
    if array.shape == (3,):
        return np.asarray(Rotation.from_rotvec(array).as_matrix(), dtype=np.float64)
    if array.shape != (3, 3):
        raise InputError(f"rotation must be a (3, 3) matrix, a rotation vector (3,) or a Rotation, got {array.shape}")
    error = np.abs(array @ array.T - np.eye(3)).max()
    if error > _ORTHOGONAL or np.linalg.det(array) < 0.0:
        raise InputError(
            f"rotation is not a rotation matrix: |RRᵀ − I| = {error:.2g}, det = {np.linalg.det(array):.3g}"
        )
    return array


@declared
def drop_unused_nodes(points: Any, cells: Any) -> tuple[FloatArray, IntArray]:
    """`points` (n, 3) without those that no cell uses, and `cells` (m, k) renumbered; the kept nodes stay in order."""
    points = finite_array("points", points, shape=(None, 3))
    cells = index_array("cells", cells, len(points), width=None, error=MeshError)
    used = np.zeros(len(points), dtype=bool)
    used[cells] = True
    new_index = np.cumsum(used, dtype=np.int32) - 1
    return points[used], new_index[cells]
