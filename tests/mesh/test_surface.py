"""Surfaces: closed, oriented outward, of the right Euler characteristic and measure; errors name the edges."""

import time

import numpy as np
import pytest

from pliant.core.errors import MeshError
from pliant.mesh import Mesh, Surface, box, shell
from pliant.mesh.elements import ELEMENTS, shape, shape_gradients
from pliant.mesh.quadrature import facet_gauss

EACH_ELEMENT = pytest.mark.parametrize("element", list(ELEMENTS))


def _euler(surface):
    edges = np.unique(np.sort(surface.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    return len(surface.nodes) - len(edges) + len(surface.triangles)


@EACH_ELEMENT
def test_surface_of_a_box_is_a_closed_sphere(element):
    mesh = box((0.2, 0.04, 0.03), (5, 3, 2), element=element)
    surface = mesh.surface()
    surface.check_closed()
    surface.check_orientation()
    assert surface.is_closed()
    assert _euler(surface) == 2
    assert surface.volume() == pytest.approx(mesh.volume)
    assert surface.area() == pytest.approx(2 * (0.2 * 0.04 + 0.2 * 0.03 + 0.04 * 0.03))
    assert surface is mesh.surface()


@pytest.mark.parametrize(("element", "split"), [("tet4", 12), ("tet10", 48), ("hex8", 12)])
def test_one_cube_gives_the_expected_facets(element, split):
    surface = box((1, 1, 1), (1, 1, 1), element=element).surface()
    assert len(surface.triangles) == split
    assert len(surface.facets) == {"tet4": 12, "tet10": 12, "hex8": 6}[element]
    assert surface.facets.shape[1] == {"tet4": 3, "tet10": 6, "hex8": 4}[element]


@EACH_ELEMENT
def test_facets_integrate_to_the_area_vectors_of_their_triangles(element):
    surface = box((0.2, 0.04, 0.03), (2, 2, 2), element=element).surface()
    xi, weights = facet_gauss(surface.facet)
    tangents = np.einsum("fki,qkj->fqij", surface.points[surface.facets], shape_gradients(surface.facet, xi))
    areas = np.einsum("q,fqi->fi", weights, np.cross(tangents[..., 0], tangents[..., 1]))
    summed = np.zeros_like(areas)
    np.add.at(summed, surface.triangle_facets, surface.area_vectors())
    assert areas == pytest.approx(summed, abs=1e-15)
    assert shape(surface.facet, xi).shape == (len(weights), surface.facets.shape[1])


@EACH_ELEMENT
def test_facets_know_their_cells(element):
    mesh = box((1, 1, 1), (3, 2, 2), element=element)
    surface = mesh.surface()
    for nodes, cell in zip(surface.facets, surface.facet_cells, strict=True):
        assert set(nodes) <= set(mesh.cells[cell])
    assert (surface.triangle_cells == surface.facet_cells[surface.triangle_facets]).all()


@EACH_ELEMENT
def test_interior_faces_are_shared_exactly_twice(element):
    mesh = box((1, 1, 1), (3, 3, 2), element=element)
    corners = {"tri3": 3, "tri6": 3, "quad4": 4}[mesh.table.facet]
    faces = np.sort(mesh.cells[:, mesh.table.faces[:, :corners]].reshape(-1, corners), axis=1)
    _, uses = np.unique(faces, axis=0, return_counts=True)
    assert set(uses) == {1, 2}
    assert (uses == 1).sum() == len(mesh.surface().facets)


@EACH_ELEMENT
def test_shells_are_outer_first_and_cavities_negative(element):
    mesh = shell(0.01, 0.02, cells=(2, 2), element=element)
    outer, cavity = mesh.surface().components()
    assert outer.volume() > 0 > cavity.volume()
    assert len(outer.facets) + len(cavity.facets) == len(mesh.surface().facets)
    outer.check_closed()
    cavity.check_closed()
    assert np.linalg.norm(mesh.points[cavity.nodes], axis=1) == pytest.approx(0.01)
    assert cavity.flipped().volume() == pytest.approx(-cavity.volume())
    cavity.flipped().check_orientation()


def test_two_cubes_that_touch_at_a_node_are_two_shells():
    one = box((1, 1, 1), (1, 1, 1), element="hex8")
    other = one.translated((1, 1, 1))
    shared = 7 + 8
    points = np.vstack([one.points, other.points])
    corner = int(np.flatnonzero((one.points == 1).all(axis=1))[0])
    cells = np.vstack([one.cells, other.cells + 8])
    cells[cells == 8] = corner
    points = np.delete(points, 8, axis=0)
    cells[cells > 8] -= 1
    assert shared == len(points)
    assert len(Mesh(points, cells, "hex8").surface().components()) == 2


def test_open_edges_are_named():
    closed = box((1, 1, 1), (1, 1, 1)).surface()
    torn = Surface.from_triangles(closed.points, closed.triangles[1:])
    a, b, _ = closed.triangles[0]
    assert not torn.is_closed()
    assert len(torn.open_edges()) == 3
    with pytest.raises(MeshError, match=rf"open at 3 of its edges .*{min(a, b)}–{max(a, b)}"):
        torn.check_closed()


def test_opposed_triangles_are_named():
    surface = box((1, 1, 1), (1, 1, 1)).surface()
    triangles = np.array(surface.triangles)
    triangles[0] = triangles[0][[0, 2, 1]]
    turned = Surface.from_triangles(surface.points, triangles)
    turned.check_closed()
    with pytest.raises(MeshError, match="opposite orientations at the edges between nodes"):
        turned.check_orientation()


def test_triangles_out_of_range_are_refused():
    with pytest.raises(MeshError, match=r"triangles must be 0 … 2, .* row 0 is"):
        Surface.from_triangles(np.zeros((3, 3)), np.array([[0, 1, 3]]))


def test_a_face_shared_by_three_cells_is_named():
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1), (0.3, 0.3, 2)], dtype=float)
    mesh = Mesh.oriented(points, [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]], "tet4")
    with pytest.raises(MeshError, match=r"nodes 0, 1, 2 is shared by 3 cells .cells 0, 1 and 2"):
        mesh.surface()


def test_volume_follows_the_points():
    surface = box((1, 1, 1), (2, 2, 2)).surface()
    assert surface.with_points(2 * surface.points).volume() == pytest.approx(8.0)


def test_selected_part_keeps_its_facets():
    surface = box((1, 1, 1), (2, 2, 2), element="tet10").surface()
    top = surface.selected((surface.points[surface.facets][:, :, 2] == 1).all(axis=1))
    assert top.area() == pytest.approx(1.0)
    assert top.area_vectors().sum(axis=0) == pytest.approx([0, 0, 1])


def test_a_hundred_thousand_cells_take_less_than_a_second():
    mesh = box((1, 1, 1), (26, 26, 26))
    start = time.perf_counter()
    mesh.surface()
    assert mesh.cell_count > 100_000
    assert time.perf_counter() - start < 1.0
