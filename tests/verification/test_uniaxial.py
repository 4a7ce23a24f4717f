"""Uniaxial tension of a block on rollers: uniform, with a closed form for every material."""

import numpy as np
import pytest
from scipy.optimize import brentq

import pliant as pl

YOUNG, POISSON = 1e5, 0.45
MU = YOUNG / (2 * (1 + POISSON))
LAM = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
KAPPA = 1e6
LAME = {"young": YOUNG, "poisson": POISSON, "density": 1e3}


def isochoric(s):
    return [x / np.prod(s) ** (1 / 3) for x in s]


# energies of the principal stretches s, as the textbooks give them (Bonet & Wood 2008, ch. 6; Ogden 1972; Yeoh 1993)
CASES = [
    (
        pl.materials.Corotated(**LAME),
        lambda s: MU * sum((x - 1) ** 2 for x in s) + LAM / 2 * (sum(s) - 3) ** 2,
    ),
    (
        pl.materials.StVenantKirchhoff(**LAME),
        lambda s: MU * sum(((x**2 - 1) / 2) ** 2 for x in s) + LAM / 2 * sum((x**2 - 1) / 2 for x in s) ** 2,
    ),
    (
        pl.materials.NeoHookean(**LAME),
        lambda s: MU / 2 * (sum(x**2 for x in s) - 3) - MU * np.log(np.prod(s)) + LAM / 2 * np.log(np.prod(s)) ** 2,
    ),
    (
        pl.materials.MooneyRivlin(c1=2e4, c2=5e3, bulk=KAPPA, density=1e3),
        lambda s: (
            2e4 * (sum(x**2 for x in isochoric(s)) - 3)
            + 5e3 * (sum(x**-2 for x in isochoric(s)) - 3)
            + KAPPA / 8 * (np.prod(s) - 1 / np.prod(s)) ** 2
        ),
    ),
    (
        pl.materials.Yeoh(c1=2e4, c2=1e3, c3=50.0, bulk=KAPPA, density=1e3, volumetric="quadratic"),
        lambda s: (
            sum(c * (sum(x**2 for x in isochoric(s)) - 3) ** k for k, c in ((1, 2e4), (2, 1e3), (3, 50.0)))
            + KAPPA / 2 * (np.prod(s) - 1) ** 2
        ),
    ),
    (
        pl.materials.Ogden(m=2e4, a=3.0, bulk=KAPPA, density=1e3, volumetric="logarithmic"),
        lambda s: 2e4 / 3 * (sum(x**3 for x in isochoric(s)) - 3) + KAPPA / 2 * np.log(np.prod(s)) ** 2,
    ),
    (  # the three terms that Ogden (1972) fitted to Treloar's rubber, at a tenth of his moduli
        pl.materials.Ogden(m=(63e3, 120.0, -1e3), a=(1.3, 5.0, -2.0), bulk=KAPPA, density=1e3, volumetric="miehe"),
        lambda s: (
            sum(m / a * (sum(x**a for x in isochoric(s)) - 3) for m, a in ((63e3, 1.3), (120.0, 5.0), (-1e3, -2.0)))
            + KAPPA * (np.prod(s) - 1 - np.log(np.prod(s)))
        ),
    ),
    (  # FEBio, "Ogden unconstrained": c = (3e4, 4e3), m = (2.5, −2), cp = 1e5
        pl.materials.CoupledOgden(
            m=(3e4 / 2.5, -2e3), a=(2.5, -2.0), bulk=1e5 + 34e3 / 3, density=1e3, volumetric="quadratic"
        ),
        lambda s: (
            3e4 / 2.5**2 * (sum(x**2.5 for x in s) - 3 - 2.5 * np.log(np.prod(s)))
            + 4e3 / 4 * (sum(x**-2.0 for x in s) - 3 + 2 * np.log(np.prod(s)))
            + 1e5 / 2 * (np.prod(s) - 1) ** 2
        ),
    ),
    (  # hyperfoam of two terms: μ = (2e4, 5e3), α = (4, −2), β = (0.2, 0.5)
        pl.materials.CoupledOgden(m=(1e4, -5e3), a=(4.0, -2.0), beta=(0.2, 0.5), density=1e3),
        lambda s: sum(
            2 * mu / a**2 * (sum(x**a for x in s) - 3 + (np.prod(s) ** (-a * beta) - 1) / beta)
            for mu, a, beta in ((2e4, 4.0, 0.2), (5e3, -2.0, 0.5))
        ),
    ),
    (  # FEBio, "coupled Mooney-Rivlin": c1 = 2e4, c2 = 5e3, k = 1e5
        pl.materials.CoupledMooneyRivlin(c1=2e4, c2=5e3, bulk=1e5 + 4 / 3 * 2e4 + 16 / 3 * 5e3, density=1e3),
        lambda s: (
            2e4 * (sum(x**2 for x in s) - 3)
            + 5e3 * (s[0] ** 2 * s[1] ** 2 + s[1] ** 2 * s[2] ** 2 + s[2] ** 2 * s[0] ** 2 - 3)
            - 2 * (2e4 + 2 * 5e3) * np.log(np.prod(s))
            + 1e5 / 2 * np.log(np.prod(s)) ** 2
        ),
    ),
]


