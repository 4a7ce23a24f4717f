"""The definition of a volume: what it accepts, and what it says about what it does not."""

import numpy as np
import pytest

import pliant as pl


def test_a_clamp_may_be_a_list_of_nodes():
    mesh, rubber = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1)), pl.materials.dragon_skin_20()
    base = np.flatnonzero(mesh.points[:, 0] == 0.0)
    states = []
    for clamp in (base.tolist(), pl.regions.plane(axis="x", at=0.0)):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        scene.add(pl.Volume(mesh, rubber, clamp=clamp))
        world = scene.compile()
        states.append(pl.ImplicitEuler(0.01)(world, world.initial_state())[0])
    np.testing.assert_array_equal(states[0].q[0], states[1].q[0])


@pytest.mark.parametrize(
    ("mesh", "material", "options", "words"),
    [
        ("part.vtk", pl.materials.dragon_skin_20(), {}, r"mesh of Volume 'arm' must be a pl\.mesh\.Mesh.*part\.vtk"),
        (
            pl.mesh.box((1, 1, 1), (1, 1, 1)),
            "rubber",
            {},
            r"material of Volume 'arm' must be one of pl\.materials.*rubber",
        ),
        (
            pl.mesh.box((1, 1, 1), (1, 1, 1)),
            pl.materials.dragon_skin_20(),
            {"clamp": (0.0, 0.0, 0.0)},
            "clamp of 'arm' must be a region",
        ),
    ],
)
def test_wrong_things_are_named(mesh, material, options, words):
    with pytest.raises(pl.InputError, match=words):
        pl.Volume(mesh, material, name="arm", **options)


def test_a_volume_begins_with_its_velocity_and_spin(tmp_path):
    mesh = pl.mesh.box((0.03, 0.02, 0.01), (3, 2, 1))
    scene = pl.Scene()
    block = scene.add(pl.Volume(mesh, pl.materials.dragon_skin_20(), velocity=(1.0, 0, 2.0), spin=(0, 0, 3.0)))
    world = scene.compile()
    v = world.initial_state().velocities(block)
    away = mesh.points - mesh.points.mean(axis=0)
    np.testing.assert_allclose(v, np.add((1.0, 0, 2.0), np.cross((0, 0, 3.0), away)))
    again = pl.load(world.save(tmp_path / "world.npz"))
    np.testing.assert_array_equal(again.initial_state().v[0], v)
    run = pl.simulate(world, pl.ImplicitEuler(0.01), until=0.1)
    middle = run.points(block).mean(axis=1)
    np.testing.assert_allclose(middle[-1] - middle[0], (0.1, 0, 0.2), atol=1e-9)


def test_velocities_of_a_state():
    scene = pl.Scene()
    mesh, rubber = pl.mesh.box((0.02, 0.02, 0.02), (1, 1, 1)), pl.materials.dragon_skin_20()
    held = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0)))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1))
    state = scene.compile().initial_state()
    moving = state.with_velocities(held, (0, 0, 1.0)).with_velocities(ball, [(1, 0, 0), (0, 0, 5)])
    np.testing.assert_array_equal(moving.velocities(held)[:, 2], np.where(mesh.points[:, 0] > 0.0, 1.0, 0.0))
    np.testing.assert_array_equal(moving.velocities(ball), [(1, 0, 0), (0, 0, 5)])
    assert not state.velocities(held).any()
    with pytest.raises(pl.InputError, match=r"velocities of 'sphere' must have the shape \(2, 3\), got \(3,\)"):
        state.with_velocities(ball, (0, 0, 1.0))
