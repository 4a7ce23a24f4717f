"""Optimisations whose answer is known, their derivatives against differences, and what is refused."""

import numpy as np
import pytest

import pliant as pl
from pliant.optimization import Case, Outcome
from pliant.optimization.problem import Problem
from pliant.world.changed import changed

V, L = pl.variables, pl.losses
EULER = pl.ImplicitEuler(0.01, tolerance=1e-11)
STATIC = pl.QuasiStatic(tolerance=1e-11)
FLIGHT = 20
"""Steps of a flight."""


def flying():
    """A ball in free flight: closed form, Σ over implicit Euler steps."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    ball = scene.add(pl.RigidBody.sphere(radius=0.02, mass=0.05, position=(0, 0, 1)))
    return scene.compile(), ball


def pulled(seed=0):
    """A bar with two cables, above and below."""
    rng = np.random.default_rng(seed)
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=2e5, poisson=0.4, density=1e3)
    mesh = pl.mesh.box((0.1, 0.02, 0.02), (4, 1, 1))
    clamp = pl.regions.plane(axis="x", at=0)
    bar = scene.add(pl.Volume(mesh, rubber, clamp=clamp, damping=pl.Rayleigh(stiffness=0.01)))
    depth = rng.uniform(0.013, 0.018)
    cables = [
        scene.add(pl.Cable(bar, [(x, 0.01, z) for x in (0.01, 0.05, 0.09)], name=name))
        for name, z in (("upper", depth), ("lower", 0.02 - depth))
    ]
    return scene.compile(), bar, *cables


def test_a_throw_through_the_air():
    world, ball = flying()
    throw = V.Design(pl.parameters.InitialVelocities(ball), bounds=(-10, 10))
    target, dt = np.array([1.0, 0.5, 1.2]), EULER.dt
    found = pl.optimize(world, EULER, L.Position((ball, (0, 0, 0)), target), variables=[throw], until=FLIGHT * dt)
    fallen = -9.81 * dt**2 * FLIGHT * (FLIGHT + 1) / 2
    exact = (target - (0, 0, 1) - np.array([0, 0, fallen])) / (FLIGHT * dt)
    assert found.status is Outcome.CONVERGED
    assert found[throw][0] == pytest.approx(exact, abs=1e-3)
    assert found.rollouts < 15
    assert found.run().poses(ball)[-1, 0] == pytest.approx(target, abs=1e-3)
    assert found.history[0] == max(found.history)
    assert found.best[-1] == found.loss


def test_only_some_entries_change():
    world, ball = flying()
    only = np.zeros((2, 3), bool)
    only[0, 2] = True
    throw = V.Design(pl.parameters.InitialVelocities(ball), bounds=(-10, 10), only=only)
    found = pl.optimize(world, EULER, L.Position((ball, (0, 0, 0)), (1, 0, 1)), variables=[throw], until=0.1)
    assert np.flatnonzero(found[throw]).tolist() == [2]
    assert found.loss == pytest.approx(1.0, abs=1e-6)


def test_equilibria_of_several_cases_share_a_command():
    """Targets are equilibria of known commands."""
    world, bar, upper, lower = pulled()
    tip, wanted = pl.robots.Marker(bar, (0.1, 0.01, 0.01)), {}
    for pull in (0.002, 0.005):
        controls = {upper: pl.Displacement(pull), lower: pl.Displacement(0.001)}
        wanted[pull] = tip.at(STATIC(world, world.initial_state(), controls)[0])
    shared = V.Command(lower, bounds=(0, 0.01), guess=0.002)
    own = {pull: V.Command(upper, bounds=(0, 0.01)) for pull in wanted}
    cases = [Case(L.Position(tip, wanted[pull]), variables=[own[pull]], weight=2.0) for pull in wanted]
    found = pl.optimize(world, STATIC, cases, variables=[shared], target=1e-14, tolerance=1e-12)
    assert found.status is Outcome.TARGET
    assert found.rollouts == 2 * len(found.history)
    for case, pull in enumerate(wanted):
        assert tip.at(found.run(case).state(-1)) == pytest.approx(wanted[pull], abs=1e-6)


@pytest.mark.parametrize("options", [{"knots": 4}, {"knots": None}, {"knots": 3, "degree": 1, "begin": None}])
def test_the_gradient_of_a_problem_is_that_of_its_loss(options):
    world, bar, upper, _ = pulled(1)
    rng, steps = np.random.default_rng(2), 6
    command = V.Command(upper, bounds=(0.0, 0.006), **options)
    start = V.Design(pl.parameters.InitialVelocities(bar), bounds=(-0.1, 0.1))
    loss = 1e3 * L.Position((bar, (0.1, 0.01, 0.01)), (0.09, 0.01, 0.02), when="always")
    cases = [Case(loss, until=steps * EULER.dt, variables=[command]), Case(loss, until=3 * EULER.dt, weight=0.5)]
    problem = Problem(world, EULER, cases, [start], None)
    y, along = problem.first, rng.uniform(-1.0, 1.0, len(problem.first))
    _, slope = problem.value(y)
    h = 1e-3
    near, far = (problem.value(y + s * h * along)[0] - problem.value(y - s * h * along)[0] for s in (1, 2))
    assert slope @ along == pytest.approx((8 * near - far) / (12 * h), rel=1e-6)


def test_commands_stay_within_their_rates():
    world, bar, upper, _ = pulled()
    command = V.Command(upper, bounds=(0.0, 0.01), knots=4, rate=0.02)
    loss = L.Position((bar, (0.1, 0.01, 0.01)), (0.09, 0.01, 0.03))
    found = pl.optimize(world, EULER, loss, variables=[command], until=0.1, rollouts=12, tolerance=1e-4)
    rates = np.abs(np.diff([0.0, *found[command]])) / EULER.dt
    assert rates.max() <= 0.02 * (1 + 1e-6)
    assert rates.max() > 0.015  # they matter
    with pytest.raises(pl.InputError, match="knows no limits of rates"):
        pl.optimize(world, EULER, loss, variables=[command], until=0.1, method="L-BFGS-B")


def test_a_missed_target_is_an_error_with_what_was_found():
    world, ball = flying()
    throw = V.Design(pl.parameters.InitialVelocities(ball), bounds=(-1, 1))
    loss = L.Position((ball, (0, 0, 0)), (9, 0, 1))
    with pytest.raises(pl.ConvergenceError, match=r"not to its target 0\.01") as caught:
        pl.optimize(world, EULER, loss, variables=[throw], until=0.1, target=0.01)
    assert caught.value.result[throw][0, 0] == pytest.approx(1.0)


def test_callbacks_see_each_evaluation_and_stop_the_search():
    world, ball = flying()
    throw, seen = V.Design(pl.parameters.InitialVelocities(ball), bounds=(-10, 10)), []
    loss = L.Position((ball, (0, 0, 0)), (1, 0, 1))

    def told(progress):
        seen.append(progress)
        return progress.rollouts == 3

    found = pl.optimize(world, EULER, loss, variables=[throw], until=0.1, callback=told)
    assert found.status is Outcome.STOPPED
    assert [each.loss for each in seen] == found.history.tolist()
    assert seen[-1].best == found.loss


def test_what_is_no_problem_is_refused():
    world, bar, upper, lower = pulled()
    loss = L.Position((bar, (0.1, 0.01, 0.01)), (0.09, 0.01, 0.02))
    nan = float("nan")

    def refused(match, loss=loss, **options):
        with pytest.raises(pl.InputError, match=match):
            pl.optimize(world, options.pop("stepper", STATIC), loss, **options)

    def wrong(match, **options):
        with pytest.raises(pl.InputError, match=match):
            V.Command(upper, **options)

    command = V.Command(upper, bounds=(0, 0.01))
    refused("needs its derivative", lambda states, infos: 0.0, variables=[command])
    refused("one variable at least")
    refused("no actuator of the world|not an actuator", variables=[V.Command(pulled()[2], bounds=(0, 1e-2))])
    refused("has two Commands", variables=[command, V.Command(upper, bounds=(0, 0.02))])
    refused("is in control= and is a variable", variables=[command], control={upper: pl.Displacement(0.001)})
    refused("does not change with 'lower' at the guess", variables=[command, V.Command(lower, bounds=(-0.01, 0.0))])
    refused("has 5 knots for a run of 1 steps", variables=[V.Command(upper, bounds=(0, 0.01), knots=5)])
    refused("has no time", variables=[V.Command(upper, bounds=(0, 0.01), knots=2, rate=1.0)], control=[{}] * 3)
    refused("until=", variables=[command], stepper=EULER)
    refused("list of pl.optimization.Case", [loss], variables=[command])
    refused("have their own control=", [Case(loss)], variables=[command], control={})
    refused("is in two cases", [Case(loss, variables=[command])] * 2)
    refused("target of optimize", variables=[command], target=nan)
    refused("tolerance of optimize", variables=[command], tolerance=0.0)
    wrong("nothing between 0.01 and 0", bounds=(0.01, 0.0))
    wrong("bounds", bounds=(0.0, nan))
    wrong("pair", bounds=0.01)
    wrong("two numbers", bounds=([0, 0], [1, 1]))
    wrong("degree", bounds=(0, 1), degree=4)
    wrong("begins at 0", bounds=(0.001, 0.01), knots=3)
    wrong("rate", bounds=(0, 1), knots=3, rate=-1.0)
    wrong("one knot", bounds=(0, 1), rate=1.0)
    refused("outside its bounds", variables=[V.Command(upper, bounds=(0, 0.01), guess=0.02)])
    refused("guess", variables=[V.Command(upper, bounds=(0, 0.01), guess=nan)])
    with pytest.raises(pl.InputError, match="takes an actuator"):
        V.Command(bar, bounds=(0, 1))
    with pytest.raises(pl.InputError, match=r"are pl\.variables\.Command"):
        V.Design(pl.parameters.Control(upper), bounds=(0, 1))
    only = V.Design(pl.parameters.InitialVelocities(bar), bounds=(-1, 1), only=[True])
    refused("true or false in the shape", variables=[only], stepper=EULER, until=0.01)


def test_designs_are_numbers_of_the_world_that_is_made():
    """The modulus, the route and the density with which a bar hung as it does; two load cases tell them apart."""
    world, bar, upper, lower = pulled(3)
    route, young = pl.parameters.Route(upper), pl.parameters.Material(bar, "young")
    only = np.zeros((3, 3), bool)
    only[1, 2] = True
    points = np.array(upper.via_points)
    points[1, 2] -= 0.002
    true = changed(world, {young: 2.6e5, route: points})
    tip, cases, seen = pl.robots.Marker(bar, (0.1, 0.01, 0.01)), [], []
    for pull in (0.0, 0.004, 0.008):
        controls = {upper: pl.Displacement(pull), lower: pl.Displacement(0.0)}
        seen.append(tip.at(STATIC(true, true.initial_state(), controls)[0]))
        cases.append(Case(1e6 * L.Position(tip, seen[-1]), control=controls))
    designs = V.Design(young, bounds=(1e5, 5e5)), V.Design(route, bounds=(0.0, 0.02), only=only)
    found = pl.optimize(world, STATIC, cases, variables=designs, target=1e-7, tolerance=1e-12)
    assert found[designs[0]] == pytest.approx(2.6e5, rel=1e-2)
    assert found[designs[1]] == pytest.approx(points, abs=1e-4)
    assert found.rollouts < 100
    assert tip.at(found.run(2).state(-1)) == pytest.approx(seen[2], abs=1e-5)
    assert young.value(found.world) == found[designs[0]]


def test_gradients_in_changed_worlds_are_those_of_the_changed_worlds():
    """Handles name the numbers that they have by now, not those that they were made with."""
    world, bar, upper, _ = pulled(4)
    route, young = pl.parameters.Route(upper), pl.parameters.Material(bar, "young")
    points = np.array(upper.via_points) - [[0, 0, 0], [0, 0, 2e-3], [0, 0, 0]]
    loss = 1e3 * L.Position((bar, (0.1, 0.01, 0.01)), (0.09, 0.01, 0.02))
    control = {upper: pl.Displacement(0.004)}

    def value(s=0.0, z=0.0, slope=False):
        made = changed(world, {young: 2.5e5 + s, route: points + np.array([[0, 0, 0], [0, 0, z], [0, 0, 0]])})
        found = pl.gradient(made, STATIC, loss, parameters=[route, young], control=control)
        return found if slope else found.value

    found = value(slope=True)
    for name, step, known in (("s", 500.0, found[young]), ("z", 1e-6, found[route][1, 2])):
        near, far = (value(**{name: k * step}) - value(**{name: -k * step}) for k in (1, 2))
        assert known == pytest.approx((8 * near - far) / (12 * step), rel=1e-5)
