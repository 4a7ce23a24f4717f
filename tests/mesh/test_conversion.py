"""Splitting hexahedra: six tetrahedra a cell that fill it and conform, whatever the numbering."""

import numpy as np
import pytest

from pliant.mesh import Mesh, box


@pytest.mark.parametrize("seed", range(4))
def test_split_conforms_for_any_numbering_of_the_nodes(seed):
    grid = box((1, 1, 1), (3, 2, 2), element="hex8")
    order = np.random.default_rng(seed).permutation(grid.node_count)
    points = np.empty_like(grid.points)
    points[order] = grid.points
    shuffled = Mesh(points, order[grid.cells], "hex8")
    split = shuffled.with_element("tet4")
    assert split.cell_count == 6 * grid.cell_count
    assert split.volume == pytest.approx(1.0)
    # a mismatch of diagonals would leave faces unpaired inside the body and add to the surface
    surface = split.surface()
    surface.check_closed()
    assert len(surface.triangles) == 2 * len(grid.surface().facets)
    assert surface.area() == pytest.approx(6.0)


def test_split_of_one_cell_fills_it_for_every_smallest_corner():
    cube = box((1, 1, 1), (1, 1, 1), element="hex8")
    for smallest in range(8):
        order = np.roll(np.arange(8), smallest)
        points = np.empty_like(cube.points)
        points[order] = cube.points
        split = Mesh(points, order[cube.cells], "hex8").with_element("tet4")
        assert split.cell_volumes() == pytest.approx(np.full(6, 1 / 6))


def test_hexahedra_become_quadratic_tetrahedra_in_one_go():
    grid = box((1, 1, 1), (2, 1, 1), element="hex8")
    assert (grid.with_element("tet10").cells == grid.with_element("tet4").with_element("tet10").cells).all()
