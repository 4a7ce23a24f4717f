"""Cables end to end: sign, slackness, force and displacement control, limits, and a bar with an axial cable."""

import numpy as np
import pytest

import pliant as pl

YOUNG, LENGTH, SIDE = 1e6, 0.1, 0.02
CLAMP = pl.regions.plane(axis="x", at=0.0)


def bar(*, poisson=0.0, gravity=(0, 0, 0), height=0.5 * SIDE, cells=(8, 2, 2), law=pl.materials.Corotated, **cable):
    """A bar along x, clamped at x = 0, with a straight cable along it from the clamp to its end."""
    scene = pl.Scene(gravity=gravity)
    mesh = pl.mesh.box((LENGTH, SIDE, SIDE), cells)
    material = law(young=YOUNG, poisson=poisson, density=1e3)
    body = scene.add(pl.Volume(mesh, material, clamp=CLAMP, damping=pl.Rayleigh(stiffness=0.02)))
    points = [(0.0, 0.5 * SIDE, height), (0.5 * LENGTH, 0.5 * SIDE, height), (LENGTH, 0.5 * SIDE, height)]
    return scene, body, scene.add(pl.Cable(body, points, **cable))


def settle(scene, control, *, tolerance=1e-10):
    world = scene.compile()
    state, info = pl.QuasiStatic(tolerance=tolerance)(world, world.initial_state(), control)
    return state, info


def test_an_axial_cable_shortens_a_bar_by_its_tension():
    """Strain −F / (E A) between sections away from clamp, via points and end, by St. Venant within 2 %."""
    scene, body, cable = bar(cells=(16, 4, 4))
    tension = 2e-3 * YOUNG * SIDE**2
    state, info = settle(scene, {cable: pl.Force(tension)})
    middle = np.abs(body.mesh.points[:, 0] - 0.5 * LENGTH) < 1e-9
    quarter = np.abs(body.mesh.points[:, 0] - 0.25 * LENGTH) < 1e-9
    u = state.displacements(body)[:, 0]
    strain = (u[middle].mean() - u[quarter].mean()) / (0.25 * LENGTH)
    print(f"strain {strain:.6e}, expected {-tension / (YOUNG * SIDE**2):.6e}")
    assert strain == pytest.approx(-tension / (YOUNG * SIDE**2), rel=0.02)
    shortened, force = info.actuation(cable)
    assert force == pytest.approx(tension)
    assert shortened > 0.0


@pytest.mark.parametrize("law", [pl.materials.Corotated, pl.materials.NeoHookean])
def test_force_and_displacement_control_meet_in_the_same_state(law):
    """Shortening by what a force shortened gives the same shape and that force, bent far out of the straight."""
    scene, body, cable = bar(poisson=0.4, height=0.9 * SIDE, law=law)
    pulled, info = settle(scene, {cable: pl.Force(8.0)})
    shortened, tension = info.actuation(cable)
    assert tension == 8.0
    assert np.abs(pulled.displacements(body)).max() > 0.1 * LENGTH
    moved, other = settle(scene, {cable: pl.Displacement(shortened)})
    assert other.actuation(cable)[0] == pytest.approx(shortened, rel=1e-7)
    assert other.actuation(cable)[1] == pytest.approx(8.0, rel=1e-5)
    np.testing.assert_allclose(moved.points(body), pulled.points(body), atol=1e-7)


@pytest.mark.parametrize("law", [pl.materials.Linear, pl.materials.Corotated, pl.materials.NeoHookean])
def test_the_measured_shortening_is_that_of_the_cable(law):
    """actuation()[0] is L₀ − L of the end state, and the commanded displacement."""
    scene, _, cable = bar(height=0.9 * SIDE, law=law)
    world = scene.compile()
    state, info = pl.QuasiStatic(tolerance=1e-10)(world, world.initial_state(), {cable: pl.Displacement(0.01)})
    constraint = world.constraints[0]
    assert constraint.rest_length - constraint.length(state.q) == pytest.approx(0.01, rel=1e-6)
    assert info.actuation(cable)[0] == pytest.approx(0.01, rel=1e-9)


