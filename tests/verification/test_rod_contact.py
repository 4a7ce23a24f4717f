"""Rods and beams that touch each other, against beam theory, Coulomb's law and the laws of mechanics."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import pliant as pl

STEEL = {
    "section": pl.sections.Circle(0.002), "young": 1e8, "poisson": 0.3, "density": 1e3, "contact_points": 3,
}  # fmt: skip
EI = 1e8 * np.pi / 4 * 0.002**4
LIGHT = pl.Rayleigh(stiffness=0.01)


def crossed(kind, friction=0.0):
    """Two bars through the middle of each other, one radius above and below z = 0: along x, and along y."""
    scene = pl.Scene()
    if kind == "beam":
        upper = pl.Beam(
            np.linspace((-0.1, 0, 0.002), (0.1, 0, 0.002), 16), clamp=[0], shear=False, name="upper", **STEEL
        )
        lower = pl.Beam(np.linspace((0, -0.1, -0.002), (0, 0.1, -0.002), 16), clamp=[0], shear=False, **STEEL)
    else:
        upper = pl.Rod(0.2, 15, position=(-0.1, 0, 0.002), name="upper", **STEEL)
        turn = (0, 0, np.pi / 2)
        lower = pl.Rod(0.2, 15, position=(0, -0.1, -0.002), rotation=turn, **STEEL)
    if kind == "mixed":
        lower = pl.Beam(np.linspace((0, -0.1, -0.002), (0, 0.1, -0.002), 16), clamp=[0], shear=False, **STEEL)
    scene.add(upper)
    scene.add(lower)
    scene.collide(upper, lower, friction=friction)
    return scene, upper, lower


def at_crossing(state, body):
    """Height of the axis at the crossing, half-way along and half-way through a section, m."""
    points = state.points(body)
    along = points[:, 0] if np.ptp(points[:, 0]) > 0.1 else points[:, 1]
    return float(CubicSpline(along, points[:, 2])(0.0))


@pytest.mark.parametrize("kind", ["beam", "rod", "mixed"])
def test_crossed_cantilevers_share_a_load_as_two_springs(kind):
    """A force F at the tip of the upper one; both meet half-way, at a = L/2. With the reaction N at the crossing the
    upper one sinks there by (F (3 L a² − a³)/6 − N a³/3)/EI and the lower one by N a³/3EI: N = F (3L − a)/(4a) = 5/4 F.
    The force and both deflections follow within the discretization (15 sections) and the small slope.
    """
    scene, upper, lower = crossed(kind)
    F, L, a = 1e-3, 0.2, 0.1
    tip = pl.PointLoad(upper, [15], (0, 0, -F)) if kind == "beam" else pl.RodLoad(upper, L, (0, 0, -F))
    scene.add(tip)
    world = scene.compile()
    state, info = pl.QuasiStatic()(world, world.initial_state())
    N = F * (3 * L - a) / (4 * a)
    np.testing.assert_allclose(info.contact_force(upper, lower), (0, 0, N), atol=0.01 * N)
    sunk = N * a**3 / (3 * EI)
    assert at_crossing(state, upper) - 0.002 == pytest.approx(-sunk, rel=0.02)
    assert at_crossing(state, upper) - at_crossing(state, lower) == pytest.approx(0.004, abs=0.02 * sunk)
    beyond = N * a**2 / (2 * EI) * (L - a)  # the lower one is straight past the crossing
    assert state.points(lower)[-1, 2] + 0.002 == pytest.approx(-sunk - beyond, rel=0.02)


def groove(angle, friction):
    """A free rod along x in the groove between two held ones, gravity tilted along it by `angle`."""
    scene = pl.Scene(gravity=9.81 * np.array([np.sin(angle), 0, -np.cos(angle)]))
    stiff = {**STEEL, "young": 1e11}
    half, r = np.pi / 6, 0.002  # the three axes make an equilateral triangle
    hard = {**STEEL, "young": 1e14}
    rails = [scene.add(pl.Rod(0.3, 4, position=(-0.1, side * r, 0), name=f"rail {side}", **hard)) for side in (-1, 1)]
    rod = scene.add(pl.Rod(0.08, 3, position=(0, 0, 2 * r * np.cos(half)), base="free", **stiff))
    for rail in rails:
        scene.collide(rod, rail, friction=friction)
    return scene.compile(), rod, rails


@pytest.mark.parametrize(("angle", "friction"), [(0.3, 0.4), (0.5, 0.2)])
def test_a_rod_in_a_groove_of_rods_slips_at_its_angle(angle, friction):
    """Two walls that lean by 30° each carry W cos φ/(2 cos 30°): it holds while tan φ < μ/cos 30°, and slides with
    g (sin φ − μ cos φ/cos 30°) beyond.
    """
    world, rod, rails = groove(angle, friction)
    state, step = world.initial_state(), pl.ImplicitEuler(0.002)
    for _ in range(50):
        state, info = step(world, state)
    expected = max(0.0, 9.81 * (np.sin(angle) - friction * np.cos(angle) / np.cos(np.pi / 6)) * 0.1)
    assert state.velocities(rod)[0, 0] == pytest.approx(expected, abs=0.01 * expected + 1e-4)
    weight = 9.81 * 1e3 * rod.section.area * 0.08 * np.cos(angle)
    total = sum(info.contact_force(rod, rail) for rail in rails)
    assert total[2] == pytest.approx(weight, rel=1e-3)
    np.testing.assert_allclose(state.points(rod)[:, 2], 0.004 * np.cos(np.pi / 6), atol=2e-6)


@pytest.mark.parametrize(("angle", "friction"), [(0.3, 0.4), (0.5, 0.3)])
def test_a_frame_of_beams_slides_on_two_rods_as_a_block_on_a_slope(angle, friction):
    scene = pl.Scene(gravity=9.81 * np.array([np.sin(angle), 0, -np.cos(angle)]))
    stiff = {**STEEL, "young": 1e11}
    rails = [scene.add(pl.Rod(0.4, 4, position=(-0.1, y, 0), name=f"rail {y}", **stiff)) for y in (-0.03, 0.03)]
    corners = np.array([(0.0, -0.05, 0), (0.1, -0.05, 0), (0.1, 0.05, 0), (0, 0.05, 0)])
    corners[:, 2] = 0.004
    frame = scene.add(pl.Beam(corners, edges=[(0, 1), (1, 2), (2, 3), (3, 0)], **stiff))
    for rail in rails:
        scene.collide(frame, rail, friction=friction)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(0.002)
    for _ in range(50):
        state, _ = step(world, state)
    expected = max(0.0, 9.81 * (np.sin(angle) - friction * np.cos(angle)) * 0.1)
    speed = state.velocities(frame)[:, 0, 0].mean()
    assert speed == pytest.approx(expected, abs=0.01 * expected + 1e-4)


def clearance(a, b):
    """Least distance of two axes, through splines of their nodes, m."""
    dense = [CubicSpline(np.linspace(0, 1, len(x)), x)(np.linspace(0, 1, 400)) for x in (a, b)]
    return float(np.linalg.norm(dense[0][:, None] - dense[1], axis=2).min())


def test_rods_that_meet_in_flight_keep_their_momentum():
    """Two free rods run across each other: what one loses the other gains, and they do not pass through."""
    scene = pl.Scene()
    soft = {**STEEL, "young": 1e7, "damping": LIGHT}
    a = scene.add(pl.Rod(0.1, 3, position=(-0.05, 0, 0.003), base="free", name="a", **soft))
    b = scene.add(pl.Rod(0.1, 3, position=(0.02, -0.03, -0.003), rotation=(0, 0, 1.2), base="free", name="b", **soft))
    scene.collide(a, b, friction=0.3)
    world = scene.compile()
    state = world.initial_state()
    v = [x.copy() for x in state.v]
    v[0][0], v[1][0] = (0.3, 0, -1.0), (0, 0, 1.0)
    state = pl.State(world, 0.0, state.q, tuple(v), state.lam)

    def momentum(s):
        return sum(m.momentum(q, w) for m, q, w in zip(world.models, s.q, s.v, strict=True))

    before, touched, deepest, step = momentum(state), 0.0, 1.0, pl.ImplicitMidpoint(0.0005, tolerance=1e-8)
    single = world.models[0].momentum(state.q[0], state.v[0])
    for _ in range(60):
        state, info = step(world, state)
        touched = max(touched, np.linalg.norm(info.contact_force(a, b)))
        deepest = min(deepest, clearance(state.points(a), state.points(b)))
    assert touched > 0.01
    size = np.abs(single[0]).max()
    np.testing.assert_allclose(momentum(state)[0], before[0], atol=1e-6 * size)
    np.testing.assert_allclose(momentum(state)[1], before[1], atol=1e-3 * 0.1 * size)  # rows at the ends of steps
    left = world.models[0].momentum(state.q[0], state.v[0])[0, 2]
    # An impact without restitution at one point of each rod: the limit of small steps, 6e-5 s, is -0.413.
    assert left / size == pytest.approx(-0.413, rel=0.02), "a has given momentum to b"
    assert deepest > 0.004 - 1e-4, "the axes stay two radii apart"
