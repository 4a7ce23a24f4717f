"""The scene: what may be added, and what is refused with which words."""

import dataclasses

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError, MeshError

RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000.0)
MESH = pl.mesh.box((0.2, 0.1, 0.1), (2, 1, 1))


def test_an_empty_scene_is_refused():
    with pytest.raises(InputError, match="the scene is empty"):
        pl.Scene().compile()


@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, np.nan), "down"])
def test_bad_gravity(gravity):
    with pytest.raises(InputError, match="gravity must"):
        pl.Scene(gravity=gravity)


def test_a_body_is_added_once():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER, name="finger"))
    with pytest.raises(InputError, match="'finger' is in the scene already"):
        scene.add(body)
    other = scene.add(dataclasses.replace(body, name="thumb"), position=(1, 0, 0))
    world = scene.compile()
    assert [world.index(body), world.index(other)] == [0, 1]


def test_a_load_needs_its_body_first():
    body = pl.Volume(MESH, RUBBER, name="finger")
    with pytest.raises(InputError, match="add the body 'finger' to the scene before its PointLoad"):
        pl.Scene().add(pl.PointLoad(body, pl.regions.everything(), (0, 0, 1)))


def test_things_that_do_not_belong():
    with pytest.raises(InputError, match="cannot be added to a scene"):
        pl.Scene().add(MESH)


def test_only_bodies_are_placed():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER))
    with pytest.raises(InputError, match="a Support has its own position"):
        scene.add(pl.Support(body, pl.regions.everything(), axes="z"), position=(0, 0, 1))


@pytest.mark.parametrize("placement", [{"position": (0, 0)}, {"position": (0, 0, np.inf)}, {"rotation": 2 * np.eye(3)}])
def test_bad_placements(placement):
    with pytest.raises((InputError, MeshError), match=r"position|rotation"):
        pl.Scene().add(pl.Volume(MESH, RUBBER), **placement)


def test_placement_rotates_then_translates():
    scene = pl.Scene()
    body = scene.add(pl.Volume(MESH, RUBBER), position=(1, 2, 3), rotation=(0, 0, np.pi / 2))
    x = MESH.points
    expected = np.column_stack([-x[:, 1], x[:, 0], x[:, 2]]) + np.array([1, 2, 3])
    np.testing.assert_allclose(scene.compile().initial_state().points(body), expected, atol=1e-12)


def test_compiling_twice_gives_equal_worlds():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(pl.Volume(MESH, RUBBER, clamp=pl.regions.plane(axis="x", at=0.0)))
    step = pl.ImplicitEuler(dt=0.01)
    ends = []
    for _ in range(2):
        world = scene.compile()
        state = world.initial_state()
        for _ in range(5):
            state, _ = step(world, state)
        ends.append(state.q[0])
    np.testing.assert_array_equal(ends[0], ends[1])
