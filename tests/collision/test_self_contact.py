"""A surface against itself: what the filters leave out, and what they must not."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pliant.collision import CollisionSurface, ContactKind, ProximityOptions, self_contacts
from pliant.collision.broad.candidates import candidates
from pliant.collision.filters import arrays_of
from pliant.collision.narrow.vertex_face import vertex_face_contacts
from pliant.collision.proximity import history_of, limits_of
from pliant.collision.self_penetration import self_penetration

SEEDS = st.integers(0, 2**32 - 1)


def rolled(points, gap, half_width=0.12):
    """A flat sheet or plate bent in the middle into a half circle, top to top, its flaps `gap` apart."""
    radius = gap / 2
    s, height = points[:, 0], points[:, 2]
    angle = np.clip(s / half_width, -1, 1) * np.pi / 2
    straight = np.maximum(np.abs(s) - half_width, 0.0)
    inner = radius - height
    x = inner * np.sin(angle) + 0.0
    z = -inner * np.cos(angle) + straight
    return np.column_stack([x, points[:, 1], z])


def test_a_folded_sheet_touches_itself_only_when_folded(shapes):
    points, triangles = shapes.sheet(24)
    surface = CollisionSurface.build(triangles, points)
    options = ProximityOptions(margin=0.02)
    assert self_contacts(surface.at(points), options).count == 0
    assert self_contacts(surface.at(rolled(points, 0.05)), options).count == 0
    folded = rolled(points, 0.01)
    contacts = self_contacts(surface.at(folded), options)
    vertices = contacts.nodes_a[contacts.kind == ContactKind.VERTEX_FACE, 0]
    flaps = np.flatnonzero(np.abs(points[:, 0]) > 0.13)
    assert set(flaps.tolist()) <= set(vertices.tolist())
    on_flap = np.isin(contacts.nodes_a[:, 0], flaps)
    np.testing.assert_allclose(contacts.gap[on_flap], 0.01, atol=1e-12)
    side = np.sign(folded[contacts.nodes_a[on_flap, 0], 0])
    np.testing.assert_allclose(contacts.normal[on_flap], side[:, None] * [[1.0, 0, 0]], atol=1e-9)


def test_folded_flaps_that_cross_have_a_negative_gap(shapes):
    points, triangles = shapes.sheet(24)
    surface = CollisionSurface.build(triangles, points)
    folded = rolled(points, 0.01)
    pushed = folded.copy()
    flaps = np.abs(points[:, 0]) > 0.13
    pushed[flaps, 0] -= np.sign(folded[flaps, 0]) * 0.008
    contacts = self_contacts(surface.at(pushed), ProximityOptions(margin=0.02))
    deep = np.isin(contacts.nodes_a[:, 0], np.flatnonzero(np.abs(points[:, 0]) > 0.2))
    assert deep.sum() > 100
    np.testing.assert_allclose(contacts.gap[deep], -0.006, atol=1e-9)


@pytest.mark.parametrize("squeeze", [1.0, 0.5, 0.2])
def test_the_two_sides_of_a_wall_are_no_contact(shapes, squeeze):
    points, triangles = shapes.box((1.0, 1.0, 0.06), (12, 12, 1))
    surface = CollisionSurface.build(triangles, points)
    assert self_contacts(surface.at(points * [1, 1, squeeze]), ProximityOptions(margin=0.02)).count == 0


def test_a_slit_closes(shapes):
    """Two facing walls, at rest a little wider apart than the margin, touch and even cross when pressed together."""
    points, triangles = shapes.box((1.0, 1.0, 0.4), (6, 6, 2))
    both = np.concatenate([points, points * [1, 1, 1] + [0, 0, 0.43]])
    surface = CollisionSurface.build(np.concatenate([triangles, triangles + len(points)]), both)
    options = ProximityOptions(margin=0.02)
    assert self_contacts(surface.at(both), options).count == 0
    for gap in (0.01, -0.005):
        pressed = both.copy()
        pressed[len(points) :, 2] -= 0.03 - gap
        contacts = self_contacts(surface.at(pressed), options)
        faces = contacts.selected(contacts.kind == ContactKind.VERTEX_FACE)
        assert faces.count == 2 * 49
        np.testing.assert_allclose(faces.gap, gap, atol=1e-12)


@settings(max_examples=12, deadline=None)
@given(SEEDS)
@example(844)
def test_all_pairs_of_a_crumpled_box(shapes, oracle, seed):
    """Every filter against its definition, feature by feature, with the culling by normals switched off."""
    rest, triangles = shapes.box(cells=(2, 2, 2))
    x = rest + 0.35 * np.random.default_rng(seed).normal(size=rest.shape)
    surface = CollisionSurface.build(triangles, rest)
    margin = 0.15
    options = ProximityOptions(margin=margin, rest_factor=4.0, wall_factor=0.0, facing=2.0, sharp_angle=-1.0)
    pose = surface.at(x)
    contacts = self_contacts(pose, options)
    arrays, limits = arrays_of(pose), limits_of(options, same=True)
    found = candidates(pose, pose, limits, crossed=False)
    faces = vertex_face_contacts(found.vertices, arrays, arrays, limits, history_of(None), 0)
    feet = np.einsum("mk,mki->mi", faces.weights, x[triangles[faces.faces]])
    distances = np.linalg.norm(x[faces.vertices] - feet, axis=1)  # along a flush border the gap is less
    assert (np.abs(faces.gap) <= distances + 1e-12).all()
    assert dict(zip(faces.vertices.tolist(), distances)) == pytest.approx(
        nearest_faces(oracle, rest, x, triangles, margin, 4 * margin), abs=1e-9
    )
    edges = contacts.selected(contacts.kind == ContactKind.EDGE_EDGE)
    corners = np.column_stack([edges.nodes_a[:, :2], edges.nodes_b[:, :2]]).tolist()
    assert dict(zip(map(tuple, corners), np.abs(edges.gap))) == pytest.approx(
        crossing_edges(oracle, rest, x, triangles, margin, 4 * margin), abs=1e-9
    )


def nearest_faces(oracle, rest, x, triangles, margin, rest_distance):
    around = [set(triangles[(triangles == v).any(axis=1)].ravel().tolist()) for v in range(len(x))]
    found = {}
    for v in range(len(x)):
        for t in triangles.tolist():
            distance = oracle.point_triangle(x[v], *x[t])
            if distance > min(margin, found.get(v, np.inf)) or around[v] & set(t):
                continue
            if oracle.point_triangle(rest[v], *rest[t]) >= rest_distance:
                found[v] = distance
    return found


def crossing_edges(oracle, rest, x, triangles, margin, rest_distance):
    edges = sorted({tuple(sorted(pair)) for t in triangles.tolist() for pair in combinations(t, 2)})
    around = {e: {p for t in triangles.tolist() if set(e) <= set(t) for p in t} for e in edges}
    found = {}
    for e, f in combinations(edges, 2):
        ends = [x[p] for p in (*e, *f)]
        if around[e] & around[f]:
            continue
        parameters = oracle.crossing(*ends)
        if parameters is None or parameters.min() <= 0 or parameters.max() >= 1:
            continue
        distance = oracle.segment_segment(*ends)
        if distance <= margin and oracle.segment_segment(*(rest[p] for p in (*e, *f))) >= rest_distance:
            found[(*e, *f)] = distance
    return found


def slotted_bar(width=1.0, depth=6.0, layers=3):
    """A bar along z with a slot of `width` and `depth` from the top, mm, whose right side is lower by 1 mm: points and
    outward triangles.
    """
    half, bottom = 0.5 * width, 10.0 - depth
    slot = [(half, 9.0), (half, 7.0), (half, bottom), (-half, bottom), (-half, 7.0), (-half, 10.0)]
    section = np.array([(-5, 0), (5, 0), (5, 7), (5, 9), *slot, (-5, 10), (-5, 7)], float)
    caps = [(0, 1, 6), (0, 6, 7), (1, 2, 6), (2, 5, 6), (2, 3, 5), (3, 4, 5), (0, 7, 11), (7, 8, 11), (8, 9, 11)]
    caps.append((9, 10, 11))
    count, z = len(section), np.linspace(0.0, 8.0, layers + 1)
    points = np.vstack([np.column_stack([section, np.full(count, level)]) for level in z])
    walls = []
    for k, i in np.ndindex(layers, count):
        j = (i + 1) % count
        p, q, r, s = k * count + i, k * count + j, (k + 1) * count + j, (k + 1) * count + i
        walls += [(p, q, r), (p, r, s)]
    caps = np.array(caps)
    return points, np.vstack([caps[:, ::-1], layers * count + caps, walls])


def pressed(points, shut):
    """The bar with the sides of its slot moved towards each other by `shut` mm at the top, each by half."""
    x, above = points.copy(), np.clip((points[:, 1] - 4.0) / 6.0, 0.0, None)
    x[:, 0] -= 0.5 * shut * np.sign(points[:, 0]) * above
    return x


def test_the_sides_of_a_slot_narrower_than_the_margin():
    """Close at rest and joined by the bottom: no rows while the slot is open, contacts once it closes."""
    points, triangles = slotted_bar(width=1.0)
    surface = CollisionSurface.build(triangles, points)
    assert surface.closed
    options = ProximityOptions(margin=1.5)
    assert self_contacts(surface.at(points), options).count == 0
    for shut in (0.9, 1.5):
        contacts = self_contacts(surface.at(pressed(points, shut)), options)
        assert contacts.gap.min() == pytest.approx(1.0 - shut * 5.0 / 6.0, abs=0.02)
        assert (np.abs(contacts.normal[:, 0]) > 0.9).all()


def test_the_side_of_a_notch_against_a_vertex_of_its_bottom():
    """The vertex is joined to the other side by an edge: still it must not run through it."""
    points, triangles = slotted_bar(width=1.0)
    surface = CollisionSurface.build(triangles, points)
    x, options = points.copy(), ProximityOptions(margin=0.99)
    bottom = np.flatnonzero(np.isclose(points[:, 0], 0.5) & np.isclose(points[:, 1], 4.0) & (points[:, 2] > 1.0))[:1]
    x[bottom, 0] -= 0.9
    x[bottom, 1] += 0.3
    close = self_contacts(surface.at(x), options)
    assert bottom[0] in close.nodes_a[close.kind == ContactKind.VERTEX_FACE, 0]
    x[bottom, 0] -= 0.3
    through = self_contacts(surface.at(x), options, previous=close)
    own = through.nodes_a[:, 0] == bottom[0]
    assert through.gap[own & (through.kind == ContactKind.VERTEX_FACE)] == pytest.approx([-0.2])


@pytest.mark.parametrize("shut", [0.9, 1.15, 1.3, 1.6])
def test_penetration_of_a_slot(shut):
    """The depth of the lower top, where the sides have run through each other farthest."""
    points, triangles = slotted_bar(width=1.0)
    surface = CollisionSurface.build(triangles, points)
    x = pressed(points, shut)
    expected = max(0.0, shut * 5.0 / 6.0 - 1.0) / np.hypot(1.0, shut / 12.0)
    assert self_penetration(surface.at(x)) == pytest.approx(expected, abs=1e-3)


def test_a_body_that_is_squeezed_or_bent_does_not_penetrate_itself(shapes):
    points, triangles = shapes.box((1.0, 1.0, 0.06), (6, 6, 1))
    surface = CollisionSurface.build(triangles, points)
    assert self_penetration(surface.at(points * [1.0, 1.0, 0.05])) == 0.0
    assert self_penetration(surface.at(rolled(points, 0.1))) == 0.0
    assert self_penetration(surface.at(rolled(points, 0.02))) == 0.0
