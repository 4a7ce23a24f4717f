"""The search for near features against all pairs of features: no contact is lost, with and without a last step."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.collision import CollisionSurface, ProximityOptions
from pliant.collision.broad.candidates import candidates
from pliant.collision.broad.features import smooth_limits
from pliant.collision.broad.lanes import reach_of
from pliant.collision.contacts import ContactKind, key_base
from pliant.collision.filters import History, arrays_of
from pliant.collision.narrow.edge_edge import edge_edge_contacts
from pliant.collision.narrow.vertex_face import vertex_face_contacts
from pliant.collision.proximity import history_of, limits_of
from pliant.collision.surface import EDGE_LIMIT

SEEDS = st.integers(0, 2**32 - 1)
OPTIONS = [
    {},
    {"wall_factor": 0.0},
    {"wall_factor": 0.0, "rest_factor": 0.0},
    {"wall_factor": 0.0, "facing": 0.1, "sharp_angle": 0.2},
    {"wall_factor": 0.0, "facing": 0.6, "sharp_angle": 0.5},
    {"wall_factor": 0.0, "facing": 2.0, "sharp_angle": -1.0},
]


def rolled(points, gap, half_width=0.12):
    """A flat sheet or plate bent in the middle into a half circle, top to top, its flaps `gap` apart."""
    s, inner = points[:, 0], gap / 2 - points[:, 2]
    angle = np.clip(s / half_width, -1, 1) * np.pi / 2
    straight = np.maximum(np.abs(s) - half_width, 0.0)
    return np.column_stack([inner * np.sin(angle), points[:, 1], straight - inner * np.cos(angle)])


def representative(surface):
    """The triangle that stands for each edge."""
    own = np.full(len(surface.edges), -1)
    for t, side in product(range(len(surface.triangles)), range(3)):
        if surface.edge_mask[t] >> side & 1:
            own[surface.triangle_edges[t, side]] = t
    return own


def every_pair(a, b):
    """All vertices with all faces, both ways, and all edges with all edges, less what shares a point."""
    corners, others = ([set(t.tolist()) for t in s.triangles] for s in (a, b))
    if a is not b:
        edges = product(range(len(a.edges)), range(len(b.edges)))
        return (
            np.array(list(product(a.nodes, range(len(others)))), np.int32),
            np.array(list(product(b.nodes, range(len(corners)))), np.int32),
            np.array(list(edges), np.int32),
        )
    own = representative(a)
    vertices = [(v, f) for v, f in product(a.nodes, range(len(corners))) if v not in corners[f]]
    edges = [
        (e, f)
        for e, f in combinations(range(len(a.edges)), 2)
        if not corners[own[e]] & corners[own[f]] or (a.notched[own[e]] and a.notched[own[f]])
    ]
    return np.array(vertices, np.int32), np.zeros((0, 2), np.int32), np.array(edges, np.int32)


def contacts_of(found, a, b, limits, history):
    edge = key_base(ContactKind.EDGE_EDGE, 0)
    faces = vertex_face_contacts(found[0], a, b, limits, history, 0)
    back = vertex_face_contacts(found[1], b, a, limits, history, key_base(ContactKind.FACE_VERTEX, 0))
    edges = edge_edge_contacts(found[2], a, b, limits, history, edge)
    return faces, back, edges


def check_nothing_is_lost(a, b, options, *, seed=0):
    """Contacts among all pairs are those among the candidates; then again with a random part of them remembered."""
    rng = np.random.default_rng(seed)
    limits, on_a, on_b = limits_of(options, same=a is b), arrays_of(a), arrays_of(b)
    every = every_pair(a.surface, b.surface)
    history, total = history_of(None), 0
    for crossed in (False, True):
        found = candidates(a, b, limits, crossed=crossed)
        for few, all_pairs in zip(found, every, strict=True):
            assert {tuple(p) for p in few.tolist()} <= {tuple(p) for p in all_pairs.tolist()}
            assert len(np.unique(few, axis=0)) == len(few)
        results = [contacts_of(pairs, on_a, on_b, limits, history) for pairs in (every, found)]
        for all_pairs, few in zip(*results, strict=True):
            for name, values in all_pairs._asdict().items():
                np.testing.assert_array_equal(values, getattr(few, name), err_msg=name)
        total += sum(len(part.gap) for part in results[0])
        pairs = every[2][rng.random(len(every[2])) < 0.2]
        keys = key_base(ContactKind.EDGE_EDGE, 0) + pairs[:, 0] * np.int64(EDGE_LIMIT) + pairs[:, 1]
        normals = rng.normal(size=(len(keys), 3))
        order = np.argsort(keys)
        units = (normals / np.linalg.norm(normals, axis=1, keepdims=True))[order]
        history = History(keys[order], units, np.full(len(keys), -1, history.faces.dtype))
        for array in history:
            array.setflags(write=False)
    return total


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.sampled_from(OPTIONS))
def test_of_a_crumpled_box(shapes, seed, options):
    rest, triangles = shapes.box(cells=(3, 3, 2))
    x = rest + 0.25 * np.random.default_rng(seed).normal(size=rest.shape)
    pose = CollisionSurface.build(triangles, rest).at(x)
    check_nothing_is_lost(pose, pose, ProximityOptions(margin=0.1, **options), seed=seed)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("gap", [0.02, 0.005, -0.01])
def test_of_a_sheet_folded_onto_and_through_itself(shapes, gap, options):
    """Smooth edges that have not crossed, and smooth edges that have."""
    rest, triangles = shapes.sheet(9)
    x = rolled(rest, 0.02, half_width=0.2)
    flaps = np.abs(rest[:, 0]) > 0.25
    x[flaps, 0] -= np.sign(x[flaps, 0]) * 0.5 * (0.02 - gap)
    x += 1e-3 * np.random.default_rng(3).normal(size=x.shape)
    pose = CollisionSurface.build(triangles, rest).at(x)
    assert check_nothing_is_lost(pose, pose, ProximityOptions(margin=0.03, **options)) > 20


@pytest.mark.parametrize("options", OPTIONS)
def test_of_a_notch(shapes, options):
    """The sides of a valley at rest, closed, pass through each other next to its bottom."""
    rest, triangles = shapes.sheet(8)
    rest[:, 2] = 0.8 * np.abs(rest[:, 0])
    x = rest * [0.05, 1.0, 1.0] + 0.01 * np.random.default_rng(1).normal(size=rest.shape)
    surface = CollisionSurface.build(triangles, rest)
    assert surface.notched.any()
    pose = surface.at(x)
    assert check_nothing_is_lost(pose, pose, ProximityOptions(margin=0.03, **options)) > 10


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.sampled_from(OPTIONS), st.sampled_from([0.0, 0.02, 0.1]))
def test_of_two_bodies(shapes, seed, options, noise):
    rng = np.random.default_rng(seed)
    rest, triangles = shapes.box(cells=(2, 2, 2))
    ball, faces = shapes.sphere(1, radius=0.6)
    a = CollisionSurface.build(triangles, rest).at(rest + noise * rng.normal(size=rest.shape))
    there = ball + [0.5, 0.5, 1.55] + noise * rng.normal(size=ball.shape)
    b = CollisionSurface.build(faces, ball).at(there)
    assert check_nothing_is_lost(a, b, ProximityOptions(margin=0.08, **options), seed=seed) > 0 or noise > 0.05


def test_triangles_without_area_are_not_told_by_their_planes(shapes):
    """Normals of needles are noise: nothing may be left out by them."""
    rest, triangles = shapes.box(cells=(3, 3, 2))
    x = rest.copy()
    x[::3] = x[::3] + 1e-12 * np.random.default_rng(5).normal(size=x[::3].shape)
    x[:, 2] = np.where(x[:, 2] > 0.4, 0.02, 0.0)
    x[triangles[::5, 2]] = 0.5 * (x[triangles[::5, 0]] + x[triangles[::5, 1]])
    surface = CollisionSurface.build(triangles, rest)
    pose = surface.at(x)
    assert pose.bounds.thin.any()
    assert check_nothing_is_lost(pose, pose, ProximityOptions(margin=0.05, wall_factor=0.0, rest_factor=0.0)) > 0


def test_far_from_the_origin_boxes_only_get_wider(shapes):
    rest, triangles = shapes.box(cells=(3, 3, 2))
    x = rest + 0.2 * np.random.default_rng(7).normal(size=rest.shape)
    options = ProximityOptions(margin=0.1, wall_factor=0.0)
    for away in (0.0, 1e3, 1e5):
        pose = CollisionSurface.build(triangles, rest).at(x + away)
        assert check_nothing_is_lost(pose, pose, options) > 0


def test_limits_of_smooth_edges():
    """Opposed by 2φ at most where the angles are small, and nothing where they are not, or tests are off."""
    pose = CollisionSurface.build([[0, 1, 2]], np.eye(3)).at(np.eye(3))
    for options, wanted in (
        (ProximityOptions(margin=0.1), -np.cos(2.0 * (np.arcsin(0.25) + 0.1))),
        (ProximityOptions(margin=0.1, facing=0.6), np.inf),
        (ProximityOptions(margin=0.1, sharp_angle=0.5), np.inf),
        (ProximityOptions(margin=0.1, facing=2.0), np.inf),
    ):
        limits = limits_of(options, same=True)
        reach = reach_of(pose.bounds, pose.bounds, limits.margin, limits.facing)
        smooth = smooth_limits(limits, reach, False)
        assert smooth.opposed == pytest.approx(wanted, abs=1e-5)
        assert np.isinf(smooth_limits(limits, reach, True).front)
        assert np.isinf(smooth.front) == np.isinf(wanted)
