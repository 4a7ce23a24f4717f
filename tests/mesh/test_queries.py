"""Locating points: weights reproduce them, sum to one, agree with brute force; points outside; speed."""

import time

import numpy as np
import pytest

from pliant.core.errors import InputError, MeshError
from pliant.mesh import Locator, box, shell, tube
from pliant.mesh.geometry import cell_volumes
from pliant.mesh.tree import LEAF, build_tree

EACH_ELEMENT = pytest.mark.parametrize("element", ["tet4", "tet10", "hex8"])


def _inside_points(mesh, count=300):
    rng = np.random.default_rng(5)
    cells = rng.integers(0, mesh.cell_count, count)
    bary = rng.dirichlet(np.ones(mesh.table.corner_count), count)
    return np.einsum("pk,pki->pi", bary, mesh.points[mesh.corner_cells[cells]])


@EACH_ELEMENT
def test_weights_reproduce_points_inside(element):
    mesh = box((0.2, 0.04, 0.03), (6, 2, 3), element=element)
    points = _inside_points(mesh)
    found = Locator(mesh).locate(points, outside="error")
    assert found.inside.all()
    assert (found.distance == 0).all()
    assert found.weights.sum(axis=1) == pytest.approx(1.0)
    assert found.interpolate(mesh.points) == pytest.approx(points, abs=1e-15)
    assert (found.nodes == mesh.cells[found.cells]).all()
    if element != "tet10":
        assert found.weights.min() > -1e-8


@EACH_ELEMENT
def test_weights_reproduce_points_in_bent_cells_and_outside(element):
    mesh = shell(0.01, 0.02, cells=(2, 2), element=element)
    points = np.random.default_rng(6).uniform(-0.025, 0.025, (500, 3))
    found = Locator(mesh).locate(points)
    assert found.interpolate(mesh.points) == pytest.approx(points, abs=1e-14)
    assert found.weights.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    radius = np.linalg.norm(points, axis=1)
    clearly_in, clearly_out = (radius > 0.0105) & (radius < 0.0175), (radius < 0.008) | (radius > 0.0202)
    assert clearly_in.sum() > 50
    assert found.inside[clearly_in].all()
    assert not found.inside[clearly_out].any()


def test_cells_agree_with_brute_force():
    mesh = tube(0.01, 0.02, 0.03, cells=(2, 9, 3))
    points = np.random.default_rng(7).uniform((-0.02, -0.02, 0), (0.02, 0.02, 0.03), (200, 3))
    found = Locator(mesh).locate(points)
    for point, cell, inside in zip(points, found.cells, found.inside, strict=True):
        parts = [_replaced(mesh, i, point) for i in range(4)]
        holding = np.flatnonzero(np.min(parts, axis=0) > 0)
        assert inside == (len(holding) > 0)
        if inside:
            assert cell in holding


def _replaced(mesh, corner, point):
    """Volume of every cell with one of its corners moved to `point`: all four positive only around it."""
    points, cells = np.vstack([mesh.points, point]), np.array(mesh.cells)
    cells[:, corner] = mesh.node_count
    return cell_volumes(points, cells, "tet4")


@EACH_ELEMENT
def test_nodes_are_found_at_themselves(element):
    mesh = tube(0.01, 0.02, 0.03, cells=(1, 8, 2), element=element)
    found = Locator(mesh).locate(mesh.points)
    assert found.inside.all()
    assert found.interpolate(mesh.points) == pytest.approx(mesh.points, abs=1e-14)


@EACH_ELEMENT
def test_points_outside_take_the_nearest_cell_and_their_distance(element):
    mesh = box((1, 1, 1), (3, 3, 3), element=element)
    points = np.random.default_rng(8).uniform(-1, 2, (300, 3))
    found = Locator(mesh).locate(points)
    gap = np.linalg.norm(points - np.clip(points, 0, 1), axis=1)
    assert found.distance == pytest.approx(gap, abs=1e-14)
    assert (found.inside == (gap == 0)).all()
    foot = np.clip(points, 0, 1)
    corners = mesh.points[mesh.cells[found.cells]]
    assert (corners.min(axis=1) <= foot + 1e-9).all()
    assert (corners.max(axis=1) >= foot - 1e-9).all()


def test_points_outside_can_be_an_error_that_names_them():
    locator = Locator(box((1, 1, 1), (2, 2, 2)))
    with pytest.raises(MeshError, match=r"cable: point 1 of 2 outside the mesh; point 1 at \(0, 0, 3\) m is 2 m"):
        locator.locate([(0.5, 0.5, 0.5), (0, 0, 3)], outside="error", what="cable")


def test_bad_queries_are_refused():
    locator = Locator(box((1, 1, 1), (1, 1, 1)))
    with pytest.raises(InputError, match=r"\(p, 3\)"):
        locator.locate([(0, 0)])
    with pytest.raises(InputError, match='"nearest" or "error"'):
        locator.locate([(0, 0, 0)], outside="drop")
    with pytest.raises(InputError, match="finite"):
        locator.locate([(0, 0, np.nan)])
    assert locator.locate((0.5, 0.5, 0.5)).cells.shape == (1,)
    assert locator.locate(np.zeros((0, 3))).cells.shape == (0,)


@pytest.mark.parametrize("count", [1, 4, 5, 33, 1000])
def test_every_item_lies_in_its_leaf_and_every_box_in_its_parent(count):
    lower = np.random.default_rng(9).random((count, 3))
    upper = lower + 0.1
    tree = build_tree(lower, upper)
    assert sorted(tree.order) == list(range(count))
    for position, item in enumerate(tree.order):
        leaf = tree.first_leaf + position // LEAF
        assert (tree.lower[leaf] <= lower[item]).all()
        assert (tree.upper[leaf] >= upper[item]).all()
    for node in range(1, len(tree.lower)):
        assert (tree.lower[(node - 1) // 2] <= tree.lower[node]).all()


def test_a_point_is_found_without_trying_every_cell():
    """In 60 times as many cells it does not take 60 times as long: a ratio of processor times."""
    points, times = np.random.default_rng(10).random((10_000, 3)), []
    for cells in ((5, 5, 5), (21, 20, 20)):
        locator = Locator(box((1, 1, 1), cells))
        spent = []
        for _ in range(3):
            start = time.process_time()
            locator.locate(points, outside="error")
            spent.append(time.process_time() - start)
        times.append(min(spent))
    assert times[1] < 15.0 * times[0]
