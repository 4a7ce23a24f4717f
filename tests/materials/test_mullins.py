"""Mullins softening as a material: coefficients, closed forms of its energies, input that is refused."""

import numpy as np
import pytest
from scipy.integrate import quad

import pliant as pl
from pliant.core.errors import InputError
from pliant.materials.mullins import Softening

RUBBER = pl.materials.Yeoh(c1=1e4, c2=100.0, c3=0.0, density=1.1e3)


def test_it_has_the_law_of_its_base():
    material = pl.materials.Mullins(RUBBER, r=2.0, m=1e3)
    assert (material.density, material.law) == (RUBBER.density, RUBBER.law)
    assert (material.shear_modulus, material.bulk_modulus) == (RUBBER.shear_modulus, RUBBER.bulk_modulus)
    F = np.diag([1.5, 0.8, 0.9])
    np.testing.assert_array_equal(material.stress(F), RUBBER.stress(F))
    assert RUBBER.softening is None
    assert material.relaxation is None
    assert "\n" not in repr(material)


def test_the_factor_is_one_on_first_loading_and_falls_below():
    material = pl.materials.Mullins(RUBBER, r=2.0, m=1e3, beta=0.1)
    assert material.softened([0.0, 3e3, 8e3], [0.0, 3e3, 5e3]) == pytest.approx(1.0)
    deep = material.softened(np.linspace(0.0, 5e3, 11), 5e3)
    assert (np.diff(deep) > 0.0).all()
    assert 0.5 <= deep[0] < 0.51


@pytest.mark.parametrize("seed", range(20))
def test_energies_are_the_integrals_of_the_factor(seed):
    rng = np.random.default_rng(seed)
    soft = Softening(1.0 + rng.exponential(), rng.uniform(0.0, 2e3), rng.choice([0.0, rng.uniform(0.0, 3.0)]) + 1e-3)
    largest = rng.uniform(0.0, 1e4)
    W = largest * rng.uniform()
    stored, _ = quad(lambda w: float(soft.factor(w, largest)), 0.0, W)
    lost, _ = quad(lambda w: 1.0 - float(soft.factor(w, largest)), 0.0, largest)
    assert float(soft.stored(W, largest)) == pytest.approx(stored, rel=1e-7, abs=1e-6)
    assert float(soft.lost(largest)) == pytest.approx(lost, rel=1e-7, abs=1e-6)
    assert float(soft.stored(largest, largest) + soft.lost(largest)) == pytest.approx(largest)
    assert (np.diff(soft.lost(np.linspace(0.0, 1e5, 500))) >= 0.0).all(), "what is lost never comes back"


def test_the_softening_of_an_instantaneous_law_keeps_its_stretches():
    """η is a function of the deformation, whichever modulus the energy is measured with."""
    base = pl.materials.Mullins(RUBBER, r=2.0, m=1e3, beta=0.1)
    slow = pl.materials.Viscoelastic(base, [(0.5, 1.0)], moduli="instantaneous")
    assert slow.softening == Softening(2.0, 500.0, 0.1)
    W, largest = 2e3, 5e3
    assert slow.softening.factor(0.5 * W, 0.5 * largest) == pytest.approx(base.softening.factor(W, largest))
    assert pl.materials.Viscoelastic(base, [(0.5, 1.0)]).softening == base.softening


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"r": 1.0, "m": 1.0}, "must be > 1"),
        ({"r": -2.0, "m": 1.0}, "r of Mullins"),
        ({"r": np.nan, "m": 1.0}, "r of Mullins"),
        ({"r": 2.0}, "m > 0"),
        ({"r": 2.0, "m": -1.0}, "m of Mullins"),
        ({"r": 2.0, "m": 1.0, "beta": -0.1}, "beta of Mullins"),
        ({"r": 2.0, "m": 1.0, "density": 900.0}, "density of its base"),
    ],
)
def test_bad_coefficients_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        pl.materials.Mullins(RUBBER, **given)


def test_bad_bases_are_refused():
    soft = pl.materials.Mullins(RUBBER, r=2.0, m=1e3)
    with pytest.raises(InputError, match="softens already"):
        pl.materials.Mullins(soft, r=2.0, m=1e3)
    with pytest.raises(InputError, match=r"Viscoelastic\(Mullins"):
        pl.materials.Mullins(pl.materials.Viscoelastic(RUBBER, [(0.1, 1.0)]), r=2.0, m=1e3)
    with pytest.raises(InputError, match="elastic material"):
        pl.materials.Mullins(1e5, r=2.0, m=1e3)
