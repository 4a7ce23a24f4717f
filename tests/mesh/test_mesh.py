"""The mesh: what the constructor refuses and how it says so, transformations, volumes, quality, conversion."""

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.core.errors import InputError, MeshError
from pliant.mesh import Mesh, box, drop_unused_nodes
from pliant.mesh.mesh import rotation_matrix

PIVOT = np.array((0.1, 0.0, 0.0))
CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)


@pytest.fixture(params=["tet4", "tet10", "hex8"])
def beam(request):
    return box((0.2, 0.04, 0.03), (5, 2, 2), element=request.param)


def test_arrays_are_read_only_copies():
    points, cells = CORNERS.copy(), np.array([[0, 1, 2, 3]])
    mesh = Mesh(points, cells, "tet4")
    points[0] = 9.0
    assert mesh.points[0] == pytest.approx([0, 0, 0])
    assert mesh.points.dtype == np.float64
    assert mesh.cells.dtype == np.int32
    for array in (mesh.points, mesh.cells):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_inverted_cells_are_named_and_counted():
    mesh = box((1, 1, 1), (3, 3, 3))
    cells = np.array(mesh.cells)
    wrong = [12, 57, 60, 61, 62, 70, 71]
    cells[wrong] = cells[wrong][:, [0, 2, 1, 3]]
    with pytest.raises(MeshError, match=r"cells 12, 57, 60, 61, 62 and 2 more are inverted .*m³.*Mesh\.oriented"):
        Mesh(mesh.points, cells, "tet4")
    cells = np.array(mesh.cells)
    cells[4] = cells[4][[1, 0, 2, 3]]
    with pytest.raises(MeshError, match="cell 4 is inverted"):
        Mesh(mesh.points, cells, "tet4")


def test_oriented_mirrors_wrong_cells(beam):
    cells = np.array(beam.cells)
    cells[::3] = cells[::3][:, beam.table.flip]
    mended = Mesh.oriented(beam.points, cells, beam.element)
    assert mended.volume == pytest.approx(beam.volume)
    assert (mended.cells == beam.cells).all()


@pytest.mark.parametrize(
    ("points", "cells", "element", "words"),
    [
        (CORNERS, [[0, 1, 2, 4]], "tet4", r"cell 0 refers to nodes outside 0…3"),
        (CORNERS, [[0, 1, 2, -1]], "tet4", r"cell 0 refers to nodes outside"),
        (CORNERS, np.zeros((0, 4), dtype=int), "tet4", "no cells"),
        (CORNERS, [[0, 1, 2]], "tet4", r"shape \(m, 4\)"),
        (CORNERS, [[0.0, 1.0, 2.0, 3.0]], "tet4", "integers"),
        (CORNERS, [[0, 1, 2, 2]], "tet4", "cell 0 has the same node twice"),
        (CORNERS, [[0, 1, 2, 3], [1, 2, 0, 3]], "tet4", "cell 1 is repeated"),
        (np.vstack([CORNERS, [(5, 5, 5)]]), [[0, 1, 2, 3]], "tet4", "node 4 of 5 is used by no cell.*drop_unused"),
        (CORNERS * [1, 1, 0], [[0, 1, 2, 3]], "tet4", "cell 0 is flat"),
    ],
)
def test_bad_meshes_are_refused_by_name(points, cells, element, words):
    with pytest.raises(MeshError, match=words):
        Mesh(points, cells, element)


def test_points_must_be_finite():
    points = CORNERS.copy()
    points[2, 1] = np.nan
    with pytest.raises(InputError, match=r"points must be finite.*\[2, 1\]"):
        Mesh(points, [[0, 1, 2, 3]], "tet4")


def test_a_bent_tet10_that_folds_is_refused():
    mesh = Mesh(CORNERS, [[0, 1, 2, 3]], "tet4").with_element("tet10")
    points = np.array(mesh.points)
    points[4] = (0.9, 0.6, 0.6)
    with pytest.raises(MeshError, match="cell 0 is inverted"):
        Mesh(points, mesh.cells, "tet10")


def test_cell_volumes_sum_to_the_box(beam):
    assert beam.cell_volumes().shape == (beam.cell_count,)
    assert beam.volume == pytest.approx(0.2 * 0.04 * 0.03, rel=1e-12)
    assert beam.bounds == pytest.approx(np.array([(0, 0, 0), (0.2, 0.04, 0.03)]))


def test_volume_of_bent_hexahedra_matches_their_fine_split():
    twist = lambda p: np.column_stack([p[:, 0], p[:, 1] + 0.3 * p[:, 0] * p[:, 2], p[:, 2]])  # noqa: E731
    coarse = box((1, 1, 1), (1, 1, 1), element="hex8").mapped(twist)
    # the map is of the form a trilinear cell can take, and keeps volume
    assert coarse.volume == pytest.approx(1.0, rel=1e-13)


