"""Structured hexahedra of bodies that are not boxes: welded blocks, grids with omitted cells, stacked round sections.

Hexahedra are split into tetrahedra through their smallest node, so the numbering decides the diagonals. Numbering
nodes by coordinates that are equal for mirror images makes the split, and the stiffness, mirror-symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.mesh.elements import ElementName
from pliant.mesh.mesh import Mesh, drop_unused_nodes
from pliant.mesh.structured import grid_hexahedra, round_section

_WELD = 1e-9
"""Nodes nearer than this, m, are merged: far above rounding, far below any cell."""
_SAME = 9
"""Decimals of a coordinate, relative to the size of the body, to which mirror images agree despite rounding."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Hexahedra before they become a mesh: points (n, 3) m and cells (m, 8)."""

    points: FloatArray
    cells: IntArray

    @classmethod
    def grid(cls, x: FloatArray, y: FloatArray, z: FloatArray, *, keep: BoolArray | None = None) -> Lattice:
        """The cells between coordinates x, y, z (m) where `keep` (cells along x, y, z) is true; None keeps all."""
        counts = (len(x) - 1, len(y) - 1, len(z) - 1)
        points = np.stack([grid.ravel() for grid in np.meshgrid(x, y, z, indexing="ij")], axis=1)
        cells = grid_hexahedra(counts)
        return cls(*drop_unused_nodes(points, cells if keep is None else cells[keep.ravel()]))

    @classmethod
    def welded(cls, *pieces: Lattice) -> Lattice:
        """Pieces joined at their common nodes."""
        starts = np.cumsum([0, *(len(piece.points) for piece in pieces[:-1])])
        cells = np.vstack([piece.cells + start for piece, start in zip(pieces, starts, strict=True)])
        points = np.vstack([piece.points for piece in pieces])
        _, first, index = np.unique(np.round(points / _WELD), axis=0, return_index=True, return_inverse=True)
        return cls(points[first], index.reshape(-1)[cells].astype(np.int32))

    def mesh(self, *keys: FloatArray, element: ElementName) -> Mesh:
        """The mesh, its nodes sorted by `keys` (n,) each, the first most significant; ties keep their order."""
        size = float(np.ptp(self.points, axis=0).max())
        order = np.lexsort([np.round(key / size, _SAME) for key in reversed(keys)])
        index = np.empty(len(order), dtype=np.int32)
        index[order] = np.arange(len(order), dtype=np.int32)
        return Mesh.oriented(self.points[order], index[self.cells], "hex8").with_element(element)


def stacked_rounds(
    inner: FloatArray, outer: FloatArray, heights: FloatArray, *, core: BoolArray, ring: BoolArray, side: int
) -> Lattice:
    """Layers between p round planes about z, each a core inside radius `inner` and a ring from there to `outer`.

    inner, outer
        Radii of the planes, (p,) m.
    heights
        z of each plane at its inner and at its outer radius, (p, 2) m.
    core, ring
        Whether each of the p − 1 layers fills the core and the ring, (p − 1,).
    side
        Quadrilaterals along a side of the core; the rim has four times as many.
    """
    _, disc, quads, rim = round_section(side)
    outside = len(disc) + np.arange(len(rim), dtype=np.int32)
    ring_quads = np.column_stack([rim, outside, np.roll(outside, -1), np.roll(rim, -1)])
    size = len(disc) + len(rim)
    planes = [
        np.vstack([_level(r * disc, z[0]), _level(R * disc[rim], z[1])])
        for r, R, z in zip(inner, outer, heights, strict=True)
    ]
    cells = [
        np.hstack([faces + layer * size, faces + (layer + 1) * size])
        for layer in range(len(planes) - 1)
        for faces, filled in ((quads, core), (ring_quads, ring))
        if filled[layer]
    ]
    return Lattice(*drop_unused_nodes(np.vstack(planes), np.vstack(cells)))


def _level(flat: FloatArray, z: float) -> FloatArray:
    return np.column_stack([flat, np.full(len(flat), z)])


def round_keys(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Keys (n,) equal for the eight mirror images of a point in the planes through z: height, radius, max(|x|, |y|)."""
    aside = np.abs(points[:, :2])
    return points[:, 2], np.hypot(aside[:, 0], aside[:, 1]), -aside.max(axis=1)


def grid_triangles(rows: int, columns: int) -> IntArray:
    """Triangles (t, 3) over a grid of points numbered row by row, counter-clockwise seen along rows × columns."""
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij")
    a = (columns * i + j).ravel()
    b, c, d = a + columns, a + columns + 1, a + 1
    return np.asarray(np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])]).astype(np.int32))


def ring_triangles(count: int, around: int) -> IndexArray:
    """Triangles (t, 3) between `count` consecutive closed rings of `around` points each, indexed ring by ring."""
    index = np.arange(count * around).reshape(count, around)
    a, b = index[:-1], np.roll(index[:-1], -1, axis=1)
    c, d = np.roll(index[1:], -1, axis=1), index[1:]
    return np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
