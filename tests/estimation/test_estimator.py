"""`pl.Estimator` finds the forces that made the readings, and says how well."""

import warnings

import numpy as np
import pytest

import pliant as pl
from pliant.estimation import PointForce, Push
from pliant.estimation.loads import Spot
from pliant.estimation.problem import Guess
from pliant.estimation.search import WithLoads
from pliant.identification import ActuatorDisplacement, ActuatorForce, ContactForce, Markers

TIP = (0.1, 0.01, 0.01)


def pushed(bar, up, aside=0.0, held=None):
    """The equilibrium under forces at the tip, and the tension."""
    commands = (bar.held if held is None else held) | {bar.end: pl.Force(up), bar.side: pl.Force(aside)}
    return pl.QuasiStatic(tolerance=1e-10)(bar.world, bar.world.initial_state(), commands)


def seen(bar, markers, info, noise=None):
    """What the sensors read."""
    sensors = pl.Estimator(bar.world, [markers], [PointForce(bar.body, TIP, deviation=1.0)]).problem.sensors
    rows = sensors.predicted(info).reshape(markers.base_shape)
    return rows if noise is None else rows + markers.noise * noise.normal(size=rows.shape)


def test_a_force_at_a_known_place_and_the_shape(bar):
    markers, tension = bar.markers(), ActuatorForce(bar.cable, noise=0.005)
    state, info = pushed(bar, 0.15, -0.08)
    force = PointForce(bar.body, TIP, deviation=0.3)
    feel = pl.Estimator(bar.world, [markers, tension], [force])
    found = feel(bar.rest, bar.held, {markers: seen(bar, markers, info), tension: info.actuation(bar.cable)[1]})
    assert np.linalg.norm(found[force].force - (0.0, -0.08, 0.15)) < 3.0 * found[force].deviation + 0.002
    assert np.abs(found.state.points(bar.body) - state.points(bar.body)).max() < 1e-4
    assert found[force].place == pytest.approx(
        bar.world.models[0].embed(np.array([TIP]), what="").points(found.state.q[0])[0]
    )
    assert found.misfit < 0.1
    assert "N" in found.report()
    assert found.shape_covariance(bar.body, [TIP, (0.05, 0.01, 0.01)]).shape == (2, 3, 3)


def test_deviations_are_those_of_many_trials(bar):
    """Of the components of the force, of the place of the tip, and of the misfit."""
    markers, noise = bar.markers(), np.random.default_rng(0)
    state, info = pushed(bar, 0.1)
    force = PointForce(bar.body, TIP, deviation=0.3, directions=[(0, 1, 0), (0, 0, 1)])
    feel, forces, tips, misfits = pl.Estimator(bar.world, [markers], [force]), [], [], []
    at = bar.world.models[0].embed(np.array([TIP]), what="tip")
    for _ in range(40):
        found = feel(state, bar.held, {markers: seen(bar, markers, info, noise)})
        error = found.covariance
        forces.append(np.linalg.solve(np.linalg.cholesky(error), found[force].force[1:] - (0.0, 0.1)))
        spread = found.shape_covariance(bar.body, [TIP])[0]
        tips.append((at.points(found.state.q[0]) - at.points(state.q[0]))[0, 2] / np.sqrt(spread[2, 2]))
        misfits.append(found.misfit)
    assert 0.75 < np.std(forces) < 1.25
    assert 0.7 < np.std(tips) < 1.3
    assert 5.5 < np.mean(misfits) < 8.5  # 9 readings less 2 unknowns


def test_gaps_and_single_coordinates(bar):
    markers = bar.markers(directions=[(0, 0, 1), (0, 1, 0)])
    _, info = pushed(bar, 0.12)
    force = PointForce(bar.body, TIP, deviation=0.3, directions=(0, 0, 1))
    readings = seen(bar, markers, info)
    readings[1] = np.nan
    readings[0, 1] = np.nan
    found = pl.Estimator(bar.world, [markers], [force])(bar.rest, bar.held, {markers: readings})
    assert found[force].force == pytest.approx((0, 0, 0.12), abs=2e-3)
    assert found.readings == 3
    assert np.isnan(found.residuals[markers]).sum() == 3


