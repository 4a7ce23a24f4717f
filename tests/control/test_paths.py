"""Paths of targets: points on circles, lines and polygons, by what defines them."""

import numpy as np
import pytest

import pliant as pl
from pliant.control import paths

NORMALS = [(0, 0, 1), (0, 1, 0), (0, -1, 0), (1, 0, 0), (0.1, 0.89, 0.2), (0.1, 0.95, 0.0), (3, -1, 2)]


@pytest.mark.parametrize("normal", NORMALS)
@pytest.mark.parametrize(("turns", "count"), [(1.0, 12), (2.5, 7), (-0.25, 5)])
def test_a_circle_lies_in_its_plane_and_goes_round_by_equal_angles(normal, turns, count):
    center, radius = np.array([0.3, -0.2, 0.1]), 0.07
    points = paths.circle(center=center, radius=radius, count=count, normal=normal, turns=turns)
    assert points.shape == (count, 3)
    arms, axis = points - center, np.array(normal) / np.linalg.norm(normal)
    np.testing.assert_allclose(np.linalg.norm(arms, axis=1), radius, rtol=1e-12)
    np.testing.assert_allclose(arms @ axis, 0.0, atol=1e-15)
    step = 2.0 * np.pi * turns / count
    np.testing.assert_allclose(np.sum(arms[1:] * arms[:-1], axis=1), radius**2 * np.cos(step), atol=1e-12)
    np.testing.assert_allclose(np.cross(arms[:-1], arms[1:]) @ axis, radius**2 * np.sin(step), atol=1e-12)
    whole = paths.circle(center=center, radius=radius, count=4, normal=normal)
    last = whole[-1] - center  # where a whole turn ends, this path began
    angle = np.arctan2(np.cross(last, arms[0]) @ axis, last @ arms[0])
    assert np.cos(angle - step) == pytest.approx(1.0), "the first point is a step away from the start"


def test_a_circle_about_z_begins_and_ends_on_x():
    points = paths.circle(center=(0, 0, 1), radius=2.0, count=4)
    np.testing.assert_allclose(points, [(0, 2, 1), (-2, 0, 1), (0, -2, 1), (2, 0, 1)], atol=1e-15)
    np.testing.assert_allclose(paths.circle(center=(0, 0, 0), radius=2.0, count=3, normal=(0, 1, 0))[-1, 1], 0.0)


def test_lines_and_polygons_are_evenly_spaced():
    np.testing.assert_allclose(
        paths.line(start=(0, 0, 1), end=(1, 2, 1), count=5), np.stack([[k / 4, k / 2, 1] for k in range(5)])
    )
    np.testing.assert_array_equal(paths.line(start=(1, 2, 3), end=(4, 5, 6), count=1), [(1, 2, 3)])
    points = paths.through([(0, 0, 0), (3, 0, 0), (3, 1, 0)], count=9)
    expected = [(k / 2, 0, 0) for k in range(7)] + [(3, 0.5, 0), (3, 1, 0)]
    np.testing.assert_allclose(points, expected, atol=1e-15)
    np.testing.assert_allclose(paths.through([(0, 1, 2), (2, 1, 0)], count=3), [(0, 1, 2), (1, 1, 1), (2, 1, 0)])
    with pytest.raises(pl.InputError, match="two points or more, got 1"):
        paths.through([(0, 0, 0)], count=3)
    for bad in ([(0, 0), (1, 1)], [0, 1, 2], [(0, 0, 0), (np.nan, 0, 0)]):
        with pytest.raises(pl.InputError, match="points"):
            paths.through(bad, count=3)
    for bad in (0, -1, 2.5):
        with pytest.raises(pl.InputError, match="count"):
            paths.line(start=(0, 0, 0), end=(1, 0, 0), count=bad)
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(pl.InputError, match="radius"):
            paths.circle(center=(0, 0, 0), radius=bad, count=3)
