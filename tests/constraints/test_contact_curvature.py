"""The geometric stiffness of contacts is the derivative of their forces; contacts that pushed are measured again."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.collision import ContactKind
from pliant.constraints.contact_curvature import _curvature_of_solid, curvature_of
from pliant.constraints.kept_contacts import KeptContacts, with_kept
from pliant.core.arrays import transposed_product
from pliant.models.scheme import static_scheme
from pliant.stepping.bodies import StepBodies

SOFT = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)


def blocks():
    """A block on a block of another mesh, both bent and a little apart: vertices on faces of either, and edges."""
    scene = pl.Scene()
    bent = pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)).mapped(lambda x: x + np.outer(x[:, 0] * x[:, 1], (0, 0, 1.5)))
    lower = scene.add(pl.Volume(bent, SOFT))
    upper = pl.mesh.box((0.05, 0.05, 0.02), (2, 2, 1)).translated((0.006, 0.004, 0.0203))
    upper = scene.add(pl.Volume(upper.mapped(lambda x: x + np.outer(x[:, 0] * x[:, 1], (0, 0, 1.5))), SOFT))
    scene.collide(lower, upper)
    return scene


def ball_on_block():
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)), SOFT))
    ball = scene.add(pl.RigidBody.sphere(radius=0.03, mass=0.1, position=(0.023, 0.027, 0.0501)))
    scene.collide(body, ball)
    return scene


def ball_on_edge():
    """A sphere that is small beside the cells, above edges along which its lowest points travel."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)), SOFT))
    ball = scene.add(pl.Obstacle.sphere(center=(0.026, 0.021, 0.0282), radius=0.008))
    scene.collide(body, ball)
    return scene


def box_on_block():
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)), SOFT))
    rotation = (0.1, 0.07, 0.2)
    thing = scene.add(
        pl.RigidBody.box(size=(0.03, 0.03, 0.03), mass=0.1, position=(0.03, 0.029, 0.0376), rotation=rotation)
    )
    scene.collide(body, thing)
    return scene


def forces_at(bodies, pair, before, names, lam):
    """Hᵀλ of the contacts `names` (key and face) with forces `lam` at the positions of `bodies`; those of `before`
    stay.
    """
    view = bodies.view()
    found = pair.contact_set(view, before)
    place = {name: k for k, name in enumerate(zip(found.key.tolist(), found.face.tolist()))}
    chosen = found.selected(sorted(place[name] for name in names))
    rows = pair.contact_rows(view, chosen, chosen.normal[:, None])
    order = [names.index(name) for name in zip(chosen.key.tolist(), chosen.face.tolist())]
    return [transposed_product(H, lam[order]) for H in rows.H]


@pytest.mark.parametrize("scene", [blocks, ball_on_block, ball_on_edge, box_on_block])
def test_the_geometric_stiffness_is_the_derivative_of_contact_forces(scene):
    world = scene().compile()
    pair = world.constraints[0]
    bodies = StepBodies.begin(world, world.initial_state(), static_scheme(0.0), world.controls(None))
    memory = pair.rows(bodies.view(), pair.contact_set(bodies.view(), None))[1]
    rng = np.random.default_rng(3)
    every = curvature_of([(pair, memory, np.ones(memory.contacts.count))], bodies.view(), world.models)
    turns = sum(np.abs(H).sum(axis=1) for H in every.turning)
    known = np.asarray(turns).reshape(-1, 3).any(axis=1) | every.curvature.any(axis=(1, 2))
    assert known.sum() >= 1 + (scene is blocks) * 8
    flat = {ContactKind.VERTEX_FACE, ContactKind.FACE_VERTEX, ContactKind.EDGE_EDGE}
    expected = {blocks: flat, ball_on_edge: {ContactKind.EDGE_EDGE}}
    assert expected.get(scene, set()) <= set(memory.contacts.kind[known])
    memory = replace(memory, contacts=memory.contacts.selected(known), frames=memory.frames[known])
    lam = rng.uniform(0.5, 1.0, memory.contacts.count)
    curvature = curvature_of([(pair, memory, lam)], bodies.view(), world.models)
    names = list(zip(memory.contacts.key.tolist(), memory.contacts.face.tolist()))
    dx = [1e-7 * rng.standard_normal(x.shape) for x in bodies.dx]
    ahead, back = (forces_at(bodies.moved(dx, s), pair, memory.contacts, names, lam) for s in (1.0, -1.0))
    change = [0.5 * (a - b) for a, b in zip(ahead, back)]
    products = curvature.products(dx)
    scale = max(np.abs(x).max() for x in change)
    for got, model in zip(zip(products, change), world.models):
        product, true = got[0].ravel(), -got[1]
        if model.has_frames:  # the matrix is the symmetric part of the change of the moment
            product, true = product[:3], true[:3]
        np.testing.assert_allclose(product, true, atol=2e-3 * scale)


