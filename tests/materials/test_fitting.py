"""Fits of tensile tests: they return what made the data, are the least-squares minimum, and refuse bad data by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant.materials as pm
from pliant.core.errors import InputError
from pliant.materials import Ogden, fit_neo_hookean, fit_ogden, fit_yeoh, uniaxial_stress

STRAIN = np.linspace(0.1, 2.0, 15)
FITS = [fit_neo_hookean, fit_yeoh, fit_ogden]


@settings(deadline=None, max_examples=30)
@given(st.floats(1e2, 1e7), st.floats(1.05, 15.0))
def test_ogden_is_recovered(m, a):
    stress = uniaxial_stress(pm.Ogden(m=m, a=a, density=1.0), STRAIN)
    fit = fit_ogden(STRAIN, stress, density=1.0)
    assert fit.material.a == pytest.approx(a, rel=1e-5)
    assert fit.material.m == pytest.approx(m, rel=1e-4)
    assert fit.relative_rms < 1e-5


@settings(deadline=None, max_examples=30)
@given(st.floats(1e2, 1e6), st.floats(-0.005, 1.0), st.floats(-1e-4, 0.1))
def test_yeoh_is_recovered(c1, second, third):
    material = pm.Yeoh(c1=c1, c2=second * c1, c3=third * c1, density=1.0)
    fit = fit_yeoh(STRAIN, uniaxial_stress(material, STRAIN), density=1.0)
    for name in ("c1", "c2", "c3"):
        assert getattr(fit.material, name) == pytest.approx(getattr(material, name), rel=1e-6, abs=1e-8 * c1)
    assert fit.relative_rms < 1e-9


@pytest.mark.parametrize("poisson", [0.3, 0.49])
def test_neo_hookean_is_recovered(poisson):
    material = pm.NeoHookean(young=2e5, poisson=poisson, density=900.0)
    stress = material.shear_modulus * (1.0 + STRAIN - (1.0 + STRAIN) ** -2.0)
    fit = fit_neo_hookean(STRAIN, stress, density=900.0, poisson=poisson)
    assert fit.material.young == pytest.approx(2e5)
    assert fit.material.poisson == poisson
    assert fit.material.density == 900.0


def test_fits_are_least_squares_minima():
    """On noisy data no small change of a coefficient makes the sum of squares smaller."""
    rng = np.random.default_rng(0)
    stress = uniaxial_stress(pm.Ogden(m=2e4, a=2.4, density=1.0), STRAIN) * (1.0 + 0.05 * rng.normal(size=15))

    def rms(material):
        return np.sqrt(np.mean((uniaxial_stress(material, STRAIN) - stress) ** 2))

    ogden, yeoh = fit_ogden(STRAIN, stress, density=1.0), fit_yeoh(STRAIN, stress, density=1.0)
    assert ogden.rms == pytest.approx(rms(ogden.material))
    assert yeoh.rms == pytest.approx(rms(yeoh.material))
    assert ogden.relative_rms == pytest.approx(ogden.rms / np.sqrt(np.mean(stress**2)))
    m, a = ogden.material.m, ogden.material.a
    for dm, da in ((1.001, 1.0), (0.999, 1.0), (1.0, 1.001), (1.0, 0.999), (1.001, 0.999), (0.999, 1.001)):
        assert rms(pm.Ogden(m=dm * m, a=da * a, density=1.0)) > ogden.rms
    c = np.array([yeoh.material.c1, yeoh.material.c2, yeoh.material.c3])
    for change in 1e-3 * np.abs(c) * np.concatenate([np.eye(3), -np.eye(3)]):
        c1, c2, c3 = c + change
        assert rms(pm.Yeoh(c1=c1, c2=c2, c3=c3, density=1.0)) > yeoh.rms


def test_more_terms_of_yeoh_never_fit_worse():
    stress = uniaxial_stress(pm.Ogden(m=2e4, a=3.1, density=1.0), STRAIN)
    errors = [fit_yeoh(STRAIN, stress, density=1.0, terms=terms).rms for terms in (1, 2, 3)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[0] == pytest.approx(fit_neo_hookean(STRAIN, stress, density=1.0).rms)


def test_exponent_stays_in_its_range():
    """Data that soften more than a = 1 allows end at the bound, and the error says so."""
    fit = fit_ogden(STRAIN, 1e4 * STRAIN**0.3, density=1.0)
    assert fit.material.a == pytest.approx(1.0, abs=1e-4)
    assert fit.relative_rms > 0.01


def test_uniaxial_stress_is_the_limit_of_the_three_dimensional_law():
    """P₁₁ with P₂₂ = 0 on J = 1: the pressure κ(J − 1) is free, so P = ψ₁ − (s₂/s₁) ψ₂ of the shear part."""
    for material in (
        pm.NeoHookean(young=3.0, poisson=0.4, density=1.0),
        pm.MooneyRivlin(c1=0.4, c2=0.1, density=1.0),
        pm.Yeoh(c1=0.5, c2=0.02, c3=-0.001, density=1.0),
        pm.Ogden(m=0.7, a=2.3, density=1.0),
    ):
        for strain in (-0.4, 0.2, 1.0, 2.5):
            s, side = 1.0 + strain, (1.0 + strain) ** -0.5
            P = material.stress(np.diag([s, side, side]), part=pm.Part.SHEAR)
            expected = P[0, 0] - side / s * P[1, 1]
            assert uniaxial_stress(material, strain) == pytest.approx(expected, rel=1e-12)


def test_uniaxial_stress_refuses_small_strain_laws():
    with pytest.raises(InputError, match="Corotated has no incompressible limit"):
        uniaxial_stress(pm.Corotated(young=1.0, poisson=0.3, density=1.0), 0.1)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("strain", "stress", "message"),
    [
        ([0.5, np.nan, 1.5], [1.0, 2.0, 3.0], r"strain must be finite, but entry \[1\] is nan"),
        ([0.5, 1.0, 1.5], [1.0, 2.0, np.inf], r"stress must be finite, but entry \[2\] is inf"),
        ([0.5, 1.0, 1.5], [1.0, 2.0], r"stress must have shape \(3,\), got \(2,\)"),
        ([[0.5, 1.0, 1.5]], [[1.0, 2.0, 3.0]], r"strain must have shape"),
        ([-1.5, 1.0, 1.5], [1.0, 2.0, 3.0], r"strain must be > −1.*-1\.5"),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], r"strain has 0 distinct values"),
        ([0.5, 1.0, 1.5], [-1.0, -2.0, -3.0], r"stress is opposite to strain"),
    ],
)
def test_bad_data_is_named(fit, strain, stress, message):
    with pytest.raises(InputError, match=message):
        fit(strain, stress, density=1.0)


def test_too_few_points_are_refused():
    with pytest.raises(InputError, match="2 distinct values other than 0, but 3 coefficients"):
        fit_yeoh([0.5, 0.5, 1.0], [1.0, 1.0, 2.0], density=1.0)
    with pytest.raises(InputError, match="terms of fit_yeoh must be 1, 2 or 3, got 4"):
        fit_yeoh(STRAIN, STRAIN, density=1.0, terms=4)


@pytest.mark.parametrize("fit", FITS)
def test_density_and_poisson_reach_the_material(fit):
    with pytest.raises(InputError, match="density of"):
        fit(STRAIN, 1e4 * STRAIN, density=0.0)
    for poisson in (0.5, -2.0):
        with pytest.raises(InputError, match="poisson of"):
            fit(STRAIN, 1e4 * STRAIN, density=1e3, poisson=poisson)


@pytest.mark.parametrize("fit", FITS)
def test_relative_fits_weigh_small_stresses_as_much_as_large_ones(fit):
    """One coefficient or three: the largest relative error of a bent curve is smaller than that of the usual fit."""
    strain = np.linspace(0.1, 2.0, 12)
    stress = 1e4 * strain**1.3
    errors = [
        np.abs(uniaxial_stress(fit(strain, stress, density=1e3, relative=relative).material, strain) / stress - 1.0)
        for relative in (False, True)
    ]
    assert np.square(errors[1]).sum() < np.square(errors[0]).sum()
    with pytest.raises(InputError, match="relative error"):
        fit([0.0, *strain], [0.0, *stress], density=1e3, relative=True)


@pytest.mark.parametrize("seed", range(6))
def test_several_ogden_terms_are_found_again(seed):
    """Two random stable terms: the stress to 1e-4, m a > 0, and a third term is not worse."""
    rng = np.random.default_rng(seed)
    exponents = [rng.uniform(1.5, 4.0), rng.choice([-1.0, 1.0]) * rng.uniform(5.0, 9.0)]
    moduli = [np.sign(a) * rng.uniform(0.3e5, 1e5) / a**2 for a in exponents]
    strain = np.linspace(-0.3, 1.5, 40)
    material = Ogden(m=moduli, a=exponents, density=1.0)
    stress = uniaxial_stress(material, strain)
    fits = [fit_ogden(strain, stress, density=1.0, terms=terms) for terms in (1, 2, 3)]
    assert fits[1].relative_rms < 1e-4
    assert fits[2].relative_rms <= 1.01 * fits[1].relative_rms + 1e-9
    assert fits[1].relative_rms < fits[0].relative_rms
    for fit in fits:
        assert all(m * a > 0.0 and 1.0 <= abs(a) <= 20.0 for m, a in fit.material.terms)


def test_a_noisy_test_with_many_terms_stays_stable():
    """Six terms on a curve with noise, and on one that falls: the stress still rises with every stretch."""
    rng = np.random.default_rng(0)
    strain = np.linspace(0.02, 4.0, 60)
    for clean in (1e5 * (strain + 0.1 * strain**3), 1e5 * np.sin(strain / 1.5)):
        fit = fit_ogden(strain, clean + 2e3 * rng.standard_normal(60), density=1.0, terms=6)
        wide = np.linspace(-0.7, 6.0, 300)
        assert (np.diff(uniaxial_stress(fit.material, wide) * (1.0 + wide)) > 0.0).all()


@pytest.mark.parametrize("terms", [0, 7, 1.5, True])
def test_terms_of_ogden_are_whole_numbers_up_to_six(terms):
    with pytest.raises(InputError, match=r"terms of fit_ogden(\(\))? must be"):
        fit_ogden(STRAIN, STRAIN, density=1.0, terms=terms)
