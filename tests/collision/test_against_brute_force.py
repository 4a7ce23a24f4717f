"""Detection between solids agrees with brute force over all features: sign, distance, no missed pair."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from brute_force import orientation, penetration, point_triangle, segment_segment, winding_number
from collision_survey import survey
from configurations import SIZE, box, degenerate_batches, hull, random_batches
from pliant.collision import CollisionSurface, ProximityOptions, surface_contacts
from pliant.collision.penetration import surface_overlap


def agrees(counts):
    return set(counts) <= {"apart", "overlapping"} and counts["apart"] and counts["overlapping"]


def test_random_placements():
    counts = survey(random_batches(100, seed=1))
    assert agrees(counts), counts


def test_degenerate_placements():
    counts = survey(degenerate_batches(100, seed=1))
    assert agrees(counts), counts


@pytest.mark.slow
def test_many_random_placements():
    counts = survey(random_batches(100_000, seed=2))
    print(dict(counts))
    assert agrees(counts), counts


@pytest.mark.slow
def test_many_degenerate_placements():
    counts = survey(degenerate_batches(1000, seed=2))
    print(dict(counts))
    assert agrees(counts), counts


def test_penetration_is_that_of_brute_force():
    for batch in [*random_batches(50, seed=3), *degenerate_batches(20, seed=3)]:
        x = np.broadcast_to(batch.points, (len(batch.others), *batch.points.shape))
        sampled = penetration(x, batch.triangles, batch.others, batch.other_triangles, samples=8)
        a = CollisionSurface.build(batch.triangles, batch.points).at(batch.points)
        surface = CollisionSurface.build(batch.other_triangles, batch.others[0])
        for y, least in zip(batch.others, sampled, strict=True):
            found = surface_overlap(a, surface.at(y))
            depth = 0.0 if found is None else found.depth
            assert depth >= least - 1e-3 * SIZE  # samples are a lower bound; their spacing is SIZE / 8
            assert depth <= least + SIZE / 8


def test_the_distance_of_a_sharp_corner_along_directions_far_from_its_normals():
    """A needle whose tip is touched along directions that are more than 60 degrees from every normal around it."""
    needle, sides = hull(SIZE * np.array([(0, 0, 0), (0.1, 0, 1), (-0.06, 0.08, 1), (-0.05, -0.09, 1)]))
    tip = int(needle[:, 2].argmin())
    points, triangles = box()
    block, surface = (CollisionSurface.build(t, x) for x, t in ((points, triangles), (needle, sides)))
    for tilt in np.linspace(-1.2, 1.2, 13):
        turn = Rotation.from_rotvec((0.4 * tilt, tilt, 0.1)).as_matrix()
        x = needle @ turn.T
        x += np.array([0.3 * SIZE, 0.2 * SIZE, 0.5 * SIZE + 1e-5]) - x[tip]
        found = surface_contacts(surface.at(x), block.at(points), ProximityOptions(margin=0.1 * SIZE))
        assert found.gap.min() == pytest.approx(x[:, 2].min() - 0.5 * SIZE, abs=1e-9)


def test_identical_bodies_overlap_by_their_thickness():
    points, triangles = box((SIZE, 2.0 * SIZE, 0.5 * SIZE), (2, 2, 1))
    surface = CollisionSurface.build(triangles, points)
    found = surface_overlap(surface.at(points), surface.at(points.copy()))
    assert found.depth == pytest.approx(0.5 * SIZE, rel=1e-2)


def test_a_body_that_begins_in_another_has_a_contact_where_it_is_deepest():
    points, triangles = box()
    surface = CollisionSurface.build(triangles, points)
    a, b = surface.at(points), surface.at(points + np.array([0.0, 0.0, 0.7 * SIZE]))
    found = surface_contacts(a, b, ProximityOptions(margin=0.1 * SIZE))
    deepest = found.selected([int(found.gap.argmin())])
    assert deepest.gap[0] == pytest.approx(-0.3 * SIZE, rel=1e-3)
    np.testing.assert_allclose(np.abs(deepest.normal[0]), (0.0, 0.0, 1.0), atol=1e-9)


def test_the_checker_itself():
    a, b, c = np.eye(3)
    on_plane = np.array([0.5, 0.25, 0.25])
    assert orientation(a, b, c, np.zeros(3)) == 1
    assert orientation(a, b, c, on_plane) == 0
    assert orientation(a, b, c, on_plane - np.array([2.0**-54, 0.0, 0.0])) == 1
    assert orientation(a, b, c, on_plane + np.array([2.0**-53, 0.0, 0.0])) == -1
    assert point_triangle(np.ones(3), a, b, c) == pytest.approx(2.0 / np.sqrt(3.0))
    assert segment_segment(a, -a, b + c, b - c) == pytest.approx(1.0)
    points, triangles = box()
    inside = winding_number(np.array([[[0.0, 0.0, 0.0], [SIZE, 0.0, 0.0]]]), points[None], triangles)
    np.testing.assert_allclose(inside, [[1.0, 0.0]], atol=1e-12)
