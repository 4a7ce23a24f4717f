"""Rods of constant strain against closed forms, published benchmarks and beams."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, solve_bvp
from scipy.optimize import brentq

import pliant as pl
from pliant.models.rod.rod import STRAINS

CIRCLE = pl.sections.Circle(0.01)
ROD = {"section": CIRCLE, "young": 1e7, "poisson": 0.3, "density": 1e3}
BENDING = 1e7 * CIRCLE.second_moments[0]
TORSION = 1e7 / 2.6 * CIRCLE.torsion_constant


def settled(scene, **options):
    world = scene.compile()
    return pl.QuasiStatic(**options)(world, world.initial_state())


@pytest.mark.parametrize("count", [1, 2, 5, 13])
def test_a_moment_rolls_a_rod_into_a_circle(count):
    """M = 2πEI/L closes the axis with any number of sections: each is an arc of the circle."""
    scene = pl.Scene()
    rod = scene.add(pl.Rod(1.0, count, **ROD))
    scene.add(pl.RodLoad(rod, 1.0, (0, 0, 0), (0, 0, 2 * np.pi * BENDING)))
    state, info = settled(scene)
    assert np.linalg.norm(state.points(rod)[-1]) < 1e-8
    np.testing.assert_allclose(state.strains(rod), np.tile([0, 0, 2 * np.pi, 0, 0, 0], (count, 1)), atol=1e-8)
    np.testing.assert_allclose(state.section_forces(rod)[:, 5], 2 * np.pi * BENDING, rtol=1e-9)
    np.testing.assert_allclose(state.fibre_strain(rod), 2 * np.pi * 0.01, rtol=1e-9)
    assert info.iterations <= 2


def elastica(load):
    """Tip deflection and shortening over L of EI θ″ = −P cos θ at P L²/EI = `load`."""
    s = np.linspace(0.0, 1.0, 401)
    guess = [0.5 * load * s * (2 - s) / (1 + load), load * (1 - s) / (1 + load)]
    solution = solve_bvp(
        lambda _, y: [y[1], -load * np.cos(y[0])], lambda a, b: [a[0], b[1]], s, guess, tol=1e-10, max_nodes=100000
    )
    assert solution.success
    fine = np.linspace(0.0, 1.0, 20001)
    theta = solution.sol(fine)[0]
    return cumulative_trapezoid(np.sin(theta), fine)[-1], 1.0 - cumulative_trapezoid(np.cos(theta), fine)[-1]


@pytest.mark.parametrize("load", [1.0, 10.0])
def test_a_cantilever_follows_the_elastica(load):
    """Inextensible and without shear, so exact but for the sections: order 2 in their number."""
    expected, errors = np.array(elastica(load)), []
    for count in (4, 8, 16):
        scene = pl.Scene()
        rod = scene.add(pl.Rod(1.0, count, **ROD))
        scene.add(pl.RodLoad(rod, 1.0, (0, 0, -load * BENDING)))
        state, _ = settled(scene)
        tip = state.points(rod)[-1]
        errors.append(np.linalg.norm(np.array([-tip[2], 1.0 - tip[0]]) - expected))
    print(f"tip errors at PL²/EI = {load}: {errors}")
    assert errors[-1] < 5e-3
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.15)


class PolarSquare(pl.sections.Rectangle):
    """A square with its polar second moment as torsion constant."""

    @property
    def torsion_constant(self):
        return sum(self.second_moments)


def bend_of_45_degrees(kind, count, load, section):
    """Tip (across, along, up) of an arc of radius 100, E = 1e7, ν = 0, pushed out of its plane by a dead load."""
    scene, length = pl.Scene(), 100 * np.pi / 4
    material = {"section": section, "young": 1e7, "poisson": 0.0, "density": 1.0}
    if kind == "rod":
        bend = {"rest_strain": (0, 0, 0.01, 0, 0, 0), "strains": STRAINS}
        body = scene.add(pl.Rod(length, count, **material, **bend))
        scene.add(pl.RodLoad(body, length, (0, 0, load)))
    else:
        angle = np.linspace(0.0, np.pi / 4, count + 1)
        points = np.stack([100 * np.sin(angle), 100 * (1 - np.cos(angle)), 0 * angle], axis=1)
        body = scene.add(pl.Beam(points, clamp=[0], **material))
        scene.add(pl.PointLoad(body, [count], (0, 0, load)))
    state, _ = settled(scene, tolerance=1e-10)
    return state.points(body)[-1, [1, 0, 2]]


@pytest.mark.parametrize("kind", ["rod", "beam"])
@pytest.mark.parametrize(("load", "published"), [(300.0, (22.33, 58.84, 40.08)), (600.0, (15.79, 47.23, 53.37))])
def test_the_bend_of_bathe_and_bolourchi(kind, load, published):
    """Eight pieces with the polar second moment for torsion, against the eight of Simo and Vu-Quoc (Comput. Methods
    Appl. Mech. Eng. 58, 1986), which stand up to 0.6 from Bathe and Bolourchi's own values at 300 (22.5, 59.2, 39.5;
    IJNME 14, 1979) and 0.1 from those at 600 (15.9, 47.2, 53.4).
    """
    tip = bend_of_45_degrees(kind, 8, load, PolarSquare(1, 1))
    print(f"{kind}, load {load}: tip {tip}")
    np.testing.assert_allclose(tip, published, atol=0.16 if kind == "beam" else 0.09)


def test_the_bend_converges_with_the_square_of_the_pieces():
    """Of rods and of beams, to the same tip; with Saint-Venant's torsion constant, 0.1406."""
    square, limits = pl.sections.Rectangle(1, 1), []
    assert square.torsion_constant == pytest.approx(0.1406, abs=1e-4)
    for kind in ("rod", "beam"):
        tips = [bend_of_45_degrees(kind, count, 600.0, square) for count in (4, 8, 16, 32)]
        steps = [np.linalg.norm(b - a) for a, b in pairwise(tips)]
        assert np.log2(steps[0] / steps[1]) == pytest.approx(2.0, abs=0.15)
        assert np.log2(steps[1] / steps[2]) == pytest.approx(2.0, abs=0.1)
        limits.append(tips[-1] + (tips[-1] - tips[-2]) / 3.0)
    np.testing.assert_allclose(limits[0], limits[1], atol=3e-3)


