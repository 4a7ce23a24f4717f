"""The matrix of a linear solve is the derivative of its residual, with follower pressures, fibres and mass damping."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.immutable import evolve
from pliant.materials import Tangent
from pliant.models.scheme import euler_scheme, midpoint_scheme, static_scheme
from pliant.stepping.bodies import StepBodies

LAWS = {
    "neo-hookean": pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3),
    "corotated": pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3),
    "stvk": pl.materials.StVenantKirchhoff(young=1e5, poisson=0.3, density=1e3),
    "viscoelastic": pl.materials.Viscoelastic(
        pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3), [(0.3, 0.05)]
    ),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scheme", [static_scheme(0.0), euler_scheme(0.01), midpoint_scheme(0.01)])
@pytest.mark.parametrize(("element", "pressed"), [("tet4", True), ("hex8", True), ("tet4", False)])
def test_the_exact_matrix_is_the_derivative_of_the_residual(law, scheme, element, pressed):
    """Its symmetric part where a pressure has an edge."""
    scene, rng = pl.Scene(gravity=(0, 0, -9.81)), np.random.default_rng(0)
    mesh = pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1), element=element)
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, LAWS[law], clamp=clamp, damping=pl.Rayleigh(mass=2.0), anti_locking=False))
    if pressed:
        scene.add(pl.PressureLoad(body, pl.regions.plane(axis="z", at=0.02), 2e4))
    scene.add(pl.Fibre(body, [(0.001, 0.01, 0.005), (0.038, 0.01, 0.005)], stiffness=50.0))
    world = scene.compile()
    (model,) = world.models
    loose = ~model.constrained
    start = evolve(
        world.initial_state(), q=(model.rest + 3e-4 * rng.normal(size=model.rest.shape) * loose,),
        v=(0.05 * rng.normal(size=model.rest.shape) * loose,),
    )  # fmt: skip
    trial = StepBodies.begin(world, start, scheme, world.controls(None)).trials[0]
    dx, *ways = (scale * rng.normal(size=model.rest.shape) * loose for scale in (3e-4, 1.0, 1.0))
    system, residual = trial.at(dx).linearize(Tangent.EXACT)
    changes = []
    for way in ways:
        ahead, back = (trial.at(dx + s * way).linearize(Tangent.EXACT)[1].r for s in (1e-7, -1e-7))
        changes.append(loose * (back - ahead) / 2e-7)
    symmetric = 0.5 * ((ways[0] * changes[1]).sum() + (ways[1] * changes[0]).sum())
    product = system.product(ways[1])
    size = np.abs(changes).max()
    assert (ways[0] * product).sum() == pytest.approx(symmetric, abs=2e-5 * size)
    if not pressed:
        np.testing.assert_allclose(loose * product, changes[1], atol=2e-6 * size)
    assert residual.scale > 0.0
