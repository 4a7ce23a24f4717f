"""Contacts between the points of a slender body: where its axis is lowest, by a fine scan of the segments."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView

STEEL = pl.materials.Corotated(young=1e8, poisson=0.3, density=1e3)
SIZE = (0.006, 0.02, 0.006)


def crossing(where, slope, bend):
    """A beam of four elements, bent or not, across a narrow soft post whose top is at z = 0: its pair and a view."""
    scene = pl.Scene()
    x = np.linspace(-0.1, 0.1, 5)
    z = 0.008 + slope * x + bend * x**2
    section = pl.sections.Circle(0.004)
    beam = pl.Beam(np.column_stack([x, 0.0 * x, z]), section=section, young=1e6, poisson=0.3, density=1e3,
                   contact_points=1)  # fmt: skip
    scene.add(beam)
    mesh = pl.mesh.box(SIZE, (2, 4, 2)).translated((where - 0.003, -0.01, -0.006))
    post = scene.add(pl.Volume(mesh, STEEL, clamp=pl.regions.plane(axis="z", at=-0.006)))
    scene.collide(beam, post, margin=0.03)
    world = scene.compile()
    return world.constraints[0], RowView.of(world.models)


@pytest.mark.parametrize("where", [-0.081, -0.037, 0.013, 0.063])
@pytest.mark.parametrize(("slope", "bend"), [(0.0, 0.0), (0.04, 0.0), (-0.03, 1.5)])
def test_a_segment_is_lowest_where_a_fine_scan_says(where, slope, bend):
    pair, view = crossing(where, slope, bend)
    nearest = pair._nearest(view)
    listed = pair.side.listed
    segments, fractions = pair._lowest(view, listed, nearest)
    strand, q, grid = pair.side.strand, pair.a.q(view), np.linspace(0.0, 1.0, 401)

    def gaps(segment, at):
        points = strand.on_segments(np.full(len(at), segment), np.asarray(at)).points(q)
        return nearest(points).gap

    found = dict(zip(segments.tolist(), fractions.tolist(), strict=True))
    assert found
    for segment in listed.tolist():
        scan = gaps(segment, grid)
        length = 0.05
        if segment in found:
            assert 0.0 < found[segment] < 1.0
            assert gaps(segment, [found[segment]])[0] <= scan.min() + 2e-3 * length
            assert scan.min() < min(scan[0], scan[-1])
        else:
            assert scan.min() > min(scan[0], scan[-1]) - 0.02 * length
