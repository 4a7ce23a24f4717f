"""The trunk, the gripper and the page with both: their motions, what is drawn, and the files that are left."""

import numpy as np
import pytest

import pliant as pl
from demos import lift, run_demo, tour, trunk
from pliant.record import simulate
from pliant.viewer.surfaces import SurfaceFrames


def test_the_target_starts_at_the_tip_and_goes_round_a_circle():
    np.testing.assert_allclose(trunk.target(0.0), (0.0, 0.0, trunk.TOP))
    for t in np.linspace(trunk.START, trunk.DURATION - 0.35, 7):
        x, y, z = trunk.target(float(t))
        assert np.hypot(x, y) == pytest.approx(trunk.RADIUS)
        assert z == pytest.approx(trunk.HEIGHT)
    path = np.array([trunk.target(t) for t in np.arange(0.0, trunk.DURATION, trunk.DT)])
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 8e-3, "no jump"


def test_the_gripper_closes_before_it_lifts_and_opens_after_it_has_set_down():
    assert lift.motion(0.0) == (0.0, 0.0)
    assert lift.motion(0.52) == pytest.approx((lift.PULL, 0.0))
    assert lift.motion(lift.HOLDING) == pytest.approx((lift.PULL, lift.RISE))
    assert lift.motion(2.15) == pytest.approx((lift.PULL, 0.0))
    assert lift.motion(lift.DURATION) == pytest.approx((0.0, 0.0))


def test_the_tip_of_the_trunk_follows_from_the_first_step_on():
    bench = trunk.build()
    run = simulate(bench.world, bench.stepper, until=0.15, control=bench.control)
    assert trunk.errors(run, bench).max() < 5e-4
    shown = trunk.surfaces(bench, run)
    labels = [surface.label for surface in shown.surfaces]
    assert labels.count("target") == 1
    goal = next(surface for surface in shown.surfaces if surface.label == "target")
    np.testing.assert_allclose(goal.frames[-1].mean(axis=0), trunk.target(0.15), atol=1e-3)
    assert sum(surface.value_label == "cable tension (N)" for surface in shown.surfaces) == 8


def test_a_motion_that_misses_its_aim_is_an_error():
    bench = trunk.build()
    still = simulate(bench.world, bench.stepper, until=0.02, control=lambda t, state: {bench.tip: trunk.target(0.0)})
    trunk.check(still, bench)
    late = pl.Run(**{**vars(still), "times": still.times + 1.0})
    with pytest.raises(pl.ConvergenceError, match="strayed"):
        trunk.check(late, bench)


def test_two_pictures_stand_beside_each_other():
    square = SurfaceFrames(np.array([[0, 1, 2]]), np.eye(3)[None])
    both = tour.beside(*2 * [tour.Shown((square,), np.zeros(1), np.zeros(1, int))], (5.0, 0.0, 0.0))
    np.testing.assert_allclose(both.surfaces[1].frames - both.surfaces[0].frames, [[[5.0, 0.0, 0.0]] * 3])


@pytest.mark.slow
def test_the_tour_runs_and_leaves_picture_page_and_runs(tmp_path):
    pytest.importorskip("matplotlib")
    outcome = run_demo("tour", out=tmp_path)
    assert [file.name for file in outcome.files] == ["tour.png", "tour.html", "tour-trunk.npz", "tour-lift.npz"]
    text = outcome.page.read_text(encoding="utf-8")
    assert all(word in text for word in ("trunk", "gripper", "cable tension", "contact forces"))
    assert len(pl.load(tmp_path / "tour-lift.npz").bodies) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trunk", "lift"])
def test_each_runs_by_itself(name, tmp_path):
    pytest.importorskip("matplotlib")
    outcome = run_demo(name, out=tmp_path)
    assert [file.suffix for file in outcome.files] == [".png", ".html", ".npz"]
    assert outcome.run.real_time_factor > 0.0
