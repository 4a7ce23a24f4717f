"""Motions of obstacles through waypoints: straight between them, at rest before the first and after the last."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.rigid.waypoints import Waypoints


def test_places_between_waypoints_are_on_straight_lines():
    times, places = [0.5, 1.0, 3.0], np.array([(0.0, 1.0, 2.0), (1.0, 1.0, 0.0), (1.0, -3.0, 4.0)])
    motion = Waypoints(times, places)
    for time in (-1.0, 0.0, 0.5, 0.6, 0.99, 1.0, 1.7, 3.0, 9.0):
        place, turn = motion(time)
        expected = [np.interp(time, times, places[:, k]) for k in range(3)]
        np.testing.assert_allclose(place, expected, atol=1e-12)
        assert not np.any(turn)
        place += 1.0  # what is returned belongs to the caller
        np.testing.assert_allclose(motion(time)[0], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("times", "places"),
    [
        ([], np.zeros((0, 3))), ([0.0, 0.0], np.zeros((2, 3))), ([1.0, 0.5], np.zeros((2, 3))),
        ([0.0], np.zeros((2, 3))), ([0.0, np.nan], np.zeros((2, 3))), ([0.0], [[0.0, np.inf, 0.0]]),
    ],
)  # fmt: skip
def test_times_that_do_not_rise_are_refused(times, places):
    with pytest.raises(pl.InputError, match="waypoints"):
        Waypoints(times, places)
