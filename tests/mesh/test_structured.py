"""The structured box: node order, counts, Kuhn's diagonals."""

import numpy as np
import pytest

from pliant.core.errors import InputError
from pliant.mesh import box, grid


def test_the_usual_beam_has_its_published_counts():
    mesh = box((0.2, 0.04, 0.04), (20, 4, 4))
    assert (mesh.node_count, mesh.cell_count) == (525, 1920)
    assert box((0.2, 0.04, 0.04), (20, 4, 4), element="hex8").cell_count == 320
    assert box((0.2, 0.04, 0.04), (20, 4, 4), element="tet10").cell_count == 1920


def test_nodes_are_numbered_with_z_fastest():
    nx, ny, nz = 3, 2, 4
    mesh = box((3.0, 2.0, 4.0), (nx, ny, nz))
    for i, j, k in np.ndindex(nx + 1, ny + 1, nz + 1):
        assert mesh.points[(i * (ny + 1) + j) * (nz + 1) + k] == pytest.approx([i, j, k])


def test_every_cube_is_split_in_six_along_its_main_diagonal():
    counts = (2, 3, 2)
    mesh = box((1, 1, 1), counts, symmetric="")
    expected = set()
    for corner in np.ndindex(*counts):
        for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            place, path = np.array(corner), [tuple(corner)]
            for axis in order:
                place = place + np.eye(3, dtype=int)[axis]
                path.append(tuple(place))
            expected.add(frozenset((i * 4 + j) * 3 + k for i, j, k in path))
    assert {frozenset(cell.tolist()) for cell in mesh.cells} == expected
    assert mesh.cell_volumes() == pytest.approx(np.full(72, 1 / 72))


@pytest.mark.parametrize(
    ("size", "cells", "words"),
    [
        ((1, 1, 0), (1, 1, 1), "size along z"),
        ((1, 1), (1, 1, 1), "size must have shape"),
        ((1, 1, 1), (1, 0, 1), "cells along y"),
        ((1, 1, 1), (1, 1.5, 1), "cells along y"),
        ((1, 1, 1), 3, "3 whole numbers"),
    ],
)
def test_bad_arguments_are_named(size, cells, words):
    with pytest.raises(InputError, match=words):
        box(size, cells)


def test_unknown_element_is_refused():
    with pytest.raises(InputError, match="tet5"):
        box((1, 1, 1), (1, 1, 1), element="tet5")


@pytest.mark.parametrize("symmetric", ["x", "y", "yz", "xz", "xyz", None])
@pytest.mark.parametrize("element", ["tet4", "tet10"])
def test_a_symmetric_split_is_its_own_mirror_image(element, symmetric):
    counts = (2, 4, 2)
    mesh = box((1.0, 1.5, 0.5), counts, element=element, symmetric=symmetric)
    plain = box((1.0, 1.5, 0.5), counts, element=element, symmetric="")
    corners = (counts[0] + 1) * (counts[1] + 1) * (counts[2] + 1)
    np.testing.assert_array_equal(mesh.points[:corners], plain.points[:corners])  # the numbering stays
    assert mesh.cell_volumes() == pytest.approx(plain.cell_volumes())
    cells = {frozenset(map(tuple, np.round(mesh.points[cell], 9).tolist())) for cell in mesh.cells[:, :4]}
    assert len(cells) == plain.cell_count
    for axis in symmetric or "xyz":
        index = "xyz".index(axis)
        flipped = mesh.points.copy()
        flipped[:, index] = (1.0, 1.5, 0.5)[index] - flipped[:, index]
        assert {frozenset(map(tuple, np.round(flipped[cell], 9).tolist())) for cell in mesh.cells[:, :4]} == cells
    triangles = np.sort(mesh.cells[:, [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]], axis=2).reshape(-1, 3)
    _, seen = np.unique(triangles, axis=0, return_counts=True)
    assert seen.max() == 2  # cells conform: every inner triangle belongs to two of them
    assert (seen == 1).sum() == len(plain.surface().triangles) // (4 if element == "tet10" else 1)


def test_every_cube_of_a_symmetric_split_has_six_cells_around_one_diagonal():
    for cells, symmetric in (((2, 2, 2), "yz"), ((2, 2, 2), None), ((3, 1, 5), None)):
        mesh = box(cells, cells, symmetric=symmetric)
        for cube in mesh.cells.reshape(-1, 6, 4):
            common = set.intersection(*(set(cell.tolist()) for cell in cube))
            a, b = (mesh.points[node] for node in common)
            assert np.abs(a - b) == pytest.approx([1.0, 1.0, 1.0])


def test_with_an_odd_number_of_cells_all_but_the_middle_layer_is_symmetric():
    mesh = box((5.0, 2.0, 1.0), (5, 2, 1))
    flipped = mesh.points * [-1.0, 1.0, 1.0] + [5.0, 0.0, 0.0]
    outside = np.abs(mesh.points[mesh.cells].mean(axis=1)[:, 0] - 2.5) > 0.5
    cells, images = (
        {frozenset(map(tuple, np.round(points[cell], 9).tolist())) for cell in mesh.cells[outside]}
        for points in (mesh.points, flipped)
    )
    assert len(cells) == 48
    assert cells == images


def test_hexahedra_need_no_symmetric_split():
    np.testing.assert_array_equal(
        box((1, 1, 1), (2, 2, 2), element="hex8", symmetric="y").cells, box((1, 1, 1), (2, 2, 2), element="hex8").cells
    )


@pytest.mark.parametrize(
    ("symmetric", "words"), [("y", "3 along y"), ("w", "must name axes"), (True, "must be a text")]
)
def test_impossible_symmetry_is_refused(symmetric, words):
    with pytest.raises(InputError, match=words):
        box((1, 1, 1), (2, 3, 2), symmetric=symmetric)


def test_a_graded_grid_is_a_box_with_its_own_coordinates():
    x, y, z = [0.0, 0.1, 0.3, 0.7], [-1.0, 1.0], [0.0, 0.5, 0.6]
    mesh, plain = grid(x, y, z), box((1, 1, 1), (3, 1, 2))
    np.testing.assert_array_equal(mesh.cells, plain.cells)
    assert [np.unique(mesh.points[:, axis]).tolist() for axis in range(3)] == [x, y, z]
    assert mesh.volume == pytest.approx(0.7 * 2.0 * 0.6)
    np.testing.assert_array_equal(grid(*[np.linspace(0, 1, 3)] * 3).points, box((1, 1, 1), (2, 2, 2)).points)


@pytest.mark.parametrize("line", [[0.0, 0.2, 0.2], [1.0, 0.0], [0.0], 3.0, [[0.0, 1.0]]])
def test_coordinates_that_do_not_increase_are_refused(line):
    with pytest.raises(InputError, match="coordinates along y"):
        grid([0, 1], line, [0, 1])