def test_a_length_tells_of_a_force_where_the_tension_is_commanded(bar):
    held = {bar.cable: pl.Force(0.3)}
    _, info = pushed(bar, 0.1, held=held)
    length, force = (
        ActuatorDisplacement(bar.cable, noise=2e-5),
        PointForce(bar.body, TIP, deviation=0.3, directions=(0, 0, 1)),
    )
    start, _ = bar.settled((), held=held)
    found = pl.Estimator(bar.world, [length], [force])(start, held, {length: info.actuation(bar.cable)[0]})
    assert found[force].force[2] == pytest.approx(0.1, abs=3.0 * found[force].deviation + 1e-3)
    assert found[force].deviation < 0.05


def test_bounds_are_kept_and_are_not_uncertain(bar):
    markers = bar.markers()
    _, info = pushed(bar, 0.1, -0.05)
    force = PointForce(bar.body, TIP, deviation=0.3, lower=(-np.inf, 0.0, 0.0))
    with pytest.warns(pl.errors.PliantWarning, match="do not explain"):
        found = pl.Estimator(bar.world, [markers], [force])(bar.rest, bar.held, {markers: seen(bar, markers, info)})
    assert found[force].force[1] == pytest.approx(0.0, abs=1e-9)
    assert found.covariance[1, 1] == 0.0


def test_forces_that_the_readings_cannot_tell_apart_are_named(bar):
    markers = bar.markers(directions=(0, 0, 1), noise=1e-3)
    _, info = pushed(bar, 0.1)
    pair = [
        PointForce(bar.body, (x, 0.01, 0.01), deviation=0.3, directions=(0, 0, 1), name=n)
        for x, n in ((0.1, "a"), (0.09, "b"))
    ]
    with pytest.warns(pl.errors.PliantWarning, match=r"cannot tell apart [ab] along .* and [ab] along"):
        found = pl.Estimator(bar.world, [markers], pair)(bar.rest, bar.held, {markers: seen(bar, markers, info)})
    assert found[pair[0]].deviation > 0.1
    together = found.covariance[:2, :2].sum()
    assert together < 0.2 * found.covariance[0, 0]


