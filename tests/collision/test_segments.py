"""Segments against segments: every least distance is found, once, side by side and across, and in networks."""

import numpy as np
import pytest

from pliant.collision.narrow.segments import SegmentSet, segment_contacts
from pliant.core.errors import InputError


def chain(points, radius=0.01, taking_part=None):
    count = len(points) - 1
    segments = np.stack([np.arange(count), np.arange(1, count + 1)], axis=1).astype(np.int32)
    chosen = np.ones(count, bool) if taking_part is None else taking_part
    return SegmentSet.build(segments, np.full(count, radius), np.asarray(points, float), chosen)


def distances(a, x, b, y, found):
    """Distances (m,) of the places that were found."""
    places = []
    for side, (body, points) in enumerate(((a, x), (b, y))):
        ends = points[body.segments[found.segments[:, side]]]
        places.append(ends[:, 0] + found.parameters[:, side, None] * (ends[:, 1] - ends[:, 0]))
    return np.linalg.norm(places[0] - places[1], axis=1)


def sampled(points, count=200):
    fractions = np.linspace(0, 1, count)[:, None]
    return (points[:-1, None] + fractions * np.diff(points, axis=0)[:, None]).reshape(-1, 3)


def wandering(rng, count):
    points = np.cumsum(rng.normal(size=(count, 3)), axis=0)
    return points - points.mean(axis=0)


@pytest.mark.parametrize("seed", range(6))
def test_the_least_distance_of_two_polylines_is_found(seed):
    rng = np.random.default_rng(seed)
    x, y = (wandering(rng, 9) for _ in range(2))
    a, b = chain(x), chain(y)
    found = segment_contacts(a, x, b, y, margin=3.0)
    exact = np.linalg.norm(sampled(x)[:, None] - sampled(y), axis=2).min()
    least = distances(a, x, b, y, found).min()
    assert exact - 0.02 < least <= exact + 1e-12


def test_every_contact_is_nearest_along_the_other_body():
    """A vertex faces the other polyline where its distance has a local minimum; along it both ways it grows."""
    rng = np.random.default_rng(3)
    x, y = (wandering(rng, 30) for _ in range(2))
    a, b = chain(x), chain(y)
    found = segment_contacts(a, x, b, y, margin=1.5)
    assert {0, 1, 2} == set(found.side.tolist())
    arc_y = sampled(y, 400)
    for k in np.flatnonzero(found.side == 0):
        vertex = x[found.segments[k, 0] + int(found.parameters[k, 0])]
        along = np.linalg.norm(arc_y - vertex, axis=1)
        place = int(found.segments[k, 1] * 400 + round(found.parameters[k, 1] * 399))
        near = along[max(place - 20, 0) : place + 21]
        assert distances(a, x, b, y, found)[k] <= near.min() + 1e-9


def test_crossing_bars_have_one_contact_and_bars_side_by_side_one_at_each_vertex():
    bar = np.array([(-1.0, 0, 0), (0.1, 0, 0), (1.1, 0, 0)])
    across = bar[:, [1, 0, 2]] + (0.3, 0, 0.02)
    one = segment_contacts(chain(bar), bar, chain(across), across, margin=0.01)
    assert one.side.tolist() == [2]
    np.testing.assert_allclose(one.parameters[0], [0.2, 1.0 / 1.1], atol=1e-12)
    beside = bar + np.array([0, 0, 0.02])
    three = segment_contacts(chain(bar), bar, chain(beside), beside, margin=0.01)
    assert three.side.tolist() == [0, 0, 0], "vertices that face each other count once"
    shifted = bar + np.array([0.3, 0, 0.02])
    four = segment_contacts(chain(bar), bar, chain(shifted), shifted, margin=0.01)
    assert sorted(four.side.tolist()) == [0, 0, 1, 1], "both ends of the overlap, and the inner vertices"


def test_contacts_do_not_jump_as_bars_turn_past_each_other():
    """From −3° to 3°, through parallel: the least gap is continuous, and both ends are always held."""
    bar = np.linspace((-1.0, 0, 0), (1.0, 0, 0), 9)
    a, counts = chain(bar), []
    for angle in np.radians(np.linspace(-3, 3, 61)):
        turn = np.array([(np.cos(angle), -np.sin(angle), 0), (np.sin(angle), np.cos(angle), 0), (0, 0, 1)])
        other = bar @ turn.T + (0, 0, 0.02)
        found = segment_contacts(a, bar, chain(other), other, margin=0.01)
        gaps = distances(a, bar, chain(other), other, found) - 0.02
        assert gaps.min() == pytest.approx(0.0, abs=1e-9)
        counts.append(len(gaps))
    assert min(counts) >= 3
    assert counts[30] == 9


def test_a_straight_chain_does_not_touch_itself_but_a_folded_one_does():
    fine = np.linspace((0, 0, 0), (1, 0, 0), 201)  # segments of half a radius
    body = chain(fine, radius=0.01)
    assert len(segment_contacts(body, fine, body, fine, margin=0.002).side) == 0
    angle = np.linspace(0, np.pi, 41)
    bow = np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1) * 0.011 + (0.5, 0, 0)
    legs = np.linspace((0, 0, 0), (0.5, 0, 0), 60)
    folded = np.vstack([legs, bow[1:-1], legs[::-1] + np.array([0, 0.022, 0])])
    hairpin = chain(folded, radius=0.01)
    found = segment_contacts(hairpin, folded, hairpin, folded, margin=0.003)
    assert len(found.side) > 50
    np.testing.assert_allclose(distances(hairpin, folded, hairpin, folded, found), 0.022, atol=1e-3)
    assert (np.abs(np.diff(found.segments, axis=1)) > 3).all()


def test_a_junction_belongs_to_one_segment():
    """A vertex over the joint of a star of three bars has one contact there, not three."""
    star = np.array([(0.0, 0, 0), (1, 0, 0), (-0.5, 0.9, 0), (-0.5, -0.9, 0)])
    segments = np.array([(0, 1), (0, 2), (0, 3)], np.int32)
    body = SegmentSet.build(segments, np.full(3, 0.01), star, np.ones(3, bool))
    needle = np.array([(0.0, 0, 0.021), (0, 0, 1)])
    found = segment_contacts(chain(needle), needle, body, star, margin=0.01)
    assert found.side.tolist() in ([0], [0, 1])
    assert (found.side == 0).sum() == 1
    np.testing.assert_array_equal(body.index_of(segments[[2, 0]]), [2, 0])


def test_what_takes_no_part_is_not_found():
    bar = np.linspace((-1.0, 0, 0), (1.0, 0, 0), 5)
    near = bar + np.array([0, 0, 0.02])
    half = chain(bar, taking_part=np.arange(4) < 2)
    found = segment_contacts(half, bar, chain(near), near, margin=0.01)
    assert found.segments[:, 0].max() < 2
    with pytest.raises(InputError, match="no segment"):
        chain(bar, taking_part=np.zeros(4, bool))
