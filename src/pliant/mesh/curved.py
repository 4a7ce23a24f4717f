"""Structured meshes of curved shapes, from mapped hexahedral grids: cylinder, tube and thick hollow sphere.

Nodes, and mid-edge nodes of "tet10", are on the circles and spheres; edges of "tet4" and "hex8" are chords, so that
their volumes converge from below.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pliant.core.checks import positive
from pliant.core.declared import declared
from pliant.core.errors import InputError
from pliant.core.types import BoolArray, FloatArray, IndexArray, IntArray
from pliant.mesh.elements import ElementName, element_table
from pliant.mesh.geometry import worst_volumes
from pliant.mesh.mesh import Mesh
from pliant.mesh.structured import cell_counts, grid_hexahedra, grid_quads, round_section

_CORE_CORNER = 0.66
"""Radius of the corners of a cylinder's square core, as a fraction of the radius: leaves room for rings of cells."""
_CORE_BULGE = 0.45
"""Bend of the sides of the core from a square (0) to a circle (1): balances the angles of core and rings."""
_FOLDED = 1.0 / 3.0
"""Least volume of a bent cell as a fraction of the straight one: keeps det J positive and the cell well conditioned."""
_CORE, _BULGE = 0.42, 0.5
"""Half side of the cube in a ball over its radius, and how far its faces bulge: cells are then nearly equal in size."""
_HALVINGS = 8
"""Most halvings of the bend of an edge, which is then nearly straight."""


@declared
def cylinder(radius: float, length: float, *, cells: Any, element: ElementName = "tet4") -> Mesh:
    """A solid cylinder along z, from z = 0 to `length` (m), around the z axis.

    `cells` = (radial, axial): cells from the axis to the rim, and along z. The section is an O-grid, a bulged square
    core of about 0.7 · radial cells a half side inside rings, free of degenerate cells.
    """
    element_table(element)
    radius, length = positive("radius", radius, unit="m"), positive("length", length, unit="m")
    radial, axial = cell_counts("cells", cells, ("the radius", "the axis"))
    section, quads = _disc(radial)
    height = np.linspace(0.0, length, axial + 1)
    layers = [np.column_stack([radius * section, np.full(len(section), z)]) for z in height]
    mesh = Mesh(np.vstack(layers), _stacked(quads, len(section), axial), "hex8").with_element(element)
    if element != "tet10":
        return mesh
    tolerance = 1e-9 * radius  # rounding of coordinates
    return curved_edges(mesh, np.array([1.0, 1.0, 0.0]), lambda r: np.abs(r - radius) < tolerance)


@declared
def sphere(radius: float, *, cells: Any, element: ElementName = "tet4") -> Mesh:
    """A solid ball of `radius` (m) around the origin.

    `cells` = (across, radial): cells along an edge of a bulged cube in the middle, and from its faces to the surface. A
    cube would have flat cells at its corners; around a smaller one the layers bend little.
    """
    element_table(element)
    radius = positive("radius", radius, unit="m")
    across, radial = cell_counts("cells", cells, ("the core", "the radius"))
    line = np.linspace(-1.0, 1.0, across + 1)
    lattice = np.stack([g.ravel() for g in np.meshgrid(line, line, line, indexing="ij")], axis=1)
    core = _CORE * radius * _bulged(lattice)
    quads = Mesh(lattice, grid_hexahedra((across,) * 3), "hex8").surface().facets
    rim: IndexArray = np.unique(quads)
    cube = np.tan(0.25 * np.pi * lattice[rim])
    outside = radius * cube / np.linalg.norm(cube, axis=1)[:, None]
    layers = [core[rim] + s * (outside - core[rim]) for s in np.linspace(0.0, 1.0, radial + 1)[1:]]
    around: Any = np.zeros(len(lattice), np.int64)
    around[rim] = len(lattice) + np.arange(len(rim))
    rings = [quads, *(around[quads] + k * len(rim) for k in range(radial))]
    shells = [np.hstack(pair) for pair in pairwise(rings)]
    points = np.vstack([core, *layers])
    hexahedra = np.vstack([grid_hexahedra((across,) * 3), *shells]).astype(np.int32)
    mesh = Mesh(points, hexahedra, "hex8").with_element(element)
    if element != "tet10":
        return mesh
    return curved_edges(mesh, np.ones(3), lambda r: np.abs(r - radius) < 1e-9 * radius)


