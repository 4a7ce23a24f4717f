"""A surface that collides: triangles over an array of points, with all that does not change while it deforms.

Every vertex and every edge is represented by one of its triangles, so that a search over pairs of triangles tests each
pair of features once.

Reference: S. Curtis, R. Tamstorf, D. Manocha, "Fast collision detection for deformable models using
representative-triangles", I3D 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pliant.collision.broad.normals import face_normals
from pliant.collision.broad.notches import beside_notches
from pliant.collision.broad.tree import LEAF, Bounds, median_order, refit
from pliant.collision.continuous.walls import thinnest_wall
from pliant.core.arrays import frozen
from pliant.core.checks import finite_array
from pliant.core.errors import InputError, MeshError
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray

EDGE_LIMIT = 2**22
"""Most edges of a surface: the identity of an edge–edge contact holds two edge numbers."""


@dataclass(frozen=True, eq=False)
class CollisionSurface:
    """Triangles over n points, oriented outward (counter-clockwise from outside), and their neighbourhoods.

    triangles       (t, 3) point indices
    rest            (n, 3) m, the undeformed points: pairs that are close there are no self-contacts
    rest_normals    (t, 3) unit normals of the undeformed triangles
    edges           (e, 2) point indices, ascending
    triangle_edges  (t, 3) edge between corners k and k + 1
    edge_triangles  (e, 2) the triangles of an edge; the second is −1 at an open border
    fan_start, fan  triangles around each point, CSR
    ring_start, ring  points joined to each point by an edge, CSR
    nodes           (s,) points that take part in collisions, ascending
    vertex_mask, edge_mask  (t,) bit k: the triangle represents its corner k, its edge k
    order, leaf_start  the triangles that take part in the order of the tree, and where its leaves begin
    """

    triangles: IntArray
    rest: FloatArray
    rest_normals: FloatArray
    edges: IntArray
    triangle_edges: IntArray
    edge_triangles: IntArray
    fan_start: IntArray
    fan: IntArray
    ring_start: IntArray
    ring: IntArray
    nodes: IntArray
    vertex_mask: NDArray[np.uint8]
    edge_mask: NDArray[np.uint8]
    order: IntArray
    leaf_start: IntArray

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.setflags(write=False)

    @cached_property
    def corners(self) -> IntArray:
        """Corners of the triangles of each leaf as columns, (leaves, 3, LEAF); −1 where there is none."""
        corners = np.full((len(self.leaf_start) - 1, 3, LEAF), -1, dtype=np.int32)
        sizes = np.diff(self.leaf_start)
        leaf = np.repeat(np.arange(len(sizes)), sizes)
        corners[leaf, :, np.arange(len(leaf)) - self.leaf_start[leaf]] = self.triangles[self.order]
        return cast(IntArray, frozen(corners))

    @cached_property
    def leaf_vertices(self) -> tuple[IntArray, IntArray]:
        """Vertices that the triangles of each leaf represent, CSR: start (leaves + 1,) and vertices (s,)."""
        item, corner = np.nonzero(self.vertex_mask[self.order, None] >> np.arange(3) & 1)
        start = np.searchsorted(item, self.leaf_start).astype(np.int32)
        return frozen(start), frozen(self.triangles[self.order[item], corner])

    @cached_property
    def notched(self) -> BoolArray:
        """Whether a triangle makes a notch at rest with one around its points, (t,)."""
        found = beside_notches(self.triangles, self.rest, self.rest_normals, self.fan_start, self.fan)
        return cast(BoolArray, frozen(found))

    @cached_property
    def joined(self) -> BoolArray:
        """Whether an edge has two triangles, oriented alike: they run along it in opposite ways, (e,)."""
        ways = np.zeros((len(self.edges), 2), bool)
        for side in range(2):
            corners = self.triangles[self.edge_triangles[:, side]]
            after = np.roll(corners, -1, axis=1)
            ways[:, side] = ((corners == self.edges[:, :1]) & (after == self.edges[:, 1:])).any(axis=1)
        return cast(BoolArray, frozen((self.edge_triangles[:, 1] >= 0) & (ways[:, 0] != ways[:, 1])))

    @cached_property
    def opposite_corners(self) -> IntArray:
        """Corners of the triangles of an edge that are not its ends, (e, 2); −1 where there is no triangle."""
        corners = self.triangles[self.edge_triangles]
        is_end = (corners[..., None] == self.edges[:, None, None]).any(axis=-1)
        opposite = np.where(is_end, -1, corners).max(axis=-1)
        return cast(IntArray, frozen(np.where(self.edge_triangles >= 0, opposite, -1).astype(np.int32)))

    @cached_property
    def taking_part_edges(self) -> IntArray:
        """Edges of the triangles that take part, ascending."""
        return cast(IntArray, frozen(np.unique(self.triangle_edges[self.order]).astype(np.int32)))

    @cached_property
    def closed(self) -> bool:
        """Whether the surface encloses a solid: no open border, all triangles oriented alike."""
        return bool(self.joined.all())

    @cached_property
    def longest_edge(self) -> float:
        """Length of the longest edge at rest, m."""
        ends = self.rest[self.edges]
        return float(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).max(initial=0.0))

    @cached_property
    def wall(self) -> float:
        """Thickness of the thinnest wall at rest, m; inf without."""
        return thinnest_wall(self.rest, self.triangles, self.rest_normals)

    @classmethod
    def build(cls, triangles: Any, rest: Any, *, region: Any = None) -> CollisionSurface:
        """A surface of `triangles` (t, 3) over the points `rest` (n, 3) m.

        `region` (t,), a mask or triangle indices, limits what takes part in collisions; the rest only lends normals.
        """
        rest = np.array(finite_array("rest", rest, shape=(None, 3)), order="C")
        triangles = _checked_triangles(triangles, len(rest))
        taking_part = _region_mask(region, len(triangles))
        edges, triangle_edges, edge_triangles = _edge_tables(triangles)
        if len(edges) >= EDGE_LIMIT:
            raise MeshError(f"the surface has {len(edges)} edges; at most {EDGE_LIMIT - 1} can collide: coarsen it")
        fan_start, fan = _rows_by(triangles.ravel(), np.repeat(np.arange(len(triangles)), 3), len(rest))
        ring_start, ring = _rows_by(edges.ravel(), edges[:, ::-1].ravel(), len(rest))
        members = np.flatnonzero(taking_part)
        order, leaf_start = median_order(rest[triangles[members]].mean(axis=1))
        normals = np.cross(*(rest[triangles[:, k]] - rest[triangles[:, 0]] for k in (1, 2)))
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return cls(
            triangles=triangles,
            rest=rest,
            rest_normals=np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0),
            edges=edges,
            triangle_edges=triangle_edges,
            edge_triangles=edge_triangles,
            fan_start=fan_start,
            fan=fan,
            ring_start=ring_start,
            ring=ring,
            nodes=np.unique(triangles[members]).astype(np.int32),
            vertex_mask=_representatives(triangles, taking_part),
            edge_mask=_representatives(triangle_edges, taking_part),
            order=members[order].astype(np.int32),
            leaf_start=leaf_start,
        )

    def at(self, points: Any) -> Pose:
        """The surface with its points at `points` (n, 3) m."""
        return Pose(self, frozen(finite_array("points", points, shape=self.rest.shape)))


@dataclass(frozen=True, eq=False)
class Pose:
    """A surface at given `points` (n, 3) m."""

    surface: CollisionSurface
    points: FloatArray

    @cached_property
    def normals(self) -> FloatArray:
        """Unit normals of all triangles (t, 3); 0 where there is no area."""
        if "bounds" in self.__dict__:
            return self.bounds.normals
        found: FloatArray = face_normals(self.points, self.surface.triangles)
        return found

    @cached_property
    def bounds(self) -> Bounds:
        """Face normals and boxes, refitted."""
        s = self.surface
        made: Bounds = refit(self.points, s.triangles, s.order, s.leaf_start, s.leaf_vertices[1])
        return made


def _checked_triangles(triangles: Any, point_count: int) -> IntArray:
    checked = np.array(triangles, dtype=np.int32, order="C")
    if checked.ndim != 2 or checked.shape[1] != 3 or len(checked) == 0:
        raise MeshError(f"triangles must have shape (t, 3) with t ≥ 1, got {checked.shape}")
    outside = np.flatnonzero(((checked < 0) | (checked >= point_count)).any(axis=1))
    if len(outside):
        raise MeshError(f"triangle {outside[0]} refers to points outside 0…{point_count - 1}: {checked[outside[0]]}")
    a, b, c = checked.T
    repeated = np.flatnonzero((a == b) | (b == c) | (c == a))
    if len(repeated):
        raise MeshError(f"triangle {repeated[0]} repeats a point: {checked[repeated[0]]}; remove such triangles")
    return checked


def _region_mask(region: Any, triangle_count: int) -> BoolArray:
    mask = np.full(triangle_count, region is None)
    chosen = np.asarray([] if region is None else region)
    mask[chosen if chosen.size else slice(0)] = True
    if not mask.any():
        raise InputError("region selects no triangle of the surface, so nothing could collide; widen it")
    return mask


def _edge_tables(triangles: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Unique edges (e, 2), edges of each triangle (t, 3) and the first two triangles of each edge (e, 2)."""
    directed = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    edges, inverse = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    start, owners = _rows_by(inverse, np.repeat(np.arange(len(triangles)), 3), len(edges))
    edge_triangles = np.full((len(edges), 2), -1, dtype=np.int32)
    edge_triangles[:, 0] = owners[start[:-1]]
    shared = np.flatnonzero(np.diff(start) > 1)
    edge_triangles[shared, 1] = owners[start[shared] + 1]
    return edges.astype(np.int32), inverse.reshape(-1, 3).astype(np.int32), edge_triangles


def _rows_by(rows: IntArray | IndexArray, values: IntArray | IndexArray, row_count: int) -> tuple[IntArray, IntArray]:
    """CSR parts (start, entries): the `values` whose `rows` are equal, in their order."""
    start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=row_count))])
    return start.astype(np.int32), values[np.argsort(rows, kind="stable")].astype(np.int32)


def _representatives(features: IntArray, taking_part: BoolArray) -> NDArray[np.uint8]:
    """Bit k of triangle t is set where t is the first triangle taking part that has the feature features[t, k]."""
    members = np.flatnonzero(taking_part)
    _, first = np.unique(features[members].ravel(), return_index=True)
    chosen = np.zeros((len(features), 3), dtype=np.uint8)
    chosen[members[first // 3], first % 3] = 1
    mask: NDArray[np.uint8] = chosen[:, 0] + 2 * chosen[:, 1] + 4 * chosen[:, 2]
    return mask
