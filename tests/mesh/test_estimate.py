"""The count of cells is estimated before the mesher starts."""

import numpy as np
import pytest

import pliant as pl
from pliant.mesh.estimate import check_cell_count, check_shells, enclosed, expected_cells


def block(size):
    return pl.mesh.box(size, (1, 1, 1)).surface()


def test_enclosed_volume():
    surface = block((0.1, 0.02, 0.03))
    assert enclosed(surface.points, surface.triangles) == pytest.approx(6e-5)


def test_a_size_in_the_wrong_unit_is_refused_at_once():
    """3 µm where 3 mm were meant: 10¹³ cells."""
    with pytest.raises(pl.InputError, match=r"100 mm long: edges of 0\.003 mm would .* 9e\+12 cells.*another unit"):
        pl.mesh.tetrahedralize(block((0.1, 0.02, 0.02)), cell_size=3e-6)


def test_hollows_are_subtracted():
    outer, inner = block((0.1, 0.1, 0.1)), block((0.08, 0.08, 0.08)).with_points
    shells = [outer, inner(block((0.08, 0.08, 0.08)).points + 0.01)]
    check_shells(shells, 0.002, "part")
    with pytest.raises(pl.InputError, match="part is 100 mm long"):
        check_shells(shells, 0.0005, "part")


def test_the_estimate_is_near_what_gmsh_makes():
    pytest.importorskip("gmsh")
    surface = block((0.06, 0.03, 0.03))
    mesh = pl.mesh.tetrahedralize(surface, cell_size=0.005)
    assert mesh.cell_count == pytest.approx(expected_cells(5.4e-5, 0.005), rel=0.6)
    check_cell_count(5.4e-5, 0.005, 0.06, "part")
    assert np.isfinite(mesh.points).all()