@pytest.mark.parametrize("count", [1, 3])
def test_a_wrench_winds_a_helix(count):
    """Constant κ = (κ₁, κ₂, 0) is in balance under the force (GJ − EI) κ₁ κ and the moment (GJ κ₁, EI κ₂, 0) in the
    frame of the tip, since κ × m + e₁ × n = 0 and κ × n = 0.
    """
    twist, bend = 2.0, 1.5
    kappa = np.array([twist, bend, 0.0])
    helix = pl.Rod(1.0, count, rest_strain=(*kappa, 0, 0, 0), **ROD)
    R, tip = helix.node_frames[-1], helix.node_points[-1]
    force, moment = R @ ((TORSION - BENDING) * twist * kappa), R @ (TORSION * twist, BENDING * bend, 0.0)
    scene = pl.Scene()
    rod = scene.add(pl.Rod(1.0, count, **ROD))
    scene.add(pl.PointLoad(rod, [count], force, moment))
    state, _ = settled(scene, tolerance=1e-11)
    np.testing.assert_allclose(state.strains(rod)[:, :3], np.tile(kappa, (count, 1)), atol=1e-8)
    np.testing.assert_allclose(state.points(rod)[-1], tip, atol=1e-8)


def test_a_rod_without_stiffness_hangs_in_a_catenary():
    """Length 1.2 between ends 1 apart, held but free to turn. The sag goes to that of the chain as EI does to zero,
    from one stiffness to the next by the same number of Newton's iterations.
    """
    length, width = 1.2, 1.0
    a = brentq(lambda a: 2 * a * np.sinh(0.5 * width / a) - length, 0.2, 5.0)
    sag = a * (np.cosh(0.5 * width / a) - 1.0)
    angle = brentq(lambda t: np.sin(t) / t - width / length, 0.1, 3.0)  # half the angle of an arc of that length
    errors, last = [], None
    for young in (1e6, 1e5, 1e4, 1e3):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        arc = {"rest_strain": (0, -2 * angle / length, 0, 0, 0, 0), "rotation": (0, angle, 0), "base": "free"}
        rod = scene.add(pl.Rod(length, 24, **{**ROD, "young": young, **arc}))
        end = rod.node_points[-1]
        np.testing.assert_allclose(end, (width, 0, 0), atol=1e-12)
        scene.add(pl.Support(rod, [0]))
        scene.attach(rod, points=[end])
        world = scene.compile()
        start = world.initial_state()
        if last is not None:
            start = pl.State(world, 0.0, last.q, last.v, last.lam, keys=last.keys)
        last, info = pl.QuasiStatic(tolerance=1e-7)(world, start)
        assert errors == [] or info.iterations <= 8
        np.testing.assert_allclose(last.points(rod)[-1], end, atol=1e-7)
        errors.append(abs(-last.points(rod)[:, 2].min() - sag) / sag)
    print(f"relative errors of the sag: {errors}")
    assert errors[-1] < 2e-5
    assert errors[1] / errors[2] == pytest.approx(10.0, rel=0.1)


