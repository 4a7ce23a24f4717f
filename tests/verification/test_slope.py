"""A block on an inclined plane, μ = 0.5: below atan μ = 26.6° it stays, above it slides at g (sin α − μ cos α)."""

import numpy as np
import pytest

import pliant as pl

G, MU, DT = 9.81, 0.5, 0.01


def slope(kind, degrees):
    """A scene with a rigid or a soft block on a plane; gravity is inclined instead of the plane."""
    angle = np.radians(degrees)
    scene = pl.Scene(gravity=(G * np.sin(angle), 0.0, -G * np.cos(angle)))
    if kind == "rigid":
        block = scene.add(pl.RigidBody.box(size=(0.05, 0.05, 0.02), mass=0.1, position=(0, 0, 0.01)))
    else:
        rubber = pl.materials.Corotated(young=0.5e6, poisson=0.45, density=1000.0)
        damping = pl.Rayleigh(stiffness=0.01)
        mesh = pl.mesh.box((0.06, 0.06, 0.06), (4, 4, 4))
        block = scene.add(pl.Volume(mesh, rubber, anti_locking=False, damping=damping))
    plane = scene.add(pl.Obstacle.plane())
    scene.collide(block, plane, friction=MU)
    return scene.compile(), block, plane


def velocity(world, state, block):
    """Velocity of the centre of mass, (3,), m/s."""
    if isinstance(block, pl.RigidBody):
        return state.velocities(block)[0]
    mass = world.models[0].mass.nodal
    return mass @ state.velocities(block) / mass.sum()


def run(kind, degrees, count):
    world, block, plane = slope(kind, degrees)
    state, step, speeds = world.initial_state(), pl.ImplicitEuler(dt=DT), []
    for _ in range(count):
        state, info = step(world, state)
        speeds.append(velocity(world, state, block))
    weight = sum(np.sum(m.spec.mass if kind == "rigid" else m.mass.nodal) for m in world.models) * world.gravity
    return np.array(speeds), info.contact_force(block, plane), weight


@pytest.mark.parametrize("kind", ["rigid", "soft"])
def test_below_the_friction_angle_the_block_stays(kind):
    """Creep ≤ 0.1 mm/s at 20° (MuJoCo's elliptic cone: 1.65 mm/s); the contact carries the whole weight."""
    speeds, force, weight = run(kind, 20.0, 100)
    creep = np.linalg.norm(speeds[-20:], axis=1).max()
    print(f"{kind}: creep {1e3 * creep:.2e} mm/s")
    assert creep <= 1e-6
    np.testing.assert_allclose(force, -weight, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["rigid", "soft"])
def test_above_the_friction_angle_it_slides_at_the_closed_form(kind):
    """0.657 m/s² ± 2 % at 30°; measured to six digits, and the force lies on the cone, against the motion."""
    speeds, force, _ = run(kind, 30.0, 80)
    expected = G * (np.sin(np.pi / 6) - MU * np.cos(np.pi / 6))
    acceleration = (speeds[-1, 0] - speeds[29, 0]) / (50 * DT)
    print(f"{kind}: {acceleration:.6f} of {expected:.6f} m/s²")
    assert acceleration == pytest.approx(expected, rel=1e-4)
    assert force[0] == pytest.approx(-MU * force[2], rel=1e-5)
    assert abs(force[1]) <= 1e-4 * force[2]


def test_friction_turns_into_the_direction_of_the_slip():
    """A true cone: sliding at any angle in the plane meets the same friction μ N (a pyramid would not)."""
    for angle in np.radians([0.0, 20.0, 45.0, 70.0]):
        scene = pl.Scene(gravity=(0, 0, -G))
        start = 2.0 * np.array([np.cos(angle), np.sin(angle), 0.0])
        ball = scene.add(pl.RigidBody.box(size=(0.1, 0.1, 0.01), mass=0.1, position=(0, 0, 0.005), velocity=start))
        plane = scene.add(pl.Obstacle.plane())
        scene.collide(ball, plane, friction=MU)
        world = scene.compile()
        state, step = world.initial_state(), pl.ImplicitEuler(dt=DT)
        for _ in range(10):
            state, info = step(world, state)
        expected = (2.0 - MU * G * 10 * DT) * start / 2.0
        np.testing.assert_allclose(state.velocities(ball)[0], expected, atol=1e-6)
        assert np.linalg.norm(info.contact_force(ball, plane)[:2]) == pytest.approx(MU * 0.1 * G, rel=1e-6)
