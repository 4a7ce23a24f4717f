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


COLUMNS = {
    "run": [0, 1, 1], "motion_error": [1e-4, 3e-4, 2e-4], "motion": [1e-3, 2e-3, 2e-3], "force_error": [0.0, 0.3, 0.4],
    "force": [0.0, 3.0, 4.0], "penetration": [1e-6, 3e-6, 2e-6], "full_penetration": [0.0, 5e-6, 4e-6],
    "unknown": [0, 3, 1], "rows": [2, 4, 6], "full_rows": [10, 30, 20], "imbalance": [0.1, 0.5, 0.2],
    "fast_ms": [2.0, 1.0, 4.0], "full_ms": [3.0, 5.0, 9.0],
}  # fmt: skip


def said(**changes):
    columns = {name: np.array(values) for name, values in (COLUMNS | changes).items()}
    return Validation(targets=np.array([[1e-3, 0.0], [2e-3, 5e-4]]), **columns)


def test_every_number_of_the_table_is_that_of_its_column():
    """Lengths in mm, times in ms; medians of rows, times and imbalance, the largest of the others."""
    assert said().metrics() == pytest.approx({
        "runs": 2, "steps": 3, "motion_error": np.sqrt(14.0 / 900.0), "worst_motion_error_mm": 0.3, "worst_run": 1,
        "largest_motion_mm": 2.0, "force_error": 0.1, "max_penetration_mm": 3e-3, "full_max_penetration_mm": 5e-3,
        "steps_with_unknown_contacts": 2, "rows": 4.0, "full_rows": 20.0, "imbalance": 0.2, "worst_imbalance": 0.5,
        "step_ms": 2.0, "worst_step_ms": 4.0, "full_step_ms": 5.0, "speedup": 2.5,
    })  # fmt: skip
    assert said(force=[0.0, 0.0, 0.0], force_error=[0.0] * 3).metrics()["force_error"] == 0.0


def test_the_table_in_words():
    assert str(said()).splitlines() == [
        "held-out actuations  2 runs, 3 steps, motions to 2 mm",
        "error of motion      12.5 % (rms), worst 0.3 mm in run 1, targets [0.002, 0.0005]",
        "error of forces      10 % (rms of the sum over all contacts)",
        "penetration          up to 0.003 mm; full 0.005 mm",
        "unknown contacts     in 2 steps",
        "rows of contacts     4 (median); full 20",
        "out of balance       20 % of the full body's forces (median), worst 50 %",
        "time of a step       2 ms (worst 4); full 5 ms: 2.5 times faster",
    ]
    slow = str(said(full_ms=[0.5, 0.5, 0.5], imbalance=[np.nan] * 3))
    assert "4 times slower" in slow
    assert "out of balance       not known" in slow
    assert "1 times faster" in str(said(full_ms=[2.0] * 3))


def test_every_run_begins_at_rest_and_is_compared_step_by_step(worlds):
    """Against runs made by hand: distances, forces and times of each step."""
    fast, full = worlds
    plan = pl.reduction.Plan.of(
        full,
        {"actuators": ["cable 0", "cable 1"], "kinds": ["Displacement"] * 2, "targets": [[2e-3, 0.0], [0.0, 1e-3]],
         "steps": 2},
    )  # fmt: skip
    stepper = pl.QuasiStatic()
    pairs = [next(c for c in world.constraints if c.is_contact) for world in worlds]
    found = validate(fast, full, plan, stepper=stepper)
    np.testing.assert_array_equal(found.run, [0, 0, 1, 1])
    np.testing.assert_array_equal(found.targets, plan.targets)
    k = 0
    for run in range(2):
        states = [world.initial_state() for world in (fast, full)]
        for step in range(2):
            infos = []
            for index, world in enumerate((fast, full)):
                cables = [c.spec for c in world.constraints if isinstance(getattr(c, "spec", None), pl.Cable)]
                amounts = plan.targets[run] * (step + 1) / 2
                controls = {cable: pl.Displacement(x) for cable, x in zip(cables, amounts, strict=True)}
                states[index], info = stepper(world, states[index], controls)
                infos.append(info)
            own, other = (state.q[0] for state in states)
            assert found.motion_error[k] == pytest.approx(np.linalg.norm(own - other, axis=1).max(), rel=1e-9)
            assert found.motion[k] == pytest.approx(np.linalg.norm(other - full.models[0].rest, axis=1).max(), rel=1e-9)
            pressed_by = [abs(info.contacts(*pair.handles).forces[:, 2].sum()) for info, pair in zip(infos, pairs)]
            assert found.force[k] == pytest.approx(pressed_by[1], abs=1e-9)
            assert found.force_error[k] == pytest.approx(abs(pressed_by[0] - pressed_by[1]), abs=1e-9)
            assert found.full_penetration[k] == pytest.approx(infos[1].penetration, abs=1e-12)
            assert found.penetration[k] == pytest.approx(infos[0].penetration, abs=1e-12)
            k += 1
    assert (found.fast_ms > 0.0).all()
    assert (found.full_ms < 1e5).all()