def test_transformations_return_new_meshes(beam):
    moved = beam.translated((1, 2, 3))
    assert moved.points == pytest.approx(beam.points + np.array((1, 2, 3)))
    assert moved.volume == pytest.approx(beam.volume)
    assert beam.scaled(2.0).volume == pytest.approx(8 * beam.volume)
    assert beam.scaled((1, 2, 3)).volume == pytest.approx(6 * beam.volume)
    assert beam.bounds[0] == pytest.approx([0, 0, 0])


def test_rotations_in_three_forms_agree(beam):
    vector = np.array([0.1, -0.4, 0.3])
    rotation = Rotation.from_rotvec(vector)
    turned = [beam.rotated(form, center=PIVOT) for form in (vector, rotation, rotation.as_matrix())]
    assert turned[0].points == pytest.approx(turned[1].points, abs=1e-15)
    assert turned[0].points == pytest.approx(turned[2].points, abs=1e-15)
    assert turned[0].points == pytest.approx(rotation.apply(beam.points - PIVOT) + PIVOT, abs=1e-15)


def test_bad_transformations_are_refused(beam):
    with pytest.raises(InputError, match="not a rotation matrix"):
        beam.rotated(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(InputError, match="factor"):
        beam.scaled(-1.0)
    with pytest.raises(MeshError, match="inverted"):
        beam.mapped(lambda p: p * [1, 1, -1])


def test_a_tapered_membrane_is_a_mapped_box():
    def cook(p):
        return np.column_stack([0.048 * p[:, 0], (0.044 - 0.028 * p[:, 0]) * p[:, 1] + 0.044 * p[:, 0], p[:, 2]])

    mesh = box((1, 1, 0.001), (4, 4, 1), element="hex8").mapped(cook)
    assert mesh.volume == pytest.approx(0.048 * 0.5 * (0.044 + 0.016) * 0.001)


def test_quality_is_one_for_regular_cells_and_scale_free():
    regular = np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], dtype=float)
    mesh = Mesh.oriented(regular, [[0, 1, 2, 3]], "tet4")
    assert mesh.quality() == pytest.approx([1.0])
    assert mesh.scaled(1e-3).quality() == pytest.approx([1.0])
    assert box((1, 2, 3), (1, 1, 1), element="hex8").quality() == pytest.approx([1.0])


def test_poor_cells_are_named_worst_first():
    mesh = box((1, 1, 1), (2, 2, 2))
    points = np.array(mesh.points)
    points[13] += [0.45, 0.0, 0.0]
    poor = Mesh(points, mesh.cells, "tet4")
    poor.check_quality(minimum=0.05)
    worst = int(np.argmin(poor.quality()))
    with pytest.raises(MeshError, match=rf"cells {worst}, .* badly shaped .*minimum 0\.5"):
        poor.check_quality(minimum=0.5)


def test_tet10_has_one_node_per_edge():
    linear = box((1, 1, 1), (2, 2, 2))
    quadratic = linear.with_element("tet10")
    assert quadratic.node_count == linear.node_count + len(linear.edges())
    ends = quadratic.points[quadratic.cells[:, quadratic.table.edges]]
    assert quadratic.points[quadratic.cells[:, 4:]] == pytest.approx(ends.mean(axis=2))
    back = quadratic.with_element("tet4")
    assert (back.points == linear.points).all()
    assert (back.cells == linear.cells).all()
    assert (quadratic.corner_cells == linear.cells).all()


def test_impossible_conversion_says_what_to_do():
    with pytest.raises(InputError, match="element='hex8'"):
        box((1, 1, 1), (1, 1, 1)).with_element("hex8")


def test_unused_nodes_can_be_dropped():
    points, cells = drop_unused_nodes(np.vstack([[(9, 9, 9)], CORNERS]), [[1, 2, 3, 4]])
    assert Mesh(points, cells, "tet4").node_count == 4
    with pytest.raises(MeshError, match=r"cells must be 0 … 3, but 1 are not"):
        drop_unused_nodes(CORNERS, [[0, 1, 2, 7]])


def test_text_form_says_what_it_is(beam):
    assert repr(beam) == f"Mesh({beam.node_count} nodes, {beam.cell_count} {beam.element}, 0.2 × 0.04 × 0.03 m)"


def test_copies_through_pickle_stay_read_only(beam):
    again = pickle.loads(pickle.dumps(beam))
    assert (again.points == beam.points).all()
    assert not again.points.flags.writeable
    skin = pickle.loads(pickle.dumps(beam.surface()))
    assert (skin.triangles == beam.surface().triangles).all()
    assert not skin.triangles.flags.writeable


@pytest.mark.parametrize("matrix", [0.9 * np.eye(3), 1.1 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.ones((3, 3))])
def test_what_is_no_rotation_is_refused(matrix):
    with pytest.raises(InputError, match="not a rotation matrix"):
        rotation_matrix(matrix)


@pytest.mark.parametrize("vector", [1.0, (1.0, 2.0), np.ones((4, 3))])
def test_a_translation_is_one_vector(beam, vector):
    with pytest.raises(InputError, match="vector must have shape"):
        beam.translated(vector)
