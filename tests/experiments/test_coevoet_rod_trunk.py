"""Rod and trunk of Coevoet 2017: what the paper shows has to happen here too."""

import pytest

from experiments import EXPERIMENTS, reproduce
from experiments import coevoet_rod as rod
from experiments import coevoet_trunk as trunk


@pytest.fixture(scope="module")
def rods():
    return reproduce("coevoet-rod")


@pytest.fixture(scope="module")
def trunks():
    return reproduce("coevoet-trunk")


TRUNKS = pytest.param("trunks", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", ["rods", TRUNKS])
def test_the_paper_is_reported_by_the_same_names(name, request):
    report = request.getfixturevalue(name)
    assert set(report.paper) <= set(report.metrics)
    assert report.run is not None
    assert {"coevoet-rod", "coevoet-trunk"} <= set(EXPERIMENTS)


def test_the_rod_enters_both_branches(rods):
    m = rods.metrics
    assert m["branches_entered"] == 2
    for side in rod.SIDES:
        assert m[f"{side}_error_mm"] < 0.1
        assert m[f"{side}_depth_mm"] == pytest.approx(1e3 * rod.DEPTH, abs=0.1)
    assert m["max_penetration_mm"] < 0.05


def test_the_rod_needs_to_know_of_the_pipe(rods):
    assert rods.metrics["error_without_contact_mm"] > 20 * rods.metrics["final_error_mm"]


def test_the_rod_has_the_published_size(rods):
    assert rods.metrics["dofs"] == 66
    assert rods.metrics["contacts"] == pytest.approx(47, rel=0.1)


def test_both_sides_are_mirror_images(rods):
    assert rods.metrics["left_error_mm"] == pytest.approx(rods.metrics["right_error_mm"], rel=1e-3)


@pytest.mark.slow
def test_the_trunk_passes_between_the_cylinders_by_leaning_on_one(trunks):
    m = trunks.metrics
    assert m["passed_between"]
    assert m["final_error_mm"] < 0.2
    assert m["error_without_contact_mm"] > 10 * m["final_error_mm"]
    assert m["max_penetration_mm"] < 0.05


@pytest.mark.slow
def test_the_trunk_holds_its_tip_against_a_moving_obstacle(trunks):
    assert trunks.metrics["pushed_error_mm"] < 0.2
    assert trunks.metrics["pushed_error_without_contact_mm"] > 2.0


@pytest.mark.slow
def test_the_trunk_recovers_from_a_cut_cable(trunks):
    assert trunks.metrics["recovered_error_mm"] < 1.0


def test_the_cut_cable_was_the_one_that_pulled_most():
    bench = trunk.build([trunk.mover()])
    held = bench.follow(trunk.hold_targets())
    pulls = held.info.actuation(bench.trunk.cables)[1]
    after = trunk.cut(bench, held, 3)
    now = after.info.actuation(bench.trunk.cables)[1]
    assert pulls.max() > 0.5
    assert now[pulls.argmax()] == 0.0


@pytest.mark.slow
def test_the_free_trunk_follows_a_circle(trunks):
    assert trunks.metrics["circle_mean_error_mm"] < 0.2


@pytest.mark.slow
def test_the_trunk_has_the_published_size(trunks):
    assert trunks.metrics["dofs"] == pytest.approx(1665, rel=0.03)
    assert trunks.metrics["contacts"] == pytest.approx(76, rel=0.15)
