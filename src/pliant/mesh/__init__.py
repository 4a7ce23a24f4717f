"""Meshes: tetrahedra and hexahedra, their surfaces, structured and generated shapes, files, regions and queries."""

from pliant.core.one_line import one_line
from pliant.mesh import regions
from pliant.mesh.curved import cylinder, shell, sphere, tube
from pliant.mesh.filling import fill, tetrahedralize
from pliant.mesh.generation import block_with_cavity, capsule_with_cavity, chambered_finger, sphere_with_cavity
from pliant.mesh.io import load, load_surface, save
from pliant.mesh.mesh import Mesh, drop_unused_nodes
from pliant.mesh.quality import MeshReport, mesh_report
from pliant.mesh.queries import Location, Locator
from pliant.mesh.sizing import CellSizes, cell_sizes, expected_step_ms
from pliant.mesh.solids import tetrahedralize_solids
from pliant.mesh.structured import box, grid
from pliant.mesh.surface import Surface

__all__ = [
    "CellSizes",
    "Location",
    "Locator",
    "Mesh",
    "MeshReport",
    "Surface",
    "block_with_cavity",
    "box",
    "capsule_with_cavity",
    "cell_sizes",
    "chambered_finger",
    "cylinder",
    "drop_unused_nodes",
    "expected_step_ms",
    "fill",
    "grid",
    "load",
    "load_surface",
    "mesh_report",
    "regions",
    "save",
    "shell",
    "sphere",
    "sphere_with_cavity",
    "tetrahedralize",
    "tetrahedralize_solids",
    "tube",
]

one_line(Location)  # here: its file holds kernels, which a change of a class would recompile
