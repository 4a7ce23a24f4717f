"""Curves of a run: units, columns and the plot."""

import numpy as np
import pytest

import pliant as pl
from pliant.record.curves import curves


class Motor(pl.ForcePoint):
    """An actuator of one's own, with units of its own."""

    kinds = ((pl.Displacement, "turns"), (pl.Force, "J/turn"))


@pytest.fixture(scope="module")
def robot():
    return pl.robots.finger()


@pytest.fixture(scope="module")
def run(robot):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    scene.add(robot)
    ball = scene.add(pl.Obstacle.sphere(center=(0.09, 0.0, -0.02), radius=0.015, name="ball"))
    scene.collide(robot, ball)
    return pl.simulate(
        scene.compile(),
        pl.ImplicitEuler(dt=0.01),
        until=0.1,
        control=lambda t, state: {robot.cable: pl.Displacement(0.05 * t)},
    )


def test_curves_carry_the_numbers_of_the_run(run, robot):
    found = {curve.label: curve.values for curve in curves(run, robot.tip)}
    path = 1e3 * robot.tip.along(run.points(robot))
    np.testing.assert_allclose(found["position: tip z (mm)"], path[:, 2])
    displacement, force = run.actuation(robot.cable)
    np.testing.assert_allclose(found["actuator displacement: finger cable (mm)"], 1e3 * displacement)
    np.testing.assert_allclose(found["actuator force: finger cable (N)"], force)
    contact = np.linalg.norm(run.contact_force(robot, "ball"), axis=1)
    np.testing.assert_allclose(found["contact force: finger – ball (N)"], contact)


def test_chambers_are_in_millilitres_and_kilopascals():
    scene = pl.Scene()
    bellows = scene.add(pl.robots.bellows(cells=(2, 2), fold_count=2))
    stepper = pl.ImplicitEuler(dt=0.01)
    run = pl.simulate(scene.compile(), stepper, until=0.02, control=lambda t, s: {bellows.cavity: pl.Pressure(500.0)})
    found = {curve.label: curve.values for curve in curves(run)}
    assert found["pressure: bellows air (kPa)"][-1] == pytest.approx(0.5)
    assert found["growth: bellows air (mL)"][-1] == pytest.approx(1e6 * run.actuation(bellows.cavity)[0][-1])


def test_layers_and_actuators_of_ones_own_have_the_units_of_their_control_values():
    scene = pl.Scene()
    rubber = pl.materials.NeoHookean(young=1e5, poisson=0.4, density=1e3)
    sheet = scene.add(
        pl.Volume(pl.mesh.box((0.04, 0.02, 0.004), (4, 2, 2)), rubber, clamp=pl.regions.plane(axis="x", at=0.0))
    )
    lower = pl.regions.box((-1, -1, -1), (1, 1, 0.002))
    layer = scene.add(pl.Layer(sheet, lower, normal=(0, 0, 1), thickness=0.002))
    motor = scene.add(Motor(sheet, (0.04, 0.01, 0.002), direction=(0, 0, 1), name="motor"))
    controls = {layer: pl.SpreadingPressure(2.0), motor: pl.Force(0.001)}
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.02, control=lambda t, state: controls)
    found = {curve.label: curve.values for curve in curves(run)}
    np.testing.assert_array_equal(found["spreading pressure: layer (N/m)"], run.actuation(layer)[1])
    np.testing.assert_array_equal(found["area growth: layer (mm²)"], 1e6 * run.actuation(layer)[0])
    assert found["spreading pressure: layer (N/m)"][-1] == pytest.approx(2.0)
    np.testing.assert_array_equal(found["actuator displacement: motor (turns)"], run.actuation(motor)[0])
    np.testing.assert_array_equal(found["actuator force: motor (J/turn)"], run.actuation(motor)[1])
    assert not any("SI" in label for label in found)


def test_the_plot_has_a_panel_for_each_kind(run, robot, tmp_path):
    pytest.importorskip("matplotlib")
    figure = run.plot(tmp_path / "curves.png", points={"tip": robot.tip})
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == [
        "position\n(mm)",
        "largest displacement\n(mm)",
        "actuator displacement\n(mm)",
        "actuator force\n(N)",
        "contact force\n(N)",
    ]
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_points_must_be_markers(run):
    with pytest.raises(pl.InputError, match=r"robot\.tip"):
        run.plot(points={"tip": (0.0, 0.0, 0.0)})


@pytest.mark.parametrize("only", [[], [3], ["contact force", None], 3])
def test_only_takes_names(run, only):
    with pytest.raises(pl.InputError, match="only must be names of curves"):
        curves(run, only=only)


def test_the_largest_displacement_is_from_the_first_instant():
    """Of a body that moves as one it is the way that it has gone, in mm, wherever it began."""
    scene = pl.Scene()
    ball = scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1, position=(3.0, -2.0, 1.0), velocity=(0.3, 0.0, 0.4)))
    moved = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.03)
    (curve,) = [each for each in curves(moved) if each.panel == "largest displacement"]
    assert (curve.name, curve.unit) == (ball.name, "mm")
    np.testing.assert_allclose(curve.values, [0.0, 5.0, 10.0, 15.0], atol=1e-9)