def test_rods_and_beams_agree():
    """The same cantilever under gravity and a force across, in statics and in motion, within 1 % of its way."""
    tips = {}
    for kind in ("rod", "beam"):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        given = {**ROD, "young": 5e7}
        if kind == "rod":
            body = scene.add(pl.Rod(1.0, 16, strains=STRAINS, **given))
            scene.add(pl.RodLoad(body, 1.0, (0.0, 0.5, 0.0)))
        else:
            body = scene.add(pl.Beam(np.linspace((0, 0, 0), (1, 0, 0), 41), clamp=[0], **given))
            scene.add(pl.PointLoad(body, [40], (0.0, 0.5, 0.0)))
        world = scene.compile()
        still, _ = pl.QuasiStatic()(world, world.initial_state())
        run = pl.simulate(world, pl.ImplicitMidpoint(0.01), until=0.5)
        tips[kind] = np.array([still.points(body)[-1], run.points(body)[25, -1], run.points(body)[-1, -1]])
    moved = np.linalg.norm(tips["beam"] - (1, 0, 0), axis=1)
    print(f"tips {tips}, moved by {moved} m")
    assert (np.linalg.norm(tips["rod"] - tips["beam"], axis=1) < 0.01 * moved).all()


def conserved(world, state, dt, until):
    """Relative drifts of energy and of linear and angular momentum, largest over the run."""
    model, step = world.models[0], pl.ImplicitMidpoint(dt)
    energy, momentum = world.energy(state)["total"], model.momentum(state.q[0], state.v[0])
    worst = np.zeros(3)
    for number in range(round(until / dt)):
        state, _ = step(world, state)
        if number % 10 == 9:
            now = model.momentum(state.q[0], state.v[0]) - momentum
            drift = np.linalg.norm(now, axis=1) / np.linalg.norm(momentum, axis=1)
            worst = np.maximum(worst, [abs(world.energy(state)["total"] / energy - 1.0), *drift])
    return worst


@pytest.mark.slow
def test_a_free_rod_keeps_energy_and_momentum_for_ten_seconds():
    scene = pl.Scene()
    scene.add(pl.Rod(0.5, 3, **{**ROD, "section": pl.sections.Circle(0.03), "young": 1e6, "base": "free"}))
    world = scene.compile()
    q, v = world.models[0].initial()
    rng = np.random.default_rng(0)
    v[0], v[1], v[2::2] = (0.1, 0.2, 0.3), (1.0, 2.0, 3.0), rng.normal(size=(3, 3))
    q[4::2] += 0.2 * rng.normal(size=(3, 3))
    worst = conserved(world, pl.State(world, 0.0, (q,), (v,), np.zeros(0)), 0.005, 10.0)
    print(f"drifts of energy, momentum and angular momentum over 10 s: {worst}")
    assert worst[0] < 1e-3
    assert (worst[1:] < 1e-6).all()


def test_a_rod_that_turns_about_its_base_is_a_pendulum():
    """A stiff rod swings with ω² = 3g/2L at small angles; the axis is given in the rod's frame."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    hanging = {"rotation": (0, np.pi / 2 - 0.02, 0), "base": pl.Turn((0, 1, 0))}
    rod = scene.add(pl.Rod(1.0, 2, **{**ROD, "young": 1e11, **hanging}))
    run = pl.simulate(scene.compile(), pl.ImplicitMidpoint(0.005), until=2.0)
    angle = np.arcsin(run.points(rod)[:, -1, 0])
    expected = 0.02 * np.cos(np.sqrt(1.5 * 9.81) * run.times)
    np.testing.assert_allclose(angle, expected, atol=3e-4)


def test_a_rod_on_a_slide_falls_freely():
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rod = scene.add(pl.Rod(1.0, 3, base=pl.Slide((0, 0, 1)), **ROD))
    run = pl.simulate(scene.compile(), pl.ImplicitMidpoint(0.01), until=0.3)
    fall = -0.5 * 9.81 * run.times[:, None] ** 2
    np.testing.assert_allclose(run.points(rod)[:, :, 2], np.tile(fall, (1, 4)), atol=1e-9)
    np.testing.assert_allclose(run.points(rod)[:, -1, 0], 1.0, atol=1e-9)


def test_newton_converges_quadratically_under_gravity():
    """The stiffness holds how gravity turns with the rod: the last corrections square."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(pl.Rod(1.0, 8, **{**ROD, "young": 1e8}))
    world = scene.compile()
    state, sizes = world.initial_state(), []
    for _ in range(6):
        state, info = pl.QuasiStatic(newton_iterations=1)(world, state)
        sizes.append(float(np.abs(info.correction[0]).max()))
    print(f"corrections: {sizes}")
    small = next(k for k, size in enumerate(sizes) if size < 1e-3)
    assert sizes[small + 1] < 100.0 * sizes[small] ** 2 + 1e-13
