"""Implicit midpoint reaches its default tolerance, or the round-off of the forces, where the bulk modulus is large."""

import pytest

import pliant as pl


@pytest.mark.parametrize("element", ["tet4", "hex8", "tet10"])
@pytest.mark.parametrize("law", [pl.materials.Corotated, pl.materials.NeoHookean])
def test_a_nearly_incompressible_cantilever_converges(element, law):
    """Round-off of the forces is that of K at the middle of the step; A holds half of it."""
    cells = (7, 2, 2) if element == "tet10" else (14, 4, 4)
    mesh = pl.mesh.box((0.1, 0.03, 0.03), cells, element=element)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    material = law(young=263824.0, poisson=0.499, density=1070.0)
    scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0)))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitMidpoint(0.005)
    for _ in range(3):
        state, info = step(world, state)
        assert info.iterations <= 8
