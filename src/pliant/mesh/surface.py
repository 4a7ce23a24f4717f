"""Boundary surfaces of volume meshes: extraction, closedness, orientation, shells, and the measures of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import check_array, check_indices, finite_array, index_array
from pliant.core.errors import MeshError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.mesh.elements import ELEMENTS, FacetName
from pliant.mesh.geometry import connected, listed

_CORNERS = {"tri3": 3, "tri6": 6, "quad4": 4}
"""Nodes of each kind of facet."""


@one_line
@dataclass(frozen=True, eq=False)
class Surface:
    """A triangulated surface whose triangles refer to the nodes of a volume mesh. Outward: counter-clockwise.

    points           (n, 3) m, all nodes of the mesh, so that node indices are those of the mesh
    triangles        (t, 3) node indices; quadrilaterals give 2 triangles, six-node triangles 4
    facets           (f, 3 | 6 | 4) the faces themselves with all their nodes, for the integration of loads
    facet            "tri3", "tri6" or "quad4"
    facet_cells      (f,) cell that owns each facet, −1 where there is none (a surface loaded from a file)
    triangle_facets  (t,) facet that contains each triangle
    """

    points: FloatArray
    triangles: IntArray
    facets: IntArray
    facet: FacetName
    facet_cells: IntArray
    triangle_facets: IntArray

    def __post_init__(self) -> None:
        given = isinstance(self.points, np.ndarray) and isinstance(self.triangles, np.ndarray)
        if not given or not isinstance(self.facets, np.ndarray) or self.facet not in _CORNERS:
            raise MeshError("a Surface takes arrays and the name of its facets; Surface.from_triangles takes lists")
        count, facets = len(self.points), len(self.facets)
        check_array("points", self.points, (count, 3))
        for name, width, limit in (("triangles", 3, count), ("facets", _CORNERS[self.facet], count)):
            array = getattr(self, name)
            check_array(name, array, (len(array), width), np.int32)
            check_indices(name, array, 0, limit)
        for name, rows, first, limit in (
            ("facet_cells", facets, -1, 2**31), ("triangle_facets", len(self.triangles), 0, facets),
        ):  # fmt: skip
            check_array(name, getattr(self, name), (rows,), np.int32)
            check_indices(name, getattr(self, name), first, limit)
        for array in (self.points, self.triangles, self.facets, self.facet_cells, self.triangle_facets):
            array.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # pickled arrays come back writable, so a surface is rebuilt through its constructor
        return Surface, tuple(getattr(self, item.name) for item in fields(self))

    @classmethod
    def from_triangles(cls, points: FloatArray, triangles: IntArray) -> Surface:
        """A surface of plain triangles (t, 3) over `points` (n, 3) m, owned by no cell."""
        points = np.array(finite_array("points", points, shape=(None, 3)))
        triangles = index_array("triangles", triangles, len(points), width=3, error=MeshError)
        if len(triangles) == 0:
            raise MeshError("triangles must have shape (t, 3) with t ≥ 1, got none")
        index = np.arange(len(triangles), dtype=np.int32)
        return cls(points, triangles, triangles, "tri3", facet_cells=np.full_like(index, -1), triangle_facets=index)

    @cached_property
    def nodes(self) -> IntArray:
        """Indices of the nodes on the surface, ascending, shape (s,)."""
        nodes = np.unique(self.facets).astype(np.int32)
        nodes.setflags(write=False)
        return nodes

    @property
    def triangle_cells(self) -> IntArray:
        """Cell that owns each triangle, shape (t,)."""
        return self.facet_cells[self.triangle_facets]

    def area_vectors(self) -> FloatArray:
        """Normal of each triangle times its area, m², shape (t, 3)."""
        a, b, c = (self.points[self.triangles[:, i]] for i in range(3))
        return np.asarray(0.5 * np.cross(b - a, c - a), np.float64)

    def area(self) -> float:
        """Area of the triangles together, m²."""
        return float(np.linalg.norm(self.area_vectors(), axis=1).sum())

    def volume(self) -> float:
        """Volume enclosed by the triangles, m³: positive for an outer shell, negative for the shell of a cavity."""
        center = 0.5 * (self.points[self.nodes].min(axis=0) + self.points[self.nodes].max(axis=0))
        centroids = self.points[self.triangles].mean(axis=1) - center
        return float(np.einsum("ti,ti->", centroids, self.area_vectors()) / 3.0)

    def is_closed(self) -> bool:
        """Whether the surface has no open edge."""
        return len(self.open_edges()) == 0

    def open_edges(self) -> IntArray:
        """Edges used by an odd number of triangles, as pairs of nodes, shape (e, 2)."""
        edges, uses, _ = self._edge_uses
        return np.asarray(edges[uses % 2 == 1])

    def check_closed(self) -> None:
        """Raise a `MeshError` that names open edges when the surface has any."""
        edges = self.open_edges()
        if len(edges):
            raise MeshError(
                f"the surface is open at {len(edges)} of its edges (between nodes {_named(edges)}): "
                "it encloses no volume; close the holes or merge the duplicated vertices"
            )

    def check_orientation(self) -> None:
        """Raise a `MeshError` that names edges whose two triangles disagree about the outside."""
        edges, uses, balance = self._edge_uses
        wrong = edges[(uses % 2 == 0) & (balance != 0)]
        if len(wrong):
            raise MeshError(
                f"neighbouring triangles have opposite orientations at the edges between nodes {_named(wrong)}; "
                "reverse the node order of the wrong ones so that all are counter-clockwise from outside"
            )

    def components(self) -> list[Surface]:
        """The connected shells, by decreasing signed volume: the outer one first, cavities (negative) last.

        Triangles are connected where they share an edge. Every shell refers to the same `points`.
        """
        count, labels = self._shells
        shells = [self.selected(np.flatnonzero(labels == i)) for i in range(count)]
        return sorted(shells, key=lambda shell: -shell.volume())

    def flipped(self) -> Surface:
        """The same surface with opposite orientation, e.g. a cavity's shell oriented out of its air."""
        reverse = {"tri3": [0, 2, 1], "tri6": [0, 2, 1, 5, 4, 3], "quad4": [0, 3, 2, 1]}[self.facet]
        return replace(self, triangles=self.triangles[:, [0, 2, 1]], facets=self.facets[:, reverse])

    def with_points(self, points: FloatArray) -> Surface:
        """The same triangles over other `points` (n, 3) m, e.g. the deformed ones."""
        return replace(self, points=np.array(finite_array("points", points, shape=self.points.shape)))

    def selected(self, facets: IndexArray) -> Surface:
        """The part of the surface made of the given facets (indices or mask)."""
        chosen = np.arange(len(self.facets))[facets]
        new_index = np.full(len(self.facets), -1, dtype=np.int32)
        new_index[chosen] = np.arange(len(chosen), dtype=np.int32)
        kept = new_index[self.triangle_facets] >= 0
        return replace(
            self,
            triangles=self.triangles[kept],
            facets=self.facets[chosen],
            facet_cells=self.facet_cells[chosen],
            triangle_facets=new_index[self.triangle_facets[kept]],
        )

    @cached_property
    def _edge_uses(self) -> tuple[IntArray, IndexArray, IndexArray]:
        """Undirected edges (e, 2), how many triangles use each, and uses forward minus uses backward."""
        directed = self.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
        low, high = directed.min(axis=1), directed.max(axis=1)
        keys, inverse, uses = np.unique(low * len(self.points) + high, return_inverse=True, return_counts=True)
        forward = np.where(directed[:, 0] == low, 1.0, -1.0)
        balance = np.bincount(inverse, weights=forward, minlength=len(keys)).astype(np.int64)
        edges = np.column_stack([keys // len(self.points), keys % len(self.points)]).astype(np.int32)
        return edges, uses, balance

    @cached_property
    def _shells(self) -> tuple[int, IntArray]:
        """Count of shells and the shell of each facet (f,); facets are connected across edges of triangles."""
        directed = self.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
        keys = directed.min(axis=1) * len(self.points) + directed.max(axis=1)
        owner = np.repeat(self.triangle_facets, 3)
        order = np.argsort(keys, kind="stable")
        same = keys[order][1:] == keys[order][:-1]
        return connected(owner[order][:-1][same], owner[order][1:][same], len(self.facets))


def _named(edges: IntArray) -> str:
    """The first five edges by their nodes, and the count of the others."""
    more = f" and {len(edges) - 5} more" if len(edges) > 5 else ""
    return ", ".join(f"{a}–{b}" for a, b in edges[:5]) + more


def extract_surface(points: FloatArray, cells: IntArray, element: str) -> Surface:
    """The boundary of a mesh: faces that belong to one cell only, in the order of their cells.

    A face shared by three or more cells is an error that names the cells.
    """
    table = ELEMENTS[element]
    face_count, corner_count = len(table.faces), {"tri3": 3, "tri6": 3, "quad4": 4}[table.facet]
    faces = cells[:, table.faces].reshape(len(cells) * face_count, -1)
    owners = np.repeat(np.arange(len(cells), dtype=np.int32), face_count)
    boundary = np.sort(_boundary_faces(faces[:, :corner_count], owners))
    facets = np.ascontiguousarray(faces[boundary])
    split = table.face_triangles
    return Surface(
        points=points,
        triangles=np.ascontiguousarray(facets[:, split].reshape(-1, 3)),
        facets=facets,
        facet=table.facet,
        facet_cells=owners[boundary],
        triangle_facets=np.repeat(np.arange(len(facets), dtype=np.int32), len(split)),
    )


def _boundary_faces(corners: IntArray, owners: IntArray) -> IndexArray:
    """Indices of the faces that occur once, from their corner nodes (f, 3 | 4)."""
    keys = np.sort(corners, axis=1)
    order = np.lexsort(keys.T)
    keys = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    starts = np.flatnonzero(new)
    uses = np.diff(np.append(starts, len(keys)))
    if uses.max() > 2:
        first = int(np.flatnonzero(uses > 2)[0])
        sharing = owners[order[starts[first] : starts[first] + uses[first]]]
        raise MeshError(
            f"the face of nodes {', '.join(map(str, keys[starts[first]]))} is shared by {uses[first]} cells "
            f"({listed('cell', sharing)}); a face may be shared by two: remove overlapping or repeated cells"
        )
    return np.asarray(order[starts[uses == 1]])
