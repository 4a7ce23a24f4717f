"""A step of implicit Euler in two calls: the matrices, residuals and rates of the kernels one by one."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.immutable import evolve
from pliant.materials import Tangent
from pliant.models.body import Parts
from pliant.models.model import StepStart
from pliant.models.rod import RodModel
from pliant.models.rod.rod import STRAINS
from pliant.models.scheme import euler_scheme

ROD = {"section": pl.sections.Circle(0.003), "young": 1e6, "poisson": 0.4, "density": 1000.0}


def _trial(base, moving, *, strains=("twist", "bend_y", "bend_z"), loaded=False, seed=4):
    spec = pl.Rod(0.2, 5, strains=strains, base=base, damping=pl.Rayleigh(mass=0.2, stiffness=0.01), **ROD)
    loads = (pl.RodLoad(spec, 0.13, (0.01, 0.02, 0.0), (0.0, 1e-4, 2e-4)),) if loaded else ()
    model = RodModel.compiled(spec, None, Parts(loads=loads))
    rng = np.random.default_rng(seed)
    q, v = model.initial()
    free = np.where(model.constrained, 0.0, 1.0)
    v += moving * free * rng.normal(size=v.shape)
    q[4:] += 0.02 * free[2:] * rng.normal(size=q[4:].shape) * np.where(np.arange(10) % 2, 0.01, 1.0)[:, None]
    return model.trial(StepStart(q, v, euler_scheme(0.01), np.array([1.0, -2.0, -9.0]), {}))


@pytest.mark.parametrize("tangent", [Tangent.WARPED, Tangent.PROJECTED])
@pytest.mark.parametrize("moving", [0.0, 1.0])
@pytest.mark.parametrize(
    ("base", "options"),
    [
        ("fixed", {}),
        ("fixed", {"strains": STRAINS, "loaded": True}),
        (pl.Slide((1.0, 1.0, 0.0)), {}),
        (pl.Turn((0.0, 1.0, 1.0)), {"loaded": True}),
    ],
)
def test_both_ends_of_a_step_are_those_of_the_kernels_one_by_one(base, options, moving, tangent):
    together = _trial(base, moving, **options)
    apart = evolve(together, _in_one_call=False, _kept={}, _ended=[])
    (system, residual), (other, expected) = together.linearize(tangent), apart.linearize(tangent)
    assert together._begun is not None
    assert apart._begun is None
    scale = np.abs(other.A).max()
    np.testing.assert_allclose(system.A, other.A, atol=1e-13 * scale)
    assert system.symmetric == other.symmetric
    np.testing.assert_allclose(system.r, other.r, atol=1e-12 * np.abs(other.r).max())
    np.testing.assert_allclose(residual.r, expected.r, atol=1e-12 * expected.scale)
    assert residual.scale == pytest.approx(expected.scale, rel=1e-12)
    np.testing.assert_allclose(system.sweep.P, other.sweep.P, atol=1e-13)
    dx = 1e-2 * np.where(together.model.constrained, 0.0, np.random.default_rng(1).normal(size=other.r.shape))
    first, second = together.at(dx), apart.at(dx)
    np.testing.assert_allclose(first.positions(), second.positions(), atol=1e-15)
    np.testing.assert_allclose(first.velocities(), second.velocities(), atol=1e-10 * np.abs(second.velocities()).max())


def test_a_base_on_its_way_has_the_rate_of_its_motion():
    together = _trial("fixed", 0.0)
    driven = together.driven(np.vstack([[0.001, 0.0, 0.0], np.zeros((11, 3))]))
    system, _ = driven.linearize(Tangent.WARPED)
    there = driven.at(driven.moved(driven.dx, system.constrained_dx, 1.0))
    np.testing.assert_allclose(there.velocities()[0], [0.1, 0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("seed", range(12))
def test_a_whole_step_is_that_of_the_stages(seed):
    rng = np.random.default_rng(seed)
    base = ("fixed", pl.Slide(rng.normal(size=3)), pl.Turn(rng.normal(size=3)))[seed % 3]
    strains = STRAINS if seed % 2 else ("twist", "bend_y", "bend_z")
    together = _trial(base, float(rng.random() < 0.7), strains=strains, seed=seed)
    found = together.whole_step()
    assert found is not None
    end, error, total = found
    system, _ = together.linearize(Tangent.WARPED)
    motion = system.factorize().motion(system.r)
    np.testing.assert_allclose(end.dx, motion.dx, rtol=0.0, atol=1e-12 * np.abs(motion.dx).max())
    assert total == pytest.approx(np.vdot(system.r, system.r), rel=1e-12)
    assert error <= 1e-20 * total
    other = together.at(motion.dx)
    np.testing.assert_allclose(end.positions(), other.positions(), atol=1e-14)
    scale = np.abs(other.velocities()).max()
    np.testing.assert_allclose(end.velocities(), other.velocities(), atol=1e-10 * scale)
    assert end.residual().scale == pytest.approx(other.residual().scale, rel=1e-9)


def test_no_whole_step_where_the_stages_have_more_to_do():
    assert _trial("fixed", 1.0, loaded=True).whole_step() is None  # a moment: the matrix is not symmetric
    driven = _trial("fixed", 0.0).driven(np.vstack([[0.001, 0.0, 0.0], np.zeros((11, 3))]))
    assert driven.whole_step() is None  # the base moves
    assert _trial("free", 1.0).whole_step() is None


def _swinging(**touching):
    scene = pl.Scene(gravity=(0.0, 0.0, -9.81))
    rod = scene.add(pl.Rod(0.2, 6, damping=pl.Rayleigh(mass=0.1, stiffness=0.01), **ROD))
    if touching:
        scene.collide(rod, scene.add(pl.Obstacle.plane(point=(0.0, 0.0, -9.0))))
    world, states = scene.compile(), []
    state, step = world.initial_state(), pl.ImplicitEuler(0.01)
    for _ in range(30):
        state, info = step(world, state)
        states.append((state.q[0], state.v[0]))
    return info, states


def test_a_rod_alone_swings_as_beside_what_it_does_not_touch():
    (alone, own), (beside, others) = _swinging(), _swinging(touching=True)
    assert list(alone.stage_times) == ["whole step"]
    assert "factorize" in beside.stage_times
    assert alone.linear_residual < 1e-13
    for name in ("residual", "energy_change"):
        assert getattr(alone, name) == pytest.approx(getattr(beside, name), rel=1e-5, abs=1e-9)
    np.testing.assert_allclose(alone.correction[0], beside.correction[0], atol=1e-12)
    for (q, v), (other_q, other_v) in zip(own, others, strict=True):
        np.testing.assert_allclose(q, other_q, atol=1e-11)
        np.testing.assert_allclose(v, other_v, atol=1e-9)


def test_a_rod_alone_whose_matrix_is_not_positive_definite_is_projected():
    scene = pl.Scene(gravity=(0.0, 0.0, 0.0))
    rod = scene.add(pl.Rod(0.2, 6, **ROD))
    load = scene.add(pl.RodLoad(rod, 0.2, (0.0, 0.0, 0.0)))
    world = scene.compile()
    state, info = pl.ImplicitEuler(0.5)(world, world.initial_state(), {load: pl.Force((-5.0, 0.0, 0.0))})
    assert info.tangents_projected == 1
    assert "whole step" not in info.stage_times
    assert np.isfinite(state.q[0]).all()
