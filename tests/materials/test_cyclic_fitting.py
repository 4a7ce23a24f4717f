"""Mullins coefficients from cyclic tests: synthetic data with noise, gaps, input that is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.materials.cyclic_fitting import virgin_curve

RUBBER = pl.materials.Ogden(m=4e4, a=2.6, density=1.1e3)
REACHES = (0.5, 1.0, 1.6)


def cycles(reaches=REACHES, count=30):
    """Strains of cycles from 0 to each of the reaches and back."""
    return np.concatenate([np.r_[np.linspace(0.0, e, count), np.linspace(e, 0.0, count)] for e in reaches])


def stresses(material, strain):
    virgin, W = virgin_curve(material.base, strain)
    return virgin * material.softened(W, np.maximum.accumulate(W))


@pytest.mark.parametrize("seed", range(6))
def test_coefficients_are_recovered(seed):
    rng = np.random.default_rng(seed)
    top = virgin_curve(RUBBER, np.array([REACHES[-1]]))[1][0]
    true = pl.materials.Mullins(
        RUBBER, r=rng.uniform(1.2, 4.0), m=rng.uniform(0.02, 0.5) * top, beta=rng.uniform(0, 0.5)
    )
    strain = cycles()
    stress = stresses(true, strain)
    fit = pl.materials.fit_mullins(RUBBER, strain, stress)
    assert (fit.material.r, fit.material.beta) == pytest.approx((true.r, true.beta), rel=1e-4, abs=1e-4)
    assert fit.material.m == pytest.approx(true.m, rel=1e-3)
    assert fit.relative_rms < 1e-6
    assert fit.at_bounds == ()
    noisy = pl.materials.fit_mullins(RUBBER, strain, stress * (1.0 + 0.02 * rng.standard_normal(len(strain))))
    np.testing.assert_allclose(stresses(noisy.material, strain), stress, atol=0.02 * stress.max())
    assert noisy.relative_rms < 0.025
    assert noisy.residuals.shape == strain.shape


def test_one_cycle_determines_no_beta():
    true = pl.materials.Mullins(RUBBER, r=2.0, m=5e3)
    strain = cycles((1.2,))
    fit = pl.materials.fit_mullins(RUBBER, strain, stresses(true, strain))
    assert fit.material.beta == 0.0
    assert (fit.material.r, fit.material.m) == pytest.approx((2.0, 5e3), rel=1e-4)


def test_gaps_are_left_out_and_counted():
    true = pl.materials.Mullins(RUBBER, r=2.0, m=5e3, beta=0.2)
    strain = cycles()
    stress = stresses(true, strain)
    stress[40:45] = np.nan
    fit = pl.materials.fit_mullins(RUBBER, strain, stress)
    assert fit.skipped == 5
    assert fit.material.r == pytest.approx(2.0, rel=1e-4)


def test_the_virgin_curve_is_the_incompressible_one():
    strain = np.linspace(-0.3, 2.0, 20)
    stress, W = virgin_curve(RUBBER, strain)
    np.testing.assert_allclose(stress, pl.materials.uniaxial_stress(RUBBER, strain), rtol=1e-10)
    middle = 0.5 * (strain[1:] + strain[:-1])
    np.testing.assert_allclose(np.diff(W), virgin_curve(RUBBER, middle)[0] * np.diff(strain), rtol=0.05, atol=20.0)


def test_what_a_test_does_not_determine_is_named():
    """Unloading that loses nearly all stress at once: r and m end at their bounds."""
    strain = cycles()
    virgin, W = virgin_curve(RUBBER, strain)
    stress = np.where(np.maximum.accumulate(W) > W, 0.001 * virgin, virgin)
    fit = pl.materials.fit_mullins(RUBBER, strain, stress)
    assert "r" in fit.at_bounds
    assert fit.material.r == pytest.approx(1.01)


def test_bad_tests_are_refused():
    strain = cycles()
    virgin, W = virgin_curve(RUBBER, strain)
    with pytest.raises(InputError, match="must unload"):
        pl.materials.fit_mullins(RUBBER, strain[:30], virgin[:30])
    with pytest.raises(InputError, match="gain energy"):
        pl.materials.fit_mullins(RUBBER, strain, np.where(np.maximum.accumulate(W) > W, 1.2 * virgin, virgin))
    with pytest.raises(InputError, match="at least 4 points"):
        pl.materials.fit_mullins(RUBBER, [0.0, 0.5, 0.2], [0.0, 1e4, 3e3])
    with pytest.raises(InputError, match="> −1"):
        pl.materials.fit_mullins(RUBBER, [0.0, 0.5, 0.2, 0.1, -1.2], [0.0, 1e4, 3e3, 1e3, 0.0])
    with pytest.raises(InputError, match="virgin law"):
        pl.materials.fit_mullins(pl.materials.Mullins(RUBBER, r=2.0, m=1.0), strain, virgin)
    with pytest.raises(InputError, match="base of fit_mullins"):
        pl.materials.fit_mullins("rubber", strain, virgin)
