"""Named silicones: the records, their fits, and the stability of what they give."""

import dataclasses

import numpy as np
import pytest

import pliant.materials as pm
from pliant.core.errors import InputError
from pliant.materials import silicones, uniaxial_stress

NAMES = ["ecoflex_00_30", "ecoflex_00_50", "dragon_skin_10", "dragon_skin_20", "dragon_skin_30"]
every_silicone = pytest.mark.parametrize("silicone", pm.SILICONES.values(), ids=lambda s: s.name)


def test_names_lead_to_the_records():
    assert list(pm.SILICONES) == [
        "Ecoflex 00-30",
        "Ecoflex 00-50",
        "Dragon Skin 10",
        "Dragon Skin 20",
        "Dragon Skin 30",
    ]
    for name, silicone in zip(NAMES, pm.SILICONES.values(), strict=True):
        assert getattr(pm, name) is getattr(silicones, name) is silicone


@every_silicone
def test_records_are_complete_and_frozen(silicone):
    assert silicone.strain.shape == silicone.stress.shape
    assert (np.diff(silicone.strain) > 0.0).all()
    assert (np.diff(silicone.stress) > 0.0).all()
    assert 1060.0 < silicone.density < 1090.0
    assert silicone.strain[0] < silicone.valid_strain <= silicone.strain[-1]
    assert "ASTM D412" in silicone.source
    assert "technical bulletin" in silicone.source
    with pytest.raises(ValueError, match="read-only"):
        silicone.stress[0] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        silicone.density = 1.0


def test_hardness_orders_stiffness():
    """Softer by name is softer at every measured strain."""
    stresses = np.array([s.stress for s in pm.SILICONES.values()])
    assert (np.diff(stresses, axis=0) > 0.0).all()


@pytest.mark.parametrize(
    ("silicone", "yeoh", "ogden", "shear"),
    [
        (pm.ecoflex_00_30, (7.73e3, 1.4e2, -4.0), (1.32e4, 2.27), 1.72e4),
        (pm.dragon_skin_20, (6.37e4, 7.44e3, -2.95e2), (8.36e4, 2.98), None),
    ],
)
def test_fits_agree_with_those_of_the_whole_curve(silicone, yeoh, ogden, shear):
    """Fits of every recorded sample up to a strain of 2, made apart from this code; eight points stand for them."""
    ours = silicone.yeoh()
    assert ours.c1 == pytest.approx(yeoh[0], rel=0.02)
    assert ours.c2 == pytest.approx(yeoh[1], rel=0.06)
    assert ours.c3 == pytest.approx(yeoh[2], rel=0.15)
    whole = pm.Yeoh(c1=yeoh[0], c2=yeoh[1], c3=yeoh[2], density=1.0)
    strain = np.linspace(0.1, 2.0, 20)
    np.testing.assert_allclose(uniaxial_stress(ours, strain), uniaxial_stress(whole, strain), rtol=0.015)
    assert silicone.ogden().m == pytest.approx(ogden[0], rel=0.025)
    assert silicone.ogden().a == pytest.approx(ogden[1], rel=0.01)
    if shear is not None:
        assert silicone.neo_hookean().shear_modulus == pytest.approx(shear, rel=0.02)


@every_silicone
def test_default_is_ogden_and_stable(silicone):
    material = silicone()
    assert material == silicone.ogden()
    assert material.density == silicone.density
    assert material.small_strain_poisson == pytest.approx(0.49)
    assert material.shear_modulus > 0.0
    assert material.a > 1.0
    strain = np.linspace(-0.9, 2.0 * silicone.strain[-1], 2000)
    assert (np.diff(uniaxial_stress(material, strain)) > 0.0).all()


