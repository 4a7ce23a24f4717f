"""Ogden laws of several terms, coupled laws: closed forms, random materials, bad input."""

import numpy as np
import pytest

import pliant.materials as pm
from pliant.core.errors import InputError
from pliant.materials.volumetric import Volumetric

KINDS = Volumetric.__args__
THREE = {"m": (6.3e5, 1.2e3, -1e4), "a": (1.3, 5.0, -2.0)}  # Ogden's (1972) rubber


def random_material(rng):
    """A random hyperelastic material whose energy is bounded from below: every term has m a > 0."""
    count = rng.integers(1, 7)
    a = rng.choice([-1.0, 1.0], count) * rng.uniform(1.0, 6.0, count)
    m = rng.uniform(0.1, 1.0, count) / a
    options = {"density": 1.0, "volumetric": str(rng.choice(KINDS))}
    poisson = rng.uniform(0.2, 0.499)
    kind = rng.integers(6)
    if kind == 0:
        return pm.Ogden(m=m, a=a, poisson=poisson, **options)
    if kind == 1:
        return pm.CoupledOgden(m=m, a=a, poisson=poisson, **options)
    if kind == 2:
        return pm.CoupledOgden(m=m, a=a, beta=rng.uniform(-0.2, 3.0, count), density=1.0)
    c1, c2 = rng.uniform(0.1, 1.0), rng.uniform(0.0, 0.3)
    if kind == 3:
        return pm.CoupledMooneyRivlin(c1=c1, c2=c2, bulk=rng.uniform(5.0, 500.0), **options)
    if kind == 4:
        return pm.MooneyRivlin(c1=c1, c2=c2, poisson=poisson, **options)
    return pm.NeoHookean(young=c1, poisson=poisson, **options)


