"""Vertices in valleys: both faces of a concave edge bound them."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from configurations import SIZE, box
from pliant.collision import CollisionSurface, ContactKind, ProximityOptions, surface_contacts


def trough(slope=1.0):
    """A block of SIZE with a groove along y in its top, which sinks to its middle with the given slope."""
    points, triangles = box(cells=(2, 2, 1))
    top = points[:, 2] > 0.0
    points[top, 2] -= slope * (0.5 * SIZE - np.abs(points[top, 0]))
    return points, triangles


def tip(at):
    """A tetrahedron that stands on its vertex 0 at `at`."""
    points = SIZE * np.array([(0, 0, 0), (0.4, -0.2, 1.0), (-0.4, -0.2, 1.0), (0.0, 0.5, 1.0)])
    return points + at, np.array([(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)])


def found(at, slope=0.5, margin=0.1 * SIZE):
    lower, triangles = trough(slope)
    upper, others = tip(at)
    a, b = (CollisionSurface.build(t, x).at(x) for x, t in ((upper, others), (lower, triangles)))
    contacts = surface_contacts(a, b, ProximityOptions(margin=margin))
    assert (np.diff(contacts.key) > 0).all()
    return contacts.selected((contacts.kind == ContactKind.VERTEX_FACE) & (contacts.nodes_a[:, 0] == 0))


@pytest.mark.parametrize("aside", [0.0, 1e-3, -1e-3, 0.02, -0.02])
def test_a_vertex_in_a_valley_has_both_planes(aside):
    height, slope = 0.02 * SIZE, 0.5
    contacts = found(np.array([aside * SIZE, 0.1 * SIZE, 0.25 * SIZE + height]), slope)
    normal = np.array([(-slope, 0, 1), (slope, 0, 1)]) / np.hypot(slope, 1.0)
    order = np.argsort(contacts.normal[:, 0])
    np.testing.assert_allclose(contacts.normal[order], normal, atol=1e-12)
    expected = [(height - sign * slope * aside * SIZE) / np.hypot(slope, 1.0) for sign in (1.0, -1.0)]
    np.testing.assert_allclose(contacts.gap[order], expected, atol=1e-9)


@pytest.mark.parametrize("aside", [(0, 0), (1e-6, 2e-6), (-1e-6, 2e-6), (2e-6, -1e-6), (-2e-6, -1e-6), (0, 1e-9)])
def test_a_vertex_at_the_bottom_of_a_pit_has_all_planes(aside):
    """The top of a block sinks to its middle as an inverted pyramid; which face is the nearest is rounding there."""
    slope, height = 0.5, 1e-6 * SIZE
    lower, triangles = box(cells=(2, 2, 1))
    top = lower[:, 2] > 0.0
    lower[top, 2] -= slope * (0.5 * SIZE - np.abs(lower[top, :2]).max(axis=1))
    upper, others = tip(np.array([*aside, slope - 0.25]) * SIZE + (0, 0, height + slope * max(np.abs(aside)) * SIZE))
    a, b = (CollisionSurface.build(t, x).at(x) for x, t in ((upper, others), (lower, triangles)))
    contacts = surface_contacts(a, b, ProximityOptions(margin=0.05 * SIZE))
    at_tip = contacts.selected((contacts.kind == ContactKind.VERTEX_FACE) & (contacts.nodes_a[:, 0] == 0))
    directions = {tuple(n) for n in np.round(at_tip.normal * np.hypot(slope, 1.0), 6) + 0.0}
    planes = {tuple(n) for n in b.normals[(b.normals[:, 2] > 0.5) & (np.abs(b.normals[:, 2]) < 0.999)]}
    assert len(directions) == len(at_tip.normal)
    assert directions == {tuple(n) for n in np.round(np.array(sorted(planes)) * np.hypot(slope, 1.0), 6) + 0.0}


def test_away_from_the_edge_and_on_a_ridge_there_is_one():
    assert found(np.array([0.2 * SIZE, 0.1 * SIZE, 0.36 * SIZE])).count == 1
    assert found(np.array([0.0, 0.1 * SIZE, 0.76 * SIZE]), slope=-0.5).count == 1


def test_a_tip_comes_to_rest_in_a_trough():
    """A heavy tip on a soft trough, without friction: at rest above its bottom, its weight on both sides."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.02, 0.02, 0.01), (2, 2, 1))
    points = np.array(mesh.points)
    top = points[:, 2] > 0.009
    points[top, 2] -= 0.4 * (0.01 - np.abs(points[top, 0] - 0.01))
    rubber = pl.materials.Corotated(young=2e5, poisson=0.3, density=1e3)
    block = pl.Volume(replace(mesh, points=points), rubber, clamp=pl.regions.plane(axis="z", at=0.0))
    cube = pl.RigidBody.box(
        size=(0.006, 0.006, 0.006), mass=0.02, position=(0.01, 0.011, 0.0105), rotation=(0.0, np.pi / 4, 0.0)
    )
    for thing in (block, cube):
        scene.add(thing)
    scene.collide(cube, block)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(80):
        state, info = step(world, state)
    np.testing.assert_allclose(np.abs(info.contact_force(cube, block)), [0, 0, 0.1962], atol=2e-3)
    assert np.abs(np.asarray(state.velocities(block))).max() < 1e-3
