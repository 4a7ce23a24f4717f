"""Meshes: tetrahedra and hexahedra, their surfaces, structured and generated shapes, files, regions and queries."""

from pliant.mesh import regions
from pliant.mesh.curved import cylinder, shell, tube
from pliant.mesh.elements import (
    ELEMENTS,
    Element,
    element_table,
    facet_shape,
    facet_shape_gradients,
    shape,
    shape_gradients,
)
from pliant.mesh.filling import fill, tetrahedralize
from pliant.mesh.generation import block_with_cavity, capsule_with_cavity, chambered_finger, sphere_with_cavity
from pliant.mesh.io import load, load_surface, save
from pliant.mesh.mesh import Mesh, drop_unused_nodes
from pliant.mesh.quadrature import facet_gauss, gauss
from pliant.mesh.quality import MeshReport, mesh_report
from pliant.mesh.queries import Location, Locator
from pliant.mesh.structured import box
from pliant.mesh.surface import Surface

__all__ = [
    "ELEMENTS",
    "Element",
    "Location",
    "Locator",
    "Mesh",
    "MeshReport",
    "Surface",
    "block_with_cavity",
    "box",
    "capsule_with_cavity",
    "chambered_finger",
    "cylinder",
    "drop_unused_nodes",
    "element_table",
    "facet_gauss",
    "facet_shape",
    "facet_shape_gradients",
    "fill",
    "gauss",
    "load",
    "load_surface",
    "mesh_report",
    "regions",
    "save",
    "shape",
    "shape_gradients",
    "shell",
    "sphere_with_cavity",
    "tetrahedralize",
    "tube",
]
