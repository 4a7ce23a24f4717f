"""Trunk and grasper of Adagolodjo 2021: rods that slide in soft bodies pull them, in the inverse and with contact."""

import numpy as np
import pytest

from experiments import EXPERIMENTS, reproduce
from experiments import adagolodjo_grasper as grasper
from experiments import adagolodjo_trunk as trunk
from experiments.threaded import Wire, off_axis


@pytest.fixture(scope="module")
def tentacle():
    return reproduce("adagolodjo-trunk")


@pytest.fixture(scope="module")
def grasp():
    return reproduce("adagolodjo-grasper")


@pytest.mark.parametrize("name", ["tentacle", "grasp"])
def test_the_paper_is_reported_by_the_same_names(name, request):
    report = request.getfixturevalue(name)
    assert set(report.paper) <= set(report.metrics)
    assert report.run is not None
    assert {"adagolodjo-trunk", "adagolodjo-grasper"} <= set(EXPERIMENTS)


@pytest.mark.parametrize("name", ["tentacle", "grasp"])
def test_it_has_the_published_size(name, request):
    report = request.getfixturevalue(name)
    assert report.metrics["tetrahedra"] == pytest.approx(report.paper["tetrahedra"], rel=0.05)
    for exact in ("rod_sections", "sliding_points", "actuators"):
        assert report.metrics[exact] == report.paper[exact]


def test_the_tip_follows_its_path_by_bases_that_are_pulled_out(tentacle):
    m = tentacle.metrics
    assert m["max_error_mm"] < 0.1
    assert m["smallest_pull_mm"] >= -1e-9
    assert m["smallest_tension_n"] > -0.1 * m["largest_tension_n"]
    assert m["largest_pull_mm"] > 3.0
    assert m["rows"] == 4 * (2 * 21 + 3) + 3


def test_the_trunk_stays_on_its_rods(tentacle):
    assert tentacle.metrics["off_axis_mm"] < 0.1


def test_the_rods_are_what_moves_the_tip():
    """With a target far away the tip comes as close as a base may be pulled in a step, the base on its side."""
    bench = trunk.build()
    targets = np.tile([trunk.RADIUS, 0.0, trunk.HEIGHT], (3, 1))
    done = bench.follow(targets)
    assert done.errors[0] > 0.5 * np.linalg.norm(targets[0] - [0.0, 0.0, 0.195])
    assert done.errors[2] < done.errors[0]
    pulled = bench.ways(done)[0]
    assert pulled.max() == pytest.approx(trunk.LARGEST_RATE * trunk.DT, abs=1e-9)
    assert pulled[0] == pytest.approx(pulled.max(), abs=1e-12)


def test_the_cube_is_lifted_and_held_by_friction(grasp):
    m = grasp.metrics
    assert m["lifted_mm"] > 1e3 * grasper.LIFT
    assert abs(m["slipped_mm"]) < 0.1
    assert m["carried_n"] == pytest.approx(m["weight_n"], rel=0.01)


def test_a_thicker_rod_is_stressed_more_and_stays_in_its_channel():
    """The stress of bending is E r κ: with little change of the shape it grows with the radius."""
    peaks = []
    for radius in (0.2e-3, 0.4e-3):
        bench = grasper.build(wire=Wire(radius=radius, young=2e9, density=1150.0))
        done = grasper.grasp(bench, until=0.15)
        assert max(off_axis(bench.world, done.state, one) for one in bench.threads) < 1e-4
        peaks.append(done.stress.max())
    assert 1.2 < peaks[1] / peaks[0] < 2.1


def test_the_stress_of_the_report_is_that_of_the_most_bent_section(grasp):
    """E r κ from the strains of the rods where the run ends."""
    bench = grasper.build()
    done = grasper.grasp(bench, until=grasper.HELD)
    bends = [np.hypot(*done.state.strains(one.rod)[:, 1:3].T).max() for one in bench.threads]
    expected = grasper.WIRE.young * grasper.WIRE.radius * max(bends)
    assert 1e6 * grasp.metrics["rod_stress_mpa"] == pytest.approx(expected, rel=0.02)
    assert grasp.metrics["peak_rod_stress_mpa"] >= grasp.metrics["rod_stress_mpa"]


def test_without_friction_the_cube_slips(monkeypatch):
    monkeypatch.setattr(grasper, "FRICTION", 0.0)
    bench = grasper.build()
    done = grasper.grasp(bench, until=grasper.HELD)
    assert done.heights[-1] - done.heights[0] < 0.5 * grasper.LIFT
