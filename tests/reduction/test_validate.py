"""What a validation says of two worlds, and on which actuations it compares them."""

import json

import numpy as np
import pytest

import pliant as pl
from pliant.reduction.validate import Validation, held_out_plan, validate
from pliant.world.reduced import Training, reduced
from scenes import bar


def pressed(young=1e5):
    """A bar above a floor, with two cables that bend it onto it."""
    material = pl.materials.Corotated(young=young, poisson=0.4, density=1e3)
    scene, body = bar(cells=(3, 1, 1), material=material)
    floor = scene.add(pl.Obstacle.plane(point=(0, 0, -2e-4)))
    scene.collide(body, floor, friction=0.0, exclude=pl.regions.plane(axis="x", at=0.0))
    for k, height in enumerate((0.002, 0.018)):
        scene.add(pl.Cable(body, [(0.001, 0.01, height), (0.099, 0.01, height)], name=f"cable {k}"))
    return scene.compile()


@pytest.fixture(scope="module")
def worlds():
    """Two worlds, of which the first is softer and trained with 2 to 6 and 1 to 3 mm."""
    full = pressed()
    plan = {"actuators": ["cable 0", "cable 1"], "kinds": ["Displacement"] * 2, "steps": 2}
    plan["targets"] = [[2e-3, 1e-3], [6e-3, 3e-3]]
    return reduced(pressed(9e4), [Training(json.dumps(plan))]), full


def test_held_out_targets_lie_within_those_of_the_training_but_are_others(worlds):
    """From rest to the largest one trained, each actuator once in each of as many intervals as there are runs."""
    plan = held_out_plan(*worlds, runs=10, seed=4)
    assert plan.steps == 2
    intervals = np.floor(plan.targets / (6e-4, 3e-4))
    np.testing.assert_array_equal(np.sort(intervals, axis=0), np.arange(10)[:, None] * np.ones(2))
    np.testing.assert_array_equal(plan.targets, held_out_plan(*worlds, runs=10, seed=4).targets)
    assert (plan.targets != held_out_plan(*worlds, runs=10, seed=5).targets).any()
    with pytest.raises(pl.InputError, match="does not say what it was trained on"):
        held_out_plan(worlds[1], worlds[1], runs=1, seed=0)


def test_a_world_agrees_with_itself_and_a_softer_one_does_not(worlds):
    fast, full = worlds
    plan = pl.reduction.Plan.of(
        full, {"actuators": ["cable 0"], "kinds": ["Displacement"], "targets": [[2e-3]], "steps": 2}
    )
    same, other = validate(full, full, plan), validate(fast, full, plan)
    assert same.error == same.metrics()["force_error"] == 0.0
    assert same.force.max() > 1e-3, "the bar presses"
    np.testing.assert_array_equal(same.force, other.force)
    assert 0.0 < other.error < 0.1
    assert 0.0 < other.metrics()["force_error"] < 0.3
    assert np.abs(other.force_error / other.force - 0.1).max() < 0.05, "the softer one presses a tenth less"
    np.testing.assert_array_equal(other.run, [0, 0])
    assert (same.rows == same.full_rows).all()


def test_errors_are_root_mean_squares_over_those_of_the_motion():
    zero, steps = np.zeros(3), np.arange(3)
    columns = dict.fromkeys(Validation.__dataclass_fields__, zero) | {
        "run": np.array([0, 0, 1]), "targets": np.zeros((2, 1)), "motion_error": np.array([0.0, 3e-4, 4e-4]),
        "motion": np.array([0.0, 3e-3, 4e-3]), "force_error": np.array([0.0, 1.0, 0.0]),
        "force": np.array([0.0, 3.0, 4.0]), "unknown": steps, "fast_ms": np.array([1.0, 2.0, 9.0]),
        "full_ms": np.array([8.0, 5.0, 3.0]),
    }  # fmt: skip
    said = Validation(**columns)
    assert said.error == pytest.approx(0.1)
    assert said.worst == 2
    assert said.speedup == 2.5
    expected = {
        "runs": 2, "steps": 3, "worst_motion_error_mm": 0.4, "worst_run": 1, "largest_motion_mm": 4.0,
        "force_error": 0.2, "steps_with_unknown_contacts": 2, "worst_step_ms": 9.0,
    }  # fmt: skip
    assert {name: said.metrics()[name] for name in expected} == pytest.approx(expected)
    assert "2.5 times faster" in str(said)
