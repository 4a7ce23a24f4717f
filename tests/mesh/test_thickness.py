"""Chords through walls and sizes of cells from them: known thicknesses, hollows, limits, and the meshes of Gmsh."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError, MeshError
from pliant.mesh.sizing import interior_points
from pliant.mesh.thickness import wall_chords


def with_hollow(size, wall):
    """The surface of a box of `size` (3,) m around a box of air, with walls of `wall` m."""
    outer = pl.mesh.box(size, (2, 2, 2)).surface()
    inner = pl.mesh.box(tuple(length - 2 * wall for length in size), (1, 1, 1)).translated((wall,) * 3).surface()
    points = np.vstack([outer.points, inner.points])
    return pl.mesh.Surface.from_triangles(points, np.vstack([outer.triangles, inner.triangles + len(outer.points)]))


def test_chords_measure_the_walls_of_a_hollow_box():
    chords = wall_chords(with_hollow((0.06, 0.02, 0.02), 0.004))
    assert len(chords.lengths) > 1000
    assert chords.quantile(0.05) == pytest.approx(0.004, rel=1e-9)
    across = np.isclose(chords.lengths, 0.004, rtol=1e-9)
    # chords near the edges of the box pass the hollow and end at the other side
    assert set(np.round(chords.lengths[~across], 9)) == {0.02, 0.06}
    assert chords.weights.sum() == pytest.approx(1.0)


def test_chords_do_not_need_an_orientation():
    surface = with_hollow((0.06, 0.02, 0.02), 0.004)
    there, back = wall_chords(surface), wall_chords(surface.flipped())
    for fraction in (0.05, 0.5, 0.75, 0.99):
        assert back.quantile(fraction) == pytest.approx(there.quantile(fraction), rel=1e-9)


def test_chords_measure_a_tube():
    surface = pl.mesh.tube(0.008, 0.010, 0.05, cells=(1, 32, 3)).surface()
    assert wall_chords(surface).quantile(0.5) == pytest.approx(0.002, rel=0.03)


def test_a_wedge_is_no_wall():
    block = pl.mesh.box((0.03, 0.01, 0.03), (3, 1, 3), symmetric="")
    points = block.points.copy()
    points[:, 2] *= 2.0 * points[:, 0] / 0.03 + 0.02  # the upper side falls to x = 0 at 63°
    chords = wall_chords(block.surface().with_points(points))
    assert chords.quantile(0.05) > 0.003


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_sizes_scale_with_the_body(factor):
    small = pl.mesh.cell_sizes(with_hollow((0.06, 0.02, 0.02), 0.004))
    surface = with_hollow((0.06 * factor, 0.02 * factor, 0.02 * factor), 0.004 * factor)
    large = pl.mesh.cell_sizes(surface)
    assert large.thin == pytest.approx(factor * small.thin, rel=1e-6)
    assert large.cells == pytest.approx(small.cells, rel=0.02)
    assert large.layers == pytest.approx(2.0)


def test_points_inside_stand_for_the_volume():
    points, volumes = interior_points(with_hollow((0.06, 0.02, 0.02), 0.004))
    assert volumes.sum() == pytest.approx(0.06 * 0.02**2 - 0.052 * 0.012**2, rel=1e-9)
    inside = np.all((points > 0.0) & (points < (0.06, 0.02, 0.02)), axis=1)
    hollow = np.all((points > 0.004) & (points < (0.056, 0.016, 0.016)), axis=1)
    assert (inside & ~hollow).all()


def test_the_number_of_cells_is_limited_and_told():
    surface = with_hollow((0.1, 0.1, 0.02), 0.001)
    sizes = pl.mesh.cell_sizes(surface, max_cells=5000)
    assert sizes.cells == pytest.approx(5000, rel=0.01)
    assert sizes.wanted_cells > 100_000
    assert sizes.layers < 1.0
    assert "2 across would take about" in str(sizes)
    assert sizes.scaled(2.0).least == pytest.approx(2.0 * sizes.least)


@pytest.mark.parametrize("options", [{"layers": 0}, {"max_cells": 0}])
def test_bad_options_are_told(options):
    with pytest.raises(InputError, match=next(iter(options))):
        pl.mesh.cell_sizes(with_hollow((0.06, 0.02, 0.02), 0.004), **options)


def test_an_open_surface_has_no_walls():
    sheet = pl.mesh.Surface.from_triangles(np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0.0)]), np.array([(0, 1, 2)]))
    with pytest.raises(MeshError, match="no wall"):
        pl.mesh.cell_sizes(sheet)


def test_a_mesh_has_two_cells_across_its_walls_and_as_many_as_expected():
    pytest.importorskip("gmsh")
    size = (0.026, 0.016, 0.016)
    surface = with_hollow(size, 0.005)
    sizes = pl.mesh.cell_sizes(surface)
    mesh = pl.mesh.tetrahedralize(surface)  # chooses the same sizes
    assert 1 / 1.4 < sizes.cells / mesh.cell_count < 1.4
    assert 1 / 1.4 < sizes.nodes / mesh.node_count < 1.4
    # nodes strictly inside the walls: with one cell across there would be hardly any
    depth = np.minimum(mesh.points, np.asarray(size) - mesh.points).min(axis=1)
    assert (((depth > 0.001) & (depth < 0.004)).sum()) > 0.1 * mesh.node_count
    assert len(mesh.surface().components()) == 2


def test_a_step_file_is_measured_too(tmp_path):
    gmsh = pytest.importorskip("gmsh")
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        body, air = gmsh.model.occ.addBox(0, 0, 0, 26, 16, 16), gmsh.model.occ.addBox(5, 5, 5, 16, 6, 6)
        gmsh.model.occ.cut([(3, body)], [(3, air)])
        gmsh.model.occ.synchronize()
        gmsh.write(str(tmp_path / "part.step"))
    finally:
        gmsh.finalize()
    mesh = pl.mesh.tetrahedralize(tmp_path / "part.step")
    assert mesh.volume == pytest.approx(6.08e-6, rel=1e-6)
    sizes = pl.mesh.cell_sizes(with_hollow((0.026, 0.016, 0.016), 0.005))
    assert 1 / 1.4 < sizes.cells / mesh.cell_count < 1.4
