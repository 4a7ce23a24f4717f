"""Motions with a closed form: free fall, momentum, free vibration, a travelling block on a moving support."""

import numpy as np
import pytest

import pliant as pl
from scenes import bar

LAME = {"young": 1e5, "poisson": 0.45, "density": 1e3}
LAWS = [pl.materials.Linear, pl.materials.Corotated, pl.materials.NeoHookean]
GRAVITY = np.array([1.0, 0.0, -9.81])


def block(law, gravity, element="tet4", **options):
    options = {"clamp": None, **options}
    scene, body = bar((0.1, 0.04, 0.04), (4, 2, 2), law(**LAME), element=element, gravity=gravity, **options)
    return body, scene.compile()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("element", "lumped"), [("tet4", True), ("tet4", False), ("hex8", True), ("tet10", True)])
def test_free_fall_is_exact(law, element, lumped):
    """An unclamped body falls without deforming: implicit Euler gives x = g h² n (n + 1)/2, midpoint g (n h)²/2."""
    body, world = block(law, GRAVITY, element, lumped_mass=lumped)
    dt, count = 0.01, 20
    for stepper, factor in ((pl.ImplicitEuler(dt=dt), count * (count + 1)), (pl.ImplicitMidpoint(dt=dt), count**2)):
        run = pl.simulate(world, stepper, until=count * dt)
        fall = 0.5 * dt**2 * factor * GRAVITY
        moved = run.points(body)[-1] - run.points(body)[0]
        np.testing.assert_allclose(moved, np.broadcast_to(fall, moved.shape), atol=1e-11)
        velocity = run.velocities(body)[-1]
        np.testing.assert_allclose(velocity, np.broadcast_to(count * dt * GRAVITY, velocity.shape), atol=1e-9)


@pytest.mark.parametrize("lumped", [True, False])
def test_an_unclamped_body_keeps_its_momenta(lumped):
    """Without external force linear momentum is kept by both steppers, angular momentum by midpoint, to round-off.

    Midpoint conserves quadratic invariants (Hairer, Lubich, Wanner, IV.2).
    """
    body, world = block(pl.materials.NeoHookean, (0, 0, 0), lumped_mass=lumped)
    rest = world.initial_state()
    q = rest.points(body)
    v = np.cross([5.0, -3.0, 20.0], q - q.mean(axis=0)) + [0.3, -0.2, 0.1] + 0.3 * np.sin(60 * q[:, ::-1])
    start = pl.State(world, 0.0, rest.q, (v,), np.zeros(0))
    mass = world.models[0].mass

    def momenta(state):
        p = mass.apply(np.array(state.velocities(body)))
        return p.sum(axis=0), np.cross(state.points(body), p).sum(axis=0)

    linear, angular = momenta(start)
    for stepper in (pl.ImplicitMidpoint(dt=0.004, tolerance=1e-12), pl.ImplicitEuler(dt=0.004, tolerance=1e-12)):
        state = start
        for _ in range(50):
            state, _ = stepper(world, state)
        after = momenta(state)
        np.testing.assert_allclose(after[0], linear, atol=1e-9 * np.linalg.norm(linear))
        if isinstance(stepper, pl.ImplicitMidpoint):
            np.testing.assert_allclose(after[1], angular, atol=1e-8 * np.linalg.norm(angular))
    assert np.abs(state.displacements(body) - state.displacements(body).mean(axis=0)).max() > 0.01


def test_cantilever_vibrates_at_the_frequency_of_euler_and_bernoulli():
    """First bending frequency f = 1.8751² / (2π L²) √(EI/ρA) within 1 %, from the zero crossings of a small swing.

    tet10, ν = 0, h/L = 1/25; midpoint turns ω into (2/h) atan(ω h/2), which the expected value takes into account.
    """
    length, height, young, density = 0.5, 0.02, 1e6, 1e3
    scene = pl.Scene()
    mesh = pl.mesh.box((length, height, height), (12, 1, 1), element="tet10")
    material = pl.materials.Corotated(young=young, poisson=0.0, density=density)
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, material, clamp=clamp, lumped_mass=False))
    world = scene.compile()
    k = 1.875104068711961 / length
    omega = k**2 * np.sqrt(young * height**2 / (12 * density))
    x, z = mesh.points[:, 0], mesh.points[:, 2] - height / 2
    ratio = (np.cos(k * length) + np.cosh(k * length)) / (np.sin(k * length) + np.sinh(k * length))
    shape = np.cosh(k * x) - np.cos(k * x) - ratio * (np.sinh(k * x) - np.sin(k * x))
    slope = k * (np.sinh(k * x) + np.sin(k * x) - ratio * (np.cosh(k * x) - np.cos(k * x)))
    q = mesh.points + 1e-4 * np.column_stack([-z * slope, np.zeros_like(x), shape])
    rest = world.initial_state()
    start = pl.State(world, 0.0, (q,), rest.v, np.zeros(0))
    dt = 2 * np.pi / omega / 40
    run = pl.simulate(world, pl.ImplicitMidpoint(dt=dt), until=120 * dt, start=start)
    swing = (run.points(body)[:, :, 2] - mesh.points[:, 2]) @ (world.models[0].mass.nodal * shape)
    change = np.flatnonzero(np.diff(np.sign(swing)))
    crossings = run.times[change] + dt * swing[change] / (swing[change] - swing[change + 1])
    measured = np.pi * (len(crossings) - 1) / (crossings[-1] - crossings[0])
    expected = 2.0 / dt * np.arctan(0.5 * omega * dt)
    print(f"ω {measured:.4f} rad/s, Euler–Bernoulli with midpoint {expected:.4f}")
    assert measured == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("stepper", [pl.ImplicitEuler(dt=0.05, tolerance=1e-9), pl.ImplicitMidpoint(dt=0.05)])
def test_order_of_the_steppers(stepper):
    """Against a run with sixteenth steps, halving dt divides the error by 2 (Euler) and by 4 (midpoint)."""
    import dataclasses

    body, world = block(pl.materials.NeoHookean, (0, 0, -1.0), clamp=pl.regions.plane(axis="x", at=0.0))
    clamp_free = world.initial_state()

    def end(dt):
        run = pl.simulate(world, dataclasses.replace(stepper, dt=dt), until=0.1, start=clamp_free)
        return run.points(body)[-1]

    base = 0.005
    reference = end(base / 32)
    errors = [np.linalg.norm(end(dt) - reference) for dt in (base, base / 2)]
    order = np.log2(errors[0] / errors[1])
    print(f"{type(stepper).__name__}: order {order:.2f}")
    wanted = 1.0 if isinstance(stepper, pl.ImplicitEuler) else 2.0
    assert order == pytest.approx(wanted, abs=0.25)
