"""Tetrahedra inside closed surfaces."""

import numpy as np
import pytest

import pliant as pl
from pliant.mesh.chamber_filling import Filling

pytest.importorskip("gmsh")


def shell(size=(0.02, 0.01, 0.01)):
    """Points and triangles, outward, of a box."""
    surface = pl.mesh.box(size, (8, 4, 4)).surface()
    nodes = surface.nodes
    number = np.zeros(len(surface.points), int)
    number[nodes] = np.arange(len(nodes))
    return surface.points[nodes], number[surface.triangles]


def test_the_nodes_of_the_surface_come_first_and_the_volume_is_its_own():
    points, triangles = shell()
    mesh = pl.mesh.fill(points, triangles)
    assert mesh.points[: len(points)] == pytest.approx(points, abs=1e-15)
    assert mesh.volume == pytest.approx(2e-6, rel=1e-12)
    ours, theirs = ({tuple(sorted(t)) for t in part.tolist()} for part in (triangles, mesh.surface().triangles))
    assert ours == theirs


def test_a_finer_filling_has_more_cells():
    points, triangles = shell()
    assert pl.mesh.fill(points, triangles, cell_size=1e-3).cell_count > pl.mesh.fill(points, triangles).cell_count


def test_open_inward_and_crossing_surfaces_are_named():
    points, triangles = shell()
    with pytest.raises(pl.MeshError, match="open"):
        pl.mesh.fill(points, triangles[1:])
    with pytest.raises(pl.MeshError, match="inward"):
        pl.mesh.fill(points, triangles[:, ::-1])
    crossing = points.copy()
    crossing[np.argmax(points @ [0.0, 0.0, 1.0]), 2] -= 0.015
    with pytest.raises(pl.MeshError, match="crosses itself"):
        pl.mesh.fill(crossing, triangles)


def test_a_filling_comes_back_from_its_arrays():
    filling = Filling(np.arange(3), np.eye(3), np.zeros((1, 4), int), np.ones((1, 3)), 1.5, 2.5, 0.5)
    again = Filling.from_arrays(filling.arrays())
    assert (again.growth, again.ratio, again.weight) == (1.5, 2.5, 0.5)
    assert (again.rest == filling.rest).all()
