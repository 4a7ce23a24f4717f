"""The membrane of Fang 2022: the published measures, symmetric meshes, and a sheet that chambers push up."""

import numpy as np
import pytest

import pliant as pl
from pliant import robots

RUBBER = pl.materials.MooneyRivlin(c1=119e3, c2=23e3, poisson=0.49, density=1080.0)


@pytest.fixture(scope="module")
def small():
    return robots.membrane(cells=(16, 1), side=4, layers=(1, 1, 1), material=RUBBER)


def test_sizes_are_the_published_ones():
    """A sheet of 250 × 250 × 5 mm over discs ⌀80 × 10 mm, 100 mm apart, with 8 670 tetrahedra each."""
    made = robots.membrane()
    assert np.ptp(made.sheet.mesh.bounds, axis=0) == pytest.approx((0.25, 0.25, 0.005), abs=1e-12)
    assert made.sheet.mesh.bounds[0][2] == pytest.approx(0.010)
    middles = np.array([one.body.mesh.bounds.mean(axis=0)[:2] for one in made.chambers])
    assert middles == pytest.approx(np.array([(-0.05, -0.05), (0.05, -0.05), (-0.05, 0.05), (0.05, 0.05)]))
    for one in made.chambers:
        assert np.ptp(one.body.mesh.bounds, axis=0) == pytest.approx((0.08, 0.08, 0.01), abs=1e-12)
        assert one.body.mesh.cell_count == pytest.approx(8670, rel=0.05)
        air = one.body.mesh.points[one.cavity.surface.nodes]
        assert (air[:, 2].min(), air[:, 2].max()) == pytest.approx((0.005, 0.008))
        assert -one.cavity.surface.volume() == pytest.approx(np.pi * 0.038**2 * 0.003, rel=0.01)


def test_meshes_are_sound_and_symmetric(small):
    """Closed, upright, and every tetrahedron has its mirror images in x = 0 and x = y, in the sheet and in a disc."""
    for body in (small.sheet, *(one.body for one in small.chambers)):
        mesh = body.mesh
        assert mesh.quality().min() > 0.02
        mesh.surface().check_closed()
        mesh.surface().check_orientation()
        centers = mesh.points[mesh.cells].mean(axis=1) - mesh.bounds.mean(axis=0)
        own = {tuple(c) for c in np.round(centers, 8) + 0.0}
        for image in (centers * (-1, 1, 1), centers[:, [1, 0, 2]]):
            assert own == {tuple(c) for c in np.round(image, 8) + 0.0}


def test_the_rim_and_the_floors_are_held(small):
    rest = small.sheet.mesh.points
    held = rest[small.sheet.clamp.nodes(rest)]
    assert np.abs(held[:, :2]).max(axis=1) == pytest.approx(np.full(len(held), 0.125))
    for one in small.chambers:
        points = one.body.mesh.points
        assert (points[one.body.clamp.nodes(points)][:, 2] == 0.0).all()


@pytest.mark.parametrize("element", ["hex8", "tet10"])
def test_it_comes_in_every_element(element):
    made = robots.membrane(cells=(8, 1), side=4, layers=(1, 1, 1), element=element)
    assert {made.sheet.mesh.element, made.chambers[0].body.mesh.element} == {element}
    assert len(made.cavities) == 4


def test_controls_are_one_ratio_for_all_or_one_each(small):
    assert [value.value for value in small.controls(1.5).values()] == [1.5] * 4
    assert [value.value for value in small.controls((1.0, 2.0, 3.0, 4.0)).values()] == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(pl.InputError, match="one number or 4"):
        small.controls((1.0, 2.0))
