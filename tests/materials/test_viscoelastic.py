"""Prony branches: moduli over time and frequency, fits, ladders of a constant loss factor, bad input."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError

BASE = pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1100.0)
BRANCHES = [(0.3, 0.05), (0.2, 0.5)]


def test_the_modulus_falls_from_instantaneous_to_relaxed():
    slow = pl.materials.Viscoelastic(BASE, BRANCHES)
    mu = BASE.shear_modulus
    assert slow.shear_relaxation(0.0) == pytest.approx(mu / 0.5)
    assert slow.shear_relaxation(1e3) == pytest.approx(mu)
    expected = mu / 0.5 * (1 - 0.3 * (1 - np.exp(-0.1 / 0.05)) - 0.2 * (1 - np.exp(-0.1 / 0.5)))
    assert slow.shear_relaxation(0.1) == pytest.approx(expected)
    fast = pl.materials.Viscoelastic(BASE, BRANCHES, moduli="instantaneous")
    assert fast.shear_relaxation(0.0) == pytest.approx(mu)
    assert fast.shear_modulus == pytest.approx(0.5 * mu)
    assert fast.density == BASE.density


@pytest.mark.parametrize(
    "base",
    [
        BASE,
        pl.materials.Corotated(young=1e5, poisson=0.45, density=1e3),
        pl.materials.Yeoh(c1=1e4, c2=1e3, c3=1e2, density=1e3),
        pl.materials.Ogden(m=2e4, a=3.0, density=1e3),
    ],
)
def test_moduli_of_the_relaxed_law_are_those_of_its_tangent(base):
    material = pl.materials.Viscoelastic(base, BRANCHES, moduli="instantaneous")
    C = material.tangent(np.eye(3))
    assert C[0, 1, 0, 1] == pytest.approx(material.shear_modulus)
    assert C[0, 0, 0, 0] == pytest.approx(material.bulk_modulus + 4.0 / 3.0 * material.shear_modulus)


def test_the_dynamic_modulus_is_the_transform_of_the_relaxation():
    material = pl.materials.Viscoelastic(BASE, BRANCHES)
    f = 0.7
    w = 2 * np.pi * f
    t = np.linspace(0.0, 40.0, 400_001)
    fading = material.shear_relaxation(t) - material.shear_modulus
    transform = material.shear_modulus + 1j * w * np.trapezoid(fading * np.exp(-1j * w * t), t)
    assert material.dynamic_shear_modulus(f) == pytest.approx(transform, rel=1e-6)


def test_viscosity_has_a_loss_proportional_to_frequency():
    material = pl.materials.Viscoelastic(BASE, viscosity=1e-3)
    modulus = material.dynamic_shear_modulus(np.array([1.0, 10.0]))
    np.testing.assert_allclose(modulus.imag / modulus.real, 2e-3 * np.pi * np.array([1.0, 10.0]))


@pytest.mark.parametrize(("loss", "band"), [(0.05, (0.5, 50.0)), (0.2, (1.0, 10.0)), (0.01, (0.1, 1000.0))])
def test_a_ladder_has_a_nearly_constant_loss_factor(loss, band):
    material = pl.materials.Viscoelastic.with_loss_factor(BASE, loss, band=band)
    modulus = material.dynamic_shear_modulus(np.geomspace(*band, 50))
    np.testing.assert_allclose(modulus.imag / modulus.real, loss, rtol=0.06)
    assert material.shear_modulus == BASE.shear_modulus


def test_a_fit_returns_the_branches_that_made_the_data():
    material = pl.materials.Viscoelastic(BASE, BRANCHES)
    t = np.geomspace(1e-3, 10.0, 60)
    branches, instantaneous = pl.materials.fit_relaxation(t, material.shear_relaxation(t), times=[0.05, 0.5])
    np.testing.assert_allclose(branches, BRANCHES, rtol=1e-6)
    assert instantaneous == pytest.approx(2.0 * BASE.shear_modulus)
    free, _ = pl.materials.fit_relaxation(t, material.shear_relaxation(t))
    again = pl.materials.Viscoelastic(BASE, free)
    np.testing.assert_allclose(again.shear_relaxation(t), material.shear_relaxation(t), rtol=0.02)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"branches": [(0.6, 0.1), (0.5, 1.0)]}, "below 1"),
        ({"branches": [(-0.1, 0.1)]}, "gains energy"),
        ({"branches": [(0.1, 0.0)]}, "relaxation time"),
        ({"branches": [(0.1, -2.0)]}, "relaxation time"),
        ({"branches": [0.1, 0.2]}, "pairs"),
        ({"branches": [(float("nan"), 1.0)]}, "g of Viscoelastic"),
        ({}, "needs branches"),
        ({"viscosity": -1.0}, "viscosity"),
        ({"branches": BRANCHES, "moduli": "glassy"}, "moduli"),
        ({"branches": BRANCHES, "density": 5.0}, "density"),
    ],
)
def test_series_that_gain_energy_and_other_mistakes_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        pl.materials.Viscoelastic(BASE, **given)


def test_the_base_is_an_elastic_material():
    with pytest.raises(InputError, match="base"):
        pl.materials.Viscoelastic(pl.materials.Viscoelastic(BASE, BRANCHES), BRANCHES)
    with pytest.raises(InputError, match="band"):
        pl.materials.Viscoelastic.with_loss_factor(BASE, 0.1, band=(10.0, 1.0))
