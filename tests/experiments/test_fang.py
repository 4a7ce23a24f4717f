"""The pneumatic finger of Fang 2022: what the paper shows has to happen here too."""

import numpy as np
import pytest

from experiments import EXPERIMENTS, fang_finger, reproduce


@pytest.fixture(scope="module")
def bendings():
    """The finger on a coarse mesh at 1.6 times its chamber's volume, with response and without."""
    return {
        response: fang_finger.bend(fang_finger.ECOFLEX, (1.33, 1.6), cell=4e-3, response=response)
        for response in (True, False)
    }


def test_chambers_that_respond_touch_and_do_not_cross(bendings):
    """Penetration below 0.05 mm with response, forces that push, and less room to bend without it."""
    touching, passing = bendings[True], bendings[False]
    contacts = touching.infos[-1].contacts(touching.robot, touching.robot)
    assert fang_finger.crossing(touching) < 0.05e-3
    assert np.linalg.norm(contacts.forces, axis=1).sum() > 0.01
    assert contacts.gaps.min() > -0.05e-3
    assert fang_finger.crossing(passing) > 0.05e-3


def test_every_step_is_an_equilibrium_of_upright_cells(bendings):
    for bending in bendings.values():
        for info in bending.infos:
            assert info.residual <= 1e-5
            assert info.inverted == 0
            assert abs(info.volume_changes[0]) < 0.02


def test_the_shape_is_that_of_the_static_stepper(bendings):
    """Tip within 0.1 % of the length of `QuasiStatic` on the same mesh at moderate inflation, without response: for the
    paper's Mooney–Rivlin, and for neo-Hookean and Yeoh fits of the measured silicone.
    """
    assert bendings[False].tips[0][1] < 0.0
    tip = fang_finger.bend(fang_finger.ECOFLEX, (1.2,), cell=1e-2, response=False).tips[0]
    errors = fang_finger.tip_errors(tip, 1.2, cell=1e-2)
    assert max(errors.values()) < 1e-3 * 0.085


@pytest.mark.slow
def test_the_report_has_the_papers_names(tmp_path):
    report = reproduce("fang-finger")
    assert "fang-finger" in EXPERIMENTS
    assert all(path.exists() for path in report.pictures(tmp_path))
    assert set(report.paper) <= set(report.metrics)
    assert report.metrics["max_penetration_mm"] < 0.05 < report.metrics["penetration_without_response_mm"]
    assert report.metrics["tip_error_percent"] < 5.0
    assert report.metrics["body_volume_percent"] < 2.0
