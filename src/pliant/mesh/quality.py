"""Mesh quality in a few numbers: angles, aspect ratios, sizes, volumes, and whether the boundary is closed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pliant.core.declared import declared
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.elements import ELEMENTS
from pliant.mesh.geometry import cell_volumes, connected
from pliant.mesh.mesh import Mesh

_FACES, _PAIRS = ELEMENTS["tet4"].faces, ELEMENTS["tet4"].edges
"""Faces of a tetrahedron, outward, face k opposite to corner k; and all pairs of corners, or of faces."""
_SHARP, _FLAT, _POOR = 10.0, 165.0, 0.1
"""Dihedral angles (degrees) and quality beyond which `remarks` report a sliver."""
_TINY = 1e-300
"""Avoids a division by zero for degenerate cells."""


@one_line
@dataclass(frozen=True)
class MeshReport:
    """Numbers about a mesh.

    Angles are those between faces of a tetrahedron, in degrees (70.5 in a regular one); aspect is the longest edge over
    the radius of the ball inside, 1 for a regular tetrahedron; quality as in `Mesh.quality`; lengths in mm and volumes
    in mL; `hollows` are the volumes of closed chambers.
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
        """Defects to know before simulating with it; empty where there are none."""
        told = []
        if self.inverted:
            told.append(f"{self.inverted} cells are inverted")
        if not self.closed:
            told.append("the boundary is open")
        if self.pieces > 1:
            told.append(f"the mesh has {self.pieces} pieces without a common node")
        if self.least_angle < _SHARP or self.largest_angle > _FLAT or self.least_quality < _POOR:
            told.append(
                f"the worst cell is a sliver (angles {self.least_angle:.1f}° to {self.largest_angle:.1f}°, quality "
                f"{self.least_quality:.2f}): it makes the stiffness ill-conditioned; try another cell size"
            )
        return tuple(told)

    def __str__(self) -> str:
        """A few lines for people: counts, sizes, quality, remarks."""
        hollows = ", ".join(f"{volume:.4g}" for volume in self.hollows_ml) or "none"
        return "\n".join(
            (
                f"{self.cells} {self.element}, {self.nodes} nodes",
                f"volume {self.volume_ml:.4g} mL, hollows {hollows}{' mL' * bool(self.hollows_ml)}",
                f"edges {self.least_edge_mm:.3g} to {self.largest_edge_mm:.3g} mm, mean {self.mean_edge_mm:.3g} mm",
                f"angles {self.least_angle:.1f}° to {self.largest_angle:.1f}°",
                f"quality at least {self.least_quality:.2f}, mean {self.mean_quality:.2f} (1: regular)",
                f"boundary {'closed' if self.closed else 'open'}",
                *self.remarks,
            )
        )

    def as_dict(self) -> dict[str, Any]:
        """All numbers by name, with the remarks."""
        return asdict(self) | {"remarks": list(self.remarks)}


@declared
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
        pieces=connected(np.repeat(mesh.cells[:, 0], mesh.cells.shape[1]), mesh.cells.ravel(), mesh.node_count)[0],
    )


def dihedral_angles(points: FloatArray, tetrahedra: IntArray) -> FloatArray:
    """Angles between the faces of each tetrahedron (m, 4) over `points` (n, 3) m, in degrees, shape (m, 6)."""
    corners = points[tetrahedra][:, _FACES]
    normals = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    normals = normals / np.maximum(np.linalg.norm(normals, axis=2, keepdims=True), _TINY)
    cosines = np.einsum("mpi,mpi->mp", normals[:, _PAIRS[:, 0]], normals[:, _PAIRS[:, 1]])
    return np.asarray(180.0 - np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))


def aspect_ratios(points: FloatArray, tetrahedra: IntArray) -> FloatArray:
    """Longest edge over the radius of the ball inside each tetrahedron, 1 for a regular one, shape (m,)."""
    corners = points[tetrahedra]
    faces = corners[:, _FACES]
    areas = 0.5 * np.linalg.norm(np.cross(faces[:, :, 1] - faces[:, :, 0], faces[:, :, 2] - faces[:, :, 0]), axis=2)
    inside = 3.0 * np.abs(cell_volumes(points, tetrahedra, "tet4")) / np.maximum(areas.sum(axis=1), _TINY)
    longest = np.linalg.norm(corners[:, _PAIRS[:, 0]] - corners[:, _PAIRS[:, 1]], axis=2).max(axis=1)
    return np.asarray(longest / (2.0 * np.sqrt(6.0) * np.maximum(inside, _TINY)))
