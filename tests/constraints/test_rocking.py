"""Stiffness against rocking: its energy in closed form, for edges and faces above round solids."""

import numpy as np
import pytest

import pliant as pl
from pliant.collision import ContactKind
from pliant.constraints import RowView
from pliant.constraints.contact_memory import ContactMemory
from pliant.constraints.keys import contact_row_keys
from pliant.constraints.rocking import pushing, rocking_pairs, rocking_stiffness
from pliant.solvers.linear.matrix import BlockMatrix

SOFT = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)
RADIUS = 0.008
AXIS = np.array([0.3, 1.0, 0.0]) / np.hypot(0.3, 1.0)
SOLIDS = {
    "sphere": lambda c: pl.Obstacle.sphere(center=c, radius=RADIUS),
    "capsule": lambda c: pl.Obstacle.capsule(start=c - 0.2 * AXIS, end=c + 0.2 * AXIS, radius=RADIUS),
    "cylinder": lambda c: pl.Obstacle.cylinder(start=c - 0.2 * AXIS, end=c + 0.2 * AXIS, radius=RADIUS),
}


def below(kind, seed=0, friction=0.0):
    """A round solid that is small beside the cells of a bent block below it: world, pair, view and contacts."""
    rng = np.random.default_rng(seed)
    mesh = pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1))
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh.mapped(lambda x: x + 2e-4 * rng.normal(size=x.shape)), SOFT))
    center = np.array([*rng.uniform(0.02, 0.04, 2), 0.02 + RADIUS + 2e-4])
    scene.collide(body, scene.add(SOLIDS[kind](center)), friction=friction, allow_overlap=True)
    world = scene.compile()
    view = RowView.of(world.models, list(world.initial_state().q))
    return world, world.constraints[0], view, world.constraints[0].contact_set(view, None), center


def normal_of(corners):
    across = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    return across / np.linalg.norm(across)


def energy(kind, contacts, lam, center, x, d):
    """Σ λ (n·δe)²/(e·C e) of edges and Σ λ (R + gap) |δn|² of faces, for displacements d of the nodes at x."""
    total = 0.0
    for m in range(contacts.count):
        a, n = contacts.nodes_a[m], contacts.normal[m]
        if contacts.kind[m] == ContactKind.EDGE_EDGE:
            e, de = x[a[1]] - x[a[0]], d[a[1]] - d[a[0]]
            C = np.eye(3) - np.outer(n, n) - (0.0 if kind == "sphere" else np.outer(AXIS, AXIS))
            distance = RADIUS + contacts.gap[m]
            total += lam[m] * (n @ de) ** 2 * distance / (e @ C @ e)
        elif contacts.kind[m] == ContactKind.FACE_VERTEX and kind != "cylinder":
            turn = (normal_of(x[a] + 1e-6 * d[a]) - normal_of(x[a] - 1e-6 * d[a])) / 2e-6
            total += lam[m] * (RADIUS + contacts.gap[m]) * (turn @ turn)
    return total


@pytest.mark.parametrize("kind", SOLIDS)
def test_the_energy_of_a_tilt_is_that_of_the_travelling_point(kind):
    """Over random meshes and places, for edges and faces; a translation costs nothing."""
    edges = faces = 0
    for seed in range(8):
        world, pair, view, found, center = below(kind, seed)
        assert rocking_pairs(world.constraints, world.models) == ((0, pair),)
        within = found.selected((found.kind == ContactKind.EDGE_EDGE) | (found.kind == ContactKind.FACE_VERTEX))
        rng = np.random.default_rng(seed)
        lam, x = rng.uniform(0.5, 2.0, within.count), view.q[0]
        K = rocking_stiffness(pair, view, within, lam, world.models[0], 0.5)
        if K is None:
            continue
        values = np.zeros((world.models[0].pattern.block_count, 3, 3))
        K.add_to(values)
        matrix = BlockMatrix(world.models[0].pattern, values)
        d = rng.normal(size=x.shape)
        assert np.vdot(d, matrix.matvec(d)) == pytest.approx(0.5 * energy(kind, within, lam, center, x, d), rel=2e-3)
        np.testing.assert_allclose(matrix.matvec(np.ones_like(x)), 0.0, atol=1e-9 * np.abs(values).max())
        of_edge = within.kind == ContactKind.EDGE_EDGE
        edges, faces = edges + int(of_edge.sum()), faces + int((~of_edge).sum())
    assert edges > 0
    assert faces > 0 or kind != "sphere"


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_only_edges_and_faces_that_push_rock(friction):
    """Forces are found by the keys of the rows, three to a contact with friction; vertices do not rock."""
    _, pair, _, found, _ = below("sphere", 3, friction)
    within = np.flatnonzero(found.kind != ContactKind.VERTEX_OBSTACLE)
    assert 0 < len(within) < found.count
    width = 3 if friction else 1
    memory = ContactMemory(found, pair.frames_of(found, None))
    keys = contact_row_keys(found.key, width)
    lam = np.where(np.arange(found.count * width) % width == 0, -1.0, 5.0)
    assert pushing(pair, memory, keys, lam) is None
    lam[width * within[0]] = 3.0
    order = np.random.default_rng(0).permutation(len(keys))
    contacts, forces = pushing(pair, memory, keys[order], lam[order])
    assert contacts.key.tolist() == [found.key[within[0]]]
    assert forces.tolist() == [3.0]
    assert pushing(pair, None, keys, lam) is None
    assert pushing(pair, ContactMemory(found.selected([]), memory.frames[:0]), keys, lam) is None
    vertices = found.kind == ContactKind.VERTEX_OBSTACLE
    assert pushing(pair, ContactMemory(found.selected(vertices), memory.frames[vertices]), keys, lam) is None


def test_only_soft_bodies_rock_above_round_solids():
    """Not above planes, not on bodies with surfaces, not rigid bodies or those whose nodes have frames."""
    scene = pl.Scene()
    soft = scene.add(pl.Volume(pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)), SOFT))
    ball = scene.add(pl.Obstacle.sphere(center=(0.03, 0.03, 0.1), radius=0.01))
    plane = scene.add(pl.Obstacle.plane(point=(0, 0, -1)))
    rolling = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(0, 0, 0.2)))
    other = scene.add(pl.Volume(pl.mesh.box((0.06, 0.06, 0.02), (3, 3, 1)), SOFT), position=(0, 0, 1))
    for a, b in ((soft, ball), (soft, plane), (soft, rolling), (soft, other), (rolling, ball), (soft, soft)):
        scene.collide(a, b)
    world = scene.compile()
    assert [index for index, _ in rocking_pairs(world.constraints, world.models)] == [0, 2]
