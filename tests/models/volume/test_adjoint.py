"""Adjoints of a step of a volume: transposes and derivatives of its residual, against differences of the residual."""

from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from adjoint_checks import check_adjoint
from pliant.core.immutable import evolve
from pliant.materials import Tangent
from pliant.models.scheme import damped_schemes, euler_scheme, midpoint_scheme
from pliant.stepping.bodies import StepBodies

NEO = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)
WARPED = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
SCHEMES = {
    "euler": euler_scheme(0.01), "midpoint": midpoint_scheme(0.01), "first of two": damped_schemes(0.02, 0.3)[0]
}  # fmt: skip


def step_of(material, scheme, *, free=False, damping=(2.0, 0.01), fibre=False):
    """A bent beam of twelve nodes in motion: its model, a start and an end, and trials of the step between any."""
    scene, rng = pl.Scene(), np.random.default_rng(1)
    options = {} if free else {"clamp": pl.regions.plane(axis="x", at=0.0)}
    mesh = pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1))
    damped = pl.Rayleigh(mass=damping[0], stiffness=damping[1])
    body = scene.add(pl.Volume(mesh, material, damping=damped, **options))
    if fibre:
        scene.add(pl.Fibre(body, [(0.001, 0.01, 0.005), (0.02, 0.011, 0.007), (0.038, 0.01, 0.005)], stiffness=50.0))
    world = scene.compile()
    (model,) = world.models
    loose = ~model.constrained
    q = model.rest + 3e-4 * rng.normal(size=model.rest.shape) * loose
    v = 0.05 * rng.normal(size=q.shape) * loose
    if free:
        v += np.cross((3.0, -5.0, 14.0), q - q.mean(axis=0))
    end = q + 0.01 * v + 2e-4 * rng.normal(size=q.shape) * loose

    def trial(q, v, end):
        state = evolve(world.initial_state(), q=(q,), v=(v,))
        return StepBodies.begin(world, state, scheme, world.controls(None)).trials[0].at(end - q)

    return SimpleNamespace(
        q=q, v=v, end=end, trial=trial, motion=lambda rng: rng.normal(size=q.shape) * loose, loose=loose
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("damping", [(2.0, 0.01), (0.0, 0.0)])
@pytest.mark.parametrize("fibre", [False, True])
def test_it_is_the_derivative_of_the_residual(scheme, damping, fibre):
    step = step_of(NEO, SCHEMES[scheme], damping=damping, fibre=fibre)

    def residual(q, v, end):
        return step.loose * step.trial(q, v, end).linearize(Tangent.EXACT)[1].r

    check_adjoint(step, step.trial(step.q, step.v, step.end).adjoint([]), residual)


@pytest.mark.parametrize("material", [NEO, WARPED])
@pytest.mark.parametrize("damping", [(2.0, 0.01), (0.0, 0.0)])
@pytest.mark.parametrize("fibre", [False, True])
def test_that_of_one_linear_solve_is_the_derivative_of_its_equation(material, damping, fibre):
    """A(q) dx = r(q, v), both of the start of the step."""
    step = step_of(material, SCHEMES["euler"], damping=damping, fibre=fibre)

    def residual(q, v, end):
        system, found = step.trial(q, v, q).linearize(Tangent.WARPED)
        return step.loose * (found.r - system.product(end - q))

    check_adjoint(step, step.trial(step.q, step.v, step.end).linear_adjoint(lambda q: []), residual)


def test_a_body_that_turns_by_itself_has_the_derivative_of_its_rotation():
    step = step_of(NEO, SCHEMES["euler"], free=True)
    trial = step.trial(step.q, step.v, step.end)
    assert trial.turning is not None

    def residual(q, v, end):
        return step.loose * step.trial(q, v, end).linearize(Tangent.EXACT)[1].r

    check_adjoint(step, trial.adjoint([]), residual)


def test_the_second_part_of_a_step_begins_where_its_lag_says():
    """x = q − κ dx₁ + θ dx, and v⁺ = v + (dx/h − v + κ (v − v₀))/θ."""
    first, second = damped_schemes(0.02, 0.3)
    scene = pl.Scene()
    scene.add(pl.Volume(pl.mesh.box((0.04, 0.02, 0.02), (2, 1, 1)), NEO))
    world, rng = scene.compile(), np.random.default_rng(2)
    q0, v0, dx1, v, dx = 1e-3 * rng.normal(size=(5, 12, 3))
    q0 = q0 + world.models[0].rest
    begun = evolve(world.initial_state(), q=(q0,), v=(v0,))
    part = StepBodies.begin(world, begun, first, world.controls(None)).moved([dx1], 1.0)
    between = evolve(begun, q=(q0 + dx1,), v=(v,))
    trial = StepBodies.begin(world, between, second, world.controls(None), first=part).trials[0].at(dx)
    kappa, theta = second.lag, second.theta
    assert kappa != 0.0
    np.testing.assert_allclose(trial.evaluation_point(), q0 + dx1 - kappa * dx1 + theta * dx, atol=1e-12)
    np.testing.assert_allclose(trial.velocities(), v + (dx / second.dt - v + kappa * (v - v0)) / theta, atol=1e-9)


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (30.0, -20.0, 5.0)])
def test_the_slope_of_a_rotation_does_not_depend_on_the_place_and_is_linear(place):
    """Also along velocities that are nowhere positive."""
    step = step_of(NEO, SCHEMES["euler"], free=True)
    here = step.trial(step.q, step.v, step.end).turning
    there = here._replace(q=here.q + place)
    down = np.where(np.arange(36).reshape(12, 3) % 2, 0.0, -np.abs(step.motion(np.random.default_rng(0))))
    along = step.motion(np.random.default_rng(1))
    zero = np.zeros_like(down)
    expected = here.velocity_along(zero, -down)
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(there.velocity_along(zero, down), -expected, atol=1e-6 * np.abs(expected).max())
    by_q = here.velocity_along(along, zero)
    np.testing.assert_allclose(there.velocity_along(along, zero), by_q, atol=1e-5 * np.abs(by_q).max())
    for near, far in zip(here.of_velocity(along), there.of_velocity(along), strict=True):
        np.testing.assert_allclose(far, near, atol=1e-5 * np.abs(near).max())
