"""The membrane of Fang 2022, small: symmetric, lifted by contact alone, where finite elements have it."""

import numpy as np
import pytest

from experiments import fang_membrane, reproduce
from experiments.fang_parts import DRAGON_SKIN, inflate, pushing

TINY = fang_membrane.Size((16, 1), 6, (1, 1, 1))


@pytest.fixture(scope="module")
def lifted():
    """The sheet over four chambers at 1.4 times their volume."""
    world, robot = fang_membrane.build(DRAGON_SKIN, TINY)
    return robot, inflate(world, [robot.controls(1.4)])


def test_equal_chambers_lift_the_sheet_symmetrically(lifted):
    """Within 0.5 % of its mirror images, by contact alone, none of it crossed."""
    robot, found = lifted
    info = found.infos[-1]
    assert fang_membrane.asymmetry(robot, found.states[-1]) < 0.005
    assert fang_membrane.moved(robot, found.states[-1])[1][:, 2].max() > 2e-3
    assert info.penetration < 0.05e-3
    assert min(pushing(info, robot.sheet, one.body) for one in robot.chambers) > 0.01
    assert info.residual <= 1e-5
    assert info.inverted == 0


def test_what_the_chambers_push_up_the_rim_holds_down(lifted):
    """λ are newtons: contact forces on the sheet and reactions of its clamp are in balance."""
    robot, found = lifted
    info = found.infos[-1]
    pushed = sum(info.contact_force(robot.sheet, one.body) for one in robot.chambers)
    assert pushed[2] > 0.04
    assert pushed + info.reaction(robot.sheet).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-3 * pushed[2])


def test_the_shape_is_that_of_the_static_stepper(lifted):
    """The same mesh within 1 % of the lift: two solvers of one set of equations."""
    robot, found = lifted
    fem = fang_membrane.fem_shape(DRAGON_SKIN, 1.4, TINY, element="tet4")
    errors = fang_membrane.shape_errors(robot, found.states[-1], fem)
    assert errors.max() < 0.01 * np.linalg.norm(fem[1], axis=1).max()


def test_without_response_chambers_stand_in_the_sheet():
    world, robot = fang_membrane.build(DRAGON_SKIN, TINY, response=False)
    found = inflate(world, [robot.controls(1.4)])
    assert np.abs(fang_membrane.moved(robot, found.states[-1])[1]).max() < 1e-9
    assert fang_membrane.overlap(robot, found.states[-1]) > 2e-3


@pytest.mark.slow
def test_the_report_has_the_papers_names(tmp_path):
    report = reproduce("fang-membrane")
    assert set(report.paper) <= set(report.metrics)
    assert report.metrics["asymmetry_percent"] < 0.5
    assert report.metrics["shape_error_mm"] < 5.0
    assert report.metrics["max_penetration_mm"] < 0.05 < report.metrics["penetration_without_response_mm"]
    assert all(path.exists() for path in report.pictures(tmp_path))
