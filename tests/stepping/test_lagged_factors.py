"""Steps with older factors: the answers of exact ones to the tolerance, the same bits each time, nothing hidden."""

import copy
import pickle

import numpy as np
import pytest

import pliant as pl
from pliant.core.status import Status
from pliant.solvers.linear import CholeskyFactor
from pliant.stepping import lagged_factors

STEPS = 100
ITERATE = 10**6
"""Rows for which W is found by iteration: all."""


def trunk_world(*, friction=0.3):
    """A small trunk that bends against a cylinder."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    trunk = scene.add(pl.robots.trunk(vertebra_count=4, cells=(2, 2)))
    post = scene.add(pl.Obstacle.cylinder(start=(0.022, -0.05, 0.13), end=(0.022, 0.05, 0.13), radius=0.01))
    scene.collide(trunk, post, friction=friction)
    return scene.compile(), trunk, post


def pulled(trunk):
    """Two cables pulled, one more slowly than the other."""
    return lambda t: {
        trunk.cables[0]: pl.Displacement(0.012 * min(t, 1.0)),
        trunk.cables[1]: pl.Displacement(0.004 * min(t, 1.0)),
    }


def walk(world, step, control, *, steps=STEPS, dt=0.02, state=None):
    """States and infos of `steps` steps."""
    states, infos = [world.initial_state() if state is None else state], []
    for _ in range(steps):
        state, info = step(world, states[-1], control(states[-1].time + dt))
        states.append(state)
        infos.append(info)
    return states, infos


def distance(a, b, body):
    """Largest distance of a node in any state, over the largest displacement."""
    largest = max(np.abs(s.displacements(body)).max() for s in b)
    return max(np.abs(x.points(body) - y.points(body)).max() for x, y in zip(a, b, strict=True)) / largest


@pytest.mark.parametrize("options", [{}, {"most_rows": ITERATE}, {"most_rows": ITERATE, "lag": 3, "iterations": 40}])
def test_a_run_with_friction_is_that_of_exact_factors(options):
    world, trunk, post = trunk_world()
    exact, touched = walk(world, pl.ImplicitEuler(0.02), pulled(trunk))
    lagged, infos = walk(world, pl.ImplicitEuler(0.02, factors=pl.LaggedFactors(**options)), pulled(trunk))
    assert distance(lagged, exact, trunk.body) < 1e-6, "1e-8 a step, over 100 steps"
    forces = [info.contact_force(trunk, post) for info in infos]
    wanted = [info.contact_force(trunk, post) for info in touched]
    assert np.linalg.norm(wanted[-1]) > 0.01, "the trunk has to touch"
    np.testing.assert_allclose(forces, wanted, atol=1e-5 * np.abs(wanted).max())
    assert infos[0].factor_age == 0
    assert all(info.factor_age >= 1 and info.cg_iterations > 0 for info in infos[1:])
    assert max(info.factor_age for info in infos) == (1 if "lag" not in options else 5)
    assert not sum(info.factor_use.redone for info in infos)
    awaited = sum(info.factor_use.awaited for info in infos)
    assert awaited == 0 if options else awaited > 0


def test_the_stated_tolerance_is_the_error_of_one_step():
    """A looser tolerance is worse in proportion, and takes fewer iterations."""
    world, trunk, _ = trunk_world()
    states, _ = walk(world, pl.ImplicitEuler(0.02), pulled(trunk), steps=20)
    exact, _ = pl.ImplicitEuler(0.02)(world, states[-1], pulled(trunk)(0.42))
    errors, counts = [], []
    for tolerance in (1e-4, 1e-7, 1e-10):
        factors = pl.LaggedFactors(tolerance=tolerance, most_rows=ITERATE, iterations=40)
        step = pl.ImplicitEuler(0.02, factors=factors)
        step(world, states[-2], pulled(trunk)(0.40))
        # what that step led to is not quite states[-1]: tell it that it is
        factors._memories[world].end = (states[-1].time, *states[-1].q, *states[-1].v)
        state, info = step(world, states[-1], pulled(trunk)(0.42))
        assert info.factor_age == 1
        moved = np.abs(exact.q[0] - states[-1].q[0]).max()
        errors.append(np.abs(state.q[0] - exact.q[0]).max() / moved)
        counts.append(info.cg_iterations)
    assert np.all(np.array(errors) < (1e-3, 1e-6, 1e-9))
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize("stepper", ["euler", "statics"])
def test_two_runs_take_the_same_bits(stepper):
    """With a new option object, and with one that was used before."""

    def made(factors):
        if stepper == "euler":
            return pl.ImplicitEuler(0.02, factors=factors)
        return pl.QuasiStatic(newton_iterations=1, factors=factors)

    world, trunk, _ = trunk_world()
    times = iter(0.02 * np.arange(1000))
    control = (lambda t: pulled(trunk)(t)) if stepper == "euler" else (lambda t: pulled(trunk)(next(times)))
    step = made(pl.LaggedFactors(most_rows=ITERATE))
    first, _ = walk(world, step, control, steps=30)
    times = iter(0.02 * np.arange(1000))
    again, _ = walk(world, step, control, steps=30)
    times = iter(0.02 * np.arange(1000))
    other, _ = walk(world, made(pl.LaggedFactors(most_rows=ITERATE)), control, steps=30)
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a.q[0], b.q[0])
        np.testing.assert_array_equal(a.q[0], c.q[0])


@pytest.mark.parametrize("lag", [1, 2])
def test_a_factor_that_is_ready_early_is_not_used_early(monkeypatch, lag):
    """A second thread that is infinitely fast gives the same bits as the true one."""

    class AtOnce:
        def submit(self, work, *args, **options):
            done = lagged_factors.Future()
            done.set_result(work(*args, **options))
            return done

    world, trunk, _ = trunk_world()
    options = {"most_rows": ITERATE, "lag": lag}
    true, _ = walk(world, pl.ImplicitEuler(0.02, factors=pl.LaggedFactors(**options)), pulled(trunk), steps=20)
    monkeypatch.setattr(lagged_factors, "_second_thread", AtOnce)
    fast, _ = walk(world, pl.ImplicitEuler(0.02, factors=pl.LaggedFactors(**options)), pulled(trunk), steps=20)
    for a, b in zip(true, fast, strict=True):
        np.testing.assert_array_equal(a.q[0], b.q[0])


def test_an_inverse_finds_the_same_actuation():
    world, trunk, _ = trunk_world()
    tip = pl.Effector(trunk.tip)
    inverse = pl.Inverse(effectors=[tip], actuators=trunk.cables)
    found = []
    for factors in (None, pl.LaggedFactors(most_rows=ITERATE)):
        step, state = pl.ImplicitEuler(0.02, solver=inverse, factors=factors), world.initial_state()
        for k in range(40):
            part = (k + 1) / 40
            state, info = step(world, state, {tip: (0.02 * part, 0.005 * part, 0.195 - 0.004 * part)})
        found.append((state.q[0], *info.actuation(trunk.cables)))
    assert info.factor_age == 1
    for exact, lagged in zip(*found, strict=True):
        np.testing.assert_allclose(lagged, exact, atol=1e-5 * np.abs(exact).max())


def test_statics_reach_the_same_equilibrium():
    world, trunk, _ = trunk_world()
    exact, _ = pl.QuasiStatic()(world, world.initial_state(), pulled(trunk)(1.0))
    state, info = pl.QuasiStatic(factors=pl.LaggedFactors())(world, world.initial_state(), pulled(trunk)(1.0))
    assert info.status is Status.CONVERGED
    assert info.residual <= 1e-8
    assert info.factor_age >= 1
    assert np.abs(state.q[0] - exact.q[0]).max() < 1e-6 * np.abs(exact.displacements(0)).max()


def test_statics_in_real_time_follow():
    world, trunk, _ = trunk_world()
    control = pulled(trunk)
    exact = lagged = world.initial_state()
    step, fast = (pl.QuasiStatic(newton_iterations=1, factors=f) for f in (None, pl.LaggedFactors(most_rows=ITERATE)))
    for k in range(STEPS):
        exact, wanted = step(world, exact, control(0.01 * k))
        lagged, info = fast(world, lagged, control(0.01 * k))
        assert info.tangents_projected == wanted.tangents_projected
        assert k == 0 or info.factor_age == 1 + info.tangents_projected
    assert np.abs(lagged.q[0] - exact.q[0]).max() < 1e-6 * np.abs(exact.displacements(0)).max()


def test_an_indefinite_matrix_is_projected_in_its_own_step():
    """A column compressed beyond its stability: the same tangents are projected, with the same outcome."""

    def buckled(factors):
        scene = pl.Scene()
        rubber = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1000)
        column = pl.mesh.box((0.01, 0.01, 0.1), (1, 1, 10))
        body = scene.add(pl.Volume(column, rubber, clamp=pl.regions.plane(axis="z", at=0)))
        scene.add(pl.PointLoad(body, pl.regions.plane(axis="z", at=0.1), (1e-3, 0.0, -0.2)))
        world = scene.compile()
        step, state, projected = pl.QuasiStatic(newton_iterations=1, factors=factors), world.initial_state(), []
        for _ in range(8):
            state, info = step(world, state)
            projected.append(info.tangents_projected)
        return state, projected

    exact, wanted = buckled(None)
    state, projected = buckled(pl.LaggedFactors(iterations=60))
    assert sum(wanted) > 0, "the column has to be unstable on its way"
    assert projected == wanted
    assert np.abs(state.q[0] - exact.q[0]).max() < 1e-5 * np.abs(exact.displacements(0)).max()


def test_too_few_iterations_are_reported_and_change_nothing():
    world, trunk, _ = trunk_world()
    exact, _ = walk(world, pl.ImplicitEuler(0.02), pulled(trunk), steps=10)
    factors = pl.LaggedFactors(iterations=1, most_rows=ITERATE)
    lagged, infos = walk(world, pl.ImplicitEuler(0.02, factors=factors), pulled(trunk), steps=10)
    assert [info.factor_use.redone for info in infos] == [0] + 9 * [1]
    for a, b in zip(exact, lagged, strict=True):
        np.testing.assert_array_equal(a.q[0], b.q[0], "every answer is that of the own factor")


def test_a_restored_state_continues_within_the_tolerance(tmp_path):
    world, trunk, _ = trunk_world()
    factors = pl.LaggedFactors(most_rows=ITERATE)
    states, _ = walk(world, pl.ImplicitEuler(0.02, factors=factors), pulled(trunk), steps=40)
    step = pl.ImplicitEuler(0.02, factors=pl.LaggedFactors(most_rows=ITERATE))
    restored = world.load_state(states[20].save(tmp_path / "state.npz"))
    rest, infos = walk(world, step, pulled(trunk), steps=20, state=restored)
    assert infos[0].factor_age == 0, "another object knows no older factor"
    assert distance(rest, states[20:], trunk.body) < 1e-6


def test_a_step_aside_begins_anew():
    """A factor is taken up only where the last step ended, with the same dt."""
    world, trunk, _ = trunk_world()
    factors = pl.LaggedFactors()
    step, control = pl.ImplicitEuler(0.02, factors=factors), pulled(trunk)
    first, _ = step(world, world.initial_state(), control(0.02))
    second, info = step(world, first, control(0.04))
    assert info.factor_age == 1
    _, info = step(world, first, control(0.04))
    assert info.factor_age == 0
    _, info = pl.ImplicitEuler(0.01, factors=factors)(world, second, control(0.05))
    assert info.factor_age == 0


def test_a_run_is_saved_with_its_option_and_replayed_bit_by_bit(tmp_path):
    world, trunk, _ = trunk_world()
    stepper = pl.ImplicitEuler(0.02, factors=pl.LaggedFactors(tolerance=1e-7, most_rows=ITERATE))
    run = pl.simulate(world, stepper, until=0.2, control=lambda t, state: pulled(trunk)(t))
    loaded = pl.load(run.save(tmp_path / "run.npz"))
    assert loaded.stepper == stepper
    np.testing.assert_array_equal(run.replay().points(trunk.body), run.points(trunk.body))
    np.testing.assert_array_equal(loaded.replay().points(0), run.points(trunk.body))


def test_other_bodies_keep_their_factors_and_volumes_have_their_own_lines():
    """Two soft blocks, one with a held direction, a rigid cube and a beam in one world."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
    block = pl.mesh.box((0.02, 0.02, 0.02), (2, 2, 2))
    lower = scene.add(pl.Volume(block, rubber, name="lower", clamp=pl.regions.plane(axis="z", at=0)))
    upper = scene.add(pl.Volume(block, rubber, name="upper"), position=(0, 0, 0.0201))
    scene.add(pl.Support(upper, pl.regions.plane(axis="x", at=0), "y"))
    cube = scene.add(pl.RigidBody.box(size=(0.01, 0.01, 0.01), mass=0.005, position=(0.01, 0.01, 0.0455)))
    wire = pl.Beam(
        [(0.1 + 0.01 * k, 0, 0) for k in range(5)],
        section=pl.sections.Circle(0.001),
        young=1e6,
        poisson=0.3,
        density=1e3,
        clamp=[0],
    )
    scene.add(wire)
    scene.collide(lower, upper, friction=0.5)
    scene.collide(upper, cube, friction=0.5)
    world = scene.compile()
    exact, _ = walk(world, pl.ImplicitEuler(0.005), lambda t: {}, steps=60, dt=0.005)
    step = pl.ImplicitEuler(0.005, factors=pl.LaggedFactors(most_rows=ITERATE, iterations=40))
    lagged, infos = walk(world, step, lambda t: {}, steps=60, dt=0.005)
    assert infos[-1].factor_age == 1
    assert len(infos[-1].lam) > 10
    for number in range(4):
        np.testing.assert_allclose(lagged[-1].q[number], exact[-1].q[number], atol=2e-5)  # friction amplifies 1e-8


def test_copies_take_the_options_alone():
    world, trunk, _ = trunk_world()
    factors = pl.LaggedFactors(tolerance=1e-6, lag=2)
    walk(world, pl.ImplicitEuler(0.02, factors=factors), pulled(trunk), steps=3)
    for twin in (copy.deepcopy(factors), pickle.loads(pickle.dumps(factors))):
        assert twin == factors
        _, infos = walk(world, pl.ImplicitEuler(0.02, factors=twin), pulled(trunk), steps=1)
        assert infos[0].factor_age == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [("tolerance", 0.0), ("tolerance", 1e-15), ("lag", 0), ("iterations", 0), ("most_rows", -1), ("most_rows", 1.5)],
)
def test_options_are_checked(option, value):
    with pytest.raises(pl.InputError, match=option):
        pl.LaggedFactors(**{option: value})


def test_without_the_option_nothing_is_older():
    world, _, _ = trunk_world()
    _, info = pl.ImplicitEuler(0.02)(world, world.initial_state())
    assert (info.factor_age, info.cg_iterations, info.factor_use.awaited) == (0, 0, 0)
    assert isinstance(world.models[0].spare_factors[0], CholeskyFactor)