def random_rotation(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def random_gradient(rng):
    """Principal stretches that are distinct, nearly equal or equal, two or all three, in random frames."""
    s = np.exp(rng.uniform(-0.5, 0.5, 3))
    gap = float(rng.choice([0.0, 1e-12, 1e-9, 1e-7, 1e-5, 3e-5, 1e-3]))
    alike = int(rng.integers(3))
    s[1 : 1 + alike] = s[0] * (1.0 + gap * np.arange(1, 1 + alike))
    return random_rotation(rng) @ np.diag(s) @ random_rotation(rng).T


@pytest.mark.parametrize("seed", range(40))
def test_random_materials_have_the_stress_and_tangent_of_their_energy(seed):
    """Derivatives by differences, also where stretches coincide; objectivity; no stress at rest."""
    rng = np.random.default_rng(seed)
    material = random_material(rng)
    scale = material.bulk_modulus + material.shear_modulus
    np.testing.assert_allclose(material.stress(np.eye(3)), 0.0, atol=1e-13 * scale)
    for _ in range(5):
        F, Q, h = random_gradient(rng), random_rotation(rng), 1e-4
        P, C = material.stress(F), material.tangent(F)
        # at h = 1e-4 differences of fourth order err by h⁴ of the derivatives and by round-off over h
        shifts = [np.outer(e, f) for e in np.eye(3) for f in np.eye(3)]

        def slope(function, F=F, shifts=shifts, h=h):
            return [
                (8.0 * (function(F + h * x) - function(F - h * x)) - function(F + 2 * h * x) + function(F - 2 * h * x))
                / (12.0 * h)
                for x in shifts
            ]

        size = np.abs(C).max()
        np.testing.assert_allclose(P.ravel(), slope(material.energy), atol=1e-9 * size)
        np.testing.assert_allclose(C.reshape(9, 9).T, np.reshape(slope(material.stress), (9, 9)), atol=1e-8 * size)
        np.testing.assert_allclose(material.stress(Q @ F), Q @ P, atol=1e-12 * size)
        np.testing.assert_allclose(material.stress(F @ Q), P @ Q, atol=1e-12 * size)


def test_one_term_in_a_tuple_is_the_same_material():
    F = random_gradient(np.random.default_rng(0))
    one = pm.Ogden(m=2.0, a=3.0, density=1.0)
    np.testing.assert_array_equal(pm.Ogden(m=(2.0,), a=(3.0,), density=1.0).stress(F), one.stress(F))
    halves = pm.Ogden(m=(1.0, 1.0), a=(3.0, 3.0), density=1.0)
    np.testing.assert_allclose(halves.stress(F), one.stress(F), rtol=1e-13, atol=1e-14)


def test_coupled_laws_contain_neo_hookean():
    F = random_gradient(np.random.default_rng(1))
    neo = pm.NeoHookean(young=2.0, poisson=0.3, density=1.0)
    mu = neo.shear_modulus
    ogden = pm.CoupledOgden(m=mu, a=2.0, poisson=0.3, density=1.0)
    mooney = pm.CoupledMooneyRivlin(c1=0.5 * mu, c2=0.0, poisson=0.3, density=1.0)
    for material in (ogden, mooney):
        np.testing.assert_allclose(material.stress(F), neo.stress(F), rtol=1e-12)
        np.testing.assert_allclose(material.tangent(F), neo.tangent(F), rtol=1e-10, atol=1e-12)


def in_shear(material, gamma):
    """Cauchy stress in simple shear of axes 0 and 1, whose volume stays."""
    F = np.eye(3) + gamma * np.outer([1.0, 0, 0], [0, 1.0, 0])
    return material.stress(F) @ F.T


@pytest.mark.parametrize("kind", [pm.Ogden, pm.CoupledOgden])
@pytest.mark.parametrize("gamma", [0.01, 0.7, 2.5])
def test_simple_shear_of_ogden(kind, gamma):
    """σ₁₂ = Σ m (λᵃ − λ⁻ᵃ)/(λ + 1/λ) with γ = λ − 1/λ, and Rivlin's relation σ₁₁ − σ₂₂ = γ σ₁₂."""
    stress = in_shear(kind(**THREE, density=1e3), gamma)
    stretch = 0.5 * gamma + np.sqrt(1.0 + 0.25 * gamma**2)
    exact = sum(m * (stretch**a - stretch**-a) for m, a in zip(THREE["m"], THREE["a"], strict=True))
    assert stress[0, 1] == pytest.approx(exact / (stretch + 1.0 / stretch), rel=1e-12)
    assert stress[0, 0] - stress[1, 1] == pytest.approx(gamma * stress[0, 1], rel=1e-10)


@pytest.mark.parametrize("kind", [pm.MooneyRivlin, pm.CoupledMooneyRivlin])
def test_torsion_of_mooney_rivlin(kind):
    """A cylinder turned by τ a length: torque π τ a⁴ (c1 + c2), axial force −π/2 τ² a⁴ (c1 + 2 c2) (Rivlin 1949).

    A ring at radius r is sheared by τ r; torque and, with the pressure eliminated, the force are integrals over r.
    """
    c1, c2, radius, turn = 3e4, 7e3, 0.02, 40.0
    material = kind(c1=c1, c2=c2, poisson=0.49, density=1e3)
    x, w = np.polynomial.legendre.leggauss(4)  # polynomials of degree 5
    torque = force = 0.0
    for r, dr in zip(0.5 * radius * (x + 1.0), 0.5 * radius * w, strict=True):
        circumferential, axial, radial = 0, 1, 2
        stress = in_shear(material, turn * r)
        torque += 2.0 * np.pi * r**2 * stress[circumferential, axial] * dr
        # N = π ∫ (2 σ_zz − σ_rr − σ_θθ) r dr, from the balance (r σ_rr)′ = σ_θθ with a free surface
        diagonal = np.diag(stress)
        force += np.pi * r * (2.0 * diagonal[axial] - diagonal[radial] - diagonal[circumferential]) * dr
    assert torque == pytest.approx(np.pi * turn * radius**4 * (c1 + c2), rel=1e-12)
    assert force == pytest.approx(-0.5 * np.pi * turn**2 * radius**4 * (c1 + 2.0 * c2), rel=1e-12)


@pytest.mark.parametrize("stretch", [0.8, 1.2, 1.9])
def test_equibiaxial_tension_of_ogden(stretch):
    """P = Σ m (sᵃ⁻¹ − s^(−2a − 1)) of a sheet that keeps its volume and has no stress across."""
    material = pm.Ogden(**THREE, density=1e3)
    P = np.diag(material.stress(np.diag([stretch, stretch, stretch**-2])))
    free = P[0] - P[2] * stretch**-2 / stretch  # the pressure that frees the faces, pulled back
    exact = sum(m * (stretch ** (a - 1) - stretch ** (-2 * a - 1)) for m, a in zip(THREE["m"], THREE["a"], strict=True))
    assert free == pytest.approx(exact, rel=1e-11)


def test_foam_with_beta_has_its_poisson_ratio_at_every_stretch():
    """With one β the lateral stretch in uniaxial tension is s^(−β/(1 + 2β)) = s^(−ν), at all strains."""
    nu = 0.3
    foam = pm.CoupledOgden(m=(2.0, -0.3), a=(3.0, -2.0), beta=nu / (1.0 - 2.0 * nu), density=1.0)
    assert foam.small_strain_poisson == pytest.approx(nu)
    for stretch in (0.4, 0.9, 1.7):
        P = foam.stress(np.diag([stretch, stretch**-nu, stretch**-nu]))
        assert abs(P[1, 1]) < 1e-12 * abs(P[0, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_volumetric_energies_give_the_pressure_they_name(kind):
    slopes = {
        "hyperbolic": lambda J: 0.25 * (J - 1 / J) * (1 + J**-2),
        "logarithmic": lambda J: np.log(J) / J,
        "simo": lambda J: 0.5 * (J - 1 / J),
        "quadratic": lambda J: J - 1,
        "miehe": lambda J: 1 - 1 / J,
        "liu": np.log,
    }
    material = pm.Ogden(**THREE, bulk=3e7, volumetric=kind, density=1.0)
    for J in (0.6, 0.99, 1.0, 1.3):
        F = J ** (1 / 3) * np.eye(3)
        pressure = np.trace(material.stress(F) @ F.T) / (3 * J)
        assert pressure == pytest.approx(3e7 * slopes[kind](J), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pm.Ogden(m=(1.0, 2.0), a=3.0, density=1.0), "2 moduli m and 1 exponents a"),
        (lambda: pm.Ogden(m=[1.0] * 7, a=[2.0] * 7, density=1.0), "at most 6 terms"),
        (lambda: pm.Ogden(m=(), a=(), density=1.0), "one number for each term"),
        (lambda: pm.Ogden(m=(1.0, 1.0), a=(2.0, 0.0), density=1.0), "must not be 0"),
        (lambda: pm.Ogden(m=(1.0, np.nan), a=(2.0, 3.0), density=1.0), "m of Ogden"),
        (lambda: pm.Ogden(m=(1.0, -3.0), a=(2.0, 2.0), density=1.0), "check the signs"),
        (lambda: pm.Ogden(m="1", a=2.0, density=1.0), "one number for each term"),
        (lambda: pm.CoupledOgden(m=1.0, a=2.0, beta=-0.4, density=1.0), "> −1/3"),
        (lambda: pm.CoupledOgden(m=1.0, a=2.0, beta=(0.1, 0.2), density=1.0), "1 terms and 2 values of beta"),
        (lambda: pm.CoupledOgden(m=1.0, a=2.0, beta=0.4, bulk=3.0, density=1.0), "beta or bulk"),
        (lambda: pm.CoupledOgden(m=1.0, a=2.0, poisson=-0.3, density=1.0), "raise poisson or bulk"),
        (lambda: pm.CoupledMooneyRivlin(c1=1.0, c2=1.0, poisson=0.2, density=1.0), "raise poisson or bulk"),
        (lambda: pm.CoupledMooneyRivlin(c1=1.0, c2=-2.0, density=1.0), "check the signs"),
        (lambda: pm.NeoHookean(young=1.0, poisson=0.3, density=1.0, volumetric="cubic"), "'miehe'"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
