"""Regions: what they select, their algebra, and the error of an empty selection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.core.errors import InputError, MeshError
from pliant.mesh import box, regions

POINTS = np.random.default_rng(3).uniform(-1, 1, (200, 3))


def test_box_holds_its_faces_in_spite_of_rounding():
    mesh = box((0.3, 0.1, 0.1), (3, 1, 1))
    assert regions.box((0.1, 0, 0), (0.2, 0.1, 0.1)).select(mesh.points).sum() == 8
    assert regions.box((0.1 + 1e-12, 0, 0), (0.2, 0.1, 0.1)).select(mesh.points).sum() == 8
    assert regions.box((0.1 + 1e-6, 0, 0), (0.2, 0.1, 0.1)).select(mesh.points).sum() == 4


def test_box_may_be_open():
    assert regions.box((0, -np.inf, -np.inf), (np.inf,) * 3).select(POINTS).sum() == (POINTS[:, 0] >= 0).sum()


def test_plane_in_both_forms():
    mesh = box((1, 1, 1), (2, 3, 4))
    by_axis = regions.plane(axis="x", at=0.5).select(mesh.points)
    by_normal = regions.plane((0.5, 9, 9), (2, 0, 0)).select(mesh.points)
    assert by_axis.sum() == 20
    assert (by_axis == by_normal).all()
    assert regions.plane(axis="z", at=0.3, tolerance=0.06).select(mesh.points).sum() == 12


def test_sphere_and_nodes():
    inside = np.linalg.norm(POINTS - [0.1, 0, 0], axis=1) <= 0.7
    assert (regions.sphere((0.1, 0, 0), 0.7).select(POINTS) == inside).all()
    assert regions.nodes([5, 3, 3]).nodes(POINTS).tolist() == [3, 5]
    assert regions.everything().select(POINTS).all()


@given(st.floats(-1, 1), st.floats(0.1, 1.5), st.floats(-1, 1))
def test_algebra_obeys_de_morgan(corner, radius, at):
    a = regions.box((corner, -1, -1), (2, 2, 2))
    b = regions.sphere((0, 0, at), radius)
    select = lambda region: region.select(POINTS).tolist()  # noqa: E731
    assert select(~(a | b)) == select(~a & ~b)
    assert select(~(a & b)) == select(~a | ~b)
    assert select(~~a) == select(a)
    assert select(a | ~a) == select(regions.everything())


def test_empty_selection_names_region_user_and_bounds():
    mesh = box((0.2, 0.04, 0.04), (2, 1, 1))
    region = regions.plane(axis="x", at=200.0) & regions.sphere((0, 0, 0), 1)
    with pytest.raises(MeshError, match=r"clamp of beam: \(plane .* & sphere .*12 nodes.*0\.2, 0\.04, 0\.04.*metres"):
        region.nodes(mesh.points, what="clamp of beam")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: regions.box((0, 0, 1), (1, 1, 0)), "exceeds upper"),
        (lambda: regions.box((0, 0, np.nan), (1, 1, 1)), "lower must be three numbers"),
        (lambda: regions.plane(axis="w", at=0), '"x", "y" or "z"'),
        (lambda: regions.plane((0, 0, 0)), "either point and normal, or axis and at"),
        (lambda: regions.plane((0, 0, 0), (0, 0, 0)), "must not be zero"),
        (lambda: regions.sphere((0, 0, 0), -1), "radius must be > 0"),
        (lambda: regions.nodes([-1]), "≥ 0"),
        (lambda: regions.nodes(np.array([True, False])), "flatnonzero"),
        (lambda: regions.everything() | 3, "only be combined with a region"),
    ],
)
def test_bad_regions_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_node_numbers_beyond_the_mesh_are_refused():
    with pytest.raises(MeshError, match=r"node 200.*only 200 nodes"):
        regions.nodes([1, 200]).select(POINTS)


def test_a_list_of_indices_is_a_region():
    points = np.zeros((5, 3))
    for listed in ([0, 2], (0, 2), np.array([2, 0]), range(0, 3, 2)):
        np.testing.assert_array_equal(regions.as_region(listed, what="clamp").nodes(points), [0, 2])
    plane = regions.plane(axis="x", at=0.0)
    assert regions.as_region(plane, what="clamp") is plane
    for bad in ("base", 3, (0.5, 1.0), object()):
        with pytest.raises(InputError, match=r"clamp must be a region, such as .* or a list of node indices"):
            regions.as_region(bad, what="clamp")


def test_cells_are_selected_by_index():
    some = regions.cells([3, 1])
    np.testing.assert_array_equal(some.select(np.zeros((5, 3))), [False, True, False, True, False])
    with pytest.raises(MeshError, match="includes cell 3, but the mesh has only 2 cells"):
        some.select(np.zeros((2, 3)))
