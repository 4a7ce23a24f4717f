"""Principal responses: derivatives in the stretches, and the parts that add up to the whole."""

import numpy as np
import pytest

from pliant.materials.laws import (
    PARAMETER_COUNT,
    TERMS,
    VOLUMETRIC,
    Law,
    Part,
    coupled_power,
    isochoric_power,
    principal_response,
    through_volume,
)
from pliant.materials.volumetric import VolumetricEnergy, volumetric_energy

PARAMETERS = {
    Law.COROTATED: (2.0, 3.0),
    Law.ST_VENANT_KIRCHHOFF: (2.0, 3.0),
    Law.NEO_HOOKEAN: (2.0, 3.0),
    Law.YEOH: (5.0, 1.0, 0.3, 0.05, 0.4),
    Law.OGDEN: (5.0, 3.0),
    Law.COUPLED_OGDEN: (5.0, 3.0),
    Law.COUPLED_MOONEY_RIVLIN: (5.0, 1.0, 0.4),
}
TERMS_OF = {  # m, a, β, m of the volume part
    Law.OGDEN: ((1.5, 2.7, 0.0, 0.0), (-0.3, -2.0, 0.0, 0.0), (0.1, 6.5, 0.0, 0.0)),
    Law.COUPLED_OGDEN: ((1.5, 2.7, 0.4, 1.5), (-0.3, -2.0, 0.0, 0.0), (0.1, 6.5, 2.0, 0.1)),
}
PAIRS = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]  # order of the second derivatives
STEP = 1e-5


CASES = [
    (law, kind)
    for law in PARAMETERS
    for kind in (VolumetricEnergy if law >= Law.NEO_HOOKEAN else (VolumetricEnergy(0),))
]
every_law = pytest.mark.parametrize(("law", "kind"), CASES)


def row(law, kind=VolumetricEnergy.HYPERBOLIC):
    values = np.zeros(PARAMETER_COUNT)
    values[: len(PARAMETERS[law])] = PARAMETERS[law]
    values[VOLUMETRIC] = kind
    terms = np.ravel(TERMS_OF.get(law, ()))
    values[TERMS : TERMS + len(terms)] = terms
    return values


def response(law, part, s, kind=VolumetricEnergy.HYPERBOLIC):
    return np.array(principal_response(int(law), int(part), row(law, kind), *s))


def bulk_energy(kind, kappa, *s):
    return through_volume(*volumetric_energy(int(kind), kappa, np.prod(s)), *s)


def assert_derivatives(function, s):
    """Entries 1–3 are the gradient of entry 0, entries 4–9 its Hessian: central differences, relative error 1e-8."""
    value = function(s)
    shifted = [(function(s + STEP * axis) - function(s - STEP * axis)) / (2.0 * STEP) for axis in np.eye(3)]
    scale = np.abs(value).max()
    np.testing.assert_allclose([d[0] for d in shifted], value[1:4], rtol=1e-8, atol=1e-8 * scale)
    hessian = [shifted[j][1 + i] for i, j in PAIRS]
    np.testing.assert_allclose(hessian, value[4:], rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.parametrize("part", Part)
@every_law
def test_derivatives_of_every_law_and_part(law, kind, part):
    for s in np.random.default_rng(0).uniform(0.4, 2.5, size=(20, 3)):
        assert_derivatives(lambda s: response(law, part, s, kind), s)


@pytest.mark.parametrize("a", [-2.0, -1.0, 0.5, 2.0, 3.7])
def test_derivatives_of_powers(a):
    for s in np.random.default_rng(1).uniform(0.4, 2.5, size=(10, 3)):
        assert_derivatives(lambda s: np.array(isochoric_power(a, *s)), s)
        assert_derivatives(lambda s: np.array(coupled_power(a, *s)), s)


def test_isochoric_power_is_the_invariant_it_names():
    for s in np.random.default_rng(2).uniform(0.4, 2.5, size=(10, 3)):
        bar = s / np.prod(s) ** (1.0 / 3.0)
        assert isochoric_power(2.0, *s)[0] == pytest.approx(np.sum(bar**2))
        assert isochoric_power(-2.0, *s)[0] == pytest.approx(np.sum(bar**-2.0))
        assert isochoric_power(3.3, *(2.0 * s))[0] == pytest.approx(isochoric_power(3.3, *s)[0])  # blind to volume


def test_derivatives_of_quadratic_bulk_energy_hold_for_inverted_volumes():
    for s in np.random.default_rng(3).uniform(-2.0, 2.0, size=(20, 3)):
        assert_derivatives(lambda s: np.array(bulk_energy(VolumetricEnergy.QUADRATIC, 3.0, *s)), s)


@every_law
def test_parts_add_up(law, kind):
    for s in np.random.default_rng(4).uniform(0.4, 2.5, size=(20, 3)):
        total = response(law, Part.TOTAL, s, kind)
        parts = response(law, Part.SHEAR, s, kind) + response(law, Part.VOLUME, s, kind)
        np.testing.assert_allclose(parts, total, rtol=1e-13, atol=1e-13 * np.abs(total).max())


@pytest.mark.parametrize("law", [Law.YEOH, Law.OGDEN])
def test_isochoric_shear_part_is_blind_to_volume(law):
    """The shear part does not change under s → cs, so its hydrostatic derivative Σ sᵢψᵢ vanishes."""
    for s in np.random.default_rng(5).uniform(0.4, 2.5, size=(10, 3)):
        shear = response(law, Part.SHEAR, s)
        assert response(law, Part.SHEAR, 1.7 * s)[0] == pytest.approx(shear[0])
        assert s @ shear[1:4] == pytest.approx(0.0, abs=1e-12 * np.abs(shear).max())


@pytest.mark.parametrize("part", [Part.TOTAL, Part.VOLUME])
@pytest.mark.parametrize("law", [Law.NEO_HOOKEAN, Law.YEOH, Law.OGDEN, Law.COUPLED_OGDEN, Law.COUPLED_MOONEY_RIVLIN])
@pytest.mark.parametrize("s", [(1.0, 1.0, 0.0), (2.0, 1.0, -0.5), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_undefined_stretches_are_infinite_energy(law, s, part):
    value = response(law, part, s)
    assert value[0] == np.inf
    assert not value[1:].any()


@pytest.mark.parametrize("law", [Law.COROTATED, Law.ST_VENANT_KIRCHHOFF])
def test_polynomial_laws_stay_finite_when_inverted(law):
    for s in ((1.0, 1.0, 0.0), (2.0, 1.0, -0.5), (0.0, 0.0, 0.0)):
        assert np.isfinite(response(law, Part.TOTAL, s)).all()