@pytest.mark.parametrize("along", ["normal", "any"])
def test_a_push_at_an_unknown_place(bar, along):
    """In the middle of a triangle of the top, towards the tip."""
    markers, tension = bar.markers(noise=2e-5), ActuatorForce(bar.cable, noise=0.002)
    push = Push(bar.body, deviation=0.5, along=along)
    feel = pl.Estimator(bar.world, [markers, tension], [push])
    skin = feel.problem.push[1]
    rest = skin.model.rest[skin.triangles]
    k = int(np.argmax(rest[:, :, 0].mean(axis=1) + (rest[:, :, 2] > 0.019).all(axis=1)))
    spot = Spot(
        0, skin.triangles[k], np.full(3, 1 / 3), np.array((0.0, 0.02, -0.15)), 0.15 if along == "normal" else None
    )
    state, info = bar.settled([spot])
    readings = {markers: seen(bar, markers, info), tension: info.actuation(bar.cable)[1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.errors.PliantWarning)
        found = feel(bar.rest, bar.held, readings)[push]
    where = spot.weights @ state.q[0][spot.nodes]
    assert np.linalg.norm(found.force - spot.at(state.q[0])) < 0.1 * 0.15
    assert np.linalg.norm(found.place - where) < 0.003
    assert found.place_deviation < 0.01
    assert np.abs(found.material_point - spot.weights @ rest[k]).max() < 0.003


def test_a_region_limits_where_a_push_is_looked_for(bar):
    top = pl.regions.box((0.0, -1.0, 0.0199), (0.2, 1.0, 0.03))
    push = Push(bar.body, deviation=0.5, region=top)
    skin = pl.Estimator(bar.world, [bar.markers()], [push]).problem.push[1]
    assert (skin.model.rest[skin.triangles][..., 2] > 0.019).all()
    inward = skin.inward(skin.model.rest)
    assert inward == pytest.approx(np.tile((0.0, 0.0, -1.0), (len(inward), 1)))


def test_a_reduced_world_feels_too(bar):
    actuators = [bar.cable, bar.end, bar.side]
    plan = pl.reduction.latin_hypercube(
        bar.world, 6, steps=2, amplitude=[0.3, 0.2, 0.2], kind=pl.Force, actuators=actuators, seed=1
    )
    fast = pl.reduction.reduce(bar.world, plan, motion_tolerance=1e-4, stepper=pl.QuasiStatic(), progress=False)
    markers, force = bar.markers(), PointForce(bar.body, TIP, deviation=0.3)
    _, info = pushed(bar, 0.1, -0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.errors.PliantWarning)
        found = pl.Estimator(fast, [markers], [force])(
            fast.initial_state(), bar.held, {markers: seen(bar, markers, info)}
        )
    assert found[force].force[1:] == pytest.approx((-0.05, 0.1), abs=0.01)


def test_bad_input(bar):
    markers, force = bar.markers(), PointForce(bar.body, TIP, deviation=0.3)
    push = Push(bar.body, deviation=0.3)
    cases = [
        (lambda: pl.Estimator(bar.world, [], [force]), "list of measurements"),
        (lambda: pl.Estimator(bar.world, [markers], []), "at least one"),
        (lambda: pl.Estimator(bar.world, [markers], [bar.cable]), "PointForce or"),
        (lambda: pl.Estimator(bar.world, [markers], [push, Push(bar.body, deviation=1.0)]), "one push"),
        (lambda: pl.Estimator(bar.world, [markers], [force], stepper=pl.ImplicitEuler(0.01)), "Filter"),
        (lambda: pl.Estimator(bar.world, [markers], [force], stepper=pl.QuasiStatic(newton_iterations=1)), "without"),
        (lambda: pl.Estimator(bar.world, [ContactForce(bar.body, bar.body, noise=0.1)], [force]), "reads Markers"),
        (
            lambda: pl.Estimator(bar.world, [Markers(bar.body, [TIP], offsets=[(0, 0, 1e-3)], noise=1e-4)], [force]),
            "offsets",
        ),
        (lambda: PointForce(bar.body, deviation=0.3), "its point"),
        (lambda: PointForce(bar.body, TIP, deviation=0.0), "must be > 0"),
        (lambda: PointForce(bar.body, TIP, deviation=1.0, lower=2.0, upper=1.0), "below upper"),
        (lambda: PointForce(bar.body, TIP, deviation=1.0, lower=np.nan), "NaN"),
        (lambda: Push("skin", deviation=1.0).bound(bar.world), "not a body"),
        (lambda: Push(bar.body, deviation=1.0, along="sideways"), "normal"),
        (
            lambda: pl.Estimator(
                bar.world, [markers], [Push(bar.body, deviation=1.0, region=pl.regions.sphere((9, 9, 9), 0.1))]
            ),
            "no",
        ),
        (lambda: pl.Estimator(bar.world, [markers], [force])(bar.rest, bar.held), "all readings are gaps"),
        (lambda: pl.identification.Experiment(markers), "no values"),
        (lambda: Markers(bar.body, [TIP], noise=1e-4, times=[0.0]), "no values"),
    ]
    for make, text in cases:
        with pytest.raises(pl.PliantError, match=text):
            make()


@pytest.mark.filterwarnings("ignore:a contact slides")
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_force_beside_a_contact(friction):
    """The end of a bar rests on the ground: the contact carries a part of the force, with friction and without."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
    mesh, clamp = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1)), pl.regions.plane(axis="x", at=0.0)
    body = scene.add(pl.Volume(mesh, rubber, clamp=clamp))
    ground = scene.add(pl.Obstacle.plane(point=(0, 0, -0.005), normal=(0, 0, 1)))
    scene.collide(body, ground, friction=friction)
    world = scene.compile()
    rest, _ = pl.QuasiStatic()(world, world.initial_state())
    force = PointForce(body, (0.06, 0.01, 0.02), deviation=0.3)
    markers = Markers(body, [(0.06, 0.0, 0.02), (0.08, 0.02, 0.02), (0.1, 0.0, 0.02)], noise=2e-5)
    feel = pl.Estimator(world, [markers], [force])
    true = np.array((0.0, 0.01 if friction else 0.05, -0.05))
    load = feel.problem.loads(Guess(true, None))
    _, info = pl.QuasiStatic(tolerance=1e-10, solver=WithLoads(load))(world, rest)
    assert info.contact_force(body, ground)[2] > 0.01
    found = feel(rest, None, {markers: feel.problem.sensors.predicted(info).reshape(3, 3)})[force]
    assert np.linalg.norm(found.force - true) < found.deviation + 0.005
    assert found.deviation < 0.1
