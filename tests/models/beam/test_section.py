"""Cross-sections: closed forms, the torsion series, and what is refused."""

import numpy as np
import pytest

import pliant as pl


def test_a_disc_and_a_ring():
    disc, ring = pl.sections.Circle(0.02), pl.sections.Tube(0.02, 0.015)
    assert disc.area == pytest.approx(np.pi * 0.02**2)
    assert disc.torsion_constant == pytest.approx(sum(disc.second_moments))
    inner = pl.sections.Circle(0.015)
    assert ring.area == pytest.approx(disc.area - inner.area)
    assert ring.torsion_constant == pytest.approx(disc.torsion_constant - inner.torsion_constant)
    assert ring.second_moments[0] == pytest.approx(disc.second_moments[0] - inner.second_moments[0])
    assert ring.radius == 0.02


@pytest.mark.parametrize(
    ("ratio", "factor"), [(1.0, 0.1406), (1.5, 0.1958), (2.0, 0.2287), (4.0, 0.2808), (10.0, 0.3123)]
)
def test_torsion_of_a_rectangle_is_that_of_the_table(ratio, factor):
    """J/(a b³), Timoshenko and Goodier, table 7: not I_y + I_z, which is 19 % too stiff for a square."""
    for width, height in ((0.01 * ratio, 0.01), (0.01, 0.01 * ratio)):
        section = pl.sections.Rectangle(width, height)
        assert section.torsion_constant / (0.01 * ratio * 0.01**3) == pytest.approx(factor, abs=1.1e-4)
    assert (
        sum(pl.sections.Rectangle(0.01, 0.01).second_moments)
        > 1.18 * pl.sections.Rectangle(0.01, 0.01).torsion_constant
    )


def test_second_moments_know_width_from_height():
    about_y, about_z = pl.sections.Rectangle(0.02, 0.01).second_moments
    assert about_y == pytest.approx(0.02 * 0.01**3 / 12)
    assert about_z == pytest.approx(0.01 * 0.02**3 / 12)


def test_shear_corrections_of_cowper():
    assert pl.sections.Rectangle(0.01, 0.01).shear_correction(0.0) == pytest.approx(5 / 6)
    assert pl.sections.Circle(0.01).shear_correction(0.0) == pytest.approx(6 / 7)
    assert pl.sections.Tube(0.01, 0.0).shear_correction(0.3) == pytest.approx(
        pl.sections.Circle(0.01).shear_correction(0.3)
    )
    assert pl.sections.Tube(0.01, 0.00999).shear_correction(0.3) == pytest.approx(2 * 1.3 / (4 + 3 * 0.3), rel=1e-3)


@pytest.mark.parametrize(
    "section", [pl.sections.Circle(0.01), pl.sections.Tube(0.01, 0.005), pl.sections.Rectangle(0.02, 0.01)]
)
def test_outlines_go_round_counter_clockwise(section):
    y, z = section.outline().T
    area = 0.5 * (y * np.roll(z, -1) - z * np.roll(y, -1)).sum()
    hole = np.pi * 0.005**2 if isinstance(section, pl.sections.Tube) else 0.0
    assert area == pytest.approx(section.area + hole, rel=0.02)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: pl.sections.Circle(-0.01), "radius of a Circle"),
        (lambda: pl.sections.Tube(0.01, 0.02), "inner must be smaller"),
        (lambda: pl.sections.Tube(0.01, -0.02), "inner radius"),
        (lambda: pl.sections.Rectangle(0.01, 0.0), "height of a Rectangle"),
    ],
)
def test_bad_sections_name_what_is_wrong(make, text):
    with pytest.raises(pl.InputError, match=text):
        make()
