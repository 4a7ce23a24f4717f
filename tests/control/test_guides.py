"""Friction in guides beside an inverse: tips follow what rods and cables with friction can do, and forces obey it."""

import numpy as np
import pytest

import pliant as pl

MESH = pl.mesh.box((0.1, 0.02, 0.02), (10, 2, 2))
RUBBER = pl.materials.Corotated(young=5e5, poisson=0.4, density=1e3)
POINTS = np.stack([np.linspace(0.005, 0.1, 12), np.full(12, 0.01), np.full(12, 0.015)], axis=1)
TIP = int(np.argmin(np.linalg.norm(MESH.points - [0.1, 0.01, 0.01], axis=1)))
STEPS = 24


def with_rod(friction):
    scene = pl.Scene()
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
    rod = scene.add(
        pl.Rod(
            0.12, 10, section=pl.sections.Circle(2.5e-4), young=2e9, poisson=0.3, density=1e3,
            position=(-0.02, 0.01, 0.015), base=pl.Slide((-1, 0, 0)), damping=pl.Rayleigh(stiffness=0.05),
        )
    )  # fmt: skip
    scene.add(pl.Channel(body, POINTS, rod, friction=friction))
    drive = scene.add(pl.BaseDrive(rod))
    return scene.compile(), body, drive


def with_cable(friction):
    scene = pl.Scene()
    clamp = pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(MESH, RUBBER, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
    drive = scene.add(pl.Cable(body, POINTS, friction=friction))
    return scene.compile(), body, drive


def reachable(world, body, drive):
    """Where the tip goes as the drive pulls by 3 mm and lets go again, (STEPS, 3) m, and the forces of the drive, N."""
    state, places, forces = world.initial_state(), [], []
    for k in range(STEPS):
        amount = pl.Displacement(0.003 * np.sin(np.pi * (k + 1) / STEPS))
        state, info = pl.ImplicitEuler(0.02)(world, state, {drive: amount})
        places.append(state.points(body)[TIP])
        forces.append(info.actuation(drive)[1])
    return np.array(places), np.array(forces)


@pytest.mark.parametrize("build", [with_rod, with_cable])
def test_a_tip_follows_what_friction_lets_it_do(build):
    """The inverse of a direct run finds its forces, out and back, where friction turns round."""
    world, body, drive = build(0.2)
    places, forces = reachable(world, body, drive)
    tip = pl.Effector(body, MESH.points[TIP])
    step = pl.ImplicitEuler(0.02, solver=pl.Inverse([tip], [drive], energy_weight=0.0))
    state, found = world.initial_state(), []
    for place in places:
        state, info = step(world, state, {tip: place})
        found.append(info.actuation(drive)[1])
        assert info.inverse.friction_change < 1e-6
        assert info.error(tip) < 1e-6
    np.testing.assert_allclose(found, forces, atol=1e-3 * forces.max())
    frictionless = build(0.0)
    _, without = reachable(*frictionless)
    assert forces.max() > 1.01 * without.max()


def test_forces_obey_friction_where_the_target_is_out_of_reach():
    """The forces of a step are those of the laws under the actuation that was found."""
    world, body, drive = with_rod(0.3)
    tip = pl.Effector(body, MESH.points[TIP])
    step = pl.ImplicitEuler(0.02, solver=pl.Inverse([tip], [drive]))
    state = world.initial_state()
    for k in range(10):
        state, info = step(world, state, {tip: MESH.points[TIP] + (-0.0005 * k, 0.001 * k, 0.001 * k)})
    assert info.error(tip) > 1e-3
    place = info.assembly.slices[1]
    lam = info.lam[place][: 3 * (len(POINTS) - 1)].reshape(-1, 3)
    pressed = np.hypot(lam[:, 0], lam[:, 1])
    assert (np.abs(lam[:, 2]) <= 0.3 * pressed * (1 + 1e-6) + 1e-12).all()
    assert (np.abs(lam[:, 2]) > 0.29 * pressed).any()