def test_a_cable_never_pushes():
    """Lengthening (negative displacement) leaves a body that does not need the cable alone: tension 0."""
    scene, body, cable = bar()
    state, info = settle(scene, {cable: pl.Displacement(-0.01)})
    assert info.actuation(cable)[1] == 0.0
    np.testing.assert_allclose(state.points(body), body.mesh.points, atol=1e-12)


def test_a_slack_cable_tightens_when_the_body_comes_back():
    """Under a load that shortens it the cable hangs loose; under one that lengthens it, it holds."""
    for pull, tight in ((-1.0, False), (1.0, True)):
        scene, body, cable = bar()
        end = pl.regions.plane(axis="x", at=LENGTH)
        scene.add(pl.TractionLoad(body, end, (pull / SIDE**2, 0, 0)))
        _, info = settle(scene, {cable: pl.Displacement(0.0)}, tolerance=1e-8)
        shortened, tension = info.actuation(cable)
        assert (tension > 0.1) == tight
        assert shortened == pytest.approx(0.0, abs=1e-10) if tight else shortened > 1e-4


def test_without_a_control_a_cable_is_slack():
    scene, body, cable = bar()
    state, info = settle(scene, None)
    assert info.actuation(cable)[1] == 0.0
    np.testing.assert_allclose(state.points(body), body.mesh.points, atol=1e-12)


def test_max_force_stalls_a_displacement():
    """Asked for more than its force allows, a cable pulls with max_force and stops short."""
    free, _, cable = bar(height=0.9 * SIDE)
    _, info = settle(free, {cable: pl.Displacement(0.01)})
    needed = info.actuation(cable)[1]
    limited, _, weak = bar(height=0.9 * SIDE, max_force=0.5 * needed)
    _, info = settle(limited, {weak: pl.Displacement(0.01)})
    shortened, tension = info.actuation(weak)
    assert tension == pytest.approx(0.5 * needed, rel=1e-9)
    assert 0.0 < shortened < 0.01


def test_min_force_keeps_a_cable_taut():
    scene, _, cable = bar(min_force=0.5)
    for control in (None, {cable: pl.Displacement(-0.01)}):
        _, info = settle(scene, control)
        assert info.actuation(cable)[1] == pytest.approx(0.5)
        assert info.actuation(cable)[0] > 0.0


def test_dynamics_settle_where_statics_are():
    """Displacement control in implicit Euler holds the shortening at every step and ends in the static shape."""
    scene, body, cable = bar(height=0.9 * SIDE, poisson=0.3)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.01)
    for _ in range(200):
        state, info = step(world, state, {cable: pl.Displacement(0.004)})
    static, calm = settle(scene, {cable: pl.Displacement(0.004)})
    np.testing.assert_allclose(state.points(body), static.points(body), atol=2e-6)
    assert info.actuation(cable)[1] == pytest.approx(calm.actuation(cable)[1], rel=1e-3)


def test_a_pull_point_in_the_world_draws_the_body_to_it():
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box((LENGTH, SIDE, SIDE), (8, 2, 2)), _rubber(), clamp=CLAMP))
    cable = scene.add(pl.Cable(body, [(LENGTH, 0.01, 0.01)], pull_point=(LENGTH, 0.01, 0.1)))
    state, info = settle(scene, {cable: pl.Displacement(0.02)})
    node = np.argmin(np.linalg.norm(body.mesh.points - (LENGTH, 0.01, 0.01), axis=1))
    reach = np.linalg.norm(state.points(body)[node] - (LENGTH, 0.01, 0.1))
    assert reach == pytest.approx(0.09 - 0.02, rel=1e-6)
    assert info.actuation(cable)[1] > 0.0


def _rubber():
    return pl.materials.Corotated(young=YOUNG, poisson=0.3, density=1e3)
