"""Volumetric energies: derivatives, one small-strain modulus, barriers, and the definition that the name stands for."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.errors import InputError
from pliant.materials.volumetric import VolumetricEnergy, volumetric_energy

KAPPA = 7.0
VOLUMES = np.geomspace(0.1, 4.0, 15)
FINITE = (VolumetricEnergy.QUADRATIC, VolumetricEnergy.LIU)
BARRIERS = [kind for kind in VolumetricEnergy if kind not in FINITE]
every_kind = pytest.mark.parametrize("kind", VolumetricEnergy)


def law(kind, J):
    return np.array(volumetric_energy(int(kind), KAPPA, J))


@every_kind
def test_derivatives(kind):
    for J in VOLUMES:
        step = 1e-5 * J
        slope = (law(kind, J + step) - law(kind, J - step)) / (2.0 * step)
        value = law(kind, J)
        np.testing.assert_allclose(slope[:2], value[1:], rtol=1e-7, atol=1e-8 * np.abs(value).max())


@every_kind
def test_small_strain_is_the_bulk_modulus(kind):
    np.testing.assert_allclose(law(kind, 1.0), [0.0, 0.0, KAPPA], atol=1e-14)


def test_energies_are_what_they_are_called():
    for J in VOLUMES:
        assert law(VolumetricEnergy.QUADRATIC, J)[0] == pytest.approx(0.5 * KAPPA * (J - 1.0) ** 2)
        assert law(VolumetricEnergy.LOGARITHMIC, J)[0] == pytest.approx(0.5 * KAPPA * np.log(J) ** 2)
        assert law(VolumetricEnergy.SIMO, J)[0] == pytest.approx(0.25 * KAPPA * (J * J - 1.0 - 2.0 * np.log(J)))
        assert law(VolumetricEnergy.HYPERBOLIC, J)[0] == pytest.approx(0.5 * KAPPA * np.sinh(np.log(J)) ** 2)


@pytest.mark.parametrize("kind", BARRIERS)
def test_barrier_has_no_bound_and_refuses_inversion(kind):
    energies = [law(kind, J)[0] for J in (1e-2, 1e-4, 1e-8, 1e-16)]
    assert (np.diff(energies) > 2.0 * KAPPA).all()  # −ln J /2 of the weakest gains 2.3 κ from line to line
    for J in (0.0, -0.5):
        assert law(kind, J)[0] == np.inf
    assert np.isfinite(law(VolumetricEnergy.QUADRATIC, -0.5)).all()


def test_default_is_convex_and_near_the_logarithm():
    for J in VOLUMES:
        assert law(VolumetricEnergy.HYPERBOLIC, J)[2] > 0.0
    for J in (0.98, 1.02):  # equal up to third order in J − 1
        difference = law(VolumetricEnergy.HYPERBOLIC, J)[0] - law(VolumetricEnergy.LOGARITHMIC, J)[0]
        assert abs(difference) < KAPPA * 0.02**4


def test_unknown_energy_is_refused():
    with pytest.raises(InputError, match=r"volumetric of Ogden must be one of 'hyperbolic', .* got 'cubic'"):
        pl.materials.Ogden(m=1.0, a=2.0, density=1.0, volumetric="cubic")
    with pytest.raises(InputError, match="volumetric of NeoHookean"):
        pl.materials.NeoHookean(young=1.0, poisson=0.4, density=1.0, volumetric="cubic")


@pytest.mark.parametrize("kind", ["hyperbolic", "logarithmic", "simo", "quadratic"])
def test_materials_carry_their_energy(kind):
    """F = cI: the isochoric law answers with U′(J) c² alone, neo-Hookean with μ (c − 1/c) and U′ of λ."""
    c = 0.8
    slope = law(VolumetricEnergy[kind.upper()], c**3)[1] / KAPPA
    rubber = pl.materials.Yeoh(c1=1.0, c2=0.1, bulk=KAPPA, density=1.0, volumetric=kind)
    assert rubber.stress(c * np.eye(3)) == pytest.approx(KAPPA * slope * c * c * np.eye(3), abs=1e-12)
    material = pl.materials.NeoHookean(young=1.0, poisson=0.4, density=1.0, volumetric=kind)
    mu, lam = material.parameters[:2]
    expected = mu * (c - 1.0 / c) + lam * slope * c * c
    assert material.stress(c * np.eye(3)) == pytest.approx(expected * np.eye(3), abs=1e-12)
