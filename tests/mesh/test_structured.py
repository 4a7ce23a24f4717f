"""The structured box: node order, counts, Kuhn's diagonals."""

import numpy as np
import pytest

from pliant.core.errors import InputError
from pliant.mesh import box


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
    mesh = box((1, 1, 1), counts)
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
