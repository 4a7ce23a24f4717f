"""The residual of the full body at a reduced configuration, and when it is known; derivatives of steps of few modes."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.model import Residual, StepStart
from pliant.models.scheme import STATIC_SCHEME, euler_scheme
from pliant.reduced import Subspace
from pliant.world.reduced import reduced

SOFT = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000)
DOWN = np.array([0.0, 0.0, -9.81])


def bar(material=SOFT):
    scene = pl.Scene(gravity=DOWN)
    mesh, clamp = pl.mesh.box((0.1, 0.03, 0.03), (3, 1, 1)), pl.regions.plane(axis="x", at=0)
    scene.add(pl.Volume(mesh, material, clamp=clamp, damping=pl.Rayleigh(mass=0.4, stiffness=0.01)))
    return scene.compile()


def small(world, **options):
    """The bar in two bends."""
    model = world.models[0]
    modes = np.zeros((*model.rest.shape, 2))
    x = model.rest[:, 0]
    modes[:, 2, 0], modes[:, 1, 1], modes[:, 0, 1] = x**2, x**2, -2.0 * x * (model.rest[:, 1] - 0.015)
    space = Subspace(model.spec, modes.reshape(-1, 2), rest=model.rest, point_count=model.points.count, **options)
    return reduced(world, [space]).models[0]


def moved(model, y):
    return (model.chart.modes @ np.array(y)).reshape(-1, 3)


@pytest.mark.parametrize("scheme", [STATIC_SCHEME, euler_scheme(0.01)], ids=["static", "dynamic"])
def test_it_is_that_of_the_full_body_with_the_forces_of_rows(scheme):
    world = bar()
    model, whole = small(world), world.models[0]
    q, v = model.initial()
    dx, v = moved(model, (2e-4, -1e-4)), 0.1 * moved(model, (1e-3, 1e-3))
    start = StepStart(q, v, scheme, DOWN, {})
    own = whole.trial(start).at(dx).residual()
    trial = model.trial(start).at(dx)
    assert trial.knows_full_residual is True
    alone = trial.full_residual(Residual(np.zeros_like(q), 1.0), None)
    np.testing.assert_allclose(alone.r, own.r, rtol=1e-9, atol=1e-9 * own.scale)
    assert alone.scale == pytest.approx(own.scale)
    push = np.random.default_rng(0).normal(size=q.shape)
    for size in (1e-6, 1e3):
        pushed = trial.full_residual(Residual(np.zeros_like(q), 1.0), size * push)
        np.testing.assert_allclose(pushed.r, own.r + size * push, rtol=1e-9, atol=1e-9 * own.scale)
        assert pushed.scale == pytest.approx(max(own.scale, size * np.linalg.norm(push)))


@pytest.mark.parametrize(("sampled", "scheme", "known"), [
    (False, euler_scheme(0.01), True), (False, STATIC_SCHEME, True), (True, euler_scheme(0.01), False),
    (True, STATIC_SCHEME, True),
])  # fmt: skip
def test_it_is_known_where_all_branches_are_or_where_they_have_relaxed(sampled, scheme, known):
    world = bar(pl.materials.Viscoelastic(SOFT, [(0.3, 0.1)]))
    options = {"points": [0, 5], "weights": [2.0, 3.0]} if sampled else {}
    model = small(world, **options)
    assert model.knows_all_points is not sampled
    state = reduced(world, [model.subspace]).initial_state()
    trial = model.trial(StepStart(state.q[0], state.v[0], scheme, DOWN, {}))
    assert trial.knows_full_residual is known


@pytest.mark.parametrize("rayleigh", [pl.Rayleigh(), pl.Rayleigh(mass=2.0), pl.Rayleigh(stiffness=0.02)])
def test_the_end_of_a_step_follows_its_start_by_mass_and_damping(rayleigh):
    """M/h² + D/h along the modes, and the derivative of the residual by the velocity at the start, by differences."""
    scene = pl.Scene(gravity=DOWN)
    mesh, clamp = pl.mesh.box((0.1, 0.03, 0.03), (3, 1, 1)), pl.regions.plane(axis="x", at=0)
    scene.add(pl.Volume(mesh, SOFT, clamp=clamp, damping=rayleigh))
    world = scene.compile()
    model, h = small(world), 0.02
    q, v = model.initial()
    scheme = euler_scheme(h)
    trial = model.trial(StepStart(q, v, scheme, DOWN, {}))
    K = model.strained(np.zeros(2), pl.materials.Tangent.PROJECTED, 1.0)[2]
    expected = model.chart.mass / h**2 + (rayleigh.mass * model.chart.mass + rayleigh.stiffness * K) / h
    np.testing.assert_allclose(trial.resistance(), expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())
    step = 1e-4
    for k, unit in enumerate(np.eye(2)):
        faster = [
            model.chart.at(q).forces(
                model.trial(StepStart(q, v + s * step * moved(model, unit), scheme, DOWN, {})).residual().r
            )
            for s in (1.0, -1.0)
        ]
        np.testing.assert_allclose(
            (faster[0] - faster[1]) / (2 * step), model.chart.mass[:, k] / h, rtol=1e-6, atol=1e-9
        )
