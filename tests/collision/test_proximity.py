"""Contacts between two surfaces against all pairs of features, one by one."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pliant.collision import (
    CollisionSurface,
    ContactKind,
    MeshObstacle,
    ProximityOptions,
    self_contacts,
    surface_contacts,
)
from pliant.collision.broad import candidates, notches, tree
from pliant.collision.narrow import pair_contacts, pseudonormal
from pliant.core.errors import CapacityError, InputError, MeshError

SEEDS = st.integers(0, 2**32 - 1)
KINDS = (ContactKind.VERTEX_FACE, ContactKind.FACE_VERTEX, ContactKind.EDGE_EDGE)


def unfiltered(margin, **options):
    return ProximityOptions(margin=margin, facing=2.0, sharp_angle=-1.0, **options)


def by_kind(contacts):
    return [contacts.selected(contacts.kind == kind) for kind in KINDS]


def nearest_vertices(oracle, x, y, triangles, margin):
    """For each of `x` within the margin of a soup over `y`: distance, unit normal, and the corner it meets or −1.

    A corner is met where it is nearest, unless the vertex is straight above its triangle.
    """
    normals = oracle.unit_normals(y, triangles)
    found = {}
    for v, p in enumerate(x):
        feet = np.array([oracle.triangle_foot(p, *corners) for corners in y[triangles]])
        distances = np.linalg.norm(p - feet, axis=1)
        face = int(np.argmin(distances))
        if distances[face] <= margin:
            away = p - feet[face]
            normal = away / np.linalg.norm(away) * np.sign(away @ normals[face])
            corner = [int(c) for c in triangles[face] if np.linalg.norm(y[c] - feet[face]) < 1e-13]
            met = corner[0] if corner and normal @ normals[face] <= 0.99 else -1
            found[v] = (distances[face], normal, met)
    return found


def without_twins(near, others, *, first):
    """Distances of the vertices that are kept: a vertex pair is one contact, that of the first side if mutual."""
    kept = {}
    for v, (distance, normal, met) in near.items():
        is_twin = met in others and normal @ others[met][1] < 0
        mutual = is_twin and others[met][2] == v
        if not is_twin or (first and mutual):
            kept[v] = distance
    return kept


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(2, 9), st.sampled_from([0.1, 0.3]))
@example(seed=477, count=5, margin=0.3)
def test_all_pairs_of_two_soups(shapes, oracle, seed, count, margin):
    (x, tx), (y, ty) = shapes.soup(seed, count), shapes.soup(seed + 1, count)
    a, b = CollisionSurface.build(tx, x), CollisionSurface.build(ty, y)
    forward, back, edges = by_kind(surface_contacts(a.at(x), b.at(y), unfiltered(margin)))
    near_a, near_b = nearest_vertices(oracle, x, y, ty, margin), nearest_vertices(oracle, y, x, tx, margin)
    kept_a, kept_b = without_twins(near_a, near_b, first=True), without_twins(near_b, near_a, first=False)
    assert dict(zip(forward.nodes_a[:, 0].tolist(), np.abs(forward.gap))) == pytest.approx(kept_a, abs=1e-10)
    assert dict(zip(back.nodes_b[:, 0].tolist(), np.abs(back.gap))) == pytest.approx(kept_b, abs=1e-10)
    expected, at_ends = {}, set()
    for i, j in a.edges.tolist():
        for k, m in b.edges.tolist():
            parameters = oracle.crossing(x[i], x[j], y[k], y[m])
            if parameters is not None and parameters.min() > 0 and parameters.max() < 1:
                expected[(i, j, k, m)] = oracle.segment_segment(x[i], x[j], y[k], y[m])
                if (
                    min(parameters.min(), 1 - parameters.max()) < 1e-6
                ):  # so near to a vertex that its contact stands for it
                    at_ends.add((i, j, k, m))
    expected = {key: d for key, d in expected.items() if d <= margin and key not in at_ends}
    corners = map(tuple, np.column_stack([edges.nodes_a[:, :2], edges.nodes_b[:, :2]]).tolist())
    found = {key: d for key, d in zip(corners, np.abs(edges.gap)) if key not in at_ends}
    assert found == pytest.approx(expected, abs=1e-10)


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_the_arrays_are_consistent(shapes, seed):
    """Points are the weighted nodes, the normal is unit and joins them, keys ascend."""
    rng = np.random.default_rng(seed)
    x, triangles = shapes.sphere(1, 0.5)
    y = x @ np.linalg.qr(rng.normal(size=(3, 3)))[0].T + rng.uniform(-0.7, 0.7, size=3)
    surface = CollisionSurface.build(triangles, x)
    contacts = surface_contacts(surface.at(x), surface.at(y), unfiltered(0.3))
    for nodes, weights, points, side in (
        (contacts.nodes_a, contacts.weights_a, x, contacts.point_a),
        (contacts.nodes_b, contacts.weights_b, y, contacts.point_b),
    ):
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-14)
        assert (weights[nodes < 0] == 0.0).all()
        assert (weights >= 0.0).all()
        np.testing.assert_allclose(np.einsum("mk,mki->mi", weights, points[nodes]), side, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(contacts.normal, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(contacts.point_a - contacts.point_b, contacts.gap[:, None] * contacts.normal, atol=1e-9)
    assert (np.diff(contacts.key) > 0).all()


def two_boxes(shapes, depth, cells=(2, 2, 2), turn=0.0):
    """A small box above a large one, `depth` into its top, turned about the vertical."""
    large, triangles = shapes.box((1.0, 1.0, 1.0), cells)
    small = np.array((0.4, 0.4, 0.4)) * large
    c, s = np.cos(turn), np.sin(turn)
    small = (small - [0.2, 0.2, 0]) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T + [0.5, 0.5, 1.0 - depth]
    surface = CollisionSurface.build(triangles, large)
    return surface.at(small), surface.at(large)


@pytest.mark.parametrize("depth", [-0.03, 0.0, 0.03])
def test_signed_gap_of_resting_boxes(shapes, depth):
    small, large = two_boxes(shapes, depth)
    forward, back, edges = by_kind(surface_contacts(small, large, ProximityOptions(margin=0.05)))
    bottom = np.flatnonzero(small.points[:, 2] < 1.0 - depth + 1e-9)
    np.testing.assert_array_equal(forward.nodes_a[:, 0], bottom)
    np.testing.assert_allclose(forward.gap, -depth, atol=1e-12)
    np.testing.assert_allclose(forward.normal, np.tile([0, 0, 1.0], (len(bottom), 1)), atol=1e-12)
    # the middle of the large top is a vertex, under the small box
    np.testing.assert_allclose(back.gap, -depth, atol=1e-12)
    np.testing.assert_allclose(back.normal, np.tile([0, 0, 1.0], (back.count, 1)), atol=1e-12)
    assert back.count == 1
    # the sharp rim of the small bottom crosses the edges of the large top
    np.testing.assert_allclose(edges.gap, -depth, atol=1e-12)
    np.testing.assert_allclose(edges.normal, np.tile([0, 0, 1.0], (edges.count, 1)), atol=1e-12)


@pytest.mark.parametrize("depth", [-0.02, 0.02])
def test_overhanging_edges_cross(shapes, depth):
    """A beam across a rail touches it with its edges: no vertex is above a face."""
    points, triangles = shapes.box()
    surface = CollisionSurface.build(triangles, points)
    beam = points * [3.0, 0.2, 0.2] + [-1.5, -0.1, 1.0 - depth]
    rail = points * [0.2, 3.0, 1.0] + [-0.1, -1.5, 0.0]
    contacts = surface_contacts(surface.at(beam), surface.at(rail), ProximityOptions(margin=0.05))
    assert (contacts.kind == ContactKind.EDGE_EDGE).all()
    crossings = {(float(p), float(q)) for p, q in np.round(contacts.point_b[:, :2], 9)}
    assert {(-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)} <= crossings
    np.testing.assert_allclose(contacts.gap, -depth, atol=1e-12)
    np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1.0], (contacts.count, 1)), atol=1e-12)


@pytest.mark.parametrize("depth", [-0.01, 0.01])
def test_a_blade_between_the_vertices_of_a_flat_sheet(shapes, depth):
    """The edges of the sheet are flat, the edge of the blade is sharp: they hold it all along."""
    floor, triangles = shapes.sheet(4)
    points, box = shapes.box()
    half = np.sqrt(0.5)
    turned = (points - [0.5, 0, 0]) @ np.array([[half, 0, -half], [0, 1, 0], [half, 0, half]]).T
    blade = turned * [0.3, 0.9, 0.3] + [0.12, -0.45, 0.0]
    blade[:, 2] -= blade[:, 2].min() + depth
    a, b = CollisionSurface.build(box, points), CollisionSurface.build(triangles, floor)
    contacts = surface_contacts(a.at(blade), b.at(floor), ProximityOptions(margin=0.03))
    edges = contacts.selected(contacts.kind == ContactKind.EDGE_EDGE)
    assert edges.count >= 6
    np.testing.assert_allclose(edges.gap, -depth, atol=1e-12)
    np.testing.assert_allclose(edges.normal, np.tile([0, 0, 1.0], (edges.count, 1)), atol=1e-12)


def hinged(height, other):
    """A square of two triangles whose diagonal stands out by `height` along z, and one below with the crossing diagonal
    that stands out towards it by `other`: their four corners are level with each other.
    """
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    upper, lower = corners.copy(), corners.copy()
    upper[[0, 2], 2] -= height
    lower[[1, 3], 2] += other
    return upper, np.array([[0, 2, 1], [0, 3, 2]]), lower, np.array([[0, 1, 3], [1, 2, 3]])


def test_flat_edges_make_a_contact_once_they_have_crossed_and_keep_it():
    """No contact while flat edges are apart; after they ran through each other, one that lasts when they part again."""
    x, triangles, y, others = hinged(0.02, 0.02)
    a, b = CollisionSurface.build(triangles, x), CollisionSurface.build(others, y)
    options = ProximityOptions(margin=0.1)

    def edges(lift, previous=None):
        found = surface_contacts(a.at(x + np.array([0, 0, lift])), b.at(y), options, previous=previous)
        diagonals = (found.nodes_a[:, :2] == [0, 2]).all(axis=1) & (found.nodes_b[:, :2] == [1, 3]).all(axis=1)
        return found.selected((found.kind == ContactKind.EDGE_EDGE) & diagonals)

    assert edges(0.05).count == 0
    crossed = edges(0.03)
    np.testing.assert_allclose(crossed.gap, [-0.01], atol=1e-12)
    np.testing.assert_allclose(crossed.normal, [[0, 0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(edges(0.05, previous=crossed).gap, [0.01], atol=1e-12)


def test_parallel_edges_are_left_to_vertices(shapes):
    small, large = two_boxes(shapes, -0.01, cells=(1, 1, 1))
    shifted = small.surface.at(small.points + np.array([0.3, 0.0, 0.0]))  # edge over edge, parallel
    contacts = surface_contacts(shifted, large, ProximityOptions(margin=0.05))
    forward, _, edges = by_kind(contacts)
    assert forward.count == 4
    u, v = (np.diff(p.points[n[:, :2]], axis=1)[:, 0] for p, n in ((shifted, edges.nodes_a), (large, edges.nodes_b)))
    assert (np.linalg.norm(np.cross(u, v), axis=1) > 0.01 * np.linalg.norm(u, axis=1)).all()


def test_identity_lasts_while_sliding(shapes):
    """A tip slides over many triangles: one contact, one key, gaps and motion smooth."""
    tip = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.3], [-0.05, 0.09, 0.3], [-0.05, -0.09, 0.3]])
    a = CollisionSurface.build([[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]], tip)
    floor, triangles = shapes.sheet(10)
    b = CollisionSurface.build(triangles, floor)
    options, keys, faces, previous = ProximityOptions(margin=0.02), set(), set(), None
    for s in np.linspace(-0.45, 0.45, 60):
        contacts = surface_contacts(a.at(tip + np.array([s, 0.3 * s, 0.005])), b.at(floor), options, previous=previous)
        assert contacts.count == 1
        assert contacts.gap[0] == pytest.approx(0.005, abs=1e-12)
        keys.add(int(contacts.key[0]))
        faces.add(int(contacts.face[0]))
        if previous is not None:
            assert contacts.match(previous).tolist() == [0]
        previous = contacts
    assert len(keys) == 1
    assert len(faces) > 8


def test_a_tip_between_two_walls_touches_both(shapes):
    """Nearer to one wall, the tip has its contact there; the vertex of the other wall must keep its own."""
    tip = np.array([[0.0, 0.0, 0.0], [0.3, 0.1, 0.0], [0.3, -0.05, 0.09], [0.3, -0.05, -0.09]])
    a = CollisionSurface.build([[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]], tip)
    wall, triangles = shapes.sheet(2, 0.2)
    both = np.concatenate([wall + np.array([-0.02, 0, -0.02]), wall + np.array([-0.02, 0, 0.03])])
    b = CollisionSurface.build(np.concatenate([triangles, triangles[:, ::-1] + len(wall)]), both)
    contacts = surface_contacts(a.at(tip), b.at(both), unfiltered(0.04))
    center = int(np.flatnonzero((wall == 0).all(axis=1))[0])
    forward, back, _ = by_kind(contacts)
    assert forward.gap[forward.nodes_a[:, 0] == 0] == pytest.approx(0.02)
    assert back.gap[back.nodes_b[:, 0] == center + len(wall)] == pytest.approx(np.hypot(0.02, 0.03))
    assert center not in back.nodes_b[:, 0]


@pytest.mark.parametrize("vertex_on_a", [True, False])
def test_the_side_is_kept_in_a_thin_plate(shapes, vertex_on_a):
    """Pushed through most of a plate, a tip is still pushed back the way it came, if the last step is known."""
    tip = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.3], [-0.05, 0.09, 0.3], [-0.05, -0.09, 0.3]])
    a = CollisionSurface.build([[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]], tip)
    plate, triangles = shapes.box((1.0, 1.0, 0.01), (5, 5, 1))
    plate = plate - [0.45, 0.55, 0.01]  # its top at z = 0
    b = CollisionSurface.build(triangles, plate)
    options = unfiltered(0.02)

    def contact(height, previous):
        poses = (a.at(tip + np.array([0, 0, height])), b.at(plate))
        found = surface_contacts(*(poses if vertex_on_a else poses[::-1]), options, previous=previous)
        return found.selected(found.kind == (ContactKind.VERTEX_FACE if vertex_on_a else ContactKind.FACE_VERTEX))

    previous = contact(0.004, None)
    sign = 1.0 if vertex_on_a else -1.0
    for height in (-0.002, -0.007, -0.009):
        previous = contact(height, previous)
        assert previous.gap[0] == pytest.approx(height, abs=1e-12)
        np.testing.assert_allclose(previous.normal[0], [0, 0, sign], atol=1e-12)
    forgotten = contact(-0.007, None)
    assert forgotten.gap[0] == pytest.approx(-0.003, abs=1e-12)


def test_nothing_tunnels_below_the_margin(shapes):
    """Whatever ends a step behind the floor was in the set at its start, if it moved by less than the margin."""
    floor, triangles = shapes.sheet(6)
    b = CollisionSurface.build(triangles, floor)
    x, body = shapes.sphere(1, 0.1)
    a = CollisionSurface.build(body, x)
    rng, margin = np.random.default_rng(0), 0.05
    crossings = 0
    for _ in range(50):
        start = x @ np.linalg.qr(rng.normal(size=(3, 3)))[0].T + [0, 0, 0.1 + rng.uniform(0.0, 0.06)]
        end = start + np.array([0, 0, -0.999 * margin])
        contacts = surface_contacts(a.at(start), b.at(floor), ProximityOptions(margin=margin))
        known = set(contacts.nodes_a[contacts.kind == ContactKind.VERTEX_FACE, 0].tolist())
        crossed = np.flatnonzero((start[:, 2] > 0) & (end[:, 2] < 0))
        assert set(crossed.tolist()) <= known
        crossings += len(crossed)
    assert crossings > 50


@pytest.mark.parametrize("seed", range(8))
def test_gaps_never_jump(shapes, seed):
    """Signed distances are 1-Lipschitz: as a body turns and sinks into another, no lasting gap below half the margin
    changes by more than the motion, whichever triangles, sides and edges come and go. (Further out, a gap shrinks at
    once when a nearer face turns to oppose its vertex.)
    """
    rng = np.random.default_rng(seed)
    x, tx = shapes.box(cells=(3, 3, 3)) if seed % 2 else shapes.sphere(2, 0.6)
    y, ty = shapes.box(cells=(2, 2, 2)) if seed % 3 else shapes.sphere(2, 0.6)
    x, y = (x - x.mean(axis=0)) @ Rotation.random(random_state=seed).as_matrix().T, y - y.mean(axis=0)
    a, b = CollisionSurface.build(tx, x), CollisionSurface.build(ty, y).at(y)
    direction, spin = rng.normal(size=(2, 3))
    direction /= np.linalg.norm(direction)
    previous, lasting, deepest, before = None, 0, 0.0, x
    for k in range(180):
        now = x @ Rotation.from_rotvec(0.003 * k * spin).as_matrix().T + (1.8 - 0.01 * k) * direction
        contacts = surface_contacts(a.at(now), b, ProximityOptions(margin=0.12), previous=previous)
        if previous is not None:
            places = contacts.match(previous)
            known = np.flatnonzero(places >= 0)
            then, gap = previous.gap[places[known]], contacts.gap[known]
            change = np.abs(gap - then)[np.minimum(gap, then) < 0.06]
            assert (change <= 1.05 * np.linalg.norm(now - before, axis=1).max()).all()
            lasting += len(change)
        previous, before = contacts, now
        deepest = min(deepest, contacts.gap.min(initial=0.0))
        if deepest < -0.06:
            break
    assert lasting > 20
    assert deepest < -0.06


def test_same_bits_twice(shapes):
    x, triangles = shapes.sphere(3)
    a = CollisionSurface.build(triangles, x)
    runs = [
        surface_contacts(a.at(x), a.at(x + np.array([1.9, 0.1, 0.2])), ProximityOptions(margin=0.1)) for _ in range(2)
    ]
    assert runs[0].count > 20
    for name in ("key", "gap", "normal", "weights_a", "weights_b", "point_a", "face"):
        np.testing.assert_array_equal(getattr(runs[0], name), getattr(runs[1], name))


def test_a_region_limits_what_collides(shapes):
    x, triangles = shapes.box(cells=(2, 2, 2))
    top = x[triangles].mean(axis=1)[:, 2] > 0.99
    whole, part = CollisionSurface.build(triangles, x), CollisionSurface.build(triangles, x, region=top)
    assert set(part.nodes.tolist()) == set(np.flatnonzero(x[:, 2] > 0.99).tolist())
    options = ProximityOptions(margin=0.1)
    above, below = whole.at(x + np.array([0, 0, 1.05])), whole.at(x - [0, 0, 1.05])
    assert surface_contacts(part.at(x), above, options).count > 0
    assert surface_contacts(part.at(x), below, options).count == 0
    assert surface_contacts(whole.at(x), below, options).count > 0


def test_more_edges_than_expected_are_all_found(shapes):
    """Two grids over each other, turned: the crossings are those of the segments seen from above."""
    x, triangles = shapes.sheet(12)
    turn = np.array([[np.cos(0.4), -np.sin(0.4), 0], [np.sin(0.4), np.cos(0.4), 0], [0, 0, 1]])
    y = x @ turn.T + np.array([0.013, 0.007, 0.01])
    a = CollisionSurface.build(triangles, x)
    b = CollisionSurface.build(triangles[:, ::-1], y)
    contacts = surface_contacts(a.at(x), b.at(y), ProximityOptions(margin=0.02, sharp_angle=-1.0))
    (p, q), (r, s) = (x[a.edges].transpose(1, 0, 2)[:, :, :2], y[b.edges].transpose(1, 0, 2)[:, :, :2])

    def side(o, u, v):
        return np.sign((u - o)[..., 0] * (v - o)[..., 1] - (u - o)[..., 1] * (v - o)[..., 0])

    p, q, r, s = p[:, None], q[:, None], r[None], s[None]
    crossings = (side(p, q, r) * side(p, q, s) < 0) & (side(r, s, p) * side(r, s, q) < 0)
    assert (contacts.kind == ContactKind.EDGE_EDGE).sum() == crossings.sum() > 800


def test_kernels_compile_once(shapes):
    """Whatever the memory of the arrays handed in: a second compilation would take seconds in the middle of a run."""
    x, triangles = shapes.box()
    surface = CollisionSurface.build(np.asfortranarray(triangles), np.asfortranarray(x))
    read_only = x.copy()
    read_only.setflags(write=False)
    options, previous = ProximityOptions(margin=0.1), None
    for points in (x, np.asfortranarray(x), read_only, x.tolist()):
        poses = surface.at(points), surface.at(np.asarray(points) + np.array([0, 0, 1.01]))
        previous = surface_contacts(*poses, options, previous=previous)
        self_contacts(poses[0], options, previous=previous)
        MeshObstacle(points, triangles).distance(np.asarray(points))
    for function in (
        tree.refit, candidates._find, notches._find_notches, pair_contacts.contacts_among,
        pseudonormal.signed_distances,
    ):  # fmt: skip
        assert len(function.signatures) == 1, function.__name__


def test_bad_input(shapes):
    x, triangles = shapes.box()
    surface = CollisionSurface.build(triangles, x)
    with pytest.raises(CapacityError, match="capacity is 2"):
        surface_contacts(surface.at(x), surface.at(x + np.array([0, 0, 1.0])), ProximityOptions(margin=0.1, capacity=2))
    pose = surface.at(x)
    with pytest.raises(InputError, match="self_contacts"):
        surface_contacts(pose, pose, ProximityOptions(margin=0.1))
    with pytest.raises(InputError, match="margin"):
        ProximityOptions(margin=0.0)
    with pytest.raises(InputError, match="points"):
        surface.at(x[:-1])
    with pytest.raises(InputError, match="finite"):
        surface.at(np.full_like(x, np.nan))
    with pytest.raises(InputError, match="region"):
        CollisionSurface.build(triangles, x, region=[])
    with pytest.raises(MeshError, match="outside"):
        CollisionSurface.build([[0, 1, 99]], x)
    with pytest.raises(MeshError, match="repeats"):
        CollisionSurface.build([[0, 1, 1]], x)


def test_smallest_distance_agrees_with_the_ipc_toolkit(shapes):
    ipctk = pytest.importorskip("ipctk")
    x, triangles = shapes.sphere(2)
    surface = CollisionSurface.build(triangles, x)
    rng = np.random.default_rng(1)
    for _ in range(10):
        shift = rng.normal(size=3)
        shift *= 2.03 / np.linalg.norm(shift)
        y = x @ np.linalg.qr(rng.normal(size=(3, 3)))[0].T + shift
        both, faces = np.concatenate([x, y]), np.concatenate([triangles, triangles + len(x)])
        mesh = ipctk.CollisionMesh(both, ipctk.edges(faces), faces)
        collisions = ipctk.NormalCollisions()
        collisions.build(mesh, both, 0.2)
        expected = np.sqrt(collisions.compute_minimum_distance(mesh, both))
        assert surface_contacts(surface.at(x), surface.at(y), unfiltered(0.2)).gap.min() == pytest.approx(expected)
