"""Worlds with other numbers: the same bits as the changed scene compiled anew, with the handles that were there."""

import numpy as np
import pytest

import pliant as pl
from pliant.world.changed import changed
from pliant.world.storage import decode_world, encode_world
from tests.scenes import DOWN, RUBBER, SILICONE, bar, hollow_box

P = pl.parameters
EULER = pl.ImplicitEuler(dt=0.01, newton_iterations=2)


def compiled_anew(world):
    return decode_world(*encode_world(world))


def steps(world, controls, count=4, stepper=EULER):
    state = world.initial_state()
    for _ in range(count):
        state, _ = stepper(world, state, controls)
    return state


def assert_same(world, changes, controls=None, *, stepper=EULER, exact=True):
    """The changed world runs as the scene with these numbers, compiled anew; the old one runs as before."""
    controls, before = controls or {}, steps(world, controls or {}, stepper=stepper)
    other = changed(world, changes)
    anew = compiled_anew(other)
    found = steps(other, controls, stepper=stepper)
    wanted = steps(anew, {anew.thing(handle.name): value for handle, value in controls.items()}, stepper=stepper)
    for own, alone, old in zip(found.q, wanted.q, before.q, strict=True):
        scale = np.abs(alone).max()
        if exact:
            np.testing.assert_array_equal(own, alone)
        assert np.abs(own - alone).max() <= 1e-12 * scale
        assert np.abs(own - old).max() > 1e-9 * scale  # the number matters
    again = steps(world, controls, stepper=stepper)
    np.testing.assert_array_equal(again.q[0], before.q[0])
    for number, value in changes.items():
        np.testing.assert_allclose(number.value(other), value, rtol=1e-14)
    assert other.fingerprint == anew.fingerprint != world.fingerprint
    return other


def finger(material=RUBBER, **options):
    """A bar with an inclusion and a cable above a floor: scene, bar, cable, floor."""
    scene, body = bar(material=material, gravity=DOWN, damping=pl.Rayleigh(mass=0.2, stiffness=0.01), **{
        "inclusions": [(pl.regions.box((0.04, -1, -1), (0.06, 1, 1)), pl.materials.Corotated(
            young=3e5, poisson=0.3, density=1200))]} | options)  # fmt: skip
    cable = scene.add(pl.Cable(body, [(x, 0.011, 0.003) for x in (0.01, 0.05, 0.09)]))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -0.0005), normal=(0, 0, 1)))
    scene.collide(body, floor, friction=0.4)
    return scene, body, cable, floor


