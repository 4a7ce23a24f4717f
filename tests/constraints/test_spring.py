"""Springs: energies and forces against closed forms, with and without a rest length."""

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import RowView


def sprung(**options):
    """Two balls 0.1 m apart, joined by a spring."""
    scene = pl.Scene()
    balls = [scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.2, position=(x, 0, 0))) for x in (0.0, 0.1)]
    scene.add(pl.Spring(*balls, (0, 0, 0), (0.1, 0, 0), **options))
    return scene.compile()


def placed(world, first, second):
    q = [x.copy() for x in world.initial_state().q]
    q[0][0], q[1][0] = first, second
    return q


@pytest.mark.parametrize("options", [{}, {"rest_length": "initial"}, {"rest_length": 0.04}])
def test_forces_are_the_slope_of_the_energy(options):
    """½ k (ℓ − ℓ₀)² or ½ k |Δd|², and −∂E/∂x of it."""
    (spring,) = (world := sprung(stiffness=50.0, **options)).constraints
    first, second = np.array([0.01, 0.02, -0.01]), np.array([0.13, 0.0, 0.03])
    line = first - second
    length = options.get("rest_length")
    left = line - (-0.1, 0, 0) if length is None else np.linalg.norm(line) - (0.1 if length == "initial" else length)
    assert spring.elastic_energy(placed(world, first, second)) == pytest.approx(25.0 * np.sum(left**2), rel=1e-12)
    for axis in np.eye(3):
        ends = [spring.elastic_energy(placed(world, first + t * axis, second)) for t in (1e-6, -1e-6)]
        force = spring.forces(placed(world, first, second))[0] @ axis
        assert force == pytest.approx(-(ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("options", [{}, {"rest_length": "initial"}])
def test_a_dashpot_takes_energy(options):
    """Two balls that part at 0.2 m/s: their relative speed decays by 1/(1 + c h/μ) in a step of implicit Euler."""
    world = sprung(damping=3.0, **options)
    state = world.initial_state()
    for model, speed in zip(world.models, (-0.1, 0.1), strict=True):
        state = state.with_velocities(model.spec, [[speed, 0, 0], [0, 0, 0]])
    after, _ = pl.ImplicitEuler(dt=0.01, newton_iterations=3)(world, state)  # the second counts the speed of the first
    speeds = [v[0, 0] for v in after.v]
    assert speeds[1] - speeds[0] == pytest.approx(0.2 / (1.0 + 3.0 * 0.01 / 0.1), rel=1e-6)
    assert sum(speeds) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"rest_length": "initial"}])
@pytest.mark.parametrize("count", [1, 3])
def test_dashpots_follow_the_start_of_the_step(options, count):
    """δ at a fixed end by the start, against differences, of one spring and of several in a row."""
    scene, rng = pl.Scene(), np.random.default_rng(count)
    balls = [scene.add(pl.RigidBody.sphere(radius=0.05, mass=0.2, position=(x, 0, 0))) for x in (0.0, 0.3)]
    ends = [0.02 * rng.normal(size=(count, 3)) + (x, 0, 0) for x in (0.0, 0.3)]
    scene.add(pl.Spring(*balls, *ends, stiffness=50.0, damping=3.0, **options))
    world = scene.compile()
    (spring,) = world.constraints
    start = [x.copy() for x in world.initial_state().q]
    end = [x.copy() for x in start]
    end[0][0] += (0.003, -0.004, 0.001)
    end[1][0] += (-0.002, 0.001, 0.005)

    def delta(start):
        view = RowView.of(world.models, end, start=start, time=0.01, dt=0.01)
        return spring.rows_at(view)[0].gap, spring.by_start(view)

    _, slopes = delta(start)
    for k in (0, 1):
        for axis in range(3):
            ahead, back = ([x.copy() for x in start] for _ in range(2))
            ahead[k][0, axis] += 1e-7
            back[k][0, axis] -= 1e-7
            change = (delta(ahead)[0] - delta(back)[0]) / 2e-7
            column = slopes[k].toarray()[:, axis]
            np.testing.assert_allclose(column, change, atol=1e-5 * max(np.abs(change).max(), 1.0))


def test_a_spring_connects_the_bodies_at_its_ends():
    scene = pl.Scene()
    balls = [scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.2, position=(x, 0, 0))) for x in (0.0, 0.1, 0.2)]
    scene.add(pl.Spring(balls[0], balls[2], (0, 0, 0), (0.2, 0, 0), stiffness=1.0))
    scene.add(pl.Spring(balls[1], None, (0.1, 0, 0), (0.1, 0, 1.0), stiffness=1.0))
    first, second = scene.compile().constraints
    assert [first.connects(k) for k in range(3)] == [True, False, True]
    assert [second.connects(k) for k in range(3)] == [False, True, False]
