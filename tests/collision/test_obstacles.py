"""Analytic obstacles against sampled surfaces and against the gradient of their own gap."""

import numpy as np
import pytest

import pliant as pl
from pliant.collision import (
    Box,
    Capsule,
    CollisionSurface,
    Cylinder,
    Pipe,
    Plane,
    Sphere,
    concatenate,
    obstacle_contacts,
    sphere_face_contact,
)
from pliant.core.errors import CapacityError, InputError

ROTATION = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
START, END = np.array([0.1, -0.2, 0.3]), np.array([0.5, 0.4, -0.6])
LENGTH = np.linalg.norm(END - START)
AXIS = (END - START) / LENGTH
ACROSS = np.linalg.svd(AXIS[None])[2][1:]


def ring(radius, height, count=600):
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return START + height * AXIS + radius * (np.cos(angle)[:, None] * ACROSS[0] + np.sin(angle)[:, None] * ACROSS[1])


def disc(inner, outer, height):
    return np.concatenate([ring(r, height) for r in np.linspace(inner, outer, 60)])


def wall(radius):
    return np.concatenate([ring(radius, h) for h in np.linspace(0, LENGTH, 200)])


def ball(center, radius, count=150_000):
    d = np.random.default_rng(1).normal(size=(count, 3))
    return center + radius * d / np.linalg.norm(d, axis=1, keepdims=True)


def half_ball(center, axis):
    samples = ball(center, 0.25)
    return samples[(samples - center) @ axis >= 0]


def box_samples(center, size, rotation):
    u = np.linspace(-0.5, 0.5, 120)
    face = np.array([(a, b) for a in u for b in u])
    parts = [np.insert(face, axis, end, axis=1) for axis in range(3) for end in (-0.5, 0.5)]
    return center + (np.concatenate(parts) * size) @ rotation.T


CASES = {
    "sphere": (Sphere(START, 0.4), ball(START, 0.4), lambda p: np.linalg.norm(p - START, axis=1) < 0.4),
    "capsule": (
        Capsule(START, END, 0.25),
        np.concatenate([wall(0.25), half_ball(START, -AXIS), half_ball(END, AXIS)]),
        lambda p: np.linalg.norm(p - START - np.clip((p - START) @ AXIS, 0, LENGTH)[:, None] * AXIS, axis=1) < 0.25,
    ),
    "box": (
        Box(START, np.array([0.5, 0.8, 0.3]), ROTATION),
        box_samples(START, np.array([0.5, 0.8, 0.3]), ROTATION),
        lambda p: (np.abs((p - START) @ ROTATION) < np.array([0.25, 0.4, 0.15])).all(axis=1),
    ),
    "cylinder": (
        Cylinder(START, END, 0.3),
        np.concatenate([wall(0.3), disc(0.0, 0.3, 0.0), disc(0.0, 0.3, LENGTH)]),
        lambda p: in_ring(p, -1.0, 0.3),
    ),
    "pipe": (
        Pipe(START, END, 0.3, 0.1),
        np.concatenate([wall(0.3), wall(0.4), disc(0.3, 0.4, 0.0), disc(0.3, 0.4, LENGTH)]),
        lambda p: in_ring(p, 0.3, 0.4),
    ),
}


def in_ring(p, inner, outer):
    height = (p - START) @ AXIS
    radius = np.linalg.norm(p - START - height[:, None] * AXIS, axis=1)
    return (radius > inner) & (radius < outer) & (height > 0) & (height < LENGTH)


def queries(count=400):
    return np.random.default_rng(2).uniform(-0.6, 1.2, size=(count, 3))


@pytest.mark.parametrize("name", CASES)
def test_distance_to_samples_of_the_surface(name):
    shape, samples, inside = CASES[name]
    points = queries(150)
    gap, _, _ = shape.distance(points)
    sampled = np.array([np.linalg.norm(samples - p, axis=1).min() for p in points])
    np.testing.assert_allclose(np.abs(gap), sampled, atol=8e-3)
    # the nearest sample is never closer than the surface itself
    assert (sampled >= np.abs(gap) - 1e-12).all()
    np.testing.assert_array_equal(gap < 0, inside(points))


@pytest.mark.parametrize("shape", [*(case[0] for case in CASES.values()), Plane(START, END), Pipe(START, END, 0.3)])
def test_normal_is_the_gradient_and_the_foot_is_on_the_surface(shape):
    points = queries()
    gap, normal, foot = shape.distance(points)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(points - foot, gap[:, None] * normal, atol=1e-12)
    np.testing.assert_allclose(shape.distance(foot).gap, 0.0, atol=1e-12)
    h = 1e-6
    steps = h * np.eye(3)
    gradient = np.stack([(shape.distance(points + s).gap - shape.distance(points - s).gap) / (2 * h) for s in steps], 1)
    smooth = np.abs(np.linalg.norm(gradient, axis=1) - 1.0) < 1e-6  # not on a ridge, where two walls are as near
    assert smooth.mean() > 0.98
    np.testing.assert_allclose(normal[smooth], gradient[smooth], atol=1e-6)


