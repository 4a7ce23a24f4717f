"""Balance of momentum through contacts: what one body loses the other gains, to rounding."""

import numpy as np
import pytest

import pliant as pl


def totals(world, state):
    """Linear momentum (3,) kg·m/s and angular momentum about the origin (3,) kg·m²/s of all bodies."""
    linear, angular = np.zeros(3), np.zeros(3)
    for model, q, v in zip(world.models, state.q, state.v, strict=True):
        if isinstance(model.spec, pl.RigidBody):
            spun = model.mass_matrix(q)[3:, 3:] @ v[1]
            linear += model.spec.mass * v[0]
            angular += model.spec.mass * np.cross(q[0], v[0]) + spun
        else:
            m = model.mass.nodal[:, None]
            linear += (m * v).sum(axis=0)
            angular += (m * np.cross(q, v)).sum(axis=0)
    return linear, angular


def moving(world, velocities):
    """The initial state with each soft body moving at one velocity, (3,) m/s; rigid ones move as they were made."""
    start = world.initial_state()
    v = tuple(np.broadcast_to(given, x.shape).copy() if given else x for given, x in zip(velocities, start.v))
    return pl.State(world, 0.0, start.q, v, start.lam)


def rubber():
    return pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)


def soft_on_rigid(friction):
    scene = pl.Scene()
    mesh = pl.mesh.box((0.04, 0.04, 0.04), (3, 3, 3))
    soft = scene.add(pl.Volume(mesh, rubber()), position=(-0.05, -0.02, -0.02))
    ball = scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.05, position=(0.012, 0.006, 0.004), spin=(0, 0, 20)))
    scene.collide(soft, ball, friction=friction)
    return scene.compile(), soft, ball


def soft_on_soft(friction):
    scene = pl.Scene()
    mesh = pl.mesh.box((0.04, 0.04, 0.04), (3, 3, 3))
    soft = scene.add(pl.Volume(mesh, rubber(), name="first"), position=(-0.043, -0.02, -0.02))
    other = scene.add(pl.Volume(mesh, rubber(), name="second"), position=(0.0, -0.011, -0.013))
    scene.collide(soft, other, friction=friction)
    return scene.compile(), soft, other


@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("build", [soft_on_rigid, soft_on_soft])
def test_an_impact_conserves_linear_momentum(build, friction):
    """Relative change of the total over the impact ≤ 1e-8, although velocities change by more than a tenth."""
    world, soft, other = build(friction)
    state = moving(world, [(1.0, 0.1, 0.0), None])
    before, _ = totals(world, state)
    first, touched, step = state.v[0].mean(axis=0), 0, pl.ImplicitEuler(dt=0.002)
    for _ in range(60):
        state, info = step(world, state)
        touched += bool(np.linalg.norm(info.contact_force(soft, other)) > 0)
        np.testing.assert_allclose(info.contact_force(other, soft), -info.contact_force(soft, other), atol=1e-14)
    after, _ = totals(world, state)
    change = np.linalg.norm(after - before) / np.linalg.norm(before)
    print(f"{build.__name__} μ {friction}: relative change {change:.1e}, {touched} steps in contact")
    assert touched >= 2
    assert np.linalg.norm(state.v[0].mean(axis=0) - first) > 0.1
    assert change <= 1e-8


@pytest.mark.parametrize("tolerance", [None, 1e-10])
def test_the_floor_gives_a_thrown_block_its_change_of_momentum(tolerance):
    """Sum of the contact forces = rate of momentum − weight, to 1e-8 of the largest force, converged or not."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    mesh = pl.mesh.box((0.04, 0.04, 0.04), (3, 3, 3))
    block = scene.add(pl.Volume(mesh, rubber(), damping=pl.Rayleigh(stiffness=0.01)), position=(0, 0, 0.002))
    floor = scene.add(pl.Obstacle.plane())
    scene.collide(block, floor, friction=0.4)
    world, dt = scene.compile(), 0.005
    mass = world.models[0].mass.nodal.sum()
    state, step = moving(world, [(0.5, 0.0, -0.3)]), pl.ImplicitEuler(dt=dt, tolerance=tolerance)
    forces, errors = [], []
    for _ in range(60):
        before, _ = totals(world, state)
        state, info = step(world, state)
        forces.append(info.contact_force(block, floor))
        needed = (totals(world, state)[0] - before) / dt + [0, 0, mass * 9.81]
        errors.append(np.linalg.norm(forces[-1] - needed))
    largest = np.linalg.norm(forces, axis=1).max()
    print(f"off by {max(errors):.1e} N of {largest:.2f} N, at rest {forces[-1]} N")
    assert largest > 2.0 * mass * 9.81
    assert min(force[0] for force in forces) < -0.1 * mass * 9.81, "friction brakes it"
    assert max(errors) <= 1e-8 * largest


def test_angular_momentum_is_kept_to_the_order_of_the_step():
    """Implicit Euler with positions at the end of the step loses angular momentum in proportion to dt."""
    drifts = []
    for dt in (0.004, 0.001):
        world, _, _ = soft_on_rigid(0.4)
        state, step = moving(world, [(1.0, 0.1, 0.0), None]), pl.ImplicitEuler(dt=dt, tolerance=1e-9)
        _, before = totals(world, state)
        for _ in range(round(0.06 / dt)):
            state, _ = step(world, state)
        scale = np.linalg.norm(totals(world, state)[0]) * 0.04  # momentum times the size of the bodies
        drifts.append(np.linalg.norm(totals(world, state)[1] - before) / scale)
    print(f"angular drift {drifts[0]:.2e} at 4 ms, {drifts[1]:.2e} at 1 ms")
    assert drifts[1] < 0.05
    assert drifts[1] < 0.67**2 * drifts[0]


def test_a_rigid_impact_is_plastic_and_conserves_momentum():
    """Two balls in line: position-level Signorini ends the impact with one common velocity."""
    scene = pl.Scene()
    first = scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.1, velocity=(1, 0, 0), name="first"))
    second = scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.3, position=(0.05, 0, 0), name="second"))
    scene.collide(first, second)
    world = scene.compile()
    state, step = world.initial_state(), pl.ImplicitEuler(dt=0.001)
    for _ in range(30):
        state, _ = step(world, state)
    for body in (first, second):
        np.testing.assert_allclose(state.velocities(body)[0], [0.25, 0, 0], atol=1e-9)
        np.testing.assert_allclose(state.velocities(body)[1], 0.0, atol=1e-9)
    assert np.linalg.norm(state.pose(second)[0] - state.pose(first)[0]) >= 0.04 - 1e-9
