"""A soft block of 60 mm, 2058 tetrahedra, dropped 50 mm onto a plane: it comes to rest and never sinks in."""

import numpy as np

import pliant as pl

G = 9.81


def dropped(cells, height, friction=0.5):
    rubber = pl.materials.Corotated(young=0.5e6, poisson=0.45, density=1000.0)
    scene = pl.Scene(gravity=(0, 0, -G))
    body = pl.Volume(
        pl.mesh.box((0.06,) * 3, cells), rubber, anti_locking=False, damping=pl.Rayleigh(stiffness=0.01), name="block"
    )
    block = scene.add(body, position=(0, 0, height))
    plane = scene.add(pl.Obstacle.plane())
    scene.collide(block, plane, friction=friction, allow_overlap=True)
    return scene.compile(), block, plane


def test_the_published_drop_rests_without_sinking_in():
    """Penetration ≤ 0.05 mm at rest and ≤ 0.1 mm at any time; the floor carries the weight."""
    world, block, plane = dropped((7, 7, 7), 0.05)
    assert block.mesh.cell_count == 2058
    state, step, lowest, speeds = world.initial_state(), pl.ImplicitEuler(dt=0.01), [], []
    for _ in range(150):
        state, info = step(world, state)
        lowest.append(state.points(block)[:, 2].min())
        speeds.append(np.abs(state.velocities(block)).max())
    weight = G * world.models[0].mass.nodal.sum()
    print(f"rest {-1e3 * lowest[-1]:.2e} mm, deepest {-1e3 * min(lowest):.2e} mm, speed {speeds[-1]:.1e} m/s")
    assert max(speeds) > 0.85  # it did fall: sqrt(2 g h) = 0.99 m/s, met within a step of 0.1 m/s
    assert min(lowest) >= -1e-4
    assert lowest[-1] >= -5e-5
    assert speeds[-1] <= 1e-5
    np.testing.assert_allclose(info.contact_force(block, plane), [0, 0, weight], atol=1e-4 * weight)
    contacts = info.contacts(block, plane)
    assert len(contacts.gaps) == 64
    np.testing.assert_allclose(contacts.normals, np.tile([0, 0, 1], (64, 1)), atol=1e-12)
    assert (contacts.forces[:, 2] >= -1e-9).all()


def test_a_fast_block_does_not_tunnel():
    """At 10 m/s a step crosses ten margins; the widened search still finds the floor."""
    world, block, _ = dropped((3, 3, 3), 0.02, friction=0.0)
    start = world.initial_state()
    fast = np.zeros_like(start.q[0])
    fast[:, 2] = -10.0
    state, step = pl.State(world, 0.0, start.q, (fast,), start.lam), pl.ImplicitEuler(dt=0.01)
    for _ in range(30):
        state, _ = step(world, state)
        assert state.points(block)[:, 2].min() >= -1e-4


def test_a_starting_penetration_is_undone_slowly():
    """A block that starts 2 mm in the floor leaves it at no more than 0.1 m/s."""
    world, block, _ = dropped((2, 2, 2), -0.002, friction=0.0)
    state, step, speeds = world.initial_state(), pl.ImplicitEuler(dt=0.01), []
    for _ in range(40):
        state, _ = step(world, state)
        speeds.append(state.velocities(block)[:, 2].max())
    assert max(speeds) <= 0.11
    assert state.points(block)[:, 2].min() >= -5e-5
