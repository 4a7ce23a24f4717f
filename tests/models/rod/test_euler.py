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


def _trial(base, moving, *, strains=("twist", "bend_y", "bend_z"), loaded=False):
    spec = pl.Rod(0.2, 5, strains=strains, base=base, damping=pl.Rayleigh(mass=0.2, stiffness=0.01), **ROD)
    loads = (pl.RodLoad(spec, 0.13, (0.01, 0.02, 0.0), (0.0, 1e-4, 2e-4)),) if loaded else ()
    model = RodModel.compiled(spec, None, Parts(loads=loads))
    rng = np.random.default_rng(4)
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
