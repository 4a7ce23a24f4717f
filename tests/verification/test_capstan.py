"""Friction of cables in their guides against Euler's capstan, loading and unloading."""

import numpy as np
import pytest

import pliant as pl

MU = 0.3


def arch(*, friction, count=7, young=2e5):
    """A soft block with a cable that turns by half a circle through it, `count` via points, from below to below."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.2, 0.05, 0.12), (8, 2, 5))
    rubber = pl.materials.Corotated(young=young, poisson=0.3, density=1e3)
    body = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="z", at=0.0)))
    angle = np.linspace(np.pi, 0.0, count)
    path = np.stack([0.1 + 0.08 * np.cos(angle), np.full(count, 0.025), 0.02 + 0.08 * np.sin(angle)], axis=1)
    cable = scene.add(pl.Cable(body, path, friction=friction, pull_point=(0.02, 0.025, -0.1)))
    return scene.compile(), body, cable


def tensions(world, info):
    """Tension of each piece, N, and the angle at each via point, from the path itself."""
    lam = info.lam
    return lam[0] - np.concatenate([[0.0], np.cumsum(lam[1:])])


def turns(world, state):
    path = world.constraints[0].path(state.q)
    u = np.diff(path, axis=0)
    u /= np.linalg.norm(u, axis=1)[:, None]
    return np.arccos(np.clip(np.einsum("si,si->s", u[1:], u[:-1]), -1, 1))


@pytest.mark.parametrize("control", [pl.Force(3.0), pl.Displacement(0.02)])
def test_a_pulled_cable_loses_tension_by_the_capstan_equation(control):
    """T₊ = T e^(−μθ) at every via point where the cable slips towards the motor."""
    world, _, cable = arch(friction=MU)
    state, info = pl.QuasiStatic(tolerance=1e-9)(world, world.initial_state(), {cable: control})
    tension, angle = tensions(world, info), turns(world, state)
    print(f"{tension[0]:.3f} N at the motor, {tension[-1]:.3f} N at the anchor, turn {np.rad2deg(angle.sum()):.0f}°")
    np.testing.assert_allclose(tension[1:] / tension[:-1], np.exp(-MU * angle), rtol=1e-6)
    assert angle.sum() > 2.0


def test_released_it_keeps_more_tension_behind_than_before():
    """Letting go far enough turns the ratio round, e^(+μθ); a little of it leaves every guide sticking."""
    world, _, cable = arch(friction=MU)
    stepper = pl.QuasiStatic(tolerance=1e-9)
    pulled, info = stepper(world, world.initial_state(), {cable: pl.Force(3.0)})
    held, sticking = stepper(world, pulled, {cable: pl.Force(2.9)})
    before, after = tensions(world, info), tensions(world, sticking)
    ratio = after[1:] / after[:-1]
    angle = turns(world, held)
    assert (ratio > np.exp(-MU * angle) * (1 + 1e-6)).any()  # some guides stick
    assert abs(after[-1] - before[-1]) < 0.05  # and hardly any of it arrives at the anchor
    released, info = stepper(world, pulled, {cable: pl.Force(0.6)})
    ratio, angle = tensions(world, info)[1:] / tensions(world, info)[:-1], turns(world, released)
    slipping = np.isclose(ratio, np.exp(MU * angle), rtol=1e-6)
    assert slipping[:3].all()
    assert (ratio <= np.exp(MU * angle) * (1 + 1e-6)).all()
    assert (ratio >= np.exp(-MU * angle) * (1 - 1e-6)).all()


def test_without_friction_one_tension_all_along():
    """μ → 0 meets the frictionless cable."""
    smooth, body, cable = arch(friction=0.0)
    exact, _ = pl.QuasiStatic(tolerance=1e-10)(smooth, smooth.initial_state(), {cable: pl.Force(3.0)})
    rough, other, string = arch(friction=1e-7)
    state, _ = pl.QuasiStatic(tolerance=1e-10)(rough, rough.initial_state(), {string: pl.Force(3.0)})
    np.testing.assert_allclose(state.points(other), exact.points(body), atol=2e-8)


def test_friction_holds_the_dynamic_step_too():
    """In every step of a ramp the tensions stay within the two bounds, and the cable bends the body less."""
    bends = {}
    for mu in (0.0, MU):
        world, body, cable = arch(friction=mu)
        state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
        for k in range(20):
            state, info = step(world, state, {cable: pl.Force(0.15 * (k + 1))})
            if mu:
                ratio = tensions(world, info)[1:] / tensions(world, info)[:-1]
                assert (np.abs(np.log(ratio)) <= MU * 1.0 + 1e-9).all()
        bends[mu] = float(np.abs(state.displacements(body)).max())
    assert bends[MU] < 0.9 * bends[0.0]
