"""What a person may write, and what the messages say when it is refused."""

import dataclasses
import re

import numpy as np
import pytest

import pliant.materials as materials
from pliant.core.errors import InputError, PliantError

LAME = [materials.Linear, materials.Corotated, materials.StVenantKirchhoff, materials.NeoHookean]
ISOCHORIC = {
    materials.MooneyRivlin: {"c1": 1e4, "c2": 2e3},
    materials.Yeoh: {"c1": 1e4, "c2": 1e2, "c3": -1.0},
    materials.Ogden: {"m": 1e4, "a": 2.5},
}
EVERY = [(cls, {"young": 1e5, "poisson": 0.3}) for cls in LAME] + list(ISOCHORIC.items())


def build(cls, keywords, **changes):
    return cls(**{"density": 1e3, **keywords, **changes})


@pytest.mark.parametrize(("cls", "keywords"), EVERY)
@pytest.mark.parametrize("density", [0.0, -1.0, np.nan, np.inf, "heavy"])
def test_density_is_checked(cls, keywords, density):
    with pytest.raises(InputError, match=rf"density of {cls.__name__}.*kg/m³.*got") as caught:
        build(cls, keywords, density=density)
    assert str(density).rstrip("0").rstrip(".") in str(caught.value)


@pytest.mark.parametrize(("cls", "keywords"), EVERY)
@pytest.mark.parametrize(("poisson", "limit"), [(0.5, "< 0.5"), (0.7, "< 0.5"), (-1.0, "> −1"), (-3.0, "> −1")])
def test_poisson_is_bounded(cls, keywords, poisson, limit):
    with pytest.raises(InputError, match=f"poisson of {cls.__name__} is {poisson:g}.*{limit}"):
        build(cls, keywords, poisson=poisson)


@pytest.mark.parametrize(("cls", "keywords"), EVERY)
def test_poisson_is_finite(cls, keywords):
    with pytest.raises(InputError, match=f"poisson of {cls.__name__} must be finite.*nan"):
        build(cls, keywords, poisson=np.nan)


def test_incompressible_message_says_what_to_use():
    with pytest.raises(PliantError, match=r"0\.49 or 0\.499"):
        materials.NeoHookean(young=1e5, poisson=0.5, density=1e3)


@pytest.mark.parametrize("cls", LAME)
@pytest.mark.parametrize("young", [0.0, -2e5, np.nan])
def test_young_is_positive(cls, young):
    with pytest.raises(InputError, match=rf"young of {cls.__name__} must be .*Pa.*got {young:g}"):
        cls(young=young, poisson=0.3, density=1e3)


@pytest.mark.parametrize(("cls", "keywords"), ISOCHORIC.items())
@pytest.mark.parametrize("bulk", [0.0, -1e6, np.nan])
def test_bulk_is_positive(cls, keywords, bulk):
    with pytest.raises(InputError, match=rf"bulk of {cls.__name__} must be .*Pa.*got " + re.escape(f"{bulk:g}")):
        build(cls, keywords, bulk=bulk)


@pytest.mark.parametrize(("cls", "keywords"), ISOCHORIC.items())
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_coefficients_are_finite(cls, keywords, value):
    for name in keywords:
        with pytest.raises(InputError, match=f"{name} of {cls.__name__} must be finite.*{value}"):
            build(cls, keywords, **{name: value})


@pytest.mark.parametrize(
    ("cls", "keywords", "shear"),
    [
        (materials.MooneyRivlin, {"c1": 1e3, "c2": -2e3}, -2e3),
        (materials.MooneyRivlin, {"c1": 0.0, "c2": 0.0}, 0.0),
        (materials.Yeoh, {"c1": -1e3, "c2": 1e6}, -2e3),
        (materials.Ogden, {"m": -1e3, "a": 2.0}, -1e3),
        (materials.Ogden, {"m": 1e3, "a": -2.0}, -1e3),
    ],
)
def test_shear_modulus_is_positive(cls, keywords, shear):
    with pytest.raises(InputError, match=rf"{cls.__name__} has the shear modulus {shear:g} Pa.*check the signs"):
        cls(**keywords, density=1e3)


def test_ogden_exponent_zero_is_refused():
    with pytest.raises(InputError, match="a of Ogden must not be 0"):
        materials.Ogden(m=1e3, a=0.0, density=1e3)


def test_ogden_with_both_signs_negative_is_a_material():
    material = materials.Ogden(m=-1e3, a=-2.0, density=1e3)
    assert material.shear_modulus == 1e3


@pytest.mark.parametrize(("cls", "keywords"), EVERY)
def test_materials_are_frozen_and_comparable(cls, keywords):
    material = build(cls, keywords)
    assert material == build(cls, keywords)
    assert hash(material) == hash(build(cls, keywords))
    assert dataclasses.replace(material, density=2e3).density == 2e3
    with pytest.raises(dataclasses.FrozenInstanceError):
        material.density = 2.0


@pytest.mark.parametrize(("cls", "keywords"), EVERY)
@pytest.mark.parametrize("poisson", [-0.5, 0.0, 0.3, 0.49])
def test_moduli_agree_with_each_other(cls, keywords, poisson):
    material = build(cls, keywords, poisson=poisson)
    assert material.small_strain_poisson == pytest.approx(poisson, abs=1e-12)
    assert material.small_strain_young == pytest.approx(2.0 * material.shear_modulus * (1.0 + poisson))
    if "young" in keywords:
        assert material.small_strain_young == pytest.approx(keywords["young"])


def test_bulk_overrides_poisson():
    material = materials.Yeoh(c1=1e4, bulk=3e6, density=1e3)
    assert material.bulk_modulus == 3e6


@pytest.mark.parametrize("shape", [(3,), (3, 2), (9,), (4, 2, 3)])
def test_shape_of_F_is_checked(shape):
    material = materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)
    with pytest.raises(InputError, match=r"deformation gradient F must have shape \(…, 3, 3\)"):
        material.energy(np.zeros(shape))


def test_nan_in_F_is_refused():
    F = np.tile(np.eye(3), (4, 1, 1))
    F[2, 0, 1] = np.nan
    with pytest.raises(InputError, match=r"deformation gradient F must be finite, but entry \[2, 0, 1\] is nan"):
        materials.Corotated(young=1e5, poisson=0.3, density=1e3).stress(F)


def test_leading_axes_are_kept():
    material = materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)
    F = np.eye(3) + 0.1 * np.random.default_rng(0).normal(size=(2, 5, 3, 3))
    assert material.energy(F).shape == (2, 5)
    assert material.stress(F).shape == (2, 5, 3, 3)
    assert material.tangent(F).shape == (2, 5, 3, 3, 3, 3)
    np.testing.assert_array_equal(material.stress(F)[1, 3], material.stress(F[1, 3]))
    assert material.energy(np.empty((0, 3, 3))).shape == (0,)
