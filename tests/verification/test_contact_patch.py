"""Contact patch test: a uniform pressure passes through an interface as a uniform stress.

Vertices of both sides face the other's triangles, so a flat interface can carry any uniform pressure, matching meshes
or not: the uniform state satisfies all rows, and equilibrium without friction is unique.
"""

import numpy as np
import pytest

import pliant as pl

SIDE, PRESSURE, YOUNG = 0.04, 2e3, 1e5  # 2 % of strain


def block(cells, poisson, name):
    """A soft cube, nearly weightless beside the pressure."""
    material = pl.materials.Corotated(young=YOUNG, poisson=poisson, density=10.0)
    mesh = pl.mesh.box((SIDE,) * 3, (cells,) * 3)
    return pl.Volume(mesh, material, anti_locking=False, damping=pl.Rayleigh(stiffness=0.05), name=name)


def keep_in_place(scene, body, axes="xy"):
    for axis in axes:
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))


def rested(world, count=150, dt=0.02):
    state, step = world.initial_state(), pl.ImplicitEuler(dt=dt)
    for _ in range(count):
        state, info = step(world, state)
    return state, info


def unevenness(state, body):
    """Largest difference of the vertical stress of a cell from the mean over the body, over the pressure."""
    stress = state.stress(body)[:, 2, 2]
    return np.abs(stress - stress.mean()).max() / PRESSURE


@pytest.mark.parametrize("poisson", [0.0, 0.3])
def test_two_walls_press_uniformly(poisson):
    """A soft block squeezed by 2 % between two smooth planes: the same stress in all cells, E ε over the section."""
    scene = pl.Scene()
    soft = scene.add(block(3, poisson, "block"))
    keep_in_place(scene, soft)

    def closing(t):
        return (0.0, 0.0, -0.02 * SIDE * min(t, 1.0)), (0.0, 0.0, 0.0)

    floor = scene.add(pl.Obstacle.plane(name="floor"))
    press = scene.add(pl.Obstacle.plane(point=(0, 0, SIDE), normal=(0, 0, -1), motion=closing, name="press"))
    scene.collide(soft, floor)
    scene.collide(soft, press)
    state, info = rested(scene.compile())
    force = info.contact_force(soft, press)
    print(f"ν {poisson}: uneven by {unevenness(state, soft):.1e}, force {force} N")
    np.testing.assert_allclose(force, [0, 0, -PRESSURE * SIDE**2], atol=1e-3 * PRESSURE * SIDE**2)
    np.testing.assert_allclose(info.contact_force(soft, floor), -force, atol=1e-6)
    assert unevenness(state, soft) < 1e-6


def test_a_heavy_plate_presses_uniformly():
    """A free rigid plate on a soft block (ν = 0) that stands on a plane, with friction."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    soft = scene.add(block(3, 0.0, "block"))
    floor = scene.add(pl.Obstacle.plane())
    mass, middle = PRESSURE * SIDE**2 / 9.81, 0.5 * SIDE
    plate = scene.add(pl.RigidBody.box(size=(0.1, 0.1, 0.01), mass=mass, position=(middle, middle, SIDE + 0.005)))
    scene.collide(soft, floor, friction=0.5)
    scene.collide(soft, plate, friction=0.5)
    state, info = rested(scene.compile())
    force = info.contact_force(plate, soft)
    print(f"plate: uneven by {unevenness(state, soft):.1e}, force {force} N")
    np.testing.assert_allclose(force, [0, 0, mass * 9.81], atol=1e-3 * mass * 9.81)
    assert unevenness(state, soft) < 0.02


@pytest.mark.parametrize(("lower", "upper"), [(2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("poisson", [0.0, 0.3])
def test_two_soft_blocks_press_each_other_uniformly(lower, upper, poisson):
    """Matching and non-matching meshes, frictionless: stress within 1 % of the pressure everywhere, at rest."""
    scene = pl.Scene()
    below, above = scene.add(block(lower, poisson, "lower")), block(upper, poisson, "upper")
    scene.add(above, position=(0, 0, SIDE))
    keep_in_place(scene, below, "xyz")
    keep_in_place(scene, above)
    scene.add(pl.TractionLoad(above, pl.regions.plane(axis="z", at=SIDE), (0, 0, -PRESSURE)))
    scene.collide(above, below)
    state, info = rested(scene.compile())
    force = info.contact_force(above, below)
    uneven = [unevenness(state, body) for body in (below, above)]
    print(f"{lower}–{upper} cells, ν {poisson}: uneven by {uneven[0]:.1e}, {uneven[1]:.1e}, force {force} N")
    assert force[2] == pytest.approx(PRESSURE * SIDE**2, rel=1e-3)
    assert max(uneven) < 0.01
    assert max(np.abs(v).max() for v in state.v) < 1e-5
