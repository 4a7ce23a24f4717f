"""Rods and beams with memory against closed forms: relaxation, creep, dynamic modulus, ring-down; random series against
an independent integration; order of the steppers.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import curve_fit

import pliant as pl

YOUNG, LENGTH, RADIUS = 1e6, 0.2, 0.005
LIGHT = pl.materials.Linear(young=YOUNG, poisson=0.45, density=1e-6)  # kg/m³: no inertia worth a digit
HEAVY = pl.materials.Linear(young=YOUNG, poisson=0.45, density=1e3)
BRANCHES = [(0.3, 0.05), (0.2, 0.5)]
STEPPERS = [pl.ImplicitEuler, pl.ImplicitMidpoint, pl.DampedMidpoint]
SUDDEN = pl.QuasiStatic(viscoelastic="instantaneous")


def rod(material, strains, sections=1, **options):
    """A cantilever along x in a scene without gravity."""
    scene = pl.Scene(gravity=(0, 0, 0))
    section = pl.sections.Circle(RADIUS)
    return scene, scene.add(pl.Rod(LENGTH, sections, section=section, material=material, strains=strains, **options))


def faded(t):
    """Modulus at the time t over the relaxed one."""
    rest = 1.0 - sum(g for g, _ in BRANCHES)
    return 1.0 + sum(g / rest * np.exp(-t / tau) for g, tau in BRANCHES)


@pytest.mark.parametrize("stepper", STEPPERS)
def test_the_moment_of_a_bent_rod_fades_as_its_series(stepper):
    """A cable of constant length holds the only strain of a rod; the moment is M(t) at every step, whatever dt is."""
    scene, body = rod(pl.materials.Viscoelastic(LIGHT, BRANCHES), ("bend_y",))
    cable = scene.add(pl.Cable(body, [(0.0, 0.0, RADIUS), (LENGTH, 0.0, RADIUS)]))
    world = scene.compile()
    bend = {cable: pl.Displacement(0.002)}
    state, _ = SUDDEN(world, world.initial_state(), bend)
    relaxed, _ = pl.QuasiStatic()(world, world.initial_state(), bend)
    moment = relaxed.section_forces(body)[0, 4]
    found, step = [state.section_forces(body)[0, 4]], stepper(dt=0.02, tolerance=1e-10)
    for _ in range(20):
        state, _ = step(world, state, bend)
        found.append(state.section_forces(body)[0, 4])
    np.testing.assert_allclose(found, moment * faded(0.02 * np.arange(21)), rtol=1e-6)
    fibre = state.fibre_stress(body)[0] / relaxed.fibre_stress(body)[0]
    assert fibre == pytest.approx(found[-1] / moment, rel=1e-6)


@pytest.mark.parametrize("stepper", STEPPERS)
def test_the_moment_of_a_bent_beam_fades_as_its_series(stepper):
    scene = pl.Scene(gravity=(0, 0, 0))
    material = pl.materials.Viscoelastic(LIGHT, BRANCHES)
    nodes = np.linspace((0, 0, 0), (LENGTH, 0, 0), 3)
    body = scene.add(pl.Beam(nodes, section=pl.sections.Circle(RADIUS), material=material, clamp=[0]))
    scene.add(pl.Support(body, [2], rotation=(0.0, 0.4, 0.0), displacement=(-0.005, 0.0, -0.03)))
    world = scene.compile()
    state, _ = SUDDEN(world, world.initial_state())
    relaxed, _ = pl.QuasiStatic()(world, world.initial_state())
    expected = relaxed.section_forces(body)[0, 0]
    step = stepper(dt=0.05, tolerance=1e-10)
    for _ in range(8):
        state, _ = step(world, state)
    found, tiny = state.section_forces(body)[0, 0], 1e-6 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected * faded(0.4), rtol=0, atol=tiny)


def crept(stepper, until):
    """Curvature vector (rad) of a rod under a sudden end moment of 1 mN·m, at each step."""
    scene, body = rod(pl.materials.Viscoelastic(LIGHT, [(0.6, 0.2)]), ("bend_y",))
    scene.add(pl.RodLoad(body, LENGTH, (0, 0, 0), (0.0, 1e-3, 0.0)))
    world = scene.compile()
    state, _ = SUDDEN(world, world.initial_state())
    found = [state.strains(body)[0, 1]]
    for _ in range(round(until / stepper.dt)):
        state, _ = stepper(world, state)
        found.append(state.strains(body)[0, 1])
    return np.array(found)


def test_creep_under_an_end_moment_is_that_of_the_standard_solid():
    """κ(t) = M/EI (1 − g e^(−t/τ_c)) with τ_c = τ/(1 − g), to 1e-6, and second order in dt."""
    curvature = 1e-3 / (YOUNG * np.pi * RADIUS**4 / 4)
    found = crept(pl.ImplicitEuler(dt=5e-4, tolerance=1e-11), 0.1)
    expected = curvature * (1.0 - 0.6 * np.exp(-5e-4 * np.arange(len(found)) / 0.5))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    errors = [crept(pl.ImplicitEuler(dt=dt, tolerance=1e-11), 0.1)[-1] - expected[-1] for dt in (0.05, 0.025)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_a_sinusoidal_twist_has_the_dynamic_modulus():
    """T₀ sin ωt twists by Im(T₀ e^(iωt)/K*), K* = G*(ω) J/L, less what has not yet faded of the start."""
    torque, f, count, g, tau = 1e-4, 2.0, 2000, 0.4, 0.1
    material = pl.materials.Viscoelastic(LIGHT, [(g, tau)])
    scene, body = rod(material, ("twist",))
    load = scene.add(pl.RodLoad(body, LENGTH, (0, 0, 0), (0.0, 0.0, 0.0)))
    world = scene.compile()
    state, step, found = world.initial_state(), pl.ImplicitEuler(dt=1.0 / (f * count)), []
    w, t = 2 * np.pi * f, (np.arange(count // 2) + 1.0) / (f * count)
    for now in t:
        state, _ = step(world, state, {load: pl.Wrench([(0, 0, 0), (torque * np.sin(w * now), 0, 0)])})
        found.append(state.strains(body)[0, 0])
    J = np.pi * RADIUS**4 / 2
    late = tau / (1.0 - g)
    start = torque / (material.shear_modulus * J) * g * w * late / (1.0 + (w * late) ** 2) * np.exp(-t / late)
    expected = (torque / (material.dynamic_shear_modulus(f) * J) * np.exp(1j * w * t)).imag + start
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def swing(stepper, until, kind):
    """Deflection of a soft rod with memory under gravity that grows and fades smoothly."""
    material = pl.materials.Viscoelastic(HEAVY, [(0.3, 0.03)], viscosity=1e-3)
    if kind == "rod":
        scene, body = rod(material, ("bend_y", "bend_z", "twist"), 3)
    else:
        scene = pl.Scene(gravity=(0, 0, 0))
        nodes = np.linspace((0, 0, 0), (LENGTH, 0, 0), 5)
        body = scene.add(pl.Beam(nodes, section=pl.sections.Circle(RADIUS), material=material, clamp=[0]))
    world = scene.compile()
    state = world.initial_state()
    for k in range(round(until / stepper.dt)):
        middle = (k + 0.5) * stepper.dt
        state, _ = stepper(world, state, {"gravity": (0.0, 0.0, -10.0 * np.sin(np.pi * middle / until) ** 2)})
    return state.points(body)[-1, 2]


@pytest.mark.parametrize("kind", ["rod", "beam"])
@pytest.mark.parametrize("stepper", [pl.ImplicitMidpoint, pl.DampedMidpoint])
def test_midpoint_is_second_order_with_memory(stepper, kind):
    coarse, fine, finest = (swing(stepper(dt=dt, tolerance=1e-10), 0.24, kind) for dt in (0.008, 0.004, 0.002))
    assert np.log2(abs(coarse - fine) / abs(fine - finest)) > 1.8


def ring(material):
    """Damping rate (1/s) and angular frequency (rad/s) of the tip of a rod that is let go."""
    scene = pl.Scene(gravity=(0, 0, 0))
    section = pl.sections.Circle(RADIUS)
    body = scene.add(pl.Rod(0.1, 3, section=section, material=material, strains=("bend_y", "stretch")))
    push = scene.add(pl.RodLoad(body, 0.1, (0.0, 0.0, 1e-4)))
    world = scene.compile()
    state, _ = pl.QuasiStatic()(world, world.initial_state())
    step, tip, count = pl.ImplicitMidpoint(dt=0.0025, tolerance=1e-8), [], 320
    for _ in range(count):
        state, _ = step(world, state, {push: pl.Force((0.0, 0.0, 0.0))})
        tip.append(state.displacements(body)[-1, 2])
    late = slice(count // 4, None)  # higher modes and what creeps have faded
    t, tip = (0.0025 * np.arange(1, count + 1))[late], np.array(tip)[late]
    form = lambda t, a, b, c, w: np.exp(-c * t) * (a * np.cos(w * t) + b * np.sin(w * t))  # noqa: E731
    (_, _, rate, frequency), _ = curve_fit(form, t, tip / np.abs(tip).max(), p0=(1.0, 0.0, 1.0, 28.0))
    return rate, frequency


def test_a_cantilever_rings_down_as_its_complex_modulus_says():
    """All strains relax alike, so that s² = −ω² (1 + γ s τ/(1 + s τ)) with the elastic frequency ω."""
    _, w = ring(HEAVY)
    gamma, tau = 0.25, 0.02
    rate, frequency = ring(pl.materials.Viscoelastic(HEAVY, [(gamma / (1 + gamma), tau)]))
    roots = np.roots([tau, 1.0, w**2 * tau * (1.0 + gamma), w**2])
    s = roots[roots.imag > 0.0][0]
    assert frequency == pytest.approx(s.imag, rel=0.002)
    assert rate == pytest.approx(-s.real, rel=0.01)


def random_series(seed):
    """Branches, viscosity (s) and which moduli the base has."""
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 6)
    parts = rng.uniform(0.05, 1.0, count + 1)
    pairs = list(zip(parts[:-1] / parts.sum(), 10.0 ** rng.uniform(-3.0, 1.0, count), strict=True))
    return pairs, rng.choice([0.0, 10.0 ** rng.uniform(-4.0, -2.0)]), rng.choice(["relaxed", "instantaneous"])


@pytest.mark.parametrize("seed", range(6))
def test_random_series_agree_with_an_independent_integration(seed):
    """Twist of a rod with mass under a torque that grows and fades: φ̈ and the rates of all branches by another code."""
    pairs, viscosity, moduli = random_series(seed)
    material = pl.materials.Viscoelastic(HEAVY, pairs, moduli, viscosity)
    scene, body = rod({"torsion": material}, ("twist",))
    load = scene.add(pl.RodLoad(body, LENGTH, (0, 0, 0), (0.0, 0.0, 0.0)))
    world = scene.compile()
    (model,) = world.models
    rates = np.zeros((4, 3))
    rates[2, 0] = 1.0
    inertia = 2.0 * model.kinetic_energy(world.initial_state().q[0], rates)
    stiffness = material.shear_modulus * np.pi * RADIUS**4 / 2 / LENGTH
    strengths, times = (np.array(x) for x in material.relaxation[:2])
    until = 0.04

    def torque(t):
        return 1e-4 * np.sin(np.pi * t / until) ** 2

    def rate(t, y):
        branches = stiffness * strengths * y[1] - y[2:] / times
        force = stiffness * (y[0] + viscosity * y[1]) + y[2:].sum()
        return np.concatenate([[y[1], (torque(t) - force) / inertia], branches])

    solved = solve_ivp(rate, (0.0, until), np.zeros(2 + len(pairs)), rtol=1e-11, atol=1e-14, method="LSODA")
    expected = solved.y[0, -1]

    def found(count):
        state, dt = world.initial_state(), until / count
        step = pl.ImplicitMidpoint(dt=dt, tolerance=1e-10)
        for k in range(count):
            value = pl.Wrench([(0, 0, 0), (torque((k + 0.5) * dt), 0, 0)])
            state, _ = step(world, state, {load: value})
        return state.q[0][4, 0]

    largest = 1e-4 / stiffness
    coarse, fine = found(150), found(300)
    assert abs(fine - expected) < 2e-3 * largest
    assert (4.0 * fine - coarse) / 3.0 == pytest.approx(expected, abs=5e-5 * largest)


def with_branches(world, state, controls):
    """Kinetic energy and that of the relaxed springs, and what the springs of the branches hold, J."""
    total = world.energy(state, controls)["total"]
    for model, history in zip(world.models, state.histories or (None,) * len(world.models), strict=True):
        if history is not None:
            rest = 1.0 - sum(g for g, _ in BRANCHES)
            softness = np.array([rest / g for g, _ in BRANCHES])[:, None] / model.memory.stiffness[:, None]
            total += 0.5 * float(np.nansum(history[:, 1:] ** 2 * softness))
    return total


@pytest.mark.parametrize("stepper", STEPPERS)
@pytest.mark.parametrize("kind", ["rod", "beam"])
@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_energy_never_grows_in_free_motion(stepper, kind, dt):
    """With the branches' own: from bent and twisted rest, and from random velocities."""
    material = pl.materials.Viscoelastic(HEAVY, BRANCHES, viscosity=1e-4)
    if kind == "rod":
        scene, body = rod(material, ("bend_y", "bend_z", "twist", "stretch"), sections=4)
        load = pl.RodLoad(body, LENGTH, (0.0, 0.01, 0.02))
    else:
        scene, nodes = pl.Scene(gravity=(0, 0, 0)), np.linspace((0, 0, 0), (LENGTH, 0, 0), 5)
        body = scene.add(pl.Beam(nodes, section=pl.sections.Circle(RADIUS), material=material, clamp=[0]))
        load = pl.PointLoad(body, [4], (0.0, 0.01, 0.02))
    pull = scene.add(load)
    world = scene.compile()
    free = {pull: pl.Wrench(((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))}
    bent, _ = pl.QuasiStatic()(world, world.initial_state(), {pull: pl.Wrench(((0.0, 0.01, 0.02), (5e-4, 0.0, 0.0)))})
    kick = 0.05 * np.random.default_rng(3).standard_normal(bent.v[0].shape)
    kick[:2] = 0.0  # the clamped end
    kicked = pl.State(world, 0.0, bent.q, (kick,), np.zeros(0))
    for start in (pl.State(world, 0.0, bent.q, bent.v, np.zeros(0)), kicked):
        state, step = start, stepper(dt=dt, tolerance=1e-10)
        energies = [world.energy(state, free)["total"]]
        for _ in range(40):
            state, _ = step(world, state, free)
            energies.append(with_branches(world, state, free))
        assert np.diff(energies).max() <= 1e-7 * energies[0]
        assert energies[-1] < 0.99 * energies[0]
