"""Integration points of every element: weights make up the volume, gradients are complete to first order."""

import numpy as np
import pytest

import pliant as pl
from pliant.materials import Part
from pliant.models.volume.points import build_points, cell_gradients

KINDS = [("tet4", False), ("tet4", True), ("tet10", True), ("hex8", False), ("hex8", True)]
KINDS += [("tet4", "volume"), ("hex8", "volume")]


def warped(element):
    """A box whose cells are all different."""
    base = pl.mesh.box((1.0, 0.7, 0.5), (3, 2, 2), element="hex8" if element == "hex8" else "tet4")
    bent = base.mapped(lambda x: x + 0.05 * np.sin(3 * x[:, [1, 2, 0]] + x))
    return bent.with_element(element)


def built(element, anti_locking, materials=None):
    mesh = warped(element)
    number = np.zeros(mesh.cell_count, np.int32) if materials is None else materials(mesh)
    return mesh, build_points(mesh, number, anti_locking=anti_locking)


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
def test_weights_of_each_part_sum_to_the_volume(element, anti_locking):
    mesh, points = built(element, anti_locking)
    parts = set(points.part.tolist())
    assert parts == ({Part.SHEAR, Part.VOLUME} if anti_locking and element != "tet10" else {Part.TOTAL})
    for part in parts:
        assert points.weight[points.part == part].sum() == pytest.approx(mesh.volume, rel=1e-13)
    assert (points.weight > 0.0).all()


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
def test_gradients_see_constants_and_linear_fields(element, anti_locking):
    """Σ G = 0 and Σ x ⊗ G = I at every point."""
    mesh, points = built(element, anti_locking)
    owner = np.repeat(np.arange(points.count), np.diff(points.ptr))
    total = np.zeros((points.count, 3))
    np.add.at(total, owner, points.gradients)
    np.testing.assert_allclose(total, 0.0, atol=1e-12 * np.abs(points.gradients).max())
    F = np.zeros((points.count, 3, 3))
    np.add.at(F, owner, mesh.points[points.nodes][:, :, None] * points.gradients[:, None, :])
    np.testing.assert_allclose(F, np.broadcast_to(np.eye(3), F.shape), atol=1e-12)


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
def test_nodes_of_a_point_are_sorted_and_distinct(element, anti_locking):
    _, points = built(element, anti_locking)
    for start, stop in zip(points.ptr[:-1], points.ptr[1:], strict=True):
        assert (np.diff(points.nodes[start:stop]) > 0).all()


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
def test_owners_share_out_every_cell_and_every_point(element, anti_locking):
    mesh, points = built(element, anti_locking)
    np.testing.assert_allclose(np.bincount(points.owner_point, points.owner_volume), points.weight, rtol=1e-12)
    for part in set(points.part.tolist()):
        of_part = points.part[points.owner_point] == part
        share = np.bincount(points.owner_cell[of_part], points.owner_volume[of_part], mesh.cell_count)
        np.testing.assert_allclose(share, mesh.cell_volumes(), rtol=1e-12)


@pytest.mark.parametrize(("element", "anti_locking"), KINDS)
def test_points_keep_to_one_material(element, anti_locking):
    def materials(mesh):
        return (mesh.points[mesh.corner_cells].mean(axis=1)[:, 0] > 0.5).astype(np.int32)

    mesh, points = built(element, anti_locking, materials)
    number = materials(mesh)
    assert set(number.tolist()) == {0, 1}
    np.testing.assert_array_equal(points.material[points.owner_point], number[points.owner_cell])


def test_linear_tetrahedra_have_constant_gradients():
    """Against the inverse of the edge matrix, for one tetrahedron."""
    mesh = warped("tet4")
    gradients, weights = cell_gradients(mesh)
    corners = mesh.points[mesh.cells[5]]
    edges = (corners[1:] - corners[0]).T
    expected = np.linalg.inv(edges)
    np.testing.assert_allclose(gradients[5, 0, 1:], expected, rtol=1e-12)
    np.testing.assert_allclose(gradients[5, 0, 0], -expected.sum(axis=0), rtol=1e-10)
    assert weights[5, 0] == pytest.approx(np.linalg.det(edges) / 6.0, rel=1e-12)
