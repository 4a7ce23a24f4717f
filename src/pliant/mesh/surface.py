"""Boundary surfaces of volume meshes: extraction, closedness, orientation, shells, and the measures of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.errors import MeshError
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.mesh.elements import ELEMENTS, FacetName
from pliant.mesh.geometry import listed


@dataclass(frozen=True, eq=False)
class Surface:
    """A triangulated surface whose triangles refer to the nodes of a volume mesh. Outward: counter-clockwise.

    points           (n, 3) m, the nodes of the whole mesh, so that indices are the same everywhere
    triangles        (t, 3) node indices; quadrilaterals give 2 triangles, six-node triangles 4
    facets           (f, 3 | 6 | 4) the faces themselves with all their nodes, for the integration of loads
    facet            "tri3", "tri6" or "quad4"
    facet_cells      (f,) cell that owns each facet, −1 where there is none (a surface loaded from a file)
    triangle_facets  (t,) facet that each triangle is a part of
    """

    points: FloatArray
    triangles: IntArray
    facets: IntArray
    facet: FacetName
    facet_cells: IntArray
    triangle_facets: IntArray

    def __post_init__(self) -> None:
        for array in (self.points, self.triangles, self.facets, self.facet_cells, self.triangle_facets):
            array.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # pickled arrays come back writable, so a surface is rebuilt through its constructor
        fields = (self.points, self.triangles, self.facets, self.facet, self.facet_cells, self.triangle_facets)
        return Surface, fields

    @classmethod
    def from_triangles(cls, points: FloatArray, triangles: IntArray) -> Surface:
        """A surface of plain triangles (t, 3) over `points` (n, 3) m, owned by no cell."""
        points = np.array(finite_array("points", points, shape=(None, 3)))
        triangles = np.array(triangles, dtype=np.int32)
        if triangles.ndim != 2 or triangles.shape[1] != 3 or len(triangles) == 0:
            raise MeshError(f"triangles must have shape (t, 3) with t ≥ 1, got {triangles.shape}")
        if triangles.min() < 0 or triangles.max() >= len(points):
            bad = np.flatnonzero(((triangles < 0) | (triangles >= len(points))).any(axis=1))
            raise MeshError(f"{listed('triangle', bad)} refer to nodes outside 0…{len(points) - 1}")
        return cls(
            points=points,
            triangles=triangles,
            facets=triangles,
            facet="tri3",
            facet_cells=np.full(len(triangles), -1, dtype=np.int32),
            triangle_facets=np.arange(len(triangles), dtype=np.int32),
        )

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
        open_ones: IntArray = edges[uses % 2 == 1]
        return open_ones

    def check_closed(self) -> None:
        """Raise a `MeshError` that names open edges when the surface has any."""
        edges = self.open_edges()
        if len(edges):
            named = ", ".join(f"{a}–{b}" for a, b in edges[:5])
            more = f" and {len(edges) - 5} more" if len(edges) > 5 else ""
            raise MeshError(
                f"the surface is open at {len(edges)} of its edges (between nodes {named}{more}): "
                "it encloses no volume; close the holes or merge the duplicated vertices"
            )

    def check_orientation(self) -> None:
        """Raise a `MeshError` that names edges whose two triangles disagree about the outside."""
        edges, uses, balance = self._edge_uses
        wrong = edges[(uses % 2 == 0) & (balance != 0)]
        if len(wrong):
            named = ", ".join(f"{a}–{b}" for a, b in wrong[:5])
            more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise MeshError(
                f"neighbouring triangles are oriented against each other at the edges between nodes {named}{more}; "
                "reverse the node order of the wrong ones so that all are counter-clockwise from outside"
            )

    def components(self) -> list[Surface]:
        """The connected shells, by decreasing signed volume: the outer one first, cavities (negative) last.

        Triangles are connected where they share an edge. Every shell refers to the same `points`.
        """
        count, labels = self._shells
        parts = [self._part(np.flatnonzero(labels == i)) for i in range(count)]
        return sorted(parts, key=lambda part: -part.volume())

    def flipped(self) -> Surface:
        """The same surface seen from the other side, e.g. a cavity's shell oriented out of its air."""
        turned = {"tri3": [0, 2, 1], "tri6": [0, 2, 1, 5, 4, 3], "quad4": [0, 3, 2, 1]}[self.facet]
        return Surface(
            points=self.points,
            triangles=self.triangles[:, [0, 2, 1]],
            facets=self.facets[:, turned],
            facet=self.facet,
            facet_cells=self.facet_cells,
            triangle_facets=self.triangle_facets,
        )

    def with_points(self, points: FloatArray) -> Surface:
        """The same triangles over other `points` (n, 3) m, e.g. the deformed ones."""
        checked = np.array(finite_array("points", points, shape=self.points.shape))
        return Surface(checked, self.triangles, self.facets, self.facet, self.facet_cells, self.triangle_facets)

    def selected(self, facets: IndexArray) -> Surface:
        """The part of the surface made of the given facets (indices or mask)."""
        chosen = np.arange(len(self.facets))[facets]
        return self._part(chosen)

    def _part(self, facets: IndexArray) -> Surface:
        new_number = np.full(len(self.facets), -1, dtype=np.int32)
        new_number[facets] = np.arange(len(facets), dtype=np.int32)
        kept = new_number[self.triangle_facets] >= 0
        return Surface(
            points=self.points,
            triangles=self.triangles[kept],
            facets=self.facets[facets],
            facet=self.facet,
            facet_cells=self.facet_cells[facets],
            triangle_facets=new_number[self.triangle_facets[kept]],
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
        """Number of shells and the shell of each facet (f,), facets being joined across edges of triangles."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        directed = self.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
        keys = directed.min(axis=1) * len(self.points) + directed.max(axis=1)
        owner = np.repeat(self.triangle_facets, 3)
        order = np.argsort(keys, kind="stable")
        same = keys[order][1:] == keys[order][:-1]
        pairs = (owner[order][:-1][same], owner[order][1:][same])
        graph = coo_array((np.ones(len(pairs[0])), pairs), shape=(len(self.facets),) * 2)
        count, labels = connected_components(graph, directed=False)
        return int(count), labels


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
    alone: IndexArray = order[starts[uses == 1]]
    return alone
