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
        ("part.vtk", pl.materials.dragon_skin_20(), {}, r"the mesh of 'arm' must be a pl\.mesh\.Mesh.*part\.vtk"),
        (
            pl.mesh.box((1, 1, 1), (1, 1, 1)),
            "rubber",
            {},
            r"the material of 'arm' must be one of pl\.materials.*rubber",
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
