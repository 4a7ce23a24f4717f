"""Beam, tower and two bodies of Coevoet 2017, in short: what contact in the optimisation reaches."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import coevoet_beam, coevoet_tower, coevoet_two_bodies
from experiments.cost_landscape import cost_landscape
from experiments.following import distance, follow_blind, follow_effector, times
from pliant.cli.app import app
from pliant.solvers import lcp


@pytest.fixture(scope="module")
def beam():
    return coevoet_beam.FIGURE_2.build()


@pytest.fixture(scope="module")
def first_step(beam):
    return beam.first_step()


@pytest.fixture(scope="module")
def landscape(first_step):
    return cost_landscape(first_step[0], resolution=21)


def test_the_beam_has_two_minima(landscape, first_step):
    """The lower cable alone is a local minimum, the upper one alone the global one; pivots from zero stay there."""
    assert len(landscape.minima) == 2
    lower, upper = landscape.minima[1], landscape.minima[0]
    assert lower[0] > 5.0
    assert lower[1] == pytest.approx(0.0, abs=1e-6)
    assert upper[0] == pytest.approx(0.0, abs=1e-6)
    assert 400.0 < upper[1] < 500.0
    assert landscape.values[0] < 0.02 * landscape.values[1]
    _, result = first_step
    np.testing.assert_allclose(result.x, lower, atol=1e-6)


def test_the_beam_lowers_its_tip_through_the_upper_contact_only(beam, landscape):
    targets = np.tile(beam.target, (12, 1))
    with_contact = coevoet_beam.exploit(beam, landscape, targets)
    local = follow_effector(beam.world, beam.stepper(), beam.world.initial_state(), beam.tip, targets)
    blind, state = follow_blind(
        beam.world, beam.without, beam.stepper(), beam.world.initial_state(), beam.tip, targets
    )  # fmt: skip
    print(f"errors {with_contact.errors[-1]:.2e}, local {local.errors[-1]:.2e}, blind {blind[-1]:.2e} m")
    assert with_contact.errors[-1] < 2e-5
    assert local.errors[-1] > 4e-4
    assert blind[-1] > 4e-4
    assert blind[-1] == pytest.approx(distance(beam.world, state, beam.tip, beam.target))
    assert with_contact.info.contact_force(beam.body, beam.world.obstacles[0])[2] < -10.0


def test_the_beam_crosses_seven_regions_and_the_order_of_pivots_decides():
    problem, result = coevoet_beam.FIGURE_3.build().first_step()
    landscape = cost_landscape(problem, resolution=21)
    assert len(result.path) == 7
    assert result.objective == pytest.approx(landscape.values[0], rel=1e-6)
    costs = [problem.objective(x, lcp(problem.W_cc, problem.C_a @ x + problem.c).solution) for _, x in result.path]
    assert (np.diff(costs) < 0.0).all()
    ends = coevoet_beam.ends_of_all_orders(problem)
    assert len(ends) >= 2
    assert ends[0][0] == pytest.approx(landscape.values[0], rel=1e-6)
    assert ends[-1][0] > 10.0 * landscape.values[0]
    assert any(np.allclose(ends[-1][1], x, atol=1.0) for x in landscape.minima[1:])


def test_the_size_of_the_experiments():
    tower, bodies = coevoet_tower.build(), coevoet_two_bodies.build()
    sizes = {
        1680: tower.body.mesh.node_count,
        2313: bodies.wall.mesh.node_count + bodies.organ.mesh.node_count,
        480: coevoet_beam.FIGURE_2.build().body.mesh.node_count,
    }
    for published, nodes in sizes.items():
        assert 3 * nodes == pytest.approx(published, rel=0.03)


def test_the_tower_reaches_its_target_through_self_contact_only():
    tower = coevoet_tower.build()
    targets = tower.targets(75)
    with_contact = follow_effector(tower.world, tower.stepper(), tower.start, tower.top, targets)
    blind, _ = follow_blind(tower.world, tower.without, tower.stepper(), tower.start, tower.top, targets)
    print(f"errors {with_contact.errors[-1]:.2e}, blind {blind[50:].mean():.2e} m, {times(with_contact)}")
    assert with_contact.errors.max() < 2e-5
    assert (with_contact.touching > 0).all()
    assert blind[50:].mean() > 4e-4
    pressures = with_contact.info.actuation(tower.chambers)[1]
    assert (pressures >= 0.0).all()
    assert (pressures < coevoet_tower.MAX_PRESSURE).all()


def test_a_point_of_the_second_body_follows_the_push_on_the_first():
    bodies = coevoet_two_bodies.build()
    targets = bodies.targets(60)
    followed = follow_effector(bodies.world, bodies.stepper(), bodies.start, bodies.point, targets)
    moved = followed.run.points(bodies.organ)
    assert np.abs(np.ptp(moved[..., 0], axis=0)).max() > 0.9 * coevoet_two_bodies.WAY
    assert followed.errors.max() < 1e-6
    assert 8 <= followed.contacts.mean() <= 24
    force = followed.run.actuation(bodies.instrument)[1][1:]
    assert force[-1] == pytest.approx(coevoet_two_bodies.FIRST_FORCE, abs=0.1)
    assert force.max() > 2.0 * coevoet_two_bodies.FIRST_FORCE


def test_the_command_reports_ours_and_the_paper_s_numbers(tmp_path):
    file = tmp_path / "report.json"
    result = CliRunner().invoke(app, ["reproduce", "coevoet-two-bodies", "--json", str(file)])
    assert result.exit_code == 0, result.output
    report = json.loads(file.read_text())
    for name in ("w_ms", "qp_ms", "w_qp_ms", "contacts", "dofs"):
        assert report["metrics"][name] > 0.0
        assert report["paper"][name] > 0.0
    assert report["metrics"]["w_qp_ms"] < report["metrics"]["step_ms"]
    assert report["metrics"]["final_error_mm"] < 1e-3 < report["metrics"]["error_without_contact_mm"]


def test_the_pictures_of_the_beam(tmp_path):
    pytest.importorskip("matplotlib")
    files = coevoet_beam.pictures(tmp_path)
    assert [file.name for file in files] == ["coevoet-beam-figure-2.png", "coevoet-beam-figure-3.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)
