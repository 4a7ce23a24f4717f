"""What `pl.gradient` promises beside its numbers: checkpoints change nothing, losses add, nonsense is an error."""

import numpy as np
import pytest

import pliant as pl
from pliant.core.immutable import evolve
from pliant.gradients import kept_factors
from tests.gradients import cases
from tests.scenes import bar, hollow_box


def test_the_error_of_the_linear_model_is_of_second_order_over_fifty_steps():
    """Taylor's test: halving the change quarters what the gradient does not explain."""
    steps = 50

    def case(s):
        return cases.finger(7, steps, young=4e3 * s, command=2e-4 * s, v=0.02 * s, damping=1e-3 * s)

    base = case(0.0)
    found, slopes = base.gradient(cases.EULER)
    slope = 4e3 * slopes["young"] + 2e-4 * slopes["command"] + 0.02 * slopes["v"] + 1e-3 * slopes["damping"]
    errors = [abs(case(s).value(cases.EULER) - found.value - s * slope) for s in (0.1, 0.05, 0.025)]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert found.value == base.value(cases.EULER)
    assert orders == pytest.approx(2.0, abs=0.15)
    assert errors[-1] > 1e-7 * abs(slope)  # there is something to explain


@pytest.mark.parametrize("checkpoints", [1, 3, 9, 50])
def test_checkpoints_change_no_bit(checkpoints):
    case = cases.on_floor(1, 9, mu=0.3)
    usual, more = case.gradient(cases.EULER)[0], case.gradient(cases.EULER, checkpoints=checkpoints)[0]
    for one, other in zip(usual.derivatives, more.derivatives, strict=True):
        assert np.array_equal(one, other)
    assert usual.kept <= 7
    assert more.steps == 9
    assert more.kept == {1: 10, 3: 6, 9: 10, 50: 10}[checkpoints]


@pytest.mark.parametrize("make", [cases.finger, cases.on_floor])
def test_factors_that_were_kept_change_no_bit(make, monkeypatch):
    """Those of the steps serve the adjoint; where there is no room for them steps are factorized again."""
    case, linear = make(1, 7), pl.ImplicitEuler(0.005)
    found = [case.gradient(linear, checkpoints=checkpoints)[0] for checkpoints in (1, 2, 7)]
    monkeypatch.setattr(kept_factors, "MOST", -1)
    found.append(case.gradient(linear)[0])
    for other in found[1:]:
        for one, two in zip(found[0].derivatives, other.derivatives, strict=True):
            assert np.array_equal(one, two)


def test_a_loss_of_ones_own():
    case = cases.finger(2, 3)
    (body,) = (model.spec for model in case.world.models)
    marker = (body, np.array([0.08, 0.01, 0.01]))
    known = pl.losses.Position(marker, (0.09, 0, 0))

    def value(states, infos):
        assert len(states) == 4
        assert len(infos) == 3
        return 2.0 * known.at(pl.losses.Instant(3, 3, states[-1], infos[-1]))

    def derivative(states, infos):
        return [None, None, None, known.slope(pl.losses.Instant(3, 3, states[-1], infos[-1])).scaled(2.0)]

    given = {"parameters": list(case.parameters.values()), "control": case.control, "start": case.start}
    own = pl.gradient(case.world, cases.EULER, pl.losses.Custom(value, derivative), **given)
    same = pl.gradient(case.world, cases.EULER, 2.0 * known, **given)
    for one, other in zip(own.derivatives, same.derivatives, strict=True):
        assert np.array_equal(one, other)
    with pytest.raises(pl.InputError, match="gave 1 slopes for 4 states"):
        pl.gradient(case.world, cases.EULER, pl.losses.Custom(value, lambda s, i: [None]), **given)


def small(**options):
    scene, body = bar(**options)
    cable = scene.add(pl.Cable(body, [(0.01, 0.01, 0.003), (0.09, 0.01, 0.003)], name="tendon"))
    world = scene.compile()
    return world, body, cable, pl.losses.Position((body, np.array([0.1, 0.01, 0.01])), (0, 0, 0))


EULER = pl.ImplicitEuler(0.01, tolerance=1e-10)