def test_a_pipe_holds_what_is_inside():
    pipe = Pipe((0, 0, 0), (0, 0, 1), 0.5)
    gap, normal, foot = pipe.distance(np.array([[0.4, 0.0, 0.5], [0.0, -0.6, 0.5], [0.0, 0.0, 0.5], [0.2, 0.0, 2.0]]))
    np.testing.assert_allclose(gap, [0.1, -0.1, 0.5, np.hypot(0.3, 1.0)])
    np.testing.assert_allclose(normal[:2], [[-1, 0, 0], [0, 1, 0]], atol=1e-15)
    np.testing.assert_allclose(foot[:2], [[0.5, 0, 0.5], [0, -0.5, 0.5]], atol=1e-15)


@pytest.mark.parametrize("shape", [case[0] for case in CASES.values()])
def test_centers_and_axes_have_a_normal(shape):
    points = np.array([START, END, 0.5 * (START + END)])
    gap, normal, _ = shape.distance(points)
    assert np.isfinite(gap).all()
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0)


def test_contacts_with_a_moved_obstacle():
    """Placing the shape and placing the points the other way round are the same."""
    box, position = Box((0.1, 0, 0), (0.6, 0.5, 0.4)), np.array([0.2, 0.3, -0.1])
    points = queries()
    nodes = np.arange(0, len(points), 2, dtype=np.int32)
    contacts = obstacle_contacts(points, nodes, box, margin=0.2, position=position, rotation=ROTATION, pair=3)
    still = Box(position + ROTATION @ np.array([0.1, 0, 0]), (0.6, 0.5, 0.4), ROTATION)
    gap, normal, foot = still.distance(points[nodes])
    near = gap <= 0.2
    np.testing.assert_array_equal(contacts.nodes_a[:, 0], nodes[near])
    np.testing.assert_allclose(contacts.gap, gap[near], atol=1e-13)
    np.testing.assert_allclose(contacts.normal, normal[near], atol=1e-12)
    np.testing.assert_allclose(contacts.point_b, foot[near], atol=1e-12)
    assert (contacts.nodes_b == -1).all()
    assert contacts.gap.min() < 0


def test_sets_of_several_obstacles():
    points = queries()
    nodes = np.arange(len(points), dtype=np.int32)
    sets = [
        obstacle_contacts(points, nodes, CASES[name][0], margin=0.1, pair=i) for i, name in enumerate(("box", "sphere"))
    ]
    both = concatenate(sets[::-1])
    assert both.count == sets[0].count + sets[1].count
    assert (np.diff(both.key) > 0).all()
    np.testing.assert_array_equal(both.match(sets[1])[both.match(sets[0]) < 0], np.arange(sets[1].count))
    with pytest.raises(InputError, match="pair"):
        concatenate([sets[0], sets[0]])
    with pytest.raises(CapacityError, match="capacity is 3"):
        obstacle_contacts(points, nodes, CASES["box"][0], margin=0.1, capacity=3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere((0, 0, 0), 0.0), "radius"),
        (lambda: Plane((0, 0, 0), (0, 0, 0)), "normal"),
        (lambda: Box((0, 0, 0), (1, -1, 1)), "size"),
        (lambda: Box((0, 0, 0), (1, 1, 1), 2 * np.eye(3)), "rotation"),
        (lambda: Cylinder((0, 0, 0), (0, 0, 0), 1.0), "start and end"),
        (lambda: Pipe((0, 0, 0), (0, 0, 1), 1.0, 0.0), "thickness"),
        (lambda: Capsule((0, 0, np.nan), (0, 0, 1), 1.0), "start"),
    ],
)
def test_bad_shapes(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_small_sphere_is_seen_by_the_face_under_it():
    """One contact at the nearest point of a face or an edge: gap, normal and weights; none where it is a vertex."""
    mesh = pl.mesh.box((1.0, 1.0, 1.0), (1, 1, 1)).surface()
    surface = CollisionSurface.build(mesh.triangles, mesh.points)
    found = sphere_face_contact(surface, mesh.points, np.array([0.3, 0.6, 1.12]), 0.1, margin=0.05)
    assert found.count == 1
    np.testing.assert_allclose(found.gap, 0.02)
    np.testing.assert_allclose(found.normal[0], [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(found.point_a[0], [0.3, 0.6, 1.0])
    np.testing.assert_allclose(found.point_b[0], [0.3, 0.6, 1.02])
    np.testing.assert_allclose(found.weights_a[0] @ mesh.points[found.nodes_a[0]], [0.3, 0.6, 1.0])
    on_edge = sphere_face_contact(surface, mesh.points, np.array([0.5, 1.0, 1.05]), 0.1, margin=0.05)
    np.testing.assert_allclose(on_edge.point_a, [[0.5, 1.0, 1.0]])
    np.testing.assert_allclose(on_edge.gap, -0.05)
    for center in ([1.0, 1.0, 1.05], [1.0, 0.999, 1.05], [0.3, 0.6, 1.5]):
        assert sphere_face_contact(surface, mesh.points, np.array(center), 0.1, margin=0.05).count == 0
