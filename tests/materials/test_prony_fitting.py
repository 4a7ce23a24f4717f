"""Prony branches from relaxation tests and frequency sweeps: synthetic data with noise, gaps, input that is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError

BASE = pl.materials.NeoHookean(young=3e5, poisson=0.45, density=1e3)
TRUE = pl.materials.Viscoelastic(BASE, [(0.15, 0.02), (0.1, 0.3), (0.05, 4.0)])
T = np.geomspace(2e-3, 30.0, 200)
F = np.geomspace(0.01, 50.0, 60)


def test_a_noisy_relaxation_test_is_recovered():
    """Noise of 1 %: moduli within 1 %, strengths at the true times within 0.01, and the residual is the noise."""
    rng = np.random.default_rng(1)
    G = TRUE.shear_relaxation(T) * (1.0 + 0.01 * rng.standard_normal(len(T)))
    fit = pl.materials.fit_relaxation(T, G, times=[0.02, 0.3, 4.0])
    assert fit.relaxed == pytest.approx(BASE.shear_modulus, rel=0.01)
    assert fit.instantaneous == pytest.approx(TRUE.shear_relaxation(0.0), rel=0.01)
    np.testing.assert_allclose(fit.branches, TRUE.branches, atol=0.01)
    assert fit.relative_rms == pytest.approx(0.01, rel=0.2)
    assert fit.residuals.shape == T.shape
    free = pl.materials.Viscoelastic(BASE, pl.materials.fit_relaxation(T, G).branches)
    np.testing.assert_allclose(free.shear_relaxation(T), TRUE.shear_relaxation(T), rtol=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_a_noisy_frequency_sweep_is_recovered(seed):
    rng = np.random.default_rng(seed)
    modulus = TRUE.dynamic_shear_modulus(F)
    noise = 1.0 + 0.01 * rng.standard_normal((2, len(F)))
    fit = pl.materials.fit_dynamic_modulus(F, modulus.real * noise[0], modulus.imag * noise[1])
    found = pl.materials.Viscoelastic(BASE, fit.branches)
    again = found.dynamic_shear_modulus(F) * fit.relaxed / BASE.shear_modulus
    np.testing.assert_allclose(again, modulus, rtol=0.02)
    assert fit.relative_rms < 0.012
    assert fit.residuals.shape == (len(F), 2)
    exact = pl.materials.fit_dynamic_modulus(F, modulus.real, modulus.imag, times=[0.02, 0.3, 4.0])
    np.testing.assert_allclose(exact.branches, TRUE.branches, rtol=1e-6)
    assert exact.relaxed == pytest.approx(BASE.shear_modulus, rel=1e-6)
    assert exact.relative_rms < 1e-9


def test_a_ladder_of_constant_loss_factor_is_fitted():
    """A loss factor of 0.1 over four decades, of which no series of few branches is the exact origin."""
    f = np.geomspace(0.1, 100.0, 40)
    storage = 1e5 * f**0.0636
    fit = pl.materials.fit_dynamic_modulus(f, storage, 0.1 * storage)
    modulus = pl.materials.Viscoelastic(BASE, fit.branches).dynamic_shear_modulus(f)
    np.testing.assert_allclose(modulus.imag / modulus.real, 0.1, atol=0.01)


def test_gaps_are_left_out_and_counted():
    t, G = T.copy(), TRUE.shear_relaxation(T)
    t[5], G[7:12] = np.nan, np.nan
    fit = pl.materials.fit_relaxation(t, G, times=[0.02, 0.3, 4.0])
    assert fit.skipped == 6
    assert len(fit.residuals) == len(T) - 6
    np.testing.assert_allclose(fit.branches, TRUE.branches, rtol=1e-6)
    modulus = TRUE.dynamic_shear_modulus(F)
    loss = np.where(F > 20.0, np.nan, modulus.imag)
    assert pl.materials.fit_dynamic_modulus(F, modulus.real, loss).skipped == int((F > 20.0).sum())


def test_an_elastic_material_has_no_branches():
    fit = pl.materials.fit_relaxation(T, np.full(len(T), 1e5))
    assert fit.branches == []
    assert fit.relaxed == pytest.approx(1e5)
    assert "\n" not in repr(fit)


@pytest.mark.parametrize(
    ("time", "modulus", "message"),
    [
        ([0.1, 1.0], [2.0, 1.0], "at least 3 points"),
        ([0.1, 1.0, np.nan, 3.0], [2.0, 1.0, 1.0, np.nan], "at least 3 points, got 2"),
        ([-0.1, 1.0, 2.0], [3.0, 2.0, 1.0], "times ≥ 0"),
        ([0.1, 1.0, 2.0], [3.0, 2.0, -1.0], "moduli > 0"),
        ([0.1, 1.0, 2.0], [1.0, 2.0, 3.0], "gains energy"),
        ([1.0, 1.0, 1.0], [3.0, 2.0, 1.0], "different times"),
        ([0.1, 1.0, 2.0], [3.0, 2.0], "as many as of the others"),
        ([0.1, 1.0, 2.0], ["a", "b", "c"], "numbers"),
        ([0.1, 1.0, np.inf], [3.0, 2.0, 1.0], "finite"),
        (T, 1e5 * np.exp(-T / 30.0), "no modulus at rest"),
    ],
)
def test_bad_relaxation_tests_are_refused(time, modulus, message):
    with pytest.raises(InputError, match=message):
        pl.materials.fit_relaxation(time, modulus)


@pytest.mark.parametrize(
    ("frequency", "storage", "loss", "message"),
    [
        ([1.0, 2.0], [1.0, 1.1], [0.1, 0.1], "at least 3 points"),
        ([1.0, 2.0, 3.0], [1.0, 1.1, 1.2], [0.1, -0.1, 0.1], "gains energy"),
        ([0.0, 2.0, 3.0], [1.0, 1.1, 1.2], [0.1, 0.1, 0.1], "> 0"),
        ([1.0, 2.0, 3.0], [1.0, 0.0, 1.2], [0.1, 0.1, 0.1], "> 0"),
        ([2.0, 2.0, 2.0], [1.0, 1.1, 1.2], [0.1, 0.1, 0.1], "two frequencies"),
        (F, F**2 / (1 + F**2), F / (1 + F**2), "no modulus at rest"),
    ],
)
def test_bad_frequency_sweeps_are_refused(frequency, storage, loss, message):
    with pytest.raises(InputError, match=message):
        pl.materials.fit_dynamic_modulus(frequency, storage, loss)


def test_relaxation_times_must_be_positive():
    with pytest.raises(InputError, match="relaxation time"):
        pl.materials.fit_relaxation(T, TRUE.shear_relaxation(T), times=[0.1, 0.0])
