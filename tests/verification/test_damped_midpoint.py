"""Midpoint with damping of fast vibrations: its damping, its order with every kind of body, and its contacts."""

import numpy as np
import pytest

import pliant as pl
from pliant.models.model import StepStart
from pliant.models.scheme import STATIC_SCHEME

GRAVITY = 9.81
RUBBER = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1000)


def amplification(radius, phase):
    """|R(iωh)| of one step."""
    gamma, z = 1 / (2 + np.sqrt(2 + 2 * radius)), 1j * phase
    return abs((1 + (1 - 2 * gamma) * z + (0.5 - 2 * gamma + gamma**2) * z**2) / (1 - gamma * z) ** 2)


@pytest.fixture(scope="module")
def cell():
    """A linear cell that is clamped on one side: its world, and the modes (12, 8, 3) of unit mass with their ω."""
    scene = pl.Scene(gravity=(0, 0, 0))
    material = pl.materials.Corotated(young=1e5, poisson=0.3, density=1000)
    clamp = pl.regions.box((-1, -1, -1), (1e-6, 1, 1))
    scene.add(pl.Volume(pl.mesh.box((0.02, 0.02, 0.02), (1, 1, 1), element="hex8"), material, clamp=clamp))
    world = scene.compile()
    model = world.models[0]
    q, v = model.initial()
    free, push, step = np.flatnonzero(~model.constrained.ravel()), [], 1e-7
    trial = model.trial(StepStart(q, v, STATIC_SCHEME, world.gravity, {}))
    for unknown in free:
        dx = np.zeros(q.size)
        dx[unknown] = step
        push.append(-trial.at(dx.reshape(q.shape)).residual().r.ravel()[free] / step)
    root = np.sqrt(np.repeat(model.mass.nodal, 3)[free])
    square, vectors = np.linalg.eigh(np.array(push) / np.outer(root, root))
    modes = np.zeros((len(free), q.size))
    modes[:, free] = (vectors / root[:, None]).T
    return world, modes.reshape(-1, *q.shape), np.sqrt(square)


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.9, 1.0])
def test_every_mode_is_damped_as_the_closed_form_says(cell, radius):
    world, modes, omega = cell
    for mode, phase in ((0, 0.5), (5, 2.0), (11, 100.0)):
        q, v = world.models[0].initial()
        state = pl.State(world, 0.0, (q + 1e-7 * modes[mode],), (v,), np.zeros(0))
        step = pl.DampedMidpoint(phase / omega[mode], spectral_radius=radius, tolerance=1e-7)
        first = world.energy(state)["total"]
        for _ in range(2):
            state, _ = step(world, state)
        left = np.sqrt(world.energy(state)["total"] / first)
        assert left == pytest.approx(amplification(radius, phase) ** 2, abs=2e-3)
    assert amplification(radius, 1e6) == pytest.approx(radius, abs=1e-5)
    small = 0.5 * (1 / (2 + np.sqrt(2 + 2 * radius))) ** 4 * (1 - radius**2) * 0.1**3
    assert -np.log(amplification(radius, 0.1)) / 0.1 == pytest.approx(small, rel=0.01, abs=1e-12)


def soft():
    damping = pl.Rayleigh(stiffness=5e-3)  # a smooth motion: steps must resolve all modes that the start excites
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1), element="hex8")
    return pl.Volume(mesh, RUBBER, clamp=pl.regions.box((-1, -1, -1), (1e-6, 1, 1)), damping=damping)


def beam():
    points = np.linspace((0, 0, 0), (0.3, 0, 0), 7)
    options = {"section": pl.sections.Circle(0.01), "young": 1e6, "poisson": 0.4, "density": 1100}
    return pl.Beam(points, clamp=[0], damping=pl.Rayleigh(stiffness=2e-3), **options)


def rod():
    options = {"section": pl.sections.Circle(0.01), "young": 1e6, "poisson": 0.4, "density": 1100}
    return pl.Rod(0.3, 2, damping=pl.Rayleigh(stiffness=2e-3), **options)


def brick():
    return pl.RigidBody.box(size=(0.1, 0.06, 0.03), mass=1, velocity=(0.1, 0, 0), spin=(5, 0.1, 3))


def pendulum():
    return pl.RigidBody.box(size=(0.02, 0.02, 0.3), mass=1, position=(0.14, 0, -0.05), rotation=(0, -1.2, 0))


@pytest.mark.filterwarnings("ignore:cells of")
@pytest.mark.parametrize("make", [soft, beam, rod, brick, pendulum])
def test_positions_and_velocities_are_second_order(make):
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    body = scene.add(make())
    if make is pendulum:
        scene.add(pl.Hinge(body, (0, 1, 0), point=(0, 0, 0)))
    world, ends, most = scene.compile(), [], 80 if make is rod else 40
    for count in (most // 4, most // 2, most):
        state, step = world.initial_state(), pl.DampedMidpoint(0.05 / count)
        for _ in range(count):
            state, _ = step(world, state)
        ends.append((state.q[0], state.v[0]))
    for coarse, middle, fine in zip(*ends, strict=True):
        ratio = np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine)
        assert 3.4 < ratio < 4.8


def on_the_floor(body, friction):
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    floor = scene.add(pl.Obstacle.plane(normal=(0, 0, 1)))
    scene.collide(scene.add(body), floor, friction=friction)
    return scene.compile(), floor


