"""Materials with memory against closed forms: relaxation, creep and dynamic modulus in shear; order of the steppers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, curve_fit

import pliant as pl

L = 0.02
YOUNG, POISSON = 1e5, 0.45
MU = YOUNG / (2.0 * (1.0 + POISSON))
LAWS = {
    "neo-Hookean": pl.materials.NeoHookean(young=YOUNG, poisson=POISSON, density=1e3),
    "corotated": pl.materials.Corotated(young=YOUNG, poisson=POISSON, density=1e3),
    "linear": pl.materials.Linear(young=YOUNG, poisson=POISSON, density=1e3),
    "Yeoh": pl.materials.Yeoh(c1=MU / 2, c2=0.0, c3=0.0, poisson=POISSON, density=1e3),
}
BRANCHES = [(0.3, 0.05), (0.2, 0.5)]


def sheared(material, strain, element="tet4", anti_locking=True):
    """A cube whose surface is sheared by `strain`: (world, body, supports by height)."""
    scene = pl.Scene(gravity=(0, 0, 0))
    mesh = pl.mesh.box((L, L, L), (2, 2, 2), element=element)
    body = scene.add(pl.Volume(mesh, material, anti_locking=anti_locking))
    outer = np.isclose(mesh.points, 0.0) | np.isclose(mesh.points, L)
    supports = []
    for z in np.unique(mesh.points[:, 2]):
        layer = pl.regions.nodes(np.flatnonzero(outer.any(axis=1) & (mesh.points[:, 2] == z)))
        supports.append((z, scene.add(pl.Support(body, layer, displacement=(strain * z, 0.0, 0.0)))))
    return scene.compile(), body, supports


def stress(state, body):
    return float(state.stress(body)[:, 0, 2].mean())


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler, pl.ImplicitMidpoint, pl.DampedMidpoint])
@pytest.mark.parametrize("law", LAWS)
def test_a_held_shear_relaxes_as_its_series(law, stepper):
    """After a sudden strain the stress is γ μ(t) at every step, whatever dt is."""
    strain = 1e-5  # laws differ by its square
    material = pl.materials.Viscoelastic(LAWS[law], BRANCHES)
    world, body, _ = sheared(material, strain)
    state, _ = pl.QuasiStatic(viscoelastic="instantaneous")(world, world.initial_state())
    found = [stress(state, body)]
    step = stepper(dt=0.02, tolerance=1e-8)
    for _ in range(20):
        state, _ = step(world, state)
        found.append(stress(state, body))
    expected = strain * material.shear_relaxation(0.02 * np.arange(21))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("element", "anti_locking"), [("tet10", True), ("hex8", True), ("tet4", False)])
def test_every_element_relaxes_at_finite_strain(element, anti_locking):
    """Simple shear of a neo-Hookean material has the stress μ γ at any strain."""
    material = pl.materials.Viscoelastic(LAWS["neo-Hookean"], BRANCHES)
    world, body, _ = sheared(material, 0.5, element, anti_locking)
    state, _ = pl.QuasiStatic(viscoelastic="instantaneous")(world, world.initial_state())
    step = pl.ImplicitEuler(dt=0.1, tolerance=1e-10)
    for _ in range(3):
        state, info = step(world, state)
    expected = 0.5 * material.shear_relaxation(0.3)
    assert stress(state, body) == pytest.approx(expected, rel=1e-9)
    pushed = info.reaction(body)[np.isclose(state.q[0][:, 2], L), 0].sum()
    assert abs(pushed) > 0.3 * expected * L**2, "the supports feel what is remembered"


def test_statics_are_relaxed_or_instantaneous():
    material = pl.materials.Viscoelastic(LAWS["linear"], BRANCHES)
    world, body, _ = sheared(material, 1e-3)
    relaxed, _ = pl.QuasiStatic()(world, world.initial_state())
    sudden, _ = pl.QuasiStatic(viscoelastic="instantaneous")(world, world.initial_state())
    assert stress(relaxed, body) == pytest.approx(1e-3 * MU, rel=1e-9)
    assert stress(sudden, body) == pytest.approx(2e-3 * MU, rel=1e-9)
    later, _ = pl.QuasiStatic()(world, sudden)
    assert stress(later, body) == pytest.approx(1e-3 * MU, rel=1e-9)


def crept(dt, until):
    """Shear strain under a sudden shear stress of 10 Pa, at each step; the body has next to no mass."""
    base = pl.materials.Linear(young=YOUNG, poisson=POISSON, density=1e-6)
    scene = pl.Scene(gravity=(0, 0, 0))
    mesh = pl.mesh.box((L, L, L), (1, 1, 1))
    material = pl.materials.Viscoelastic(base, [(0.6, 0.2)])
    bottom = pl.regions.plane(axis="z", at=0.0)
    body = scene.add(pl.Volume(mesh, material, clamp=bottom, anti_locking=False))
    top = pl.regions.plane(axis="z", at=L)
    scene.add(pl.Support(body, top, axes="yz"))
    scene.add(pl.TractionLoad(body, top, (10.0, 0.0, 0.0)))
    world = scene.compile()
    state, _ = pl.QuasiStatic(viscoelastic="instantaneous")(world, world.initial_state())
    strains = [state.displacements(body)[-1, 0] / L]
    step = pl.ImplicitEuler(dt=dt, tolerance=1e-11)
    for _ in range(round(until / dt)):
        state, _ = step(world, state)
        strains.append(state.displacements(body)[-1, 0] / L)
    return np.array(strains)


def test_creep_under_a_held_load_is_that_of_the_standard_solid():
    """γ(t) = σ/μ (1 − g e^(−t/τ_c)) with the retardation time τ_c = τ/(1 − g), to 1e-6, and second order in dt."""
    found = crept(5e-4, 0.1)
    t = 5e-4 * np.arange(len(found))
    expected = 10.0 / MU * (1.0 - 0.6 * np.exp(-t / (0.2 / 0.4)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    coarse = crept(0.05, 0.1)[-1] - expected[-1]
    fine = crept(0.025, 0.1)[-1] - expected[-1]
    assert coarse / fine == pytest.approx(4.0, rel=0.1)


def test_an_oscillation_has_the_dynamic_modulus():
    """γ₀ sin ωt has the stress γ₀ Im(μ* e^(iωt)) and what has not yet faded of the start."""
    strain, f, count = 1e-3, 2.0, 1200
    material = pl.materials.Viscoelastic(LAWS["linear"], [(0.4, 0.1)])
    world, body, supports = sheared(material, 0.0, anti_locking=False)
    state, step = world.initial_state(), pl.ImplicitEuler(dt=1.0 / (f * count))
    w = 2 * np.pi * f
    found = []
    for k in range(count):
        now = strain * np.sin(w * (k + 1) / (f * count))
        state, _ = step(world, state, {support: pl.Displacement((now * z, 0.0, 0.0)) for z, support in supports})
        found.append(stress(state, body))
    t = (np.arange(count) + 1.0) / (f * count)
    modulus = material.dynamic_shear_modulus(f)
    g0, tau = 0.4 / 0.6 * MU, 0.1
    start = -strain * g0 * w * tau / (1.0 + (w * tau) ** 2) * np.exp(-t / tau)
    expected = strain * (modulus * np.exp(1j * w * t)).imag + start
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * strain * abs(modulus))


def swing(stepper, until):
    """Deflection of a soft beam with memory under gravity that grows and fades smoothly."""
    base = pl.materials.NeoHookean(young=2e5, poisson=0.4, density=1e3)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
    material = pl.materials.Viscoelastic(base, [(0.3, 0.03)])
    scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0)))
    world = scene.compile()
    state = world.initial_state()
    for k in range(round(until / stepper.dt)):
        middle = (k + 0.5) * stepper.dt
        state, _ = stepper(world, state, {"gravity": (0.0, 0.0, -10.0 * np.sin(np.pi * middle / until) ** 2)})
    return state.q[0][-1, 2]


@pytest.mark.parametrize("kind", [pl.ImplicitMidpoint, pl.DampedMidpoint])
def test_midpoint_is_second_order_with_memory(kind):
    coarse, fine, finest = (swing(kind(dt=dt, tolerance=1e-10), 0.24) for dt in (0.012, 0.006, 0.003))
    assert np.log2(abs(coarse - fine) / abs(fine - finest)) > 1.8


def ring(material):
    """Damping rate (1/s) and angular frequency (rad/s) of the tip of a beam that is let go."""
    scene = pl.Scene(gravity=(0, 0, 0))
    mesh = pl.mesh.box((0.1, 0.03, 0.02), (6, 2, 2))  # symmetric, and no two modes of one frequency
    body = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0)))
    push = scene.add(pl.PointLoad(body, pl.regions.plane(axis="x", at=0.1), (0.0, 0.0, 0.002)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    step, tip = pl.ImplicitMidpoint(dt=0.0025, tolerance=1e-8), []
    for _ in range(240):
        state, _ = step(world, state, {push: pl.Force((0.0, 0.0, 0.0))})
        tip.append(state.displacements(body)[-1, 2])
    t, tip = 0.0025 * np.arange(1, 241), np.array(tip)
    form = lambda t, a, b, c, w: np.exp(-c * t) * (a * np.cos(w * t) + b * np.sin(w * t))  # noqa: E731
    (_, _, rate, frequency), _ = curve_fit(form, t, tip / tip[0], p0=(1.0, 0.0, 1.0, 29.0))
    return rate, frequency


def test_a_beam_rings_down_as_its_complex_modulus_says():
    """With E ∝ μ(t), as of nearly incompressible rubber, s² = −ω² (1 + γ s τ/(1 + s τ))."""
    base = pl.materials.Corotated(young=2e5, poisson=0.49, density=1e3)
    _, w = ring(base)
    gamma, tau = 0.25, 0.02
    rate, frequency = ring(pl.materials.Viscoelastic(base, [(gamma / (1 + gamma), tau)]))
    roots = np.roots([tau, 1.0, w**2 * tau * (1.0 + gamma), w**2])
    s = roots[roots.imag > 0.0][0]
    assert frequency == pytest.approx(s.imag, rel=0.01)
    assert rate == pytest.approx(-s.real, rel=0.03)


def test_a_uniaxial_bar_follows_the_equation_of_its_stretch():
    """Tension of a bar with free sides at finite strain: the coupled rates of lateral stretch and branch stress."""
    material = pl.materials.Viscoelastic(LAWS["neo-Hookean"], [(0.5, 0.1)])
    lam = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    scene = pl.Scene(gravity=(0, 0, 0))
    mesh = pl.mesh.box((L, L, L), (1, 1, 1))
    body = scene.add(pl.Volume(mesh, material, anti_locking=False))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    end = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=L), axes="x", displacement=0.5 * L))
    world = scene.compile()
    state, _ = pl.QuasiStatic(viscoelastic="instantaneous")(world, world.initial_state())
    step = pl.ImplicitEuler(dt=0.002, tolerance=1e-10)
    for _ in range(50):
        state, info = step(world, state, {end: pl.Displacement(0.5 * L)})
    found = info.reaction(body)[np.isclose(mesh.points[:, 0], L), 0].sum() / L**2

    def S(s):
        return MU * (1.0 - 1.0 / s**2)

    # Q = γ S − z, ż = Q/τ, which avoids the rate of S; γ = g/(1 − g) = 1
    s = 1.5

    def state_of(z):
        b = brentq(lambda b: MU * (b - 1 / b) + lam * np.log(s * b * b) / b + b * (S(b) - z[1]), 0.5, 1.2, xtol=1e-14)
        return b, np.array([S(s) - z[0], S(b) - z[1]])

    solved = solve_ivp(lambda t, z: state_of(z)[1] / 0.1, (0.0, 0.1), [0.0, 0.0], rtol=1e-10, atol=1e-8)
    b, Q = state_of(solved.y[:, -1])
    expected = MU * (s - 1 / s) + lam * np.log(s * b * b) / s + s * Q[0]
    assert found == pytest.approx(expected, rel=2e-5)
