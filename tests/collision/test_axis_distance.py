"""How near axes come to solids, in one kernel call: against distances of many points, for every solid and placement."""

import numpy as np
import pytest

from pliant.collision import Box, Capsule, Cylinder, Sphere
from pliant.collision.narrow.axis_distance import DIP, SAMPLES, lowest_points, no_contacts, within_reach
from pliant.core.lie import rotation_exp

SOLIDS = (
    Sphere((0.1, 0.0, 0.05), 0.2),
    Capsule((-0.2, 0.0, 0.0), (0.3, 0.1, 0.0), 0.05),
    Cylinder((0.0, -0.3, 0.0), (0.0, 0.3, 0.1), 0.1),
    Box((0.0, 0.05, 0.0), (0.2, 0.3, 0.1), rotation_exp(np.array([0.3, 0.1, 0.2]))),
)


def placed(rng):
    """A pose of a solid: where it stands, and how it is turned."""
    turn = rotation_exp(rng.normal(size=3))
    place = rng.normal(scale=0.1, size=3)
    for array in (turn, place):
        array.setflags(write=False)
    return place, turn


def gaps(solid, pose, points):
    place, turn = pose
    return solid.distance((points.reshape(-1, 3) - place) @ turn).gap.reshape(points.shape[:-1])


def read_only(array):
    array.setflags(write=False)
    return array


@pytest.mark.parametrize("solid", SOLIDS, ids=lambda solid: type(solid).__name__)
def test_points_within_reach(solid):
    rng = np.random.default_rng(0)
    for _ in range(5):
        pose, points = placed(rng), read_only(rng.normal(scale=0.3, size=(60, 3)))
        reach, margin = read_only(rng.uniform(0.0, 0.2, 60)), 0.05
        found = np.empty(60, np.int64)
        count = within_reach(solid.kind, solid.numbers, *pose, points, reach, margin, found)
        expected = np.flatnonzero(gaps(solid, pose, points) <= margin + reach)
        assert 0 < count < 60
        assert np.array_equal(found[:count], expected)


@pytest.mark.parametrize("solid", SOLIDS, ids=lambda solid: type(solid).__name__)
def test_lowest_points_of_arcs(solid):
    """Arcs beside the solid: where the gap is least between their ends, to the spacing of a dense search."""
    rng = np.random.default_rng(1)
    steps, dense = np.linspace(0.0, 1.0, SAMPLES + 1), np.linspace(0.0, 1.0, 2001)
    pose, between = placed(rng), 0

    def arcs(t, start, along, bend):
        t = t[None, :, None]
        return start[:, None] + t * along[:, None] + t * (t - 1.0) * bend[:, None]

    outward = rng.normal(size=(80, 3))
    start = pose[0] + 0.6 * outward / np.linalg.norm(outward, axis=1)[:, None]
    along = rng.normal(scale=0.1, size=(80, 3)) + 0.15 * np.cross(outward, rng.normal(size=(80, 3)))
    shapes = start, along, rng.normal(scale=0.05, size=(80, 3))
    x, fine = read_only(arcs(steps, *shapes)), gaps(solid, pose, arcs(dense, *shapes))
    fraction, kept = np.empty(80), np.empty(80, np.bool_)
    lowest_points(solid.kind, solid.numbers, *pose, x, fraction, kept)
    length = np.linalg.norm(x[:, -1] - x[:, 0], axis=1)
    for k in range(80):
        ends, least = min(fine[k, 0], fine[k, -1]), fine[k].min()
        assert kept[k] == (least < ends - DIP * length[k]) or abs(least - ends) < 1e-4 * length[k]
        if kept[k]:
            between += 1
            at = gaps(solid, pose, arcs(fraction[k : k + 1], *(each[k : k + 1] for each in shapes)))[0, 0]
            assert at <= least + 1e-6
    assert between > 10


def test_no_contacts_are_a_valid_set():
    found = no_contacts(7)
    found.check()
    assert found.count == 0
    assert found.point_counts == (7, 0)
    assert no_contacts(7) is found
