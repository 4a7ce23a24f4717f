"""From one element to another: mid-edge nodes, and hexahedra split into tetrahedra that conform.

Every quadrilateral is split through its smallest node index, so that two cells agree about their common face. The
tetrahedra connect the smallest node of a cell with the six triangles of the three faces that do not contain it. On a
grid numbered along its axes this is Kuhn's split along the diagonal 000–111.

Reference: J. Dompierre, P. Labbé, M.-G. Vallet, R. Camarero, "How to subdivide pyramids, prisms and hexahedra into
tetrahedra", 8th International Meshing Roundtable, 1999.
"""

from __future__ import annotations

import numpy as np

from pliant.core.errors import InputError
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.elements import ELEMENTS

_HEX_FACES = ELEMENTS["hex8"].faces
_OPPOSITE_FACES = np.array([[f for f in range(6) if v not in _HEX_FACES[f]] for v in range(8)])
_ROTATIONS = np.array([[(s + i) % 4 for i in range(4)] for s in range(4)])


def converted(points: FloatArray, cells: IntArray, source: str, target: str) -> tuple[FloatArray, IntArray]:
    """Points (n', 3) m and cells (m', k') of the same shape in the element `target`."""
    if source == "hex8" and target == "tet4":
        return points, hexahedra_to_tetrahedra(cells)
    if source == "hex8" and target == "tet10":
        return with_edge_nodes(points, hexahedra_to_tetrahedra(cells))
    if source == "tet4" and target == "tet10":
        return with_edge_nodes(points, cells)
    if source == "tet10" and target == "tet4":
        corners, inverse = np.unique(cells[:, :4], return_inverse=True)
        return points[corners], inverse.reshape(-1, 4).astype(np.int32)
    raise InputError(f"a {source} mesh cannot be converted to {target}; mesh the shape again with element={target!r}")


def hexahedra_to_tetrahedra(cells: IntArray) -> IntArray:
    """Tetrahedra (6 m, 4) of hexahedra (m, 8), six consecutive ones for each cell."""
    count = len(cells)
    smallest = np.argmin(cells, axis=1)
    quads = cells[np.arange(count)[:, None, None], _HEX_FACES[_OPPOSITE_FACES[smallest]]]
    start = np.argmin(quads, axis=2)
    quads = np.take_along_axis(quads, _ROTATIONS[start], axis=2)
    tetrahedra = np.empty((count, 3, 2, 4), dtype=np.int32)
    tetrahedra[..., 0] = cells[np.arange(count), smallest][:, None, None]
    # outward triangles of the opposite faces: with the apex first the volume is positive
    tetrahedra[..., 0, 1:] = quads[:, :, [0, 1, 2]]
    tetrahedra[..., 1, 1:] = quads[:, :, [0, 2, 3]]
    return tetrahedra.reshape(-1, 4)


def with_edge_nodes(points: FloatArray, cells: IntArray) -> tuple[FloatArray, IntArray]:
    """The tet10 form of tetrahedra (m, 4): one node at the middle of every edge, numbered after the corners."""
    node_count = len(points)
    pairs = np.sort(cells[:, ELEMENTS["tet4"].edges].reshape(-1, 2), axis=1).astype(np.int64)
    keys, inverse = np.unique(pairs[:, 0] * node_count + pairs[:, 1], return_inverse=True)
    middles = 0.5 * (points[keys // node_count] + points[keys % node_count])
    edge_nodes = (node_count + inverse.reshape(-1, 6)).astype(np.int32)
    return np.vstack([points, middles]), np.hstack([cells, edge_nodes])