def test_a_facet_across_a_concave_edge_stays_beside_the_nearest_one():
    """A vertex in a valley slides from one facet to the other: both bound it."""
    scene = pl.Scene()
    valley = pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1), element="hex8")
    valley = valley.mapped(lambda x: x + np.outer(0.5 * np.abs(x[:, 0] - 0.02) * (x[:, 2] > 0.01), (0, 0, 1)))
    lower = scene.add(pl.Volume(valley, SOFT))
    tip = pl.mesh.box((0.01, 0.01, 0.01), (1, 1, 1), element="hex8").rotated((0.0, 0.8, 0.0)).rotated((0.6, 0.0, 0.0))
    lowest = tip.points[tip.points[:, 2].argmin()]
    upper = scene.add(pl.Volume(tip.translated(np.array((0.021, 0.009, 0.0208)) - lowest), SOFT))
    scene.collide(lower, upper)
    world = scene.compile()
    pair = world.constraints[0]
    begin = StepBodies.begin(world, world.initial_state(), static_scheme(0.0), world.controls(None))
    found = pair.contact_set(begin.view(), None)
    corners = found.kind == ContactKind.FACE_VERTEX
    tip_only = (corners & (found.gap == found.gap[corners].min())).astype(float)
    kept = KeptContacts.after(None, found, tip_only)
    shift = [np.zeros_like(begin.dx[0]), np.broadcast_to((-0.002, 0.0, 0.0), begin.dx[1].shape)]
    beyond = begin.moved(shift).view()
    there = pair.contact_set(beyond, found)
    both = with_kept(pair, beyond, there, kept)
    same = (both.kind == ContactKind.FACE_VERTEX) & (both.nodes_b[:, 0] == kept.contacts.nodes_b[0, 0])
    normals = both.normal[same]
    assert len(normals) == 2
    assert normals[0, 0] * normals[1, 0] < 0.0  # one facet on either side
    assert len(np.unique(both.key)) == both.count


def test_the_curvature_of_a_solid_is_that_of_its_level_sets_and_none_at_an_edge():
    """(1 − n nᵀ)/r around a sphere, 1/r around a cylinder; none where that is flat or bends sharply."""
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)), SOFT))
    ball = scene.add(pl.Obstacle.sphere(center=(0.5, 0.0, 0.0), radius=0.1))
    drum = scene.add(pl.Obstacle.cylinder(start=(-0.5, 0.0, -0.1), end=(-0.5, 0.0, 0.1), radius=0.1))
    for thing in (ball, drum):
        scene.collide(body, thing)
    world = scene.compile()
    view = StepBodies.begin(world, world.initial_state(), static_scheme(0.0), world.controls(None)).view()
    pairs = {pair.b.handle: pair for pair in world.constraints}
    rng = np.random.default_rng(0)
    away = rng.normal(size=(10, 3))
    away /= np.linalg.norm(away, axis=1)[:, None]
    r = rng.uniform(0.1, 0.2, size=10)
    C = _curvature_of_solid(pairs[ball], view, (0.5, 0.0, 0.0) + r[:, None] * away)
    expected = (np.eye(3) - away[:, :, None] * away[:, None, :]) / r[:, None, None]
    np.testing.assert_allclose(C, expected, atol=1e-3 / 0.1)
    np.testing.assert_allclose(C, C.transpose(0, 2, 1), atol=0.0)
    around = _curvature_of_solid(pairs[drum], view, np.array([[-0.5, 0.12, 0.02]]))
    np.testing.assert_allclose(around[0], np.diag([1.0 / 0.12, 0.0, 0.0]), atol=1e-3 / 0.1)
    points = np.array([[-0.45, 0.03, 0.11], [-0.5, 0.1, 0.1], [-0.4, 0.0, -0.1]])
    np.testing.assert_allclose(_curvature_of_solid(pairs[drum], view, points), 0.0, atol=1e-6)
    assert _curvature_of_solid(pairs[drum], view, np.zeros((0, 3))).shape == (0, 3, 3)