@pytest.mark.parametrize(
    ("stepper", "options", "message"),
    [
        (
            pl.ImplicitEuler(0.01, newton_iterations=2),
            {"until": 0.02},
            "fixed number of linear solves.*tolerance=1e-10",
        ),
        (pl.QuasiStatic(newton_iterations=1), {}, "newton_iterations=None"),
        (pl.DampedMidpoint(0.01), {"until": 0.02}, "go through pl.ImplicitEuler.*not DampedMidpoint"),
        (EULER, {}, "needs until="),
        (EULER, {"control": []}, "empty list"),
        (EULER, {"control": 3, "until": 0.02}, "must be a dictionary, a list"),
        (EULER, {"until": 0.02, "loss": lambda states: 0.0}, "needs its derivative"),
        (EULER, {"until": 0.02, "parameters": []}, "one parameter at least"),
        (EULER, {"until": 0.02, "parameters": ["young"]}, "must be of pl.parameters"),
    ],
)
def test_what_has_no_gradient_is_said(stepper, options, message):
    world, body, _, loss = small()
    given = {"parameters": [pl.parameters.Material(body, "young")], "loss": loss} | options
    with pytest.raises(pl.InputError, match=message):
        pl.gradient(world, stepper, given.pop("loss"), **given)


def test_parameters_that_do_nothing_are_errors():
    world, body, cable, loss = small()
    for parameter, message in [
        (pl.parameters.Material(body, "stiffness"), "no number 'stiffness'"),
        (pl.parameters.Material(body, "young", inclusion=0), "has 0 inclusions"),
        (pl.parameters.Damping(body, "stiffness"), "is 0"),
        (pl.parameters.Friction(body, body), "do not collide"),
        (pl.parameters.Control(body), "no actuator"),
        (pl.parameters.Load(cable), "takes a pl.PointLoad"),
    ]:
        with pytest.raises(pl.InputError, match=message):
            pl.gradient(world, EULER, loss, parameters=[parameter], until=0.01)


def test_a_fixed_number_of_linear_solves_is_refused_forward_as_well():
    world, _, cable, _ = small()
    route = pl.parameters.Route(cable)
    twice = pl.ImplicitEuler(0.01, newton_iterations=2)
    with pytest.raises(pl.InputError, match="fixed number of linear solves"):
        pl.sensitivities(world, twice, [pl.outputs.Tension(cable)], parameters=[route], until=0.02)


def test_materials_with_memory_are_refused_by_name():
    silicone = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)
    soft = pl.materials.Viscoelastic(silicone, branches=[(0.3, 0.1)])
    world, _, _, loss = small(material=soft)
    with pytest.raises(pl.InputError, match="material with memory"):
        pl.gradient(world, EULER, loss, parameters=[pl.parameters.Gravity()], until=0.01)


def test_a_slack_cable_has_no_derivative_and_a_bound_one_neither():
    scene, body = bar()
    path = [(0.01, 0.01, 0.003), (0.09, 0.01, 0.003)]
    weak = scene.add(pl.Cable(body, path, max_force=0.05, name="weak"))
    idle = scene.add(pl.Cable(body, [(0.01, 0.01, 0.017), (0.09, 0.01, 0.017)], name="idle"))
    strong = scene.add(pl.Cable(body, [(0.02, 0.01, 0.003), (0.08, 0.01, 0.003)], name="strong"))
    world = scene.compile()
    loss = pl.losses.Position((body, np.array([0.1, 0.01, 0.01])), (0, 0, 0))
    controls = [pl.parameters.Control(each) for each in (weak, idle, strong)]
    found = pl.gradient(
        world, pl.QuasiStatic(tolerance=1e-12), loss, parameters=controls,
        control={weak: pl.Displacement(0.01), idle: pl.Displacement(-0.01), strong: pl.Displacement(0.002)},
    )  # fmt: skip
    assert found[controls[0]] == found[controls[1]] == 0.0
    assert abs(found[controls[2]]) > 1e-4


