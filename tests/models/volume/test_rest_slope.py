"""How the forces of a step follow the rest shape, against differences over meshes whose nodes are moved."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.immutable import evolve
from pliant.materials import Tangent
from pliant.models.scheme import euler_scheme, midpoint_scheme
from pliant.stepping.bodies import StepBodies

NEO = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)
COROTATED = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)


@pytest.mark.parametrize("scheme", [euler_scheme(0.01), midpoint_scheme(0.01)])
@pytest.mark.parametrize("damping", [(2.0, 0.01), (0.0, 0.0)])
@pytest.mark.parametrize(
    ("material", "anti_locking", "element"),
    [(NEO, False, "tet4"), (NEO, True, "tet4"), (COROTATED, True, "tet4"), (NEO, True, "hex8"), (NEO, False, "hex8")],
)
def test_it_is_the_derivative_of_the_residual_by_the_rest_positions(scheme, damping, material, anti_locking, element):
    """With gravity, a load and both kinds of damping, at given displacements from the rest shape."""
    plain, rng = pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1), element=element), np.random.default_rng(1)
    clamped = pl.regions.plane(axis="x", at=0.0).select(plain.points)
    q, end, v, w, moved = rng.normal(size=(5, *plain.points.shape)) * ~clamped[:, None]
    q = plain.points + 5e-4 * q
    end, v = q + 3e-4 * end, 0.05 * v

    def trial(points):
        scene = pl.Scene(gravity=(1.0, 2.0, -9.81))
        mesh = plain.reshaped(points)
        body = pl.Volume(
            mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), anti_locking=anti_locking,
            damping=pl.Rayleigh(mass=damping[0], stiffness=damping[1]),
        )  # fmt: skip
        scene.add(body)
        scene.add(pl.TractionLoad(body, pl.regions.box((0.01, -1, 0.015), (1, 1, 1)), (100.0, 50.0, -300.0)))
        world = scene.compile()
        along = points - plain.points  # the body is moved with its rest shape
        state = evolve(world.initial_state(), q=(q + along,), v=(v,))
        return StepBodies.begin(world, state, scheme, world.controls(None)).trials[0].at(end - q)

    def work(points):
        return float((w * trial(points).linearize(Tangent.EXACT)[1].r).sum())

    slope = trial(plain.points).rest_slope(w)
    h = 1e-7
    change = (work(plain.points + h * moved) - work(plain.points - h * moved)) / (2.0 * h)
    assert (slope * moved).sum() == pytest.approx(change, rel=1e-5)
