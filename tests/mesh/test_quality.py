"""Angles and aspect ratios against closed forms, and what the report says of good and bad meshes."""

import numpy as np
import pytest

import pliant as pl
from pliant.mesh.quality import aspect_ratios, dihedral_angles

REGULAR = np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], float)
CORNER = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
ONE = np.array([[0, 1, 2, 3]], dtype=np.int32)


def test_angles_of_a_regular_tetrahedron():
    np.testing.assert_allclose(dihedral_angles(REGULAR, ONE), np.degrees(np.arccos(1 / 3)))


def test_angles_of_the_corner_of_a_cube():
    angles = np.sort(dihedral_angles(CORNER, ONE)[0])
    np.testing.assert_allclose(angles, [np.degrees(np.arctan(np.sqrt(2.0)))] * 3 + [90.0] * 3)


def test_angles_do_not_depend_on_place_size_or_order():
    moved = 0.01 * REGULAR + (3.0, 2.0, 1.0)
    np.testing.assert_allclose(dihedral_angles(moved, ONE[:, [1, 0, 2, 3]]), np.degrees(np.arccos(1 / 3)), rtol=1e-9)


def test_aspect_ratio_is_one_for_a_regular_tetrahedron_and_known_for_a_corner():
    assert aspect_ratios(REGULAR, ONE)[0] == pytest.approx(1.0)
    inside = 1.0 / (3.0 + np.sqrt(3.0))  # radius of the ball in the corner of a cube
    assert aspect_ratios(CORNER, ONE)[0] == pytest.approx(np.sqrt(2.0) / (2.0 * np.sqrt(6.0) * inside))


def test_the_report_of_a_shell_knows_its_hollow():
    mesh = pl.mesh.shell(0.01, 0.02, cells=(2, 4))
    report = pl.mesh.mesh_report(mesh)
    assert report.volume_ml == pytest.approx(1e6 * mesh.volume)
    (hollow,) = report.hollows_ml
    assert hollow == pytest.approx(4.0 / 3.0 * np.pi * 1.0**3, rel=0.05)
    assert (report.inverted, report.closed, report.pieces) == (0, True, 1)
    assert report.remarks == ()


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])
def test_every_element_is_measured(element):
    report = pl.mesh.mesh_report(pl.mesh.box((0.02, 0.01, 0.01), (2, 1, 1), element=element))
    assert report.volume_ml == pytest.approx(2.0)
    assert report.least_angle == pytest.approx(45.0)
    assert report.largest_angle == pytest.approx(90.0)
    assert report.mean_edge_mm > 0.0
    assert report.as_dict()["remarks"] == []


def test_slivers_and_loose_pieces_are_remarked():
    flat = CORNER * (1.0, 1.0, 0.02)
    points = np.concatenate([flat, flat + 5.0])
    cells = np.concatenate([ONE, ONE + 4])
    report = pl.mesh.mesh_report(pl.mesh.Mesh(points, cells, "tet4"))
    assert report.pieces == 2
    sliver, pieces = sorted(report.remarks, key=lambda text: "pieces" in text)
    assert "sliver" in sliver
    assert "2 pieces" in pieces
