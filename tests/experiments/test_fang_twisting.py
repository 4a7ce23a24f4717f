"""The twisting robot of Fang 2022 on a coarse mesh: it winds itself up, and the cylinder holds it back."""

import numpy as np
import pytest

from experiments import fang_twisting, reproduce
from experiments.fang_parts import ECOFLEX, inflate, pushing
from pliant.stepping.minimum_energy import Geometric

TINY = fang_twisting.Size((1, 1, 18), 3, "tet4")


@pytest.fixture(scope="module")
def wound():
    """The rod at four times its chamber's volume, alone and at the cylinder."""
    obstacle = fang_twisting.cylinder()
    found = {}
    for name, there in (("alone", None), ("touching", obstacle)):
        world, robot = fang_twisting.build(ECOFLEX, TINY, obstacle=there)
        found[name] = (robot, inflate(world, fang_twisting.volumes(robot, (4.0,))))
    return obstacle, found


def test_the_rod_leaves_its_axis_and_keeps_its_volume(wound):
    robot, made = wound[1]["alone"]
    assert made.reached(robot.cavity) == pytest.approx(4.0, rel=1e-5)
    assert fang_twisting.bend_angle(robot, made.states[-1]) > 2.0
    assert made.checks()["body_volume_percent"] < 2.0
    assert made.checks()["inverted"] == 0
    assert made.checks()["residual"] <= 1e-5


def test_the_cylinder_pushes_it_back_and_is_not_entered(wound):
    obstacle, found = wound
    (free, alone), (robot, made) = found["alone"], found["touching"]
    assert fang_twisting.inside(free, alone.states[-1], obstacle) > 0.2e-3
    assert fang_twisting.inside(robot, made.states[-1], obstacle) < 0.02e-3
    force = made.infos[-1].contact_force(robot.body, obstacle)
    assert force[2] < 0.0
    assert np.linalg.norm(force) == pytest.approx(pushing(made.infos[-1], robot.body, obstacle), rel=0.1)


def test_an_early_end_keeps_the_last_shape():
    """Two iterations lead nowhere beyond the first part: the shapes found so far stay, and say how far they went."""
    world, robot = fang_twisting.build(ECOFLEX, TINY, response=False)
    first = inflate(world, fang_twisting.volumes(robot, (1.2,)))
    hasty = inflate(
        world,
        fang_twisting.volumes(robot, (1.2, 40.0)),
        start=first.states[-1],
        stepper=Geometric(iterations=1),
        whole=False,
    )
    assert len(hasty.states) == 1
    assert 1.0 < hasty.reached(robot.cavity) < 40.0


@pytest.mark.slow
def test_the_report_has_the_papers_names(tmp_path):
    report = reproduce("fang-twisting")
    assert set(report.paper) <= set(report.metrics)
    assert report.metrics["contact_area_mm2"] > report.metrics["stiffer_contact_area_at_equal_pressure_mm2"]
    assert report.metrics["max_penetration_mm"] < 0.05 < report.metrics["penetration_without_response_mm"]
    assert report.metrics["body_volume_percent"] < 2.0
    assert report.metrics["reached_ratio"] == pytest.approx(115.0, rel=1e-4)
    assert (report.metrics["inverted"], report.metrics["unstable"]) == (0, 0)
    assert report.metrics["residual"] <= 1e-5
    assert all(path.exists() for path in report.pictures(tmp_path))
