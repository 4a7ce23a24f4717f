"""Attachments: welds between bodies and to the world."""

import numpy as np
import pytest

import pliant as pl

RUBBER = pl.materials.Corotated(young=5e5, poisson=0.4, density=1e3)
END = pl.regions.plane(axis="x", at=0.06)


def arm(scene, **options):
    clamp = pl.regions.plane(axis="x", at=0.0)
    mesh = pl.mesh.box((0.06, 0.02, 0.02), (6, 2, 2))
    return scene.add(pl.Volume(mesh, RUBBER, clamp=clamp, damping=pl.Rayleigh(stiffness=0.02), **options))


def test_a_weld_to_the_world_is_a_support():
    worlds = []
    for welded in (True, False):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        body = arm(scene)
        if welded:
            scene.attach(body, region=END)
        else:
            scene.add(pl.Support(body, END))
        worlds.append(scene.compile())
    states = [pl.QuasiStatic()(world, world.initial_state())[0] for world in worlds]
    np.testing.assert_allclose(states[0].q[0], states[1].q[0], atol=1e-10)


def test_a_welded_weight_hangs_with_its_weight():
    """The welds carry the weight of the rigid part, and its face stays plane: a rigidified end of a soft body."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    body = arm(scene)
    weight = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.02, position=(0.07, 0.01, 0.01)))
    scene.attach(body, weight, region=END)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(200):
        state, info = step(world, state)
    np.testing.assert_allclose(info.lam.reshape(-1, 3).sum(axis=0), [0, 0, -0.02 * 9.81], atol=1e-4)
    face = END.nodes(body.mesh.points)
    local = (state.points(body)[face] - state.pose(weight)[0]) @ state.pose(weight)[1:]
    np.testing.assert_allclose(local, body.mesh.points[face] - [0.07, 0.01, 0.01], atol=1e-5)


def test_welded_volumes_move_as_one():
    """Two halves welded face to face sag as the whole beam does, to the order of the step: the half that nothing clamps
    is stepped as a body that may turn.
    """
    whole_scene = pl.Scene(gravity=(0, 0, -9.81))
    clamp = pl.regions.plane(axis="x", at=0.0)
    mesh = pl.mesh.box((0.12, 0.02, 0.02), (12, 2, 2), symmetric="yz")
    whole = whole_scene.add(pl.Volume(mesh, RUBBER, clamp=clamp, anti_locking=False))
    scene = pl.Scene(gravity=(0, 0, -9.81))
    half = pl.mesh.box((0.06, 0.02, 0.02), (6, 2, 2), symmetric="yz")  # the cells of the whole
    first = scene.add(pl.Volume(half, RUBBER, clamp=clamp, anti_locking=False, name="first"))
    second = scene.add(pl.Volume(half, RUBBER, anti_locking=False, name="second"), position=(0.06, 0, 0))
    scene.attach(first, second, region=END)
    world, reference = scene.compile(), whole_scene.compile()
    step = pl.ImplicitEuler(dt=0.01)
    a, b = world.initial_state(), reference.initial_state()
    for _ in range(20):
        a, _ = step(world, a)
        b, _ = step(reference, b)
    np.testing.assert_allclose(a.points(second)[-1], b.points(whole)[-1], atol=3e-5)


def test_bad_attachments_are_refused():
    scene = pl.Scene()
    body = arm(scene)
    stranger = pl.RigidBody.sphere(radius=0.01, mass=0.1)
    with pytest.raises(pl.InputError, match="not a body of the scene"):
        scene.attach(body, stranger, region=END)
    with pytest.raises(pl.InputError, match="either points or a region"):
        scene.attach(body)
    scene.attach(body, points=[(0.2, 0.0, 0.0)], name="far")
    with pytest.raises(pl.MeshError, match="'far'"):
        scene.compile()