@every_silicone
@pytest.mark.parametrize(("law", "tolerance"), [("ogden", 0.02), ("yeoh", 0.02), ("neo_hookean", 0.2)])
def test_fits_meet_the_data(silicone, law, tolerance):
    material = getattr(silicone, law)()
    strain, stress = silicone.data()
    error = uniaxial_stress(material, strain) - stress
    assert np.sqrt(np.mean(error**2)) < tolerance * np.sqrt(np.mean(stress**2))
    dense = np.linspace(0.0, silicone.valid_strain, 500)
    assert (np.diff(uniaxial_stress(material, dense)) > 0.0).all()


@every_silicone
def test_range_of_the_fit_can_be_widened(silicone):
    """`up_to` takes in the stretch of the whole record, where the default only extrapolates."""
    wide = silicone.ogden(up_to=4.0)
    missed = abs(uniaxial_stress(silicone(), 4.0) / silicone.stress[-1] - 1.0)
    assert abs(uniaxial_stress(wide, 4.0) / silicone.stress[-1] - 1.0) < min(missed, 0.06)
    assert len(silicone.data(up_to=4.0)[0]) == 12
    assert len(silicone.data()[0]) == 8


@every_silicone
def test_poisson_is_passed_on(silicone):
    assert silicone.yeoh(poisson=0.45).small_strain_poisson == pytest.approx(0.45)
    with pytest.raises(InputError, match=r"poisson of Ogden is 0\.5"):
        silicone(poisson=0.5)


@every_silicone
def test_bar_of_the_default_material_answers_as_measured(silicone):
    """In three dimensions, sides free, nearly incompressible: within 4 % of the largest stress of the fit."""
    material = silicone(poisson=0.4999)
    for strain, stress in zip(*silicone.data(), strict=True):
        s = 1.0 + strain
        lateral = s**-0.5
        for _ in range(20):  # Newton on the side stress
            F = np.diag([s, lateral, lateral])
            C = material.tangent(F)
            lateral -= material.stress(F)[1, 1] / (C[1, 1, 1, 1] + C[1, 1, 2, 2])
        assert abs(material.stress(F)[1, 1]) < 1e-6 * stress
        assert material.stress(F)[0, 0] == pytest.approx(stress, abs=0.04 * silicone.data()[1].max())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strain": [0.5, 0.5]}, "strain of mine must rise"),
        ({"stress": [1.0]}, r"stress of mine must have shape \(2,\)"),
        ({"stress": [1.0, np.nan]}, "stress of mine must be finite"),
        ({"density": 0.0}, "density of mine must be > 0"),
        ({"valid_strain": -1.0}, "valid_strain of mine must be > 0"),
    ],
)
def test_bad_records_are_named(changes, message):
    record = {"name": "mine", "density": 1e3, "strain": [0.5, 1.0], "stress": [1e4, 2e4], "valid_strain": 1.0}
    with pytest.raises(InputError, match=message):
        pm.Silicone(**{**record, "source": "", **changes})


def test_memory_is_that_of_the_measured_ring_down():
    """Damping ratios (half of the loss factor) and stiffness over that of the sag, at the two measured frequencies."""
    material = pm.dragon_skin_10(memory=True)
    law = pm.dragon_skin_10()
    assert material.base == law
    modulus = material.dynamic_shear_modulus([4.33, 7.73])
    np.testing.assert_allclose(0.5 * modulus.imag / modulus.real, [0.0557, 0.0517], atol=0.008)
    np.testing.assert_allclose(modulus.real / law.shear_modulus, [1.07, 1.11], rtol=0.015)
    assert "diffPD_sim2real" in pm.dragon_skin_10.memory_source
    assert isinstance(pm.dragon_skin_10.remembering(pm.dragon_skin_10.yeoh()).base, pm.Yeoh)


@every_silicone
def test_memory_that_nobody_measured_is_not_guessed(silicone):
    if silicone.branches:
        assert silicone.memory_source
        return
    with pytest.raises(InputError, match=f"no measured relaxation of {silicone.name}.*Dragon Skin 10"):
        silicone(memory=True)
