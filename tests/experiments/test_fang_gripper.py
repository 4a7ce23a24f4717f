"""The gripper of Fang 2022 with one coarse finger: it lies against the ball, pushes it, and does not enter it."""

import numpy as np
import pytest

import pliant as pl
from experiments import fang_gripper, reproduce
from experiments.fang_parts import DRAGON_SKIN, ECOFLEX, at_pressure, inflate, touching_area


@pytest.fixture(scope="module")
def closed():
    """One finger of each silicone at 1.4 times its volume."""
    found = {}
    for name, material in (("soft", ECOFLEX), ("stiff", DRAGON_SKIN)):
        world, robot = fang_gripper.build(material, cell=6e-3, finger_count=1)
        found[name] = (world, robot, inflate(world, [robot.controls(1.4)]))
    return found


def test_the_finger_pushes_the_ball_and_stays_outside(closed):
    """Forces of the stiffer silicone are larger in about the ratio of their shear moduli, 142 : 52."""
    forces = {}
    for name, (_, robot, made) in closed.items():
        forces[name] = fang_gripper.grasp_forces(robot, made.infos[-1]).sum()
        assert fang_gripper.inside(robot, made.states[-1]) < 0.02e-3
        assert made.infos[-1].residual <= 1e-5
    assert forces["soft"] > 0.01
    assert 1.5 < forces["stiff"] / forces["soft"] < 3.0


def test_the_softer_silicone_lies_against_the_ball_over_a_larger_area_at_the_same_pressure(closed):
    _, soft, softer = closed["soft"]
    world, stiff, stiffer = closed["stiff"]
    pressure = softer.pressures(soft.cavities[0])[-1]
    known = (1.4, float(stiffer.pressures(stiff.cavities[0])[-1]))
    alike = at_pressure(world, stiff.controls, stiff.cavities[0], pressure, known)
    assert alike.pressures(stiff.cavities[0])[-1] == pytest.approx(pressure, rel=0.01)
    areas = [fang_gripper.contact_area(*pair) for pair in ((soft, softer.states[-1]), (stiff, alike.states[-1]))]
    assert areas[0] > 1.2 * areas[1]


def test_the_touching_area_of_a_flat_face_is_that_of_a_disc():
    """A plane that touches a ball is nearer than ε to it within a radius of √(2Rε)."""
    mesh = pl.mesh.box((0.04, 0.04, 0.01), (20, 20, 2)).translated((-0.02, -0.02, 0.0))
    scene = pl.Scene()
    body = scene.add(pl.Volume(mesh, ECOFLEX))
    ball = scene.add(pl.Obstacle.sphere(center=(0.0, 0.0, 0.035), radius=0.025))
    area = touching_area(scene.compile().initial_state(), body, ball, within=4e-4)
    assert area == pytest.approx(np.pi * (0.0254**2 - 0.025**2), rel=0.05)


@pytest.mark.slow
def test_the_report_is_complete(tmp_path):
    report = reproduce("fang-gripper")
    assert report.metrics["contact_force_N"] > 0.1
    assert report.metrics["contact_area_mm2"] > report.metrics["stiffer_contact_area_at_equal_pressure_mm2"]
    assert report.metrics["max_penetration_mm"] < 0.05 < report.metrics["penetration_without_response_mm"]
    assert all(path.exists() for path in report.pictures(tmp_path))
