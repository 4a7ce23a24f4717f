"""Tendons that run continuously along rods."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import root
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.constraints.rows import RowView
from pliant.models.rod.rod_map import RodMap

RADIUS, YOUNG, LENGTH = 0.01, 3e5, 0.3
EI = YOUNG * 0.25 * np.pi * RADIUS**4
GJ = 2.0 * EI / 2.8
SIX = ("twist", "bend_y", "bend_z", "stretch", "shear_y", "shear_z")
ROD = {"young": YOUNG, "poisson": 0.4, "density": 1080.0, "section": pl.sections.Circle(RADIUS)}


def routed(offset, *, sections=4, rod=None, gravity=(0, 0, 0), **options):
    scene = pl.Scene(gravity=gravity)
    body = scene.add(pl.Rod(sections=sections, **{"length": LENGTH, **ROD, **(rod or {})}))
    tendon = scene.add(pl.Tendon(body, offset, **options))
    return scene.compile(), body, tendon


def helix(radius, turns):
    return lambda s: radius * np.array([np.cos(turns * s), np.sin(turns * s)])


def random_case(seed):
    """A rod of random sections bent at random, and a random tendon along a part of it."""
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.03, 0.1, rng.integers(1, 5))
    strains = rng.permutation(SIX)[: rng.integers(1, 7)].tolist()
    rod = {"length": lengths, "strains": strains, "base": rng.choice(["fixed", "free"]), "rotation": rng.normal(size=3)}
    start, end = np.sort(rng.uniform(0.0, lengths.sum(), 2))
    kind = rng.integers(3)
    arcs = np.linspace(0.0, lengths.sum(), 4)
    table = np.column_stack([arcs, rng.uniform(-0.006, 0.006, (4, 2))])
    offset = (helix(0.008, rng.uniform(-40, 40)), rng.uniform(-0.006, 0.006, 2), table)[kind]
    options = {"start": start, "end": end, "friction": rng.choice([0.0, 0.3])}
    world, body, tendon = routed(offset, sections=len(lengths), rod=rod, **options)
    q = world.models[0].initial()[0]
    shape = (len(lengths), 2, 3)
    bent = rng.normal(size=shape) * np.array([[0.8], [0.02]])
    allowed = np.isin(SIX, strains).reshape(2, 3)
    q[4:] += (bent * allowed).reshape(-1, 3)
    return world, body, tendon, q, offset


def place(offset, s):
    """(y, z) m at the arc length s."""
    if callable(offset):
        return offset(s)
    if np.ndim(offset) == 1:
        return offset
    return np.array([np.interp(s, offset[:, 0], offset[:, k]) for k in (1, 2)])


@pytest.mark.parametrize("seed", range(8))
def test_length_is_that_of_a_fine_polyline(seed):
    world, _, tendon, q, offset = random_case(seed)
    kinks = offset[:, 0] if not callable(offset) and np.ndim(offset) == 2 else tendon.ends
    arcs = np.unique(np.concatenate([np.linspace(tendon.ends[0], tendon.ends[-1], 4001), tendon.ends, kinks]))
    arcs = arcs[(arcs >= tendon.ends[0]) & (arcs <= tendon.ends[-1])]
    offsets = np.array([[0.0, *place(offset, s)] for s in arcs])
    points = RodMap.at(world.models[0], arcs, offsets).points(q)
    length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    rows = world.constraints[0]
    assert rows.length([q]) == pytest.approx(length, rel=2e-6)
    inside = rows.path([q])
    nearest = [np.linalg.norm(points - one, axis=1).min() for one in inside]
    assert max(nearest) < 1e-4


@pytest.mark.parametrize("seed", range(8))
def test_gradients_and_stiffness_are_derivatives(seed):
    """H by central differences of δ and of the slips, K by those of H, each for every active unknown."""
    world, _, _, q, _ = random_case(seed)
    model, rows = world.models[0], world.constraints[0]
    lam = np.array([2.0, *np.linspace(0.1, 0.2, len(rows.stiff_keys) - 1)])

    def at(q):
        made, _ = rows.rows(RowView.of(world.models, [q], start=[world.models[0].initial()[0]]))
        return made.gap, made.H[0].toarray()

    _, H = at(q)
    K = next(iter(rows.stiffness([q], lam, 1.0)))[1].K
    active, step = model.active[6:], 1e-6
    assert not H[:, :6].any()
    for column, unknown in enumerate(active, start=6):
        move = np.zeros(q.size)
        move[unknown + 6] = step  # q has four rows of the base, dx two
        ahead, behind = (at(q + sign * move.reshape(-1, 3)) for sign in (1, -1))
        np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * step), H[:, unknown], rtol=1e-6, atol=1e-9)
        pushed = (-(lam @ (ahead[1] - behind[1])) / (2 * step))[model.active]
        np.testing.assert_allclose(pushed, K[:, column], rtol=1e-5, atol=1e-7)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()


def test_a_constant_offset_bends_to_a_constant_curvature():
    """κ = T d/EI exactly, whatever the number of sections and however far it bends; T d/EI turns about the offset."""
    d, T = 0.006, 1.5
    for sections, offset in ((1, (0.0, d)), (3, (-d, 0.0)), (4, d * np.array([np.sin(0.5), np.cos(0.5)]))):
        world, rod, tendon = routed(offset, sections=sections)
        state, info = pl.QuasiStatic()(world, world.initial_state(), {tendon: pl.Force(T)})
        kappa = T * d / EI
        strains = state.strains(rod)
        np.testing.assert_allclose(np.linalg.norm(strains[:, 1:3], axis=1), kappa, rtol=1e-9)
        angle = kappa * LENGTH
        tip = np.array([np.sin(angle), 1.0 - np.cos(angle)]) / kappa
        across = np.array([0.0, *offset]) / d
        np.testing.assert_allclose(state.points(rod)[-1], (tip[0], *(tip[1] * across[1:])), atol=1e-9)
        shortening, tension = info.actuation(tendon)
        assert (shortening, tension) == pytest.approx((d * angle, T), rel=1e-9)


def test_a_commanded_shortening_is_reached_in_every_stepper():
    d, wanted = 0.006, 4e-3
    for stepper in (pl.QuasiStatic(), pl.ImplicitEuler(0.05), pl.ImplicitMidpoint(0.05), pl.DampedMidpoint(0.05)):
        options = {"damping": pl.Rayleigh(mass=4.0, stiffness=0.02)}
        world, rod, tendon = routed((0.0, d), sections=2, rod=options)
        state = world.initial_state()
        steps = 1 if isinstance(stepper, pl.QuasiStatic) else 60
        for k in range(steps):
            command = pl.Displacement(wanted * min(1.0, 2.0 * (k + 1) / steps))
            state, info = stepper(world, state, {tendon: command})
        assert info.actuation(tendon)[0] == pytest.approx(wanted, rel=1e-6)
        kappa = wanted / (d * LENGTH)
        np.testing.assert_allclose(np.abs(state.strains(rod)[:, 1]), kappa, rtol=0.02)


def test_a_helical_tendon_twists():
    """Small tension: twist T d² ω/(GJ √(1 + d² ω²)), the continuum formula, in every section."""
    d, omega, T = 0.008, 25.0, 1e-5
    world, rod, tendon = routed(helix(d, omega), sections=6)
    state, _ = pl.QuasiStatic()(world, world.initial_state(), {tendon: pl.Force(T)})
    twist = -T * d * d * omega / (GJ * np.sqrt(1.0 + (d * omega) ** 2))
    np.testing.assert_allclose(state.strains(rod)[:, 0], twist, rtol=1e-5)


def continuum_tip(offset, T, pieces):
    """Tip of a rod in the balance of tendon and strains at every cross-section: the minimum of ½ κᵀ C κ + T |w| there.

    Without other loads the rod and its tendon balance in each cut, so the strains of the continuum are found point by
    point. The frames are then multiplied along the rod, each piece with the strain at its middle.
    """
    C, h, step = np.array([GJ, EI, EI]), LENGTH / pieces, 1e-6
    x, R, kappa = np.zeros(3), np.eye(3), np.zeros(3)
    for s in h * (0.5 + np.arange(pieces)):
        o = np.array([0.0, *offset(s)])
        slope = np.array([0.0, *((offset(s + step) - offset(s - step)) / (2 * step))])

        def force(k, o=o, slope=slope):
            w = np.array([1.0, 0.0, 0.0]) + np.cross(k, o) + slope
            return C * k + T * np.cross(o, w / np.linalg.norm(w))

        kappa = root(force, kappa, tol=1e-13).x
        x = x + R @ Rotation.from_rotvec(0.5 * h * kappa).apply([h, 0.0, 0.0])
        R = R @ Rotation.from_rotvec(h * kappa).as_matrix()
    return x


def test_a_helical_tendon_bends_as_the_continuum_does():
    """Large deflection by a helix of one turn: second order in the length of the sections."""
    offset, T = helix(0.008, 2.0 * np.pi / LENGTH), 1.2
    exact = continuum_tip(offset, T, 200)
    errors = []
    for sections in (6, 12, 24):
        world, rod, tendon = routed(offset, sections=sections)
        state, _ = pl.QuasiStatic()(world, world.initial_state(), {tendon: pl.Force(T)})
        errors.append(np.linalg.norm(state.points(rod)[-1] - exact) / LENGTH)
    assert errors[2] < 2e-3
    assert errors[0] / errors[1] > 3.0
    assert errors[1] / errors[2] > 3.0


def test_a_tapered_rod_with_a_tendon_that_comes_closer():
    """The angle of the tip is ∫ T d(s)/EI(s) ds, with d and the radius linear: a tentacle of 0.36 m."""
    thick, thin, T = 15.41e-3, 6.42e-3, 0.5
    taper = pl.sections.Taper(pl.sections.Circle(thick), pl.sections.Circle(thin))
    tip = pl.sections.Taper(pl.sections.Circle(thin), pl.sections.Circle(4.8e-3))
    table = np.array([[0.0, 0.0, 11.4e-3], [0.305, 0.0, 11.4e-3 - 29.5e-3 * 0.305]])
    exact = quad(
        lambda s: T * (11.4e-3 - 29.5e-3 * s) / (YOUNG * 0.25 * np.pi * (thick + (thin - thick) * s / 0.305) ** 4),
        0.0,
        0.305,
    )[0]
    errors = []
    for count in (5, 10):
        sections = [*taper.pieces(count), tip]
        lengths = [0.305 / count] * count + [0.055]
        rod = {"length": lengths, "section": sections}
        world, body, tendon = routed(table, sections=count + 1, rod=rod, end=0.305)
        state, _ = pl.QuasiStatic()(world, world.initial_state(), {tendon: pl.Force(T)})
        strains = state.strains(body)
        np.testing.assert_allclose(strains[-1], 0.0, atol=1e-12)
        errors.append(abs((-strains[:, 1] * lengths).sum()) / exact - 1.0)
    assert abs(errors[1]) < 0.02
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_friction_lowers_the_tension_along_a_bent_rod():
    """dθ/ds = T₀ e^(−μθ) d/EI, so θ = ln(1 + μ T₀ d L/EI)/μ while it is pulled; second order in the sections."""
    d, T, mu = 0.006, 1.5, 0.4
    exact = np.log1p(mu * T * d * LENGTH / EI) / mu
    errors = []
    for sections in (4, 8):
        world, rod, tendon = routed((0.0, d), sections=sections, friction=mu)
        state, info = pl.QuasiStatic()(world, world.initial_state(), {tendon: pl.Force(T)})
        errors.append(abs(state.strains(rod)[:, 1].sum()) * LENGTH / sections / exact - 1.0)
        assert info.actuation(tendon)[1] == pytest.approx(T)
    assert abs(errors[1]) < 2e-3
    assert errors[0] / errors[1] > 3.0


def test_a_tendon_agrees_with_a_cable_through_many_points():
    T, points = 0.4, 49
    offset = helix(0.008, 20.0)
    tips = []
    for routed_continuously in (True, False):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        rod = scene.add(pl.Rod(LENGTH, 4, **ROD))
        arcs = np.linspace(0.0, LENGTH, points)
        via = [(s, *offset(s)) for s in arcs]
        tendon = scene.add(pl.Tendon(rod, offset) if routed_continuously else pl.Cable(rod, via))
        world = scene.compile()
        state, _ = pl.QuasiStatic()(world, world.initial_state(), {tendon: pl.Force(T)})
        tips.append(state.points(rod)[-1])
    assert np.linalg.norm(tips[0] - tips[1]) < 1e-3 * LENGTH


def test_tendons_are_stored_cut_and_measured(tmp_path):
    world, rod, tendon = routed(helix(0.008, 20.0), sections=2, max_displacement=0.02)
    world.save(tmp_path / "world.npz")
    again = pl.load(tmp_path / "world.npz")
    assert again.constraints[0].rest_length == pytest.approx(world.constraints[0].rest_length, rel=1e-14)
    assert tendon.rest_length == pytest.approx(LENGTH * np.hypot(1.0, 0.16), rel=1e-9)
    state, info = pl.QuasiStatic()(world, world.initial_state(), {tendon: pl.LengthRatio(0.99)})
    assert info.actuation(tendon)[0] == pytest.approx(0.01 * tendon.rest_length, rel=1e-6)
    loose, info = pl.QuasiStatic()(world, state, {tendon: pl.Cut()})
    np.testing.assert_allclose(loose.strains(rod), 0.0, atol=1e-8)
    assert info.actuation(tendon)[1] == 0.0
    assert "tendon" in repr(tendon)


@pytest.mark.parametrize(
    ("offset", "options", "text"),
    [
        ((0.0, 0.02), {}, "0.02 m off the axis of 'rod' at arc length 0 m"),
        ((0.0, 0.005, 0.0), {}, r"must be \(y, z\) m"),
        ((0.0, np.nan), {}, "offset of 'tendon'"),
        (lambda s: (0.0, np.nan if s > 0.2 else 0.0), {}, "offset of 'tendon' at arc length 0.2"),
        (lambda s: 0.005, {}, "offset of 'tendon' at arc length"),
        ([(0.0, 0.0, 0.005), (0.1, 0.0, 0.0)], {}, "given from 0 to 0.1 m of arc length, but it runs from 0 to 0.3 m"),
        ([(0.0, 0.0, 0.005), (0.0, 0.0, 0.0)], {"end": 0.1}, "must increase"),
        ((0.0, 0.005), {"start": 0.2, "end": 0.1}, "runs from 0.2 to 0.1 m"),
        ((0.0, 0.005), {"end": 0.4}, "goes from 0 to 0.3 m"),
        ((0.0, 0.005), {"friction": -1.0}, "friction of 'tendon'"),
        ((0.0, 0.005), {"min_force": -1.0}, "min_force of 'tendon'"),
    ],
)
def test_bad_tendons(offset, options, text):
    with pytest.raises(pl.PliantError, match=text):
        routed(offset, **options)


def test_tendons_are_for_rods():
    block = pl.Volume(pl.mesh.box((1, 1, 1), (1, 1, 1)), pl.materials.Corotated(young=1e5, poisson=0.3, density=1e3))
    with pytest.raises(pl.InputError, match=r"none: give a pl\.Cable"):
        pl.Tendon(block, (0.0, 0.005))


def test_a_tendon_ends_with_its_rod():
    """An end beyond the rod by rounding is its end."""
    body = pl.Rod(LENGTH, 2, **ROD)
    tendon = pl.Tendon(body, (0.005, 0.0), start=0.1, end=LENGTH * (1.0 + 5e-10))
    np.testing.assert_array_equal(tendon.ends, [0.1, 0.15, LENGTH])
