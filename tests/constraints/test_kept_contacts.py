"""Contacts that are kept over solves of an equilibrium: measured again on their own facet or edges."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.collision import ContactKind
from pliant.collision.surface import EDGE_LIMIT
from pliant.constraints import RowView
from pliant.constraints.kept_contacts import (
    OUTSIDE,
    SOLVES,
    KeptContacts,
    _across,
    _as_other_facets,
    _on_face,
    _renamed,
    with_kept,
)
from pliant.core.lie import rotation_exp

SOFT = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)
MARGIN = 1.5e-3


@pytest.mark.parametrize("seed", range(6))
def test_a_vertex_is_measured_on_the_plane_of_its_facet(seed):
    """The weights give its foot, also beside the triangle; the normal keeps its side."""
    rng = np.random.default_rng(seed)
    corners, point = rng.normal(size=(3, 3)), rng.normal(size=3)
    like = rng.normal(size=3)
    weights, normal, least = _on_face(corners, point, like)
    across = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    np.testing.assert_allclose(np.cross(normal, across), 0.0, atol=1e-12)
    assert normal @ like > 0.0
    assert np.linalg.norm(normal) == pytest.approx(1.0)
    assert weights.sum() == pytest.approx(1.0)
    assert least == weights.min()
    np.testing.assert_allclose(np.cross(point - weights @ corners, normal), 0.0, atol=1e-12)


def test_a_facet_without_area_bounds_nothing():
    weights, normal, least = _on_face(np.zeros((3, 3)), np.ones(3), np.ones(3))
    assert np.isnan(weights).all()
    assert np.isnan(normal).all()
    assert least == -np.inf


@pytest.mark.parametrize("seed", range(6))
def test_edges_are_measured_where_they_are_nearest(seed):
    """The line between both points stands across both edges."""
    rng = np.random.default_rng(seed)
    a0, a1, b0, b1, like = rng.normal(size=(5, 3))
    s, t, normal = _across(a0, a1, b0, b1, like)
    between = a0 + s * (a1 - a0) - b0 - t * (b1 - b0)
    np.testing.assert_allclose([between @ (a1 - a0), between @ (b1 - b0)], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cross(between, normal), 0.0, atol=1e-12)
    assert normal @ like > 0.0
    assert np.linalg.norm(normal) == pytest.approx(1.0)


def test_parallel_edges_do_not_cross():
    x, y = np.eye(3)[:2]
    s, t, normal = _across(0.0 * x, x, y, x + y, np.eye(3)[2])
    assert s == t == -1.0
    assert np.isnan(normal).all()


def soft_blocks():
    """A block on a block of another mesh, both bent and a little apart: vertices on faces of either, and edges."""

    def bent(x):
        return x + np.outer(x[:, 0] * x[:, 1], (0, 0, 1.5))

    scene = pl.Scene()
    lower = scene.add(pl.Volume(pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)).mapped(bent), SOFT))
    upper = pl.mesh.box((0.05, 0.05, 0.02), (2, 2, 1)).translated((0.006, 0.004, 0.0203))
    scene.collide(lower, scene.add(pl.Volume(upper.mapped(bent), SOFT)), margin=MARGIN)
    return scene.compile()


def block_on_box():
    """A bent block under a turned box that is an obstacle: its corners over faces, its edges across edges."""
    rng = np.random.default_rng(1)
    scene = pl.Scene()
    mesh = pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)).mapped(lambda x: x + 3e-4 * rng.normal(size=x.shape))
    box = pl.Obstacle.box(center=(0.03, 0.029, 0.0376), size=(0.03, 0.03, 0.03), rotation=(0.1, 0.07, 0.2))
    scene.collide(scene.add(pl.Volume(mesh, SOFT)), scene.add(box), margin=MARGIN, allow_overlap=True)
    return scene.compile()


def detected(world):
    view = RowView.of(world.models, list(world.initial_state().q))
    return view, world.constraints[0], world.constraints[0].contact_set(view, None)


def name(contacts, m):
    return int(contacts.kind[m]), tuple(contacts.nodes_a[m]), tuple(contacts.nodes_b[m]), int(contacts.face[m])


def measured_again(contacts, m, x, y, edges):
    """Normal, weights of both sides, gap and foot on side b of a contact, from the corners that it names."""
    n = contacts.normal[m]
    a = x[contacts.nodes_a[m]]
    b = contacts.point_b[m] if y is None else y[contacts.nodes_b[m]]
    if contacts.kind[m] == ContactKind.EDGE_EDGE:
        ends = edges[contacts.key[m] % EDGE_LIMIT] if y is None else b[:2]
        u, v = a[1] - a[0], ends[1] - ends[0]
        normal = np.cross(u, v)
        s, t, _ = np.linalg.solve(np.stack([u, -v, -normal], axis=1), ends[0] - a[0])
        weights, points = (s, 1.0 - s, t, 1.0 - t), (a[0] + s * u, ends[0] + t * v)
    else:
        face, point = (b, a[0]) if contacts.kind[m] == ContactKind.VERTEX_FACE else (a, b if y is None else b[0])
        normal = np.cross(face[1] - face[0], face[2] - face[0])
        second, third, _ = np.linalg.solve(
            np.stack([face[1] - face[0], face[2] - face[0], normal], axis=1), point - face[0]
        )
        weights = (1.0 - second - third, second, third)
        foot = np.array(weights) @ face
        points = (point, foot) if contacts.kind[m] == ContactKind.VERTEX_FACE else (foot, point)
    normal = normal / np.linalg.norm(normal)
    normal = normal if normal @ n > 0.0 else -normal
    return normal, min(weights), float(normal @ (points[0] - points[1])), points


@pytest.mark.parametrize("make", [soft_blocks, block_on_box])
@pytest.mark.parametrize("shift", [0.0, 2e-4, -4e-4, 1e-3, -3e-3])
@pytest.mark.parametrize("side", [0.0, 1e-3, 4e-3])
def test_contacts_are_measured_again_where_their_features_are(make, shift, side):
    """Normal, gap and points by solving for the foot, of those that are in front of each other within the margin; all
    others are dropped, and contacts that detection lists are not doubled.
    """
    world = make()
    view, pair, found = detected(world)
    kept = KeptContacts.after(None, found, np.ones(found.count))
    features = found.kind != ContactKind.VERTEX_OBSTACLE
    assert kept.contacts.count == features.sum() >= 5
    moved = [view.q[0] + np.array([side, 0.4 * side, shift]), *view.q[1:]]
    there = RowView.of(world.models, moved)
    nothing = found.selected([])
    again = with_kept(pair, there, nothing, kept)
    x = pair.a.map.points(moved[0])
    y = pair.b.map.points(moved[1]) if len(moved) > 1 else None
    edges = None
    if y is None:
        facets = pair.b.facets_at(there)
        edges = facets.points[facets.surface.edges]
    place = {name(again, m): m for m in range(again.count)}
    count = 0
    for m in range(kept.contacts.count):
        normal, least, gap, points = measured_again(kept.contacts, m, x, y, edges)
        turned = normal @ kept.contacts.normal[m]
        if abs(least + OUTSIDE) < 1e-6 or abs(abs(gap) - pair.margin) < 1e-9:
            continue
        expected = least > -OUTSIDE and abs(gap) <= pair.margin and turned > 0.5
        assert (name(kept.contacts, m) in place) == expected
        if expected:
            count += 1
            k = place[name(kept.contacts, m)]
            np.testing.assert_allclose(again.normal[k], normal, atol=1e-9)
            assert again.gap[k] == pytest.approx(gap, abs=1e-12)
            np.testing.assert_allclose(again.point_a[k], points[0], atol=1e-12)
            np.testing.assert_allclose(again.point_b[k], points[1], atol=1e-12)
            assert again.weights_a[k].sum() == pytest.approx(1.0)
    assert count == again.count
    assert count > 0 or shift < -1e-3 or side > 3e-3
    whole = with_kept(pair, view, found, kept)
    assert whole is found


@pytest.mark.parametrize(("angle", "stay"), [(0.9, True), (1.2, False)])
def test_contacts_whose_normal_has_turned_by_more_than_sixty_degrees_are_dropped(angle, stay):
    """Both bodies turn together, so that nothing else changes."""
    world = soft_blocks()
    view, pair, found = detected(world)
    kept = KeptContacts.after(None, found, np.ones(found.count))
    before = with_kept(pair, view, found.selected([]), kept).count
    turned = RowView.of(world.models, [q @ rotation_exp(np.array([angle, 0.0, 0.0])).T for q in view.q])
    after = with_kept(pair, turned, found.selected([]), kept).count
    assert before > 5
    assert after == (before if stay else 0)


def test_contacts_stay_for_four_solves_after_they_pushed_last():
    """One that pushes again begins anew, and is listed once; what never pushed is not kept."""
    _, _, found = detected(soft_blocks())
    forces = np.zeros(found.count)
    forces[:3] = 1.0
    kept = KeptContacts.after(None, found, forces)
    assert kept.contacts.count == 3
    assert kept.age.tolist() == [0, 0, 0]
    for solve in range(1, SOLVES + 1):
        kept = KeptContacts.after(kept, found, np.zeros(found.count))
        assert kept.age.tolist() == [solve] * 3
    forces[1:] = 0.0
    again = KeptContacts.after(kept, found, forces)
    assert again.age.tolist() == [0]
    names = [name(again.contacts, m) for m in range(again.contacts.count)]
    assert len(names) == len(set(names))
    assert KeptContacts.after(kept, found, np.zeros(found.count)).contacts.count == 0


def test_points_with_a_radius_and_round_solids_keep_nothing():
    """Edges and faces stay beside a sphere by themselves; other numbers of points are another pair."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)), SOFT))
    ball = scene.add(pl.RigidBody.sphere(radius=0.03, mass=0.1, position=(0.023, 0.027, 0.0501)))
    scene.collide(body, ball)
    view, pair, found = detected(scene.compile())
    kept = KeptContacts.after(None, found, np.ones(found.count))
    assert kept.contacts.count > 0
    nothing = found.selected([])
    assert with_kept(pair, view, nothing, kept) is nothing
    view, pair, found = detected(soft_blocks())
    assert with_kept(pair, view, nothing, KeptContacts.after(None, found, np.ones(found.count))) is nothing
    none = KeptContacts.after(None, found, np.zeros(found.count))
    assert with_kept(pair, view, found, none) is found


def test_second_facets_have_keys_of_their_own_and_get_back_those_of_their_vertices():
    """Also the facet with the number zero; edges keep their keys; one of each is left."""
    _, _, found = detected(soft_blocks())
    flat = found.selected(found.kind != ContactKind.VERTEX_OBSTACLE)
    corners = np.flatnonzero(flat.face >= 0)
    faces = flat.face.copy()
    faces[corners] = np.arange(len(corners))
    numbered = replace(flat, face=faces)
    others = _as_other_facets(numbered)
    assert others.count == flat.count
    assert (np.diff(others.key) > 0).all()
    assert not np.isin(others.key[others.face >= 0], flat.key).any()
    np.testing.assert_array_equal(others.key[others.face < 0], flat.key[faces < 0])
    back = _renamed(others)
    assert sorted(back.key.tolist()) == flat.key.tolist()
    assert dict(zip(back.face.tolist(), back.key.tolist(), strict=True))[0] == flat.key[corners[0]]
    twice = _as_other_facets(numbered.selected(np.repeat(corners[:1], 2)))
    assert twice.count == 1
    edges = flat.selected(flat.face < 0)
    assert _renamed(edges) is edges
