"""Cylinder, tube and hollow sphere: volumes converge to the closed form, shapes stay good, tets conform."""

import numpy as np
import pytest

from pliant.core.errors import InputError, MeshError
from pliant.mesh import Mesh, cylinder, mesh_report, shell, sphere, tube

ELEMENT_NAMES = ("tet4", "tet10", "hex8")
MAKERS = {
    "cylinder": (lambda n, e: cylinder(0.01, 0.03, cells=(2 * n, 3 * n), element=e), np.pi * 0.01**2 * 0.03),
    "tube": (lambda n, e: tube(0.01, 0.02, 0.03, cells=(n, 12 * n, 3 * n), element=e), np.pi * 3e-4 * 0.03),
    "shell": (lambda n, e: shell(0.01, 0.02, cells=(n, 2 * n), element=e), 4 / 3 * np.pi * 7e-6),
    "octant": (lambda n, e: shell(0.01, 0.02, cells=(n, 2 * n), octant=True, element=e), np.pi / 6 * 7e-6),
}
EACH = pytest.mark.parametrize("shape", list(MAKERS))
EACH_ELEMENT = pytest.mark.parametrize("element", ELEMENT_NAMES)


@EACH
@EACH_ELEMENT
def test_meshes_are_closed_conforming_and_well_shaped(shape, element):
    mesh = MAKERS[shape][0](2, element)
    surface = mesh.surface()
    surface.check_closed()
    surface.check_orientation()
    assert len(surface.components()) == (2 if shape == "shell" else 1)
    mesh.check_quality(minimum=0.7 if element == "hex8" else 0.3)


@EACH
@EACH_ELEMENT
def test_volume_converges_to_the_closed_form(shape, element):
    make, exact = MAKERS[shape]
    errors = [abs(make(n, element).volume / exact - 1.0) for n in (1, 2)]
    order = np.log2(errors[0] / errors[1])
    assert order > (3.4 if element == "tet10" else 1.7)
    assert errors[1] < (2e-3 if element == "tet10" else 0.05)


@pytest.mark.parametrize("radial", [1, 2, 3, 5, 8])
def test_cylinders_of_any_fineness_are_sound(radial):
    mesh = cylinder(0.01, 0.02, cells=(radial, 2 * radial), element="hex8")
    mesh.check_quality(minimum=0.7)
    rim = np.linalg.norm(mesh.points[:, :2], axis=1).max()
    assert rim == pytest.approx(0.01)
    cylinder(0.01, 0.02, cells=(radial, 2 * radial)).check_quality(minimum=0.25)


def test_cylinder_stands_on_the_origin_along_z():
    mesh = cylinder(0.01, 0.03, cells=(2, 3), element="hex8")
    assert mesh.bounds == pytest.approx(np.array([(-0.01, -0.01, 0), (0.01, 0.01, 0.03)]))


def test_nodes_of_a_tube_lie_on_its_circles():
    mesh = tube(0.01, 0.02, 0.03, cells=(2, 8, 2), element="hex8")
    assert (mesh.node_count, mesh.cell_count) == (3 * 8 * 3, 2 * 8 * 2)
    radii = np.unique(np.linalg.norm(mesh.points[:, :2], axis=1).round(9))
    assert radii == pytest.approx([0.01, 0.015, 0.02])


def test_middle_nodes_of_a_quadratic_tube_are_on_the_curve():
    mesh = tube(0.01, 0.02, 0.03, cells=(1, 8, 1), element="tet10")
    radius = np.linalg.norm(mesh.points[:, :2], axis=1)
    on_bore = [s for s in mesh.surface().facets if (radius[s[:3]] < 0.0100001).all()]
    assert len(on_bore) == 16
    assert radius[np.array(on_bore)] == pytest.approx(0.01)


@EACH_ELEMENT
def test_octant_has_exact_symmetry_planes(element):
    mesh = shell(0.01, 0.02, cells=(2, 3), octant=True, element=element)
    assert mesh.points.min() == 0.0
    for axis in range(3):
        assert (mesh.points[:, axis] == 0.0).sum() > 10


def test_impossible_shapes_are_refused():
    with pytest.raises(InputError, match="inner_radius"):
        tube(0.02, 0.01, 0.1, cells=(1, 8, 1))
    with pytest.raises(InputError, match="circumference must be ≥ 3"):
        tube(0.01, 0.02, 0.1, cells=(1, 2, 1))
    assert tube(0.01, 0.02, 0.1, cells=(1, 3, 1)).cell_count == 18
    with pytest.raises(InputError, match="radius must be > 0"):
        cylinder(0.0, 0.1, cells=(1, 1))


@pytest.mark.parametrize(("element", "lost"), [("tet4", 0.07), ("hex8", 0.07), ("tet10", 0.001)])
def test_a_solid_ball(element, lost):
    mesh = sphere(0.01, cells=(4, 2), element=element)
    surface = mesh.surface()
    corners = np.unique(surface.triangles)
    np.testing.assert_allclose(np.linalg.norm(mesh.points[corners], axis=1), 0.01, rtol=1e-3)
    assert len(surface.components()) == 1
    assert mesh.cell_volumes().min() > 0.0
    volume = 4.0 / 3.0 * np.pi * 0.01**3
    assert 1.0 - lost < mesh.cell_volumes().sum() / volume < 1.0
    assert mesh_report(mesh).least_quality > 0.4


def test_a_finer_ball_is_rounder():
    volumes = [sphere(1.0, cells=(2 * k, k)).cell_volumes().sum() for k in (1, 2, 4)]
    errors = 4.0 / 3.0 * np.pi - np.array(volumes)
    assert (errors[:-1] / errors[1:] > 3.0).all()


def test_edges_inside_a_quadratic_cylinder_stay_straight():
    mesh = cylinder(0.01, 0.03, cells=(2, 3), element="tet10")
    ends = mesh.cells[:, mesh.table.edges].reshape(-1, 2)
    middles = mesh.points[mesh.cells[:, 4:].ravel()]
    outside = (np.linalg.norm(mesh.points[ends][..., :2], axis=2) > 0.01 * (1 - 1e-9)).all(axis=1)
    assert 20 < outside.sum() < len(ends)
    np.testing.assert_allclose(middles[~outside], mesh.points[ends[~outside]].mean(axis=1), atol=1e-15)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3])
def test_flat_cells_are_flat_at_any_scale(scale):
    """A sliver is refused, and a cell a thousand times as thick taken, whatever the unit of length."""
    cell = np.array([[0, 1, 2, 3]])
    for height, good in ((1e-14, False), (1e-3, True)):
        points = scale * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, height]])
        if good:
            assert Mesh(points, cell, "tet4").cell_count == 1
        else:
            with pytest.raises(MeshError):
                Mesh(points, cell, "tet4")


@pytest.mark.parametrize(
    "make", [lambda a, b: tube(a, b, 0.1, cells=(1, 8, 1)), lambda a, b: shell(a, b, cells=(1, 1))]
)
def test_walls_have_a_thickness(make):
    for inner, outer in ((0.02, 0.02), (0.03, 0.02)):
        with pytest.raises(InputError, match=r"inner_radius .* must be smaller than outer_radius"):
            make(inner, outer)
    assert make(0.0199, 0.02).cell_count > 0
