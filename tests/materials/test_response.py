"""Energy, stress and tangent of F: derivatives, symmetries, limits and closed forms."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant.materials as pm
from pliant.materials import Part, Tangent

YOUNG, POISSON = 2.0, 0.35
MATERIALS = [
    pm.Linear(young=YOUNG, poisson=POISSON, density=1.0),
    pm.Corotated(young=YOUNG, poisson=POISSON, density=1.0),
    pm.StVenantKirchhoff(young=YOUNG, poisson=POISSON, density=1.0),
    pm.NeoHookean(young=YOUNG, poisson=POISSON, density=1.0),
    pm.MooneyRivlin(c1=0.3, c2=0.1, poisson=POISSON, density=1.0),
    pm.Yeoh(c1=0.4, c2=0.05, c3=0.01, poisson=POISSON, density=1.0),
    pm.Ogden(m=0.5, a=2.9, poisson=POISSON, density=1.0),
    pm.Ogden(m=-0.5, a=-3.0, poisson=POISSON, density=1.0),
    pm.Ogden(m=(0.5, -0.1, 0.01), a=(1.3, -2.0, 5.0), poisson=POISSON, density=1.0, volumetric="miehe"),
    pm.CoupledOgden(m=(0.5, -0.1, 0.01), a=(1.3, -2.0, 5.0), poisson=POISSON, density=1.0, volumetric="liu"),
    pm.CoupledOgden(m=(0.5, -0.1), a=(2.2, -2.0), beta=POISSON / (1.0 - 2.0 * POISSON), density=1.0),
    pm.CoupledMooneyRivlin(c1=0.3, c2=0.05, poisson=POISSON, density=1.0),
]
OBJECTIVE = MATERIALS[1:]
LOGARITHMIC = MATERIALS[3:]
every_material = pytest.mark.parametrize("material", MATERIALS, ids=repr)
every_objective = pytest.mark.parametrize("material", OBJECTIVE, ids=repr)
every_part = pytest.mark.parametrize("part", Part)
I = np.eye(3)  # noqa: E741


def rotations(count, seed):
    Q, R = np.linalg.qr(np.random.default_rng(seed).normal(size=(count, 3, 3)))
    Q = Q * np.sign(np.einsum("nii->ni", R))[:, None, :]
    return Q * np.sign(np.linalg.det(Q))[:, None, None]


def gradients(stretches, seed=0, count=4):
    """Deformation gradients with given principal stretches in random frames, shape (count, 3, 3)."""
    return rotations(count, seed) @ np.diag(stretches) @ rotations(count, seed + 1).transpose(0, 2, 1)


def random_gradients(count=20, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.5, 2.0, size=(count, 3))
    return rotations(count, seed + 10) @ (s[:, :, None] * rotations(count, seed + 11).transpose(0, 2, 1))


SPECIAL = [
    (1.0, 1.0, 1.0),
    (1.3, 1.3, 1.3),
    (0.7, 0.7, 0.7),
    (1.5, 1.5, 0.8),
    (1.5, 0.8, 0.8),
    (1.2, 1.0, 0.7),
    (1.2, 1.2 - 1e-9, 0.9),
    (1.2, 1.2 - 1e-6, 0.9),
    (1.2, 1.2 - 3e-5, 0.9),
]


def difference(function, F, step):
    """∂function/∂F by central differences, the two indices of F last."""
    columns = []
    for k in range(3):
        for q in range(3):
            shift = np.zeros((3, 3))
            shift[k, q] = step
            columns.append((function(F + shift) - function(F - shift)) / (2.0 * step))
    stacked = np.stack(columns, axis=-1)
    return stacked.reshape(*stacked.shape[:-1], 3, 3)


def assert_is_gradient(material, F, part):
    scale = max(material.shear_modulus, material.bulk_modulus)
    psi = difference(lambda F: material.energy(F, part=part), F, 1e-5)
    np.testing.assert_allclose(material.stress(F, part=part), psi, rtol=1e-7, atol=1e-8 * scale)
    P = difference(lambda F: material.stress(F, part=part), F, 1e-5)
    np.testing.assert_allclose(material.tangent(F, part=part), P, rtol=1e-7, atol=3e-8 * scale)


@every_part
@every_material
def test_stress_and_tangent_are_derivatives(material, part):
    assert_is_gradient(material, random_gradients(), part)


@every_part
@every_material
@pytest.mark.parametrize("stretches", SPECIAL)
def test_derivatives_hold_at_repeated_stretches(material, part, stretches):
    assert_is_gradient(material, gradients(stretches), part)


@every_part
@pytest.mark.parametrize("material", MATERIALS[:3], ids=repr)
@pytest.mark.parametrize("stretches", [(1.5, 1.0, -0.5), (1.0, 0.8, 0.0), (2.0, 1.0, -0.01)])
def test_derivatives_hold_through_inversion_where_the_energy_is_defined(material, part, stretches):
    assert_is_gradient(material, gradients(stretches), part)


@every_part
@pytest.mark.parametrize("kind", Tangent)
@every_material
def test_tangent_has_major_symmetry(material, part, kind):
    C = material.tangent(random_gradients(), part=part, kind=kind)
    np.testing.assert_allclose(C, np.einsum("nijkl->nklij", C), rtol=0.0, atol=1e-13 * np.abs(C).max())


@every_part
@every_material
def test_small_strain_limit_is_hooke(material, part):
    """At F = I the tangent is μ(δᵢₖδⱼₗ + δᵢₗδⱼₖ) + λδᵢⱼδₖₗ with the moduli the material states."""
    mu, kappa = material.shear_modulus, material.bulk_modulus
    of_shear = {pm.MooneyRivlin: 0.0, pm.Yeoh: 0.0, pm.Ogden: 0.0, pm.CoupledMooneyRivlin: 2.0 * mu / 3.0 + 4.0 * 0.05}
    bulk = of_shear.get(type(material), 2.0 * mu / 3.0)
    assert material.shear_part_bulk_modulus == pytest.approx(bulk)
    split = {Part.SHEAR: (mu, bulk - 2.0 * mu / 3.0), Part.VOLUME: (0.0, kappa - bulk)}
    g, h = split.get(part, (mu, kappa - 2.0 * mu / 3.0))
    hooke = g * (np.einsum("ik,jl->ijkl", I, I) + np.einsum("il,jk->ijkl", I, I)) + h * np.einsum("ij,kl->ijkl", I, I)
    np.testing.assert_allclose(material.tangent(I, part=part), hooke, rtol=0.0, atol=1e-13 * kappa)
    assert material.small_strain_poisson == pytest.approx(POISSON)


@every_part
@every_material
def test_rest_is_free_of_energy_and_stress(material, part):
    assert material.energy(I, part=part) == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(material.stress(I, part=part), 0.0, atol=1e-15)


@every_part
@every_objective
def test_frame_indifference(material, part):
    """ψ(QF) = ψ(F), P(QF) = Q P(F)."""
    F, Q = random_gradients(), rotations(20, 5)
    np.testing.assert_allclose(material.energy(Q @ F, part=part), material.energy(F, part=part), atol=1e-13)
    np.testing.assert_allclose(material.stress(Q @ F, part=part), Q @ material.stress(F, part=part), atol=1e-12)


@every_part
@every_objective
def test_isotropy(material, part):
    """ψ(FQ) = ψ(F), P(FQ) = P(F) Q."""
    F, Q = random_gradients(), rotations(20, 6)
    np.testing.assert_allclose(material.energy(F @ Q, part=part), material.energy(F, part=part), atol=1e-13)
    np.testing.assert_allclose(material.stress(F @ Q, part=part), material.stress(F, part=part) @ Q, atol=1e-12)


def test_linear_is_not_frame_invariant():
    """Why it is for small rotations only: a rotation costs energy."""
    assert MATERIALS[0].energy(rotations(1, 7)[0]) > 0.01


@every_objective
def test_kirchhoff_stress_is_symmetric(material):
    """Balance of angular momentum: P Fᵀ = F Pᵀ."""
    F = random_gradients()
    tau = material.stress(F) @ F.transpose(0, 2, 1)
    np.testing.assert_allclose(tau, tau.transpose(0, 2, 1), atol=1e-12)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(0.2, 4.0), min_size=3, max_size=3), st.integers(0, 1000))
def test_energy_is_not_negative(stretches, seed):
    F = gradients(stretches, seed=seed, count=1)[0]
    for material in MATERIALS:
        for part in Part:
            assert material.energy(F, part=part) >= -1e-14


@every_material
def test_parts_add_up(material):
    F = random_gradients()
    for function in (material.energy, material.stress, material.tangent):
        total = function(F)
        parts = function(F, part=Part.SHEAR) + function(F, part=Part.VOLUME)
        np.testing.assert_allclose(parts, total, rtol=0.0, atol=1e-12 * np.abs(total).max())


@every_part
@every_material
def test_projected_tangent_is_the_positive_part(material, part):
    """PROJECTED is the nearest positive semi-definite matrix to EXACT: same eigenvectors, eigenvalues clipped at 0."""
    F = np.concatenate([random_gradients(), *(gradients(s, count=2) for s in SPECIAL), gradients((0.4, 0.3, 0.2))])
    exact = material.tangent(F, part=part).reshape(-1, 9, 9)
    projected = material.tangent(F, part=part, kind=Tangent.PROJECTED).reshape(-1, 9, 9)
    values, vectors = np.linalg.eigh(exact)
    clipped = vectors @ (np.maximum(values, 0.0)[:, :, None] * vectors.transpose(0, 2, 1))
    scale = np.abs(exact).max()
    np.testing.assert_allclose(projected, clipped, rtol=0.0, atol=1e-12 * scale)
    convex = values[:, 0] >= 0.0
    np.testing.assert_allclose(projected[convex], exact[convex], rtol=0.0, atol=1e-12 * scale)


def test_projection_meets_indefinite_tangents():
    """The test above is not empty: compression makes every nonlinear tangent indefinite."""
    F = gradients((0.4, 0.3, 0.2))
    for material in OBJECTIVE:
        assert np.linalg.eigvalsh(material.tangent(F).reshape(-1, 9, 9)).min() < 0.0
        psd = np.linalg.eigvalsh(material.tangent(F, kind=Tangent.PROJECTED).reshape(-1, 9, 9))
        assert psd.min() > -1e-12 * psd.max()


@every_objective
def test_warped_tangent_is_exact_at_rest_and_ignores_spins(material):
    """WARPED drops the change of rotation: exact at F = I, and zero on δF = W F for F = I, W skew."""
    spin = np.array([[0.0, -1.0, 0.5], [1.0, 0.0, -0.3], [-0.5, 0.3, 0.0]])
    warped = material.tangent(I, kind=Tangent.WARPED)
    np.testing.assert_allclose(warped, material.tangent(I), atol=1e-13 * np.abs(warped).max())
    np.testing.assert_allclose(np.einsum("ijkl,kl->ij", warped, spin), 0.0, atol=1e-13)


def test_warped_tangent_of_corotated_is_rotated_hooke():
    """C = R C₀ Rᵀ, R the rotation of F, whatever the stretch: what `models.volume.corotated` relies on."""
    material = MATERIALS[1]
    Q, s = rotations(5, 8), np.diag([1.4, 1.1, 0.8])
    C = material.tangent(Q @ s, kind=Tangent.WARPED)
    expected = np.einsum("nia,nkc,ajcl->nijkl", Q, Q, material.tangent(I))
    np.testing.assert_allclose(C, expected, atol=1e-13 * np.abs(C).max())


@every_part
@pytest.mark.parametrize("kind", Tangent)
@every_material
@pytest.mark.parametrize(
    "stretches",
    [
        (1.2, 1.0, -0.3),
        (1.0, 1.0, -1.0),
        (1.0, 1.0, 0.0),
        (1.0, 0.0, 0.0),
        (0.0, 0.0, 0.0),
        (2.0, 0.5, -0.5),
        (1e3, 1.0, 1e-3),
    ],
)
def test_inverted_and_flat_states_never_give_nan(material, part, kind, stretches):
    F = gradients(stretches)
    psi = material.energy(F, part=part)
    assert not np.isnan(psi).any()
    assert (psi > -1e-12).all()
    assert np.isfinite(material.stress(F, part=part)).all()
    assert np.isfinite(material.tangent(F, part=part, kind=kind)).all()


@pytest.mark.parametrize("material", LOGARITHMIC, ids=repr)
def test_inverted_states_have_infinite_energy(material):
    assert np.isinf(material.energy(gradients((1.2, 1.0, -0.3)))).all()


# Closed forms


def uniaxial_stress(material, stretch):
    """Engineering stress of a bar free at its sides: the lateral stretch is solved for."""

    def side(lateral):
        return material.stress(np.diag([stretch, lateral, lateral]))[1, 1]

    guess = stretch**-0.5
    lateral = scipy.optimize.brentq(side, 0.5 * guess, 1.5 * guess, xtol=1e-15)
    return material.stress(np.diag([stretch, lateral, lateral]))[0, 0]


def incompressible_stress(material, x):
    """Uniaxial engineering stress of the incompressible material, by hand."""
    if isinstance(material, pm.Ogden):
        return material.m * (x ** (material.a - 1.0) - x ** (-0.5 * material.a - 1.0))
    if isinstance(material, pm.MooneyRivlin):
        return 2.0 * (x - x**-2.0) * (material.c1 + material.c2 / x)
    if isinstance(material, pm.Yeoh):
        e = x * x + 2.0 / x - 3.0
        return 2.0 * (x - x**-2.0) * (material.c1 + 2.0 * material.c2 * e + 3.0 * material.c3 * e * e)
    return material.shear_modulus * (x - x**-2.0)


@pytest.mark.parametrize("stretch", [0.5, 0.8, 1.3, 2.0, 3.0])
@pytest.mark.parametrize(
    "build",
    [
        lambda nu: pm.NeoHookean(young=3e5, poisson=nu, density=1.0),
        lambda nu: pm.MooneyRivlin(c1=3e4, c2=1e4, poisson=nu, density=1.0),
        lambda nu: pm.Yeoh(c1=3e4, c2=1e2, c3=3.0, poisson=nu, density=1.0),
        lambda nu: pm.Ogden(m=5e4, a=2.6, poisson=nu, density=1.0),
    ],
)
def test_uniaxial_stress_reaches_the_incompressible_closed_form(build, stretch):
    """The error falls in proportion to 1 − 2ν: a rate, not only a tolerance."""
    errors = []
    for nu in (0.499, 0.4999, 0.49999):
        material = build(nu)
        expected = incompressible_stress(material, stretch)
        errors.append(abs(uniaxial_stress(material, stretch) / expected - 1.0))
    assert errors[2] < 2e-4
    np.testing.assert_allclose(np.log10(errors[:2]) - np.log10(errors[1:]), 1.0, atol=0.05)


@every_part
@pytest.mark.parametrize("gamma", [0.1, 1.0, 3.0])
def test_simple_shear_of_neo_hookean(gamma, part):
    """P₁₂ = μγ at every γ, all of it from the shear part; J = 1, so the volume part carries no stress."""
    material = MATERIALS[3]
    F = I + gamma * np.outer(I[0], I[1])
    expected = 0.0 if part is Part.VOLUME else material.shear_modulus * gamma
    P = material.stress(F, part=part)
    assert P[0, 1] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert P[1, 0] == pytest.approx(expected, rel=1e-12, abs=1e-12)  # p F⁻ᵀ = −μ F⁻ᵀ adds μγ below the diagonal


@pytest.mark.parametrize("c", [0.6, 0.9, 1.0, 1.2, 1.8])
def test_hydrostatic_stretch(c):
    """F = cI: isochoric laws answer with U′(J) c² of U = κ/8 (J − 1/J)², neo-Hookean with μ(c − 1/c) + 3λ ln(c)/c."""
    for material in MATERIALS[4:8]:
        expected = 0.25 * material.bulk_modulus * (c**3 - c**-9) * c * c
        np.testing.assert_allclose(material.stress(c * I), expected * I, atol=1e-12)
    material = MATERIALS[3]
    mu, lam = material.shear_modulus, material.bulk_modulus - 2.0 * material.shear_modulus / 3.0
    expected = mu * (c - 1.0 / c) + 3.0 * lam * np.log(c) / c
    np.testing.assert_allclose(material.stress(c * I), expected * I, atol=1e-12)
    corotated = 3.0 * MATERIALS[1].bulk_modulus * (c - 1.0)
    np.testing.assert_allclose(MATERIALS[1].stress(c * I), corotated * I, atol=1e-12)


def test_corotated_energy_is_its_definition():
    """ψ = μ‖F − R‖² + λ/2 tr(RᵀF − I)²."""
    material = MATERIALS[1]
    mu, lam = material.shear_modulus, material.bulk_modulus - 2.0 * material.shear_modulus / 3.0
    for F in random_gradients():
        U, _, Vt = np.linalg.svd(F)
        R = U @ Vt
        expected = mu * np.sum((F - R) ** 2) + 0.5 * lam * np.trace(R.T @ F - I) ** 2
        assert material.energy(F) == pytest.approx(expected)


def test_st_venant_kirchhoff_stress_is_its_definition():
    """P = F (2μE + λ tr(E) I)."""
    material = MATERIALS[2]
    mu, lam = material.shear_modulus, material.bulk_modulus - 2.0 * material.shear_modulus / 3.0
    for F in random_gradients():
        E = 0.5 * (F.T @ F - I)
        np.testing.assert_allclose(material.stress(F), F @ (2.0 * mu * E + lam * np.trace(E) * I), atol=1e-13)


def test_ogden_with_exponent_two_is_neo_hookean_shape():
    """Exponent 2 and Yeoh with c1 alone are the same energy: m/2 = c1."""
    F = random_gradients()
    ogden = pm.Ogden(m=0.8, a=2.0, density=1.0)
    yeoh = pm.Yeoh(c1=0.4, density=1.0)
    np.testing.assert_allclose(ogden.stress(F), yeoh.stress(F), atol=1e-12)
    np.testing.assert_allclose(ogden.tangent(F), yeoh.tangent(F), rtol=0.0, atol=1e-11)
