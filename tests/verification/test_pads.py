"""Two flat pads press an object with N each: it holds a load up to 2 μ N and slips beyond."""

import numpy as np
import pytest

import pliant as pl

MU, SIDE, DT, YOUNG, PRESS = 0.5, 0.02, 0.005, 1e5, 1.0


def pressed(cells):
    """An elastic cube (ν = 0) between two moving walls that compress it with PRESS newtons each."""
    scene = pl.Scene()
    material = pl.materials.Corotated(young=YOUNG, poisson=0.0, density=2000.0)
    mesh = pl.mesh.box((SIDE,) * 3, cells)
    block = scene.add(pl.Volume(mesh, material, anti_locking=False, damping=pl.Rayleigh(stiffness=0.01)))
    squeeze = 0.5 * PRESS / (YOUNG * SIDE)  # E A ε = N with ε = 2 squeeze / side

    def closing(sign):
        return lambda t: ((sign * squeeze * min(t / 0.1, 1.0), 0.0, 0.0), (0.0, 0.0, 0.0))

    left = scene.add(pl.Obstacle.plane(normal=(1, 0, 0), motion=closing(1.0), name="left"))
    right = scene.add(pl.Obstacle.plane(point=(SIDE, 0, 0), normal=(-1, 0, 0), motion=closing(-1.0), name="right"))
    for pad in (left, right):
        scene.collide(block, pad, friction=MU)
    return scene, block, (left, right)


def pulled(load, cells=(3, 3, 3)):
    """Slip speed of the mean of the block (m/s) and forces of the pads after pressing, and pulling with `load` N."""
    scene, block, pads = pressed(cells)
    pull = scene.add(pl.PointLoad(block, pl.regions.box((-1, -1, -1), (1, 1, 1)), (0, 0, 0)))
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=DT)
    mass = world.models[0].mass.nodal
    for k in range(80):
        ramp = min(max(0.0, (k * DT - 0.15) / 0.1), 1.0)
        state, info = step(world, state, {pull: pl.Force((0, 0, ramp * load))})
    speed = mass @ state.velocities(block)[:, 2] / mass.sum()
    return speed, [info.contact_force(block, pad) for pad in pads]


def test_pads_hold_below_and_slip_above_twice_mu_n():
    """Held at 98 % of 2 μ N, sliding at 102 %."""
    held, forces = pulled(0.98 * 2 * MU * PRESS)
    normals = [forces[0][0], -forces[1][0]]
    np.testing.assert_allclose(normals, PRESS, rtol=0.005)
    assert abs(held) < 1e-5
    assert sum(forces)[2] == pytest.approx(-0.98 * 2 * MU * PRESS, rel=1e-3)
    slipping, forces = pulled(1.02 * 2 * MU * PRESS)
    print(f"N {normals}, speed held {held:.1e}, slipping {slipping:.1e} m/s")
    assert slipping > 0.01
    assert sum(forces)[2] == pytest.approx(-2 * MU * PRESS, rel=0.02)
