"""Amplitudes of loads over time: what is taken, what it is between its lines, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.models.volume.fields import checked_amplitude
from scenes import bar

TABLE = [(0.0, 1.0), (0.5, 2.0), (2.0, -1.0)]


def load(amplitude):
    _, body = bar()
    return pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0.0, 0.0, 3.0), amplitude=amplitude)


@pytest.mark.parametrize(
    ("time", "factor"), [(-1.0, 1.0), (0.0, 1.0), (0.25, 1.5), (1.25, 0.5), (2.0, -1.0), (9.0, -1.0)]
)
def test_a_table_is_interpolated_and_constant_beyond_its_ends(time, factor):
    assert load(TABLE).factor(time) == pytest.approx(factor)
    np.testing.assert_allclose(load(TABLE).value_at(time), (0.0, 0.0, 3.0 * factor))


def test_an_amplitude_may_be_missing_a_function_or_one_line():
    assert load(None).factor(3.0) == 1.0
    assert load(lambda t: 2.0 * t).factor(3.0) == 6.0
    assert load([(1.0, 4.0)]).factor(0.0) == 4.0
    with pytest.raises(InputError, match="amplitude of a PointLoad at 3 s"):
        load(lambda t: np.nan).factor(3.0)


@pytest.mark.parametrize(
    ("amplitude", "text"),
    [
        ([1.0, 2.0], r"pairs \[\(t, factor\), …\], got the shape \(2,\)"),
        ([(0.0, 1.0, 2.0)], r"got the shape \(1, 3\)"),
        ([[(0.0, 1.0)]], r"got the shape \(1, 1, 2\)"),
        (np.zeros((0, 2)), r"got the shape \(0, 2\)"),
        ([(0.0, 1.0), (0.0, 2.0)], "must rise"),
        ([(1.0, 1.0), (0.0, 2.0)], "must rise"),
        ([(0.0, np.inf)], "amplitude of a load"),
    ],
)
def test_other_amplitudes_are_refused(amplitude, text):
    with pytest.raises(InputError, match=text):
        checked_amplitude("load", amplitude)