VOLUME = {
    "young": lambda body, cable, floor: {P.Material(body, "young"): 7e4},
    "poisson": lambda body, cable, floor: {P.Material(body, "poisson"): 0.3},
    "density": lambda body, cable, floor: {P.Material(body, "density"): 1500.0},
    "inclusion": lambda body, cable, floor: {P.Material(body, "young", inclusion=0): 9e5},
    "mass": lambda body, cable, floor: {P.Mass(body): 0.07},
    "damping": lambda body, cable, floor: {P.Damping(body, "mass"): 3.0, P.Damping(body, "stiffness"): 0.05},
    "friction": lambda body, cable, floor: {P.Friction(body, floor): 0.05},
    "gravity": lambda body, cable, floor: {P.Gravity(): (1.0, 0.5, -5.0)},
    "route": lambda body, cable, floor: {
        P.Route(cable): [(0.011, 0.0105, 0.004), (0.052, 0.0115, 0.002), (0.091, 0.011, 0.003)]
    },
    "several": lambda body, cable, floor: {
        P.Material(body, "young"): 6e4, P.Material(body, "density"): 900.0, P.Friction(body, floor): 0.0,
        P.Gravity(): (0, 0, -12.0), P.Damping(body, "mass"): 1.0,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", VOLUME)
def test_volumes(name):
    scene, body, cable, floor = finger()
    world = scene.compile()
    other = assert_same(world, VOLUME[name](body, cable, floor), {cable: pl.Displacement(0.003)})
    assert other.index(body) == 0
    assert other.pairs(body, floor) == world.pairs(body, floor)
    if name != "route":  # which joins other cells here
        assert other.models[0].symbolic is world.models[0].symbolic  # nothing was analysed again


@pytest.mark.parametrize(
    ("material", "options"),
    [
        (SILICONE, {}),
        (SILICONE, {"anti_locking": "volume", "cells": (12, 3, 3)}),
        (pl.materials.Viscoelastic(RUBBER, [(0.3, 0.05)]), {}),
        (pl.materials.Viscoelastic(pl.materials.Mullins(SILICONE, r=2.0, m=50.0), [(0.3, 0.05)]), {}),
    ],
    ids=["neo-Hookean", "patches", "viscoelastic", "softening"],
)
def test_constants_of_other_laws(material, options):
    scene, body = bar(material=material, gravity=DOWN, **options)
    assert_same(scene.compile(), {P.Material(body, "young"): 6e4, P.Material(body, "density"): 1100.0})


@pytest.mark.parametrize("given", [None, 0.05, "nodes"])
def test_masses_given_in_every_way(given):
    scene, body = bar(gravity=DOWN)
    mass = np.linspace(1e-3, 2e-3, body.mesh.node_count) if given == "nodes" else given
    scene, body = bar(gravity=DOWN, mass=mass)
    other = assert_same(scene.compile(), {P.Mass(body): 0.08})
    assert other.models[0].mass.total == pytest.approx(0.08, rel=1e-14)


@pytest.mark.parametrize("kind", ["rod", "beam", "material"])
def test_slender_bodies(kind):
    scene = pl.Scene(gravity=DOWN)
    options = {"young": 1e6, "poisson": 0.4, "density": 1e3}
    if kind == "material":
        options = {"material": pl.materials.Corotated(young=1e6, poisson=0.4, density=1e3)}
    options |= {"section": pl.sections.Circle(0.005), "damping": pl.Rayleigh(stiffness=0.005)}
    if kind == "beam":
        body = scene.add(pl.Beam(np.linspace((0, 0, 0), (0.2, 0, 0), 5), clamp=[0], **options), position=(0, 0, 0.1))
    else:
        body = scene.add(pl.Rod(0.2, 4, **options), position=(0, 0, 0.1))
    tip = scene.add(pl.PointLoad(body, [4], (0, 0, 0.01)))
    cable = scene.add(pl.Cable(body, [(x, 0.0, 0.008) for x in (0.01, 0.1, 0.19)], reach=0.02))
    changes = {
        P.Material(body, "young"): 6e5, P.Material(body, "density"): 1500.0, P.Damping(body, "stiffness"): 0.02,
        P.Route(cable): [(x, 0.001, 0.007) for x in (0.01, 0.1, 0.19)],
    }  # fmt: skip
    world = scene.compile()
    other = assert_same(world, changes, {cable: pl.Displacement(0.002)})
    state, _ = EULER(other, other.initial_state(), {tip: pl.Force((0, 0, 0.05))})
    assert state.points(body)[-1, 2] > EULER(other, other.initial_state(), {})[0].points(body)[-1, 2]


def test_rigid_bodies_that_touch():
    scene = pl.Scene(gravity=DOWN)
    box = scene.add(pl.RigidBody.box(size=(0.04, 0.03, 0.02), mass=0.05, position=(0, 0, 0.0101), velocity=(0.3, 0, 0)))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, 0), normal=(0, 0, 1)))
    scene.collide(box, floor, friction=0.3)
    pad = scene.add(pl.Volume(pl.mesh.box((0.02, 0.02, 0.01), (2, 2, 1)), RUBBER), position=(0.0, 0.0, 0.021))
    scene.collide(pad, box)
    changes = {P.Mass(box): 0.2, P.Friction(floor, box): 0.7, P.Friction(box, pad): 0.2, P.Material(pad, "young"): 4e4}
    assert_same(scene.compile(), changes)


def test_chambers():
    scene = pl.Scene()
    body = scene.add(hollow_box())
    air = scene.add(pl.Cavity(body))
    assert_same(scene.compile(), {P.Material(body, "young"): 6e4}, {air: pl.Pressure(2e3)}, stepper=pl.QuasiStatic())


def test_numbers_are_changed_again_and_back():
    scene, body, cable, floor = finger()
    world = scene.compile()
    young, mu, route = P.Material(body, "young"), P.Friction(body, floor), P.Route(cable)
    back = changed(changed(world, {young: 5e4, mu: 0.1}), {young: young.value(world), mu: 0.4})
    assert back.fingerprint == world.fingerprint
    once = changed(world, {young: 5e4, mu: 0.1, route: route.value(world) + 1e-3})
    back = changed(once, {young: young.value(world), mu: 0.4, route: route.value(world)})
    pull = {cable: pl.Displacement(0.003)}
    np.testing.assert_array_equal(steps(back, pull).q[0], steps(world, pull).q[0])