def _bulged(lattice: FloatArray) -> FloatArray:
    """Points of the cube [−1, 1]³ moved towards the ball around it, on its faces by `_BULGE` of the way."""
    length, reach = np.linalg.norm(lattice, axis=1), np.abs(lattice).max(axis=1)
    factor = 1.0 + _BULGE * reach * (reach / np.where(length > 0.0, length, 1.0) * np.sqrt(1.5) - 1.0)
    return np.asarray(lattice * factor[:, None])


@declared
def tube(inner_radius: float, outer_radius: float, length: float, *, cells: Any, element: ElementName = "tet4") -> Mesh:
    """A tube along z, from z = 0 to `length` (m), around the z axis; `cells` = (radial, circumferential, axial)."""
    element_table(element)
    inner, outer = _radii(inner_radius, outer_radius)
    length = positive("length", length, unit="m")
    counts = cell_counts("cells", cells, ("the wall", "the circumference", "the axis"))
    if counts[1] < 3:
        raise InputError(f"cells along the circumference must be ≥ 3 to close a ring, got {counts[1]}")
    r = np.linspace(inner, outer, counts[0] + 1)
    angle = 2.0 * np.pi * np.arange(counts[1]) / counts[1]
    z = np.linspace(0.0, length, counts[2] + 1)
    r, angle, z = (grid.ravel() for grid in np.meshgrid(r, angle, z, indexing="ij"))
    points = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
    mesh = Mesh(points, grid_hexahedra(counts, periodic=(False, True, False)), "hex8").with_element(element)
    return curved_edges(mesh, np.array([1.0, 1.0, 0.0])) if element == "tet10" else mesh


@declared
def shell(
    inner_radius: float, outer_radius: float, *, cells: Any, octant: bool = False, element: ElementName = "tet4"
) -> Mesh:
    """A thick hollow sphere around the origin, or its octant x, y, z ≥ 0, mapped from a cube.

    `cells` = (radial, tangential): cells through the wall, and along an eighth of a great circle; an octant has
    3 · tangential² columns of cells, the whole sphere eight times as many.
    """
    element_table(element)
    inner, outer = _radii(inner_radius, outer_radius)
    radial, tangential = cell_counts("cells", cells, ("the wall", "the sphere"))
    directions, quads = _cube_sphere(tangential, octant)
    radii = np.linspace(inner, outer, radial + 1)
    points = (radii[:, None, None] * directions).reshape(-1, 3)
    mesh = Mesh.oriented(points, _stacked(quads, len(directions), radial), "hex8").with_element(element)
    return curved_edges(mesh, np.ones(3)) if element == "tet10" else mesh


def _radii(inner_radius: float, outer_radius: float) -> tuple[float, float]:
    inner = positive("inner_radius", inner_radius, unit="m")
    outer = positive("outer_radius", outer_radius, unit="m")
    if inner >= outer:
        raise InputError(f"inner_radius ({inner:g} m) must be smaller than outer_radius ({outer:g} m)")
    return inner, outer


