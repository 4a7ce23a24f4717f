"""Rows: the derivative of the gap in every node, and frames that are carried along."""

import numpy as np
import pytest

from pliant.collision import (
    CollisionSurface,
    ContactKind,
    ContactSet,
    Plane,
    ProximityOptions,
    contact_frames,
    obstacle_contacts,
    self_contacts,
    side_rows,
    surface_contacts,
)


def rows_of(contacts, frames):
    """H of both sides along the directions `frames` (m, w, 3)."""
    return (
        side_rows(contacts.nodes_a, contacts.weights_a, frames, contacts.point_count_a),
        side_rows(contacts.nodes_b, contacts.weights_b, frames, contacts.point_count_b, sign=-1.0),
    )


@pytest.fixture(scope="module")
def crossing(shapes):
    """Two bodies in general position, slightly into each other, with contacts of all kinds."""
    rng = np.random.default_rng(7)
    points, triangles = shapes.box(cells=(2, 2, 2))
    surface = CollisionSurface.build(triangles, points)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn[:, 0] *= np.linalg.det(turn)
    x = points + 0.03 * rng.normal(size=points.shape)
    y = (points - 0.5) @ turn.T + [0.6, 0.4, 1.45] + 0.03 * rng.normal(size=points.shape)
    return surface, x, y


OPTIONS = ProximityOptions(margin=0.3, facing=2.0, sharp_angle=-1.0)


@pytest.mark.parametrize("kind", [ContactKind.VERTEX_FACE, ContactKind.FACE_VERTEX, ContactKind.EDGE_EDGE])
def test_the_row_is_the_derivative_of_the_gap(crossing, kind):
    surface, x, y = crossing
    contacts = surface_contacts(surface.at(x), surface.at(y), OPTIONS)
    H_a, H_b = rows_of(contacts, contacts.normal[:, None])
    chosen = np.flatnonzero(contacts.kind == kind)
    assert len(chosen) >= 4
    rng, h = np.random.default_rng(0), 1e-6
    for _ in range(5):
        dx, dy = rng.normal(size=(2, *x.shape))
        gaps = []
        for step in (h, -h):
            moved = surface_contacts(surface.at(x + step * dx), surface.at(y + step * dy), OPTIONS, previous=contacts)
            places = contacts.match(moved)
            assert (places[chosen] >= 0).all()
            gaps.append(moved.gap[places[chosen]])
        expected = (H_a @ dx.ravel() + H_b @ dy.ravel())[chosen]
        np.testing.assert_allclose((gaps[0] - gaps[1]) / (2 * h), expected, atol=1e-5)


def test_self_contact_adds_both_sides(shapes):
    points, triangles = shapes.sheet(8)
    both = np.concatenate([points, points + np.array([0.02, 0.03, 0.1])])
    surface = CollisionSurface.build(np.concatenate([triangles, triangles[:, ::-1] + len(points)]), both * [1, 1, 9])
    rng = np.random.default_rng(0)
    x = both + 0.01 * rng.normal(size=both.shape)
    options = ProximityOptions(margin=0.2)
    contacts = self_contacts(surface.at(x), options)
    H_a, H_b = rows_of(contacts, contacts.normal[:, None])
    h, dx = 1e-7, rng.normal(size=x.shape)
    moved = [self_contacts(surface.at(x + s * dx), options) for s in (h, -h)]
    places = [contacts.match(m) for m in moved]
    same = (places[0] >= 0) & (places[1] >= 0)
    assert same.sum() > 50
    difference = (moved[0].gap[places[0]] - moved[1].gap[places[1]])[same] / (2 * h)
    np.testing.assert_allclose(difference, ((H_a + H_b) @ dx.ravel())[same], atol=1e-5)


def test_rows_of_three_directions(crossing):
    surface, x, y = crossing
    contacts = surface_contacts(surface.at(x), surface.at(y), OPTIONS)
    frames = contact_frames(contacts)
    H_a, H_b = rows_of(contacts, frames)
    assert H_a.shape == H_b.shape == (3 * contacts.count, x.size)
    # a common translation changes no gap and slips nowhere; of one side alone it is seen in the frame
    shift = np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(H_a @ np.tile(shift, len(x)), (frames @ shift).ravel(), atol=1e-12)
    np.testing.assert_allclose(H_b @ np.tile(shift, len(y)), -(frames @ shift).ravel(), atol=1e-12)
    assert abs(rows_of(contacts, contacts.normal[:, None])[0] - H_a[::3]).max() == 0


def test_frames_are_right_handed(crossing):
    rng = np.random.default_rng(1)
    normal = np.concatenate([rng.normal(size=(200, 3)), np.eye(3), -np.eye(3), [[1e-9, 0, -1]]])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    contacts = with_normals(normal)
    frames = contact_frames(contacts)
    np.testing.assert_allclose(
        np.einsum("mij,mkj->mik", frames, frames), np.tile(np.eye(3), (len(normal), 1, 1)), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-12)
    np.testing.assert_array_equal(frames[:, 0], normal)


def with_normals(normal):
    """Contacts of nodes 0, 1, … with the given normals."""
    count = len(normal)
    points = np.zeros((count, 3))
    contacts = obstacle_contacts(points, np.arange(count), Plane((0, 0, 0), (0, 0, 1)), margin=1.0)
    fields = {name: getattr(contacts, name) for name in vars(contacts)}
    return ContactSet(**{**fields, "normal": normal})


def test_frames_are_carried_along():
    """Round a closed path of normals the frame turns by the enclosed solid angle: parallel transport, no spin."""
    polar = 0.6
    angles = np.linspace(0, 2 * np.pi, 2001)
    path = np.column_stack(
        [np.sin(polar) * np.cos(angles), np.sin(polar) * np.sin(angles), np.full_like(angles, np.cos(polar))]
    )
    contacts = with_normals(path[:1])
    first = frames = contact_frames(contacts)
    for normal in path[1:]:
        following = with_normals(normal[None])
        frames = contact_frames(following, previous=contacts, previous_frames=frames)
        contacts = following
    np.testing.assert_allclose(frames[0] @ frames[0].T, np.eye(3), atol=1e-12)
    turned = np.arctan2(frames[0, 1] @ first[0, 2], frames[0, 1] @ first[0, 1])
    assert turned == pytest.approx(2 * np.pi * (1 - np.cos(polar)), abs=1e-4)


def test_new_contacts_get_a_fresh_frame():
    normal = np.array([[0, 0.6, 0.8], [1.0, 0, 0]])
    frames = contact_frames(with_normals(normal), previous=with_normals(normal[:1]), previous_frames=np.eye(3)[None])
    np.testing.assert_array_equal(frames[1], contact_frames(with_normals(normal))[1])
    assert frames[0, 1] @ [1, 0, 0] < 1.0


def test_rows_of_an_obstacle_have_no_second_side():
    points = np.random.default_rng(0).normal(size=(20, 3))
    contacts = obstacle_contacts(points, np.arange(20), Plane((0, 0, 0), (0, 0, 1)), margin=0.2)
    H_a, H_b = rows_of(contacts, contact_frames(contacts))
    assert H_b.shape == (3 * contacts.count, 0)
    assert H_a.nnz == 9 * contacts.count
    none = ContactSet.empty(20, 0)
    assert rows_of(none, contact_frames(none))[0].shape == (0, 60)
