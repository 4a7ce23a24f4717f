"""First crossings of surfaces on straight motions, the thickness of walls, and contacts inside of them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from continuous_survey import container
from pliant.collision import CollisionSurface, ProximityOptions, surface_contacts
from pliant.collision.continuous.crossing import Moving, first_crossing
from pliant.collision.continuous.walls import thinnest_wall

TOLERANCE = 1e-4


def box(size, cells=(1, 1, 1), turn=None):
    """A surface of a box about the origin and its points, turned by a rotation vector."""
    surface = pl.mesh.box(size, cells).surface()
    points = surface.points - 0.5 * np.asarray(size)
    if turn is not None:
        points = points @ Rotation.from_rotvec(turn).as_matrix().T
    return CollisionSurface.build(surface.triangles, points), points


def moving(surface, start, end):
    normals = np.cross(*(start[surface.triangles[:, k]] - start[surface.triangles[:, 0]] for k in (1, 2)))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    mean = normals[surface.edge_triangles].sum(axis=1)
    mean /= np.linalg.norm(mean, axis=1)[:, None]
    around = surface.ring_start, surface.ring
    return Moving(start, end, surface.triangles, surface.edges, mean, surface.opposite_corners, surface.nodes, *around)


def crossing(below, above, shift, lift):
    """When a box `above`, raised by `lift` (3,) m, crosses one `below` on its way by `shift` (3,) m."""
    a, b = moving(below[0], below[1], below[1]), moving(above[0], above[1] + lift, above[1] + lift + shift)
    times = first_crossing(a, b, TOLERANCE), first_crossing(b, a, TOLERANCE)
    assert times[0] == pytest.approx(times[1], abs=1e-9) if np.isfinite(times[0]) else np.isinf(times[1])
    return times[0]


def test_a_corner_that_slides_in_a_face_crosses_no_edge_of_it():
    """The corner begins deeper than the tolerance, as contacts leave it, and its edges pass over the diagonal of the
    face: no ridge against a ridge. Taken for one it held the step up.
    """
    floor, tip = box((0.1, 0.1, 0.01)), box((0.01, 0.01, 0.01), turn=(0.6, 0.7, 0.2))
    lowest = tip[1][tip[1][:, 2].argmin()]
    rng = np.random.default_rng(3)
    for _ in range(50):
        depth = rng.uniform(0.2, 3.0) * TOLERANCE
        side = rng.uniform(-0.01, 0.01, 2)
        lift = np.array([*(side - lowest[:2]), 0.005 - depth - lowest[2]])
        shift = np.array([*rng.uniform(-0.02, 0.02, 2), rng.uniform(-0.1, 1.0) * TOLERANCE])
        assert np.isinf(crossing(floor, tip, shift, lift)), (depth, lift, shift)
        shift[2] = -0.002
        assert crossing(floor, tip, shift, lift) < 0.3


def test_a_face_that_passes_over_a_pit_does_not_cross_its_bottom():
    """A cube slides along the corner of a hollow one, 0.1 mm deep: its front passes a node of the concave edge, farther
    behind it in the end than any penetration.
    """
    hollow, _ = container()
    points = hollow.points + 0.0
    room = CollisionSurface.build(hollow.surface().triangles, points), points
    corner = points.min(axis=0) + 0.002
    cube = box((0.01,) * 3)
    lift = corner + 0.005 - 0.7 * TOLERANCE + np.array([0.0, 0.006, 0.0])
    assert np.isinf(crossing(room, cube, np.array([0.0, 0.01, 0.0]), lift))
    assert crossing(room, cube, np.array([0.0, 0.01, -0.001]), lift) < 0.2


def test_edges_of_ridges_cross():
    """The ridge of a box turned by 45° falls on that of another across it: only edges meet."""
    quarter = np.pi / 4
    lower, upper = box((0.1, 0.01, 0.01), turn=(quarter, 0, 0)), box((0.01, 0.1, 0.01), turn=(0, quarter, 0))
    gap = 0.003
    lift = np.array([0.001, 0.002, 2 * 0.005 * np.sqrt(2) + gap])
    expected = (gap + TOLERANCE) / 0.02
    assert crossing(lower, upper, np.array([0.001, 0.0, -0.02]), lift) == pytest.approx(expected, rel=1e-9)


def test_what_comes_out_elsewhere_has_crossed():
    """A vertex that is in front of the face again where the motion ends, but went through it on the way around."""
    wall, tip = box((0.002, 0.1, 0.1)), box((0.001,) * 3)
    lift = np.array([-0.004, 0.0, 0.0])
    assert crossing(wall, tip, np.array([0.01, 0.0, 0.0]), lift) < 0.5


def test_opposite_corners():
    surface, _ = box((1.0, 2.0, 3.0), (2, 1, 2))
    for edge, faces, corners in zip(surface.edges, surface.edge_triangles, surface.opposite_corners, strict=True):
        for face, corner in zip(faces, corners, strict=True):
            assert {*edge, corner} == set(surface.triangles[face])
    border = CollisionSurface.build([[0, 1, 2]], np.eye(3))
    assert (border.opposite_corners[:, 1] == -1).all()


def test_thinnest_wall():
    hollow, _ = container()
    surface = hollow.surface()
    made = CollisionSurface.build(surface.triangles, hollow.points)
    assert made.wall == pytest.approx(0.002, rel=1e-9)
    assert box((0.03, 0.02, 0.05), (3, 2, 4), turn=(0.3, 0.2, 0.1))[0].wall == pytest.approx(0.02, rel=1e-9)
    ball = pl.mesh.sphere(0.01, cells=(2, 2)).surface()
    made = CollisionSurface.build(ball.triangles, ball.points)
    assert 0.7 * 0.02 < made.wall < 0.02
    flat = CollisionSurface.build([[0, 1, 2]], np.eye(3))
    assert np.isinf(thinnest_wall(flat.rest, flat.triangles, flat.rest_normals))


@pytest.mark.parametrize("before", ["ceiling", "next wall"])
def test_a_vertex_inside_a_wall_leaves_it_where_it_came_in(before):
    """0.6 mm into a wall of 2 mm. Its last contact, with the ceiling or the wall beside, is no sign that it went
    through from outside: its normal agrees better with the far side.
    """
    hollow, _ = container()
    made = CollisionSurface.build(hollow.surface().triangles, hollow.points)
    cube, points = box((0.01,) * 3, turn=(0.1, 0.2, 0.1))
    lowest = points[points[:, 2].argmin()]
    options = ProximityOptions(margin=0.05)

    def contact(place, previous):
        found = surface_contacts(made.at(hollow.points), cube.at(points - lowest + place), options, previous=previous)
        of_vertex = found.nodes_b[:, 0] == points[:, 2].argmin()
        alone = of_vertex & (found.kind == 1) & (found.key % 2**44 < 2**22)
        assert alone.sum() == 1
        return found, found.normal[alone][0], found.gap[alone][0]

    if before == "ceiling":
        highest = points[points[:, 2].argmax()]
        contacts, normal, _ = contact(np.array([0.0, 0.0, 0.0185 - (highest - lowest)[2]]), None)
    else:
        contacts, normal, _ = contact(np.array([0.0185 - (points - lowest)[:, 0].max(), 0.0, -0.015]), None)
    end = np.array([0.003, 0.004, -0.019 - 0.0006]) if before == "ceiling" else np.array([0.0185, 0.004, -0.0196])
    _, normal, gap = contact(end, contacts)
    assert gap == pytest.approx(-0.0006, abs=1e-9)
    np.testing.assert_allclose(np.abs(normal), [0, 0, 1], atol=1e-9)