def _disc(radial: int) -> tuple[FloatArray, IntArray]:
    """Points (n, 2) and quadrilaterals (m, 4), counter-clockwise, of the unit disc with an O-grid."""
    half = min(max(round(0.7 * radial), 1), max(radial - 1, 1))
    side, rings = (1, 1) if radial == 1 else (2 * half, radial - half)
    square, disc, core_quads, rim = round_section(side)
    core = _CORE_CORNER * ((1.0 - _CORE_BULGE) * (square / np.sqrt(2.0)) + _CORE_BULGE * disc)
    quads = [core_quads]
    angle = -0.75 * np.pi + 0.5 * np.pi * np.arange(4 * side) / side
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    points, previous = [core], rim
    for ring in range(1, rings + 1):
        points.append(core[rim] + ring / rings * (circle - core[rim]))
        current = len(core) + (ring - 1) * 4 * side + np.arange(4 * side)
        quads.append(np.column_stack([previous, current, np.roll(current, -1), np.roll(previous, -1)]))
        previous = current
    return np.vstack(points), np.vstack(quads).astype(np.int32)


def _stacked(quads: IntArray, layer_size: int, layers: int) -> IntArray:
    """Hexahedra between copies of a layer of quadrilaterals, layer after layer."""
    columns = [np.hstack([quads + layer * layer_size, quads + (layer + 1) * layer_size]) for layer in range(layers)]
    return np.vstack(columns).astype(np.int32)


def _cube_sphere(tangential: int, octant: bool) -> tuple[FloatArray, IntArray]:
    """Unit directions (n, 3) and quadrilaterals of a sphere: the surface lattice of a cube, spread by equal angles."""
    steps = np.arange(0 if octant else -tangential, tangential + 1)
    lattice = np.stack([g.ravel() for g in np.meshgrid(steps, steps, steps, indexing="ij")], axis=1)
    on_surface = (lattice if octant else np.abs(lattice)).max(axis=1) == tangential
    index: Any = np.full(len(lattice), -1)
    index[on_surface] = np.arange(on_surface.sum())
    index = index.reshape((len(steps),) * 3)
    faces = [np.take(index, end, axis=axis) for axis in range(3) for end in ([-1] if octant else [0, -1])]
    cube = np.tan(0.25 * np.pi * lattice[on_surface] / tangential)
    directions: FloatArray = cube / np.linalg.norm(cube, axis=1)[:, None]
    return directions, np.vstack([grid_quads(face) for face in faces]).astype(np.int32)


def curved_edges(mesh: Mesh, axes: FloatArray, bends: Any = None) -> Mesh:
    """The tet10 mesh with mid-edge nodes moved to the mean radius of the ends of their edge.

    The radius is that of the coordinates where `axes` (3,) is one. `bends` selects boundary edges by the radii of both
    ends; None bends every edge. Cells that would fold are bent less.
    """
    points, edges = np.array(mesh.points), mesh.table.edges
    radius = np.linalg.norm(points * axes, axis=1)
    middle: Any
    middle, chosen = np.unique(mesh.cells[:, 4:].ravel(), return_index=True)
    ends = mesh.cells[:, edges].reshape(-1, 2)[chosen]
    first, second = ends[:, 0], ends[:, 1]
    curved: BoolArray = radius[middle] > 0.0
    if bends is not None:
        # an edge inside the body that connects two nodes of its boundary stays straight
        curved &= bends(radius[first]) & bends(radius[second]) & np.isin(middle, mesh.surface().nodes)
    middle, first, second = middle[curved], first[curved], second[curved]
    stretch = 0.5 * (radius[first] + radius[second]) / radius[middle]
    points[middle] *= 1.0 + np.outer(stretch - 1.0, axes)
    return _bent_without_folds(mesh, points)


def _bent_without_folds(mesh: Mesh, wanted: FloatArray) -> Mesh:
    """The mesh with nodes at `wanted` (n, 3) m; nodes of cells that this would fold are moved less."""
    straight, fraction = mesh.cell_volumes(), np.ones(mesh.node_count)
    for _ in range(_HALVINGS):
        points = mesh.points + fraction[:, None] * (wanted - mesh.points)
        folded = worst_volumes(points, mesh.cells, mesh.element) < _FOLDED * straight
        if not folded.any():
            break
        fraction[np.unique(mesh.cells[folded])] *= 0.5
    return mesh.mapped(lambda _: points)
