"""Tetrahedra inside a closed surface, by Gmsh (extra `mesh`): the nodes and triangles of the surface stay as they are.

A chamber of air has no mesh of its own. Methods that treat air as elements fill it, and fill it again once the elements
are stretched too far; the nodes of the body around it stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array, positive
from pliant.core.errors import MeshError
from pliant.core.types import FloatArray, IntArray
from pliant.mesh.gmsh_session import MILLIMETRES, drawing
from pliant.mesh.mesh import Mesh
from pliant.mesh.surface import Surface

LEAST_QUALITY = 1e-4
"""Cells of a lower quality make a filling useless."""


@dataclass(frozen=True, eq=False)
class Filling:
    """The elements of a chamber, as a state remembers them.

    nodes   (s,) nodes of the body on the surface of the chamber: the first s nodes of the elements
    rest    (k, 3) m, rest shape of the elements, of the volume that the chamber has at rest
    cells   (m, 4) tetrahedra over those k nodes
    inner   (k − s, 3) m, where the nodes inside the chamber are
    growth  volume of the chamber over that at rest, when it was filled
    ratio   the nominal ratio α that was last asked for
    weight  what the weight of the elements is multiplied by since the first filling
    """

    nodes: IntArray
    rest: FloatArray
    cells: IntArray
    inner: FloatArray
    growth: float = 1.0
    ratio: float = 1.0
    weight: float = 1.0

    def arrays(self) -> dict[str, Any]:
        """Everything as arrays, for saving."""
        numbers = np.array([self.growth, self.ratio, self.weight])
        return {"nodes": self.nodes, "rest": self.rest, "cells": self.cells, "inner": self.inner, "numbers": numbers}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Filling:
        """What `arrays` gave."""
        numbers = (float(x) for x in arrays["numbers"])
        return cls(arrays["nodes"], arrays["rest"], arrays["cells"], arrays["inner"], *numbers)


def fill(points: Any, triangles: Any, *, cell_size: float | None = None) -> Mesh:
    """A mesh of tetrahedra inside the closed surface of `triangles` (t, 3), outward, over `points` (s, 3) m.

    Its first s nodes are `points`, its boundary is `triangles`. `cell_size` (m) is the wanted length of edges inside;
    None takes the mean edge of the surface. Raises a `MeshError` where the surface crosses itself.
    """
    given = finite_array("points", points, shape=(None, 3))
    shell = Surface.from_triangles(given, np.asarray(triangles, np.int32))
    shell.check_closed()
    volume = shell.volume()
    if volume <= 0.0:
        raise MeshError(f"the surface bounds {volume:.3g} m³: its triangles face inward; turn them round")
    edges = np.linalg.norm(given[shell.triangles] - given[np.roll(shell.triangles, 1, axis=1)], axis=2)
    size = float(edges.mean()) if cell_size is None else positive("cell_size", cell_size, unit="m")
    mesh = Mesh.oriented(*_meshed(given, shell.triangles, size), "tet4")
    if mesh.node_count < len(given) or np.abs(mesh.points[: len(given)] - given).max() > 1e-9 * np.ptp(given):
        raise MeshError("gmsh moved nodes of the surface; try another cell_size")
    if abs(mesh.volume - volume) > 1e-6 * volume or len(mesh.surface().triangles) != len(shell.triangles):
        raise MeshError(
            f"the surface of {volume:.6g} m³ was filled with {mesh.volume:.6g} m³: it crosses itself; move it apart"
        )
    mesh.check_quality(minimum=LEAST_QUALITY)
    return mesh


def _meshed(points: FloatArray, triangles: IntArray, size: float) -> tuple[FloatArray, IntArray]:
    """Nodes and cells that Gmsh makes, the given nodes first."""
    with drawing(size) as gmsh:
        mesh, geometry = gmsh.model.mesh, gmsh.model.geo
        gmsh.option.setNumber("Mesh.MeshSizeExtendFromBoundary", 0)
        gmsh.model.addDiscreteEntity(2, 1)
        mesh.addNodes(2, 1, np.arange(1, len(points) + 1), (MILLIMETRES * points).ravel())
        mesh.addElementsByType(1, 2, np.arange(1, len(triangles) + 1), (triangles + 1).ravel())
        geometry.addVolume([geometry.addSurfaceLoop([1])])
        geometry.synchronize()
        try:
            mesh.generate(3)
        except Exception as error:
            raise MeshError(
                f"gmsh could not fill the surface of {len(triangles)} triangles ({error}); where facets overlap it "
                "crosses itself: deform it less, or let it touch itself by contact"
            ) from error
        tags, coordinates, _ = mesh.getNodes()
        _, corners = mesh.getElementsByType(4)
    if len(corners) == 0:
        raise MeshError("gmsh made no tetrahedra inside the surface; check that it bounds a volume")
    order = np.argsort(tags)
    number = np.zeros(int(tags.max()) + 1, np.int32)
    number[tags[order].astype(np.int64)] = np.arange(len(tags), dtype=np.int32)
    made = coordinates.reshape(-1, 3)[order] / MILLIMETRES
    return made, number[corners.astype(np.int64)].reshape(-1, 4)
