"""How good a mesh is, in a few numbers: angles, aspect ratios, sizes, volumes, and whether its boundary is closed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pliant.core.types import FloatArray, IntArray
from pliant.mesh.geometry import cell_volumes
from pliant.mesh.mesh import Mesh

_FACES = np.array([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)])
"""Faces of a tetrahedron, outward, each opposite to the corner of its number."""
_PAIRS = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
_SHARP, _FLAT, _POOR = 10.0, 165.0, 0.1


@dataclass(frozen=True)
class MeshReport:
    """Numbers about a mesh.

    Angles are those between faces of a tetrahedron, in degrees (70.5 in a regular one); aspect is the longest edge over
    the radius of the ball inside, 1 for a regular tetrahedron; quality as in `Mesh.quality`; lengths in mm and volumes
    in mL, as one reads them; `hollows` are the volumes of closed chambers.
    """

    element: str
    nodes: int
    cells: int
    volume_ml: float
    hollows_ml: tuple[float, ...]
    area_cm2: float
    least_angle: float
    largest_angle: float
    largest_aspect: float
    least_quality: float
    mean_quality: float
    least_edge_mm: float
    mean_edge_mm: float
    largest_edge_mm: float
    inverted: int
    closed: bool
    pieces: int

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know before simulating with it; nothing where all is well."""
        told = []
        if self.inverted:
            told.append(f"{self.inverted} cells are inverted")
        if not self.closed:
            told.append("the boundary is open")
        if self.pieces > 1:
            told.append(f"the mesh falls into {self.pieces} pieces that share no node")
        if self.least_angle < _SHARP or self.largest_angle > _FLAT or self.least_quality < _POOR:
            told.append(
                f"the worst cell is a sliver (angles {self.least_angle:.1f}° to {self.largest_angle:.1f}°, quality "
                f"{self.least_quality:.2f}): it makes the stiffness ill-conditioned; try another cell size"
            )
        return tuple(told)

    def as_dict(self) -> dict[str, Any]:
        """All numbers by name, with the remarks."""
        return asdict(self) | {"remarks": list(self.remarks)}


def mesh_report(mesh: Mesh) -> MeshReport:
    """Measure a mesh; hexahedra are measured as the six tetrahedra that each is split into, but for their quality."""
    cells = mesh.corner_cells if mesh.element != "hex8" else mesh.with_element("tet4").cells
    angles, surface = dihedral_angles(mesh.points, cells), mesh.surface()
    shells = surface.components()
    edges = mesh.edges()
    lengths = 1e3 * np.linalg.norm(mesh.points[edges[:, 0]] - mesh.points[edges[:, 1]], axis=1)
    quality = mesh.quality()
    return MeshReport(
        element=mesh.element,
        nodes=mesh.node_count,
        cells=mesh.cell_count,
        volume_ml=1e6 * mesh.volume,
        hollows_ml=tuple(-1e6 * shell.volume() for shell in shells if shell.volume() < 0.0),
        area_cm2=1e4 * surface.area(),
        least_angle=float(angles.min()),
        largest_angle=float(angles.max()),
        largest_aspect=float(aspect_ratios(mesh.points, cells).max()),
        least_quality=float(quality.min()),
        mean_quality=float(quality.mean()),
        least_edge_mm=float(lengths.min()),
        mean_edge_mm=float(lengths.mean()),
        largest_edge_mm=float(lengths.max()),
        inverted=int((mesh.cell_volumes() <= 0.0).sum()),
        closed=surface.is_closed(),
        pieces=_piece_count(mesh),
    )


def dihedral_angles(points: FloatArray, tetrahedra: IntArray) -> FloatArray:
    """Angles between the faces of each tetrahedron (m, 4) over `points` (n, 3) m, in degrees, shape (m, 6)."""
    corners = points[tetrahedra][:, _FACES]
    normals = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    normals = normals / np.maximum(np.linalg.norm(normals, axis=2, keepdims=True), 1e-300)
    cosines = np.einsum("mpi,mpi->mp", normals[:, _PAIRS[:, 0]], normals[:, _PAIRS[:, 1]])
    angles: FloatArray = 180.0 - np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
    return angles


def aspect_ratios(points: FloatArray, tetrahedra: IntArray) -> FloatArray:
    """Longest edge over the radius of the ball inside each tetrahedron, 1 for a regular one, shape (m,)."""
    corners = points[tetrahedra]
    faces = corners[:, _FACES]
    areas = 0.5 * np.linalg.norm(np.cross(faces[:, :, 1] - faces[:, :, 0], faces[:, :, 2] - faces[:, :, 0]), axis=2)
    inside = 3.0 * np.abs(cell_volumes(points, tetrahedra, "tet4")) / np.maximum(areas.sum(axis=1), 1e-300)
    longest = np.linalg.norm(corners[:, _PAIRS[:, 0]] - corners[:, _PAIRS[:, 1]], axis=2).max(axis=1)
    ratios: FloatArray = longest / (2.0 * np.sqrt(6.0) * np.maximum(inside, 1e-300))
    return ratios


def _piece_count(mesh: Mesh) -> int:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    cells = mesh.cells
    ends = np.repeat(cells[:, :1], cells.shape[1] - 1, axis=1).ravel(), cells[:, 1:].ravel()
    graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(mesh.node_count, mesh.node_count))
    return int(connected_components(graph, directed=False)[0])