def test_the_chambers_of_two_bodies_do_not_mix():
    scene = pl.Scene()
    first, second = (scene.add(hollow_box(), position=(0.1 * k, 0, 0)) for k in range(2))
    airs = [scene.add(pl.Cavity(body, name=f"air {k}")) for k, body in enumerate((first, second))]
    world = scene.compile()
    named = [pl.parameters.Control(air) for air in airs]
    loss = pl.losses.Position((first, np.array([0.02, 0.02, 0.02])), (0, 0, 0))
    control = {air: pl.Pressure(1e3) for air in airs}
    found = pl.gradient(world, pl.QuasiStatic(tolerance=1e-12), loss, parameters=named, control=control)
    assert found[named[0]] != 0.0
    assert found[named[1]] == 0.0


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("of_ball", [True, False])
def test_a_ball_lands_on_a_rigid_box_that_turns(mu, of_ball):
    """The plane of contact turns with the box, and is not turned against motions that differences make up."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    box = scene.add(pl.RigidBody.box(size=(0.06, 0.06, 0.004), mass=0.02, position=(0, 0, 0.05)))
    scene.add(pl.Hinge(box, (0, 1, 0), point=(-0.05, 0, 0.05)))
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.005, position=(0.005, 0.003, 0.06201)))
    scene.collide(box, ball, friction=mu)
    world = scene.compile()
    step, steps, k, rest = pl.ImplicitEuler(0.005, tolerance=1e-11), 10, world.index(ball), world.initial_state()
    along = np.array([[0.3, 0.2, -0.5], [1.0, 2.0, 0.5]])

    def start(s):
        v = list(rest.v)
        v[k] = v[k] + (0.3 + s) * along
        return evolve(rest, v=tuple(v))

    def value(s):
        state = start(s)
        for _ in range(steps):
            state, info = step(world, state)
        return loss.at(pl.losses.Instant(steps, steps, state, info))

    loss = 1e4 * pl.losses.Position((ball if of_ball else box, (0, 0, 0)), (0.1, 0.02, 0.15))
    velocities = pl.parameters.InitialVelocities(ball)
    found = pl.gradient(world, step, loss, parameters=[velocities], start=start(0.0), until=0.005 * steps)
    assert np.vdot(found[velocities], along) == pytest.approx(cases.difference(value, 1e-5), rel=2e-5)


def loose_ball(*, resting):
    """A soft bar, and a ball that nothing holds, or a plane without friction alone."""
    scene, body = bar()
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.001, position=(0.3, 0, 0.0101), name="ball"))
    if resting:
        scene.collide(ball, scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1))))
    return scene.compile(), body, ball


@pytest.mark.parametrize("resting", [False, True])
def test_a_ball_that_nothing_holds_is_named(resting):
    """The place of the ball follows no parameter; that of the others does, and is found."""
    world, body, ball = loose_ball(resting=resting)
    static, gravity = pl.QuasiStatic(tolerance=1e-10), pl.parameters.Gravity()
    with pytest.raises(pl.ConvergenceError, match="adjoint of a step has no solution: 'ball' can move without force"):
        pl.gradient(world, static, pl.losses.Position((ball, (0, 0, 0)), (0, 0, 0)), parameters=[gravity])
    with pytest.raises(pl.ConvergenceError, match="tangent of a step has no solution: 'ball'"):
        pl.sensitivities(world, static, [pl.outputs.Points(ball, np.zeros((1, 3)))], parameters=[gravity])
    young = pl.parameters.Material(body, "young")
    tip = pl.losses.Position((body, (0.1, 0.01, 0.01)), (0, 0, 0))
    assert np.isfinite(pl.gradient(world, static, tip, parameters=[young])[young])


def test_matrices_without_inverse_are_errors_of_pliant(monkeypatch):
    """Whatever raises a LinAlgError within them."""
    world, body, cable, loss = small()

    def singular(*_, **__):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(np.linalg, "lstsq", singular)
    control = [{cable: pl.Displacement(1e-3)}]
    given = {"parameters": [pl.parameters.Material(body, "young")], "control": control}
    with pytest.raises(pl.SingularError, match=r"gradient\(\) met a matrix that has no inverse"):
        pl.gradient(world, EULER, loss, **given)
    with pytest.raises(pl.SingularError, match=r"sensitivities\(\) met a matrix"):
        pl.sensitivities(world, EULER, [pl.outputs.Coordinates(body)], **given)
