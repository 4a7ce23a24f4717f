"""Adjoints of a step of a reduced body: derivatives of its residual, against differences of the residual."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from adjoint_checks import check_adjoint
from pliant.core.immutable import evolve
from pliant.materials import Tangent
from pliant.models.scheme import damped_schemes, euler_scheme, midpoint_scheme
from pliant.reduced import Subspace
from pliant.stepping.bodies import StepBodies
from pliant.world.reduced import reduced

LAWS = {
    "neo-hookean": pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3),
    "corotated": pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3),
}
SCHEMES = {
    "euler": euler_scheme(0.01), "midpoint": midpoint_scheme(0.01), "first of two": damped_schemes(0.02, 0.3)[0]
}  # fmt: skip


def step_of(law, scheme, damping):
    """A beam in five random modes: a start, an end, and trials of the step between any."""
    scene, rng = pl.Scene(), np.random.default_rng(1)
    damping = pl.Rayleigh(mass=damping[0], stiffness=damping[1])
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1)), LAWS[law], damping=damping, clamp=clamp))
    full = scene.compile()
    (model,) = full.models
    modes = np.linalg.qr(rng.normal(size=(model.rest.size, 5)) * ~model.constrained.reshape(-1, 1))[0]
    world = reduced(full, [Subspace(body, modes, rest=model.rest, point_count=model.points.count)])

    def motion(rng):
        return (modes @ rng.normal(size=5)).reshape(-1, 3)

    q, v = model.rest + 5e-4 * motion(rng), 0.05 * motion(rng)
    end = q + 0.01 * v + 2e-4 * motion(rng)

    def trial(q, v, end):
        state = evolve(world.initial_state(), q=(q,), v=(v,))
        return StepBodies.begin(world, state, scheme, world.controls(None)).trials[0].at(end - q)

    return SimpleNamespace(q=q, v=v, end=end, trial=trial, motion=motion, loose=1.0)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("damping", [(2.0, 0.01), (0.0, 0.0)])
def test_it_is_the_derivative_of_the_residual(law, scheme, damping):
    step = step_of(law, SCHEMES[scheme], damping)

    def residual(q, v, end):
        return step.trial(q, v, end).linearize(Tangent.EXACT)[1].r

    check_adjoint(step, step.trial(step.q, step.v, step.end).adjoint([]), residual)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("damping", [(2.0, 0.01), (0.0, 0.0)])
def test_that_of_one_linear_solve_is_the_derivative_of_its_equation(law, damping):
    """Â(q) dy = r̂(q, v), both of the start of the step."""
    step = step_of(law, SCHEMES["euler"], damping)

    def residual(q, v, end):
        system, found = step.trial(q, v, q).linearize(Tangent.WARPED)
        return found.r - system.product(end - q)

    check_adjoint(step, step.trial(step.q, step.v, step.end).linear_adjoint(lambda q: []), residual)
