"""The Jacobian of the residuals against differences of the residuals, with everything that can be unknown."""

import numpy as np
import pytest

import pliant as pl
from pliant.identification import ActuatorDisplacement, ActuatorForce, ContactForce, Experiment, Frame, Markers, Unknown
from pliant.identification.problem import Problem
from pliant.recordings import Registration

P = pl.parameters


def differences(function, z, step=1e-3):
    """∂function/∂z of fourth order."""
    columns = []
    for k in range(len(z)):
        e = step * np.eye(len(z))[k]
        near, far = function(z + e) - function(z - e), function(z + 2 * e) - function(z - 2 * e)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=1)


def check(problem, seed, tolerance=2e-6):
    z = problem.start + 0.05 * np.random.default_rng(seed).normal(size=problem.vector.size)
    exact, wanted = problem.jacobian(z), differences(problem.residual, z)
    scale = np.abs(wanted).max(axis=0)
    assert (scale > 0).all()
    assert (np.abs(exact - wanted) / scale).max() < tolerance


def cabled_bar():
    """A clamped bar with a cable along its side and a plate beside it."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    material = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1000)
    mesh = pl.mesh.box((0.06, 0.01, 0.01), (5, 1, 1))
    bar = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), name="bar"))
    cable = scene.add(pl.Cable(bar, [(0.06, 0.005, 0.009), (0.03, 0.005, 0.009), (0.0, 0.005, 0.009)], name="cable"))
    return scene.compile(), bar, cable


def registration(seed):
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return Registration(turn * np.sign(np.linalg.det(turn)), np.array([0.3, -0.1, 0.2]), 0.0, 3, 0)


def moved(by, points):
    """Points of the world as a measuring system of the frame sees them."""
    return (points - by.translation) @ by.rotation


@pytest.mark.parametrize("along", [None, ((0, 0, 1), (1, 0, 0))])
def test_statics_with_a_cable_markers_with_offsets_and_a_frame(along):
    world, bar, cable = cabled_bar()
    rng = np.random.default_rng(3)
    by = registration(4)
    points = np.array([(0.02, 0.005, 0.01), (0.05, 0.0, 0.005), (0.06, 0.01, 0.005)])
    pulls = [{cable: pl.Displacement(x)} for x in (0.001, 0.003)]
    found = rng.normal(scale=0.002, size=(2, 3, 3)) + points
    if along is None:
        markers = Markers(
            bar, points, values=moved(by, found), noise=1e-4, frame=Frame(by), offset_deviation=1e-3, radius=0.012
        )
    else:
        values = found @ np.array(along).T
        markers = Markers(bar, points, values=values, noise=1e-4, directions=along, offset_deviation=1e-3)
    tension = ActuatorForce(cable, values=[0.5, np.nan], noise=0.01)
    experiment = Experiment([markers, tension], stepper=pl.QuasiStatic(tolerance=1e-12), control=pulls)
    unknowns = [
        Unknown(P.Material(bar, "young"), 1.2e5, log=True, prior=(1e5, 3e4)),
        P.Material(bar, "density"),
        Unknown(P.Gravity(), (0.1, 0.2, -9.0), scale=10.0),
    ]
    problem = Problem(world, [experiment], unknowns)
    assert problem.data_count == 2 * 3 * (3 if along is None else 2) + 1
    check(problem, 5)
    assert problem.method == "forward sensitivities"


def test_runs_with_contact_forces_between_instants():
    """The end of a bar slides over a rough floor; instants of the data lie between those of the run."""
    scene = pl.Scene(gravity=(0, 0, -9.81))
    material = pl.materials.Corotated(young=5e4, poisson=0.3, density=1000)
    mesh = pl.mesh.box((0.06, 0.01, 0.01), (4, 1, 1))
    bar = scene.add(pl.Volume(mesh, material, clamp=pl.regions.plane(axis="x", at=0.0), name="bar"))
    cable = scene.add(pl.Cable(bar, [(0.06, 0.005, 0.005), (0.0, 0.005, 0.005)], name="cable"))
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -2e-4), normal=(0, 0, 1)))
    scene.collide(bar, floor, friction=0.3)
    world = scene.compile()
    times = np.array([0.0, 0.0074, 0.02, 0.0301, 0.04])
    points = np.array([(0.06, 0.01, 0.01), (0.06, 0.0, 0.0)])
    place = points + 0.1 * times[:, None, None] * [1, 0, 0]
    place[1, 0] = np.nan
    measured = [
        Markers(bar, points, values=place, times=times, noise=1e-3),
        ContactForce(bar, floor, values=np.full((3, 1), 0.03), times=[0.0123, 0.02, 0.04], noise=0.01,
                     directions=(0, 0, 1)),
        ActuatorDisplacement(cable, values=np.full(8, 0.001), noise=1e-3),
    ]  # fmt: skip
    experiment = Experiment(
        measured, stepper=pl.ImplicitEuler(0.005, tolerance=1e-12), until=0.04, control={cable: pl.Force(0.3)}
    )
    unknowns = [
        P.Friction(bar, floor),
        Unknown(P.Material(bar, "young"), 6e4, log=True),
        Unknown(P.Mass(bar), log=True),
    ]
    problem = Problem(world, [experiment], unknowns)
    assert problem.data_count == 5 * 6 - 3 + 3 + 8
    check(problem, 6, tolerance=2e-5)
    assert problem.method == "forward sensitivities"


def test_beams_rods_and_rigid_bodies_carry_markers():
    by_angle = {}
    for kind in ("beam", "rod"):
        scene = pl.Scene(gravity=(0, 0, -9.81))
        if kind == "beam":
            points = np.linspace((0, 0, 0), (0.2, 0, 0), 6)
            body = pl.Beam(points, section=pl.sections.Circle(0.004), young=2e6, poisson=0.4, density=1100, clamp=[0])
        else:
            body = pl.Rod(0.2, 4, section=pl.sections.Circle(0.004), young=2e6, poisson=0.4, density=1100)
        scene.add(body)
        world = scene.compile()
        feet = np.array([(0.1, 0.0, 0.0), (0.2, 0.0, 0.0)])
        offsets = np.array([(0.0, 0.01, 0.0), (0.0, 0.0, 0.02)])
        markers = Markers(body, feet, values=feet + offsets, noise=1e-3, offsets=offsets)
        problem = Problem(
            world, [Experiment(markers, stepper=pl.QuasiStatic(tolerance=1e-12))], [P.Material(body, "young")]
        )
        check(problem, 7, tolerance=1e-5)
        by_angle[kind] = problem.method
    assert set(by_angle.values()) == {"forward sensitivities"}


def test_without_derivatives_differences_say_so():
    """A fixed number of linear solves is no solution of the equations that are differentiated."""
    world, bar, cable = cabled_bar()
    tip = np.array([(0.06, 0.005, 0.005)])
    measured = Markers(bar, tip, values=tip - [0, 0, 0.01], noise=1e-4)
    unknown = Unknown(P.Material(bar, "young"), 1.2e5, lower=1e3, upper=1e6)
    found = {}
    for iterations in (None, 8):
        stepper = pl.QuasiStatic(tolerance=1e-10, newton_iterations=iterations)
        experiment = Experiment(measured, stepper=stepper, control={cable: pl.Force(0.05)})
        found[iterations] = pl.identify(world, experiment, unknown)
    assert found[None].method == "forward sensitivities"
    assert found[8].method.startswith("central differences ('experiment': ")
    assert found[8].world is not world
    assert found[8][unknown] == pytest.approx(found[None][unknown], rel=1e-5)
    assert found[8].deviations[unknown] == pytest.approx(found[None].deviations[unknown], rel=1e-3)