def nominal_stress(energy, s, axis):
    """∂ψ/∂s of one axis by complex step."""
    stretches = np.array(s, complex)
    stretches[axis] += 1e-30j
    return energy(stretches).imag / 1e-30


def closed_form(energy, stretch):
    """Lateral stretch with no lateral stress, and the axial nominal stress there."""
    lateral = brentq(lambda b: nominal_stress(energy, (stretch, b, b), 1), 0.3, 2.0, xtol=1e-15)
    return lateral, nominal_stress(energy, (stretch, lateral, lateral), 0)


@pytest.mark.parametrize(
    ("element", "anti_locking"), [("tet4", False), ("tet4", True), ("tet10", True), ("hex8", True)]
)
@pytest.mark.parametrize(("material", "energy"), CASES, ids=[type(m).__name__ for m, _ in CASES])
@pytest.mark.parametrize("stretch", [0.8, 1.5])
def test_pulled_block_has_the_stretches_of_the_closed_form(
    element, anti_locking, material, energy, stretch, distorted_box
):
    """A dead traction of the closed form stretches a distorted block uniformly to the closed form, to 1e-8."""
    lateral, stress = closed_form(energy, stretch)
    size = np.array([0.1, 0.04, 0.05])
    mesh = distorted_box(element, cells=(2, 2, 2), size=size, amount=0.15)
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, material, anti_locking=anti_locking))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    scene.add(pl.TractionLoad(body, pl.regions.plane(axis="x", at=size[0]), (stress, 0, 0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic(tolerance=1e-11)(world, world.initial_state())
    np.testing.assert_allclose(
        state.points(body), mesh.points * [stretch, lateral, lateral], rtol=0.0, atol=1e-8 * size.max()
    )
    cauchy = np.zeros((3, 3))
    cauchy[0, 0] = stress / lateral**2
    np.testing.assert_allclose(
        state.stress(body), np.broadcast_to(cauchy, (mesh.cell_count, 3, 3)), atol=1e-6 * abs(stress)
    )


def test_linear_law_is_hookes():
    """Linear: ε = σ/E along, −ν σ/E across, exactly."""
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (4, 2, 2))
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, pl.materials.Linear(**LAME)))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    scene.add(pl.TractionLoad(body, pl.regions.plane(axis="x", at=0.1), (2e3, 0, 0)))
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    strain = 2e3 / YOUNG * np.array([1.0, -POISSON, -POISSON])
    np.testing.assert_allclose(state.displacements(body), mesh.points * strain, atol=1e-13)
    assert info.iterations <= 2  # one finds the equilibrium, the other judges its stability
