"""The Bortoff experiments: their numbers beside the paper's, and their figures."""

import pytest

from experiments import reproduce


def test_the_ball(tmp_path):
    report = reproduce("bortoff-ball")
    metrics = report.metrics
    assert metrics["apexes_without_damping_m"] == pytest.approx(metrics["apexes_closed_form_m"], abs=1e-4)
    assert metrics["apexes_damping_20_m"] == pytest.approx([0.3169, 0.0542], abs=1e-4)
    assert metrics["energy_consistent_bounces"] >= 100
    assert metrics["energy_consistent_apex_error_m"] < 1e-6
    assert metrics["fifth_release_s"] == pytest.approx(4.362, abs=1e-3)  # the paper's figure 4
    assert metrics["ballistic_state_visited"]
    files = report.pictures(tmp_path)
    assert [file.name for file in files] == [f"bortoff-ball-figure-{k}.png" for k in (1, 2, 3, 4)]
    assert all(file.stat().st_size > 10_000 for file in files)


@pytest.mark.slow
def test_the_maze(tmp_path):
    report = reproduce("bortoff-maze")
    assert report.metrics["reached_center"]
    assert report.metrics["states"] == report.paper["states"]
    assert report.metrics["constraint_poles_per_s"] == pytest.approx(-5.0, abs=1e-3)
    assert max(report.metrics["slowest_closed_loop_poles_per_s"]) < -0.05
    assert [file.name for file in report.pictures(tmp_path)] == [f"bortoff-maze-figure-{k}.png" for k in (7, 10)]


@pytest.mark.slow
def test_the_delta_robot(tmp_path):
    report = reproduce("bortoff-delta")
    metrics = report.metrics
    assert metrics["contact_s"] == pytest.approx(12.0, abs=0.1)
    assert metrics["peak_force_mN"] <= 90.0
    assert metrics["steady_force_mN"] == pytest.approx(40.0, rel=0.1)
    assert metrics["bounces"] == 0
    assert metrics["brick_motion_mm"] < 1e-6
    assert metrics["constraint_drift_m"] < 1e-9
    assert metrics["kinematics_error_m"] < 1e-12
    assert metrics["brick_motion_with_high_gain_mm"] > 0.01
    assert len(report.pictures(tmp_path)) == 2