@pytest.mark.parametrize("radius", [0.0, 0.8])
def test_a_box_lands_slides_and_stops(radius):
    options = {"position": (0, 0, 0.03), "velocity": (1.0, 0, 0), "rotation": (0, 0.2, 0)}
    box = pl.RigidBody.box(size=(0.04, 0.04, 0.04), mass=0.1, **options)
    world, floor = on_the_floor(box, 0.3)
    state, step, energies = world.initial_state(), pl.DampedMidpoint(0.01, spectral_radius=radius), []
    for _ in range(60):
        state, info = step(world, state)
        energies.append(world.energy(state)["total"])
    assert np.diff(energies).max() < 1e-4 * energies[0]
    assert np.abs(state.v[0]).max() < 1e-6
    assert state.pose(box)[0][2] == pytest.approx(0.02, abs=1e-8)
    np.testing.assert_allclose(info.contact_force(box, floor), [0, 0, 0.1 * GRAVITY], atol=1e-6)


def test_friction_brakes_a_sliding_box():
    box = pl.RigidBody.box(size=(0.04, 0.04, 0.04), mass=0.1, position=(0, 0, 0.02), velocity=(1.0, 0, 0))
    world, _ = on_the_floor(box, 0.3)
    state, step = world.initial_state(), pl.DampedMidpoint(0.02)
    for _ in range(10):
        state, _ = step(world, state)
    assert state.v[0][0, 0] == pytest.approx(1.0 - 0.3 * GRAVITY * 0.2, abs=1e-8)
    for _ in range(8):
        state, _ = step(world, state)
    assert np.abs(state.v[0]).max() < 1e-6
    assert state.pose(box)[0][0] == pytest.approx(0.5 / (0.3 * GRAVITY), rel=5e-4)


def test_a_soft_cube_bounces_without_gaining_energy():
    mesh = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2)).translated((0, 0, 0.01))
    cube = pl.Volume(mesh, pl.materials.NeoHookean(young=1e5, poisson=0.45, density=1000))
    world, _ = on_the_floor(cube, 0.5)
    state, step, heights = world.initial_state(), pl.DampedMidpoint(0.008), []
    energies = [world.energy(state)["total"]]
    for _ in range(25):
        state, info = step(world, state)
        heights.append(state.points(cube)[:, 2].min())
        energies.append(world.energy(state)["total"])
    assert np.diff(energies).max() < 0.005 * (energies[0] - energies[-1])
    assert max(heights[8:]) > 1e-3, "it bounces"
    assert min(heights) > -1e-6
    assert info.energy_change == pytest.approx(energies[-1] - energies[-2], abs=1e-12)


def test_commands_move_evenly_over_the_step():
    scene = pl.Scene()
    body = scene.add(pl.RigidBody.box(size=(0.02, 0.02, 0.02), mass=0.1, position=(0, 0, 0)))
    slider = scene.add(pl.Slider(body, (1, 0, 0)))
    world = scene.compile()
    state, step = world.initial_state(), pl.DampedMidpoint(0.01)
    for index in range(1, 5):
        state, info = step(world, state, {slider: pl.Displacement(0.2 * 0.01 * index)})
        assert state.v[0][0, 0] == pytest.approx(0.2, abs=1e-6)
        assert state.pose(body)[0][0] == pytest.approx(0.2 * 0.01 * index, abs=1e-9)
    assert abs(info.actuation(slider)[1]) < 1e-6, "no force in a steady motion"


def test_without_damping_a_step_is_two_midpoint_steps():
    """With a cable that is pulled evenly, for the full and for a reduced body."""
    scene = pl.Scene(gravity=(0, 0, -GRAVITY))
    finger = scene.add(pl.robots.finger())
    world = scene.compile()
    reduced = pl.reduction.reduce(world, pl.reduction.ramps(world, amplitude=0.01, steps=10), motion_tolerance=1e-3)
    for one in (world, reduced):
        runs = [
            pl.simulate(one, stepper, until=0.04, control=lambda t, _: {finger.cable: pl.Displacement(0.05 * t)})
            for stepper in (pl.ImplicitMidpoint(0.01), pl.DampedMidpoint(0.02, spectral_radius=1.0))
        ]
        halves, whole = (run.points(finger.body) for run in runs)
        np.testing.assert_allclose(whole, halves[::2], atol=1e-9)


@pytest.mark.parametrize("radius", [-0.1, 1.1, np.nan])
def test_the_spectral_radius_is_checked(radius):
    with pytest.raises(pl.InputError, match="spectral_radius must be"):
        pl.DampedMidpoint(0.01, spectral_radius=radius)


@pytest.mark.parametrize("tolerance", [None, 1e-7])
def test_an_inverse_finds_the_actuation_of_both_parts(tolerance):
    """The tip of a finger follows a path in dynamic steps, as with the other steppers, and ends with the cable that
    leads there in equilibrium.
    """
    scene = pl.Scene(gravity=(0, 0, 0))
    finger = scene.add(pl.robots.finger())
    world = scene.compile()
    tip, state = pl.Effector(finger.tip), world.initial_state()
    start = finger.tip.at(state)
    bent, _ = pl.QuasiStatic()(world, state, {finger.cable: pl.Displacement(0.003)})
    goal = finger.tip.at(bent)
    for stepper in (pl.ImplicitMidpoint, pl.DampedMidpoint):
        step = stepper(0.02, tolerance=tolerance, solver=pl.Inverse(effectors=[tip], actuators=[finger.cable]))
        state = world.initial_state()
        for k in range(25):
            state, info = step(world, state, {tip: start + min(1.0, (k + 1) / 15) * (goal - start)})
        displacements, _ = info.actuation([finger.cable])
        assert info.error(tip) < 0.2e-3
        assert displacements[0] == pytest.approx(0.003, rel=0.03)