def test_a_state_is_taken_over_and_a_run_is_saved(tmp_path):
    scene, body, cable, _ = finger()
    world = scene.compile()
    other = changed(world, {P.Material(body, "young"): 5e4, P.Route(cable): P.Route(cable).value(world) + 1e-3})
    with pytest.raises(pl.InputError, match="belongs to another world"):
        EULER(other, world.initial_state(), {})
    state, _ = EULER(other, other.adopt(world.initial_state()), {cable: pl.Displacement(0.003)})
    run = pl.simulate(other, EULER, until=0.03, control=lambda t, state: {cable: pl.Displacement(0.003)})
    np.testing.assert_array_equal(run.points(body)[1], state.points(body))
    assert run.actuation(cable)[1][-1] > 0.0
    read = pl.load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(read.points(body.name)[-1], run.points(body)[-1])
    assert read.world.thing(body.name).material.young == 5e4
    np.testing.assert_array_equal(read.world.thing(cable.name).via_points, P.Route(cable).value(other))


def test_an_inverse_uses_the_handles():
    scene, body, cable, _ = finger()
    tip = pl.Effector(body, points=[(0.1, 0.01, 0.01)], directions=[(0, 0, 1)])
    world = scene.compile()
    stepper = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[tip], actuators=[cable]))
    other = changed(world, {P.Material(body, "young"): 5e4, P.Route(cable): P.Route(cable).value(world) - 5e-4})
    anew = compiled_anew(other)
    there = pl.Effector(anew.thing(body.name), points=[(0.1, 0.01, 0.01)], directions=[(0, 0, 1)])
    same = pl.QuasiStatic(newton_iterations=1, solver=pl.Inverse(effectors=[there], actuators=[anew.thing(cable.name)]))
    found = stepper(other, other.initial_state(), {tip: [(0, 0, 0.008)]})[1].actuation([cable])
    wanted = same(anew, anew.initial_state(), {there: [(0, 0, 0.008)]})[1].actuation([anew.thing(cable.name)])
    np.testing.assert_array_equal(found, wanted)


def test_reduced_worlds():
    robot = pl.robots.finger()
    scene = pl.Scene(gravity=DOWN)
    scene.add(robot)
    scene.collide(robot, robot)
    world = scene.compile()
    plan = pl.reduction.ramps(world, amplitude=0.01, steps=20)
    fast = pl.reduction.reduce(world, plan, motion_tolerance=0.01)
    assert_same(fast, {P.Material(robot.body, "young"): 2e5}, {robot.cable: pl.Force(2.0)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body, cable, floor: {P.Material(body, "stiffness"): 1.0}, "no number 'stiffness'"),
        (lambda body, cable, floor: {P.Material(body, "shear_modulus"): 1.0}, "no number 'shear_modulus'"),
        (lambda body, cable, floor: {P.Material(body, "young"): -1.0}, "young of Corotated"),
        (lambda body, cable, floor: {P.Material(body, "young"): "soft"}, "young of 'volume' must be a number"),
        (lambda body, cable, floor: {P.Material(body, "young", inclusion=1): 1.0}, "has 1 inclusions"),
        (lambda body, cable, floor: {P.Mass(body): 0.0}, "mass of 'volume'"),
        (lambda body, cable, floor: {P.Friction(body, body): 0.1}, "do not collide"),
        (lambda body, cable, floor: {P.Friction(body, floor): -0.1}, "friction of 'volume'"),
        (lambda body, cable, floor: {P.Damping(body, "mass"): np.nan}, "damping of 'volume'"),
        (lambda body, cable, floor: {P.Gravity(): (0, 0)}, "gravity"),
        (lambda body, cable, floor: {P.Route(cable): [(0, 0, 0)]}, "via_points of 'cable'"),
        (lambda body, cable, floor: {P.Route(cable): [(0.01, 0.01, 0)] * 2 + [(0.09, 0.1, 0)]}, "outside the mesh"),
        (lambda body, cable, floor: {P.Control(cable): 1.0}, "with the controls"),
        (lambda body, cable, floor: {P.InitialVelocities(body): 1.0}, "with the state"),
        (lambda body, cable, floor: {"young": 1.0}, "no number of a world"),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_is_said(change, message):
    scene, body, cable, floor = finger()
    with pytest.raises(pl.PliantError, match=message):
        changed(scene.compile(), change(body, cable, floor))


def test_a_commanded_modulus_is_left_to_its_actuator():
    scene, body = bar(gravity=DOWN)
    scene.add(pl.Stiffness(body, min_young=5e4, max_young=2e5))
    world = scene.compile()
    with pytest.raises(pl.InputError, match="commands that material"):
        changed(world, {P.Material(body, "young"): 7e4})
    assert_same(world, {P.Material(body, "density"): 700.0})
