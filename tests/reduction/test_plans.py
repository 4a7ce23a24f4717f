"""Actuation plans: designs that are orthogonal, ramps, limits, symmetries."""

from itertools import combinations

import numpy as np
import pytest

import pliant as pl
from pliant.reduction.designs import plackett_burman_levels
from scenes import bar


def block(cables=1, **limits):
    scene, body = bar()
    for k in range(cables):
        height = 0.001 + 0.018 * k / max(cables - 1, 1)
        scene.add(pl.Cable(body, [(0.001, 0.01, height), (0.099, 0.01, height)], name=f"cable {k}", **limits))
    return scene.compile()


@pytest.mark.parametrize("count", [*range(1, 28), 51])
def test_plackett_burman_columns_are_balanced_and_orthogonal(count):
    levels = plackett_burman_levels(count)
    assert levels.shape[1] == count
    assert set(np.unique(levels)) == {-1.0, 1.0}
    np.testing.assert_array_equal(levels.T @ levels, len(levels) * np.eye(count))
    np.testing.assert_array_equal(levels.sum(axis=0), 0.0)


@pytest.mark.parametrize(("count", "runs"), [(3, 4), (7, 8), (8, 12), (9, 12), (11, 12), (15, 16), (19, 20), (23, 24)])
def test_plackett_burman_has_the_published_numbers_of_runs(count, runs):
    assert len(plackett_burman_levels(count)) == runs


@pytest.mark.parametrize("count", [11, 19])
def test_any_three_columns_hold_every_combination(count):
    # known of the 12- and 20-run designs (Lin and Draper, Technometrics 34, 1992; Cheng, Annals of Statistics 23, 1995)
    levels = plackett_burman_levels(count)
    for three in combinations(range(count), 3):
        assert len({tuple(row) for row in levels[:, three]}) == 8


def test_nine_actuators_make_1440_snapshots():
    plan = pl.reduction.plackett_burman(block(9), amplitude=0.01)
    assert (plan.run_count, plan.steps, plan.snapshot_count) == (12, 120, 1440)
    assert set(np.unique(plan.targets)) == {0.0, 0.01}
    assert (plan.targets > 0).sum(axis=0).tolist() == [6] * 9


def test_ramps_pull_each_alone_and_then_all():
    world = block(2)
    plan = pl.reduction.ramps(world, amplitude=(0.01, 0.02), steps=4)
    np.testing.assert_array_equal(plan.targets, [[0.01, 0.0], [0.0, 0.02], [0.01, 0.02]])
    first, second = plan.actuators
    assert plan.controls(1, 0) == {first: pl.Displacement(0.0), second: pl.Displacement(0.005)}
    assert plan.controls(2, 3) == {first: pl.Displacement(0.01), second: pl.Displacement(0.02)}
    with pytest.raises(pl.InputError, match="step 4 of run 0"):
        plan.controls(0, 4)
    assert pl.reduction.ramps(block(1)).targets.tolist() == [[0.02]]


def test_commands_have_their_kind():
    world = block(2)
    plan = pl.reduction.ramps(world, amplitude=3.0, steps=2, kind=pl.Force, actuators=["cable 1"])
    assert plan.controls(0, 0) == {world.thing("cable 1"): pl.Force(1.5)}
    with pytest.raises(pl.InputError, match=r"run 0 of the plan.*cable 0.*pl\.Displacement"):
        pl.reduction.ramps(world, kind=pl.Pressure)


def test_a_plan_beyond_the_limits_of_an_actuator_is_refused():
    world = block(2, max_displacement=0.015, max_force=5.0)
    with pytest.raises(
        pl.InputError, match=r"run 0 .*'cable 0' is asked for 0\.02 m, its max_displacement is 0\.015 m"
    ):
        pl.reduction.ramps(world, amplitude=0.02)
    with pytest.raises(pl.InputError, match=r"'cable 1' is asked for 6 N, its max_force is 5 N"):
        pl.reduction.plackett_burman(world, amplitude=(4.0, 6.0), kind=pl.Force)


def test_a_plan_too_fast_for_its_actuators_is_refused():
    world = block(1, max_rate=0.01)
    plan = pl.reduction.ramps(world, amplitude=0.02, steps=10)
    with pytest.raises(pl.InputError, match=r"'cable 0' at a rate of 0\.02 .*, its limit is 0\.01; take 20 steps"):
        pl.reduction.experiments(world, plan, stepper=pl.ImplicitEuler(dt=0.1))
    with pytest.raises(pl.InputError, match="'cable 0' limits a rate, but no time passes"):
        pl.reduction.experiments(world, plan)
    plan.check_rates(0.2)


def test_full_factorial_has_every_combination():
    plan = pl.reduction.full_factorial(block(3), amplitude=0.02, levels=3, low=0.01)
    assert {tuple(row) for row in plan.targets.round(9)} == {
        (a, b, c) for a in (0.01, 0.015, 0.02) for b in (0.01, 0.015, 0.02) for c in (0.01, 0.015, 0.02)
    }
    with pytest.raises(pl.InputError, match="19683 runs"):
        pl.reduction.full_factorial(block(9), levels=3)


def test_fractional_factorial_multiplies_levels():
    plan = pl.reduction.fractional_factorial(block(4), "a b c -abc", amplitude=1e-3)
    levels = 2.0 * plan.targets / 1e-3 - 1.0
    np.testing.assert_allclose(levels[:, 3], -levels[:, :3].prod(axis=1))
    np.testing.assert_allclose(levels.T @ levels, 8.0 * np.eye(4), atol=1e-12)
    for bad, message in (("a b", "2 actuators; there are 4"), ("a b ac bc", "no factor is 'c'"), ("a b aa b", "words")):
        with pytest.raises(pl.InputError, match=message):
            pl.reduction.fractional_factorial(block(4), bad)


def test_latin_hypercube_visits_every_interval_once():
    world = block(3)
    plan = pl.reduction.latin_hypercube(world, 10, amplitude=0.02, seed=4)
    for column in plan.targets.T:
        assert np.sort(np.floor(column / 0.002)).tolist() == list(range(10))
    again = pl.reduction.latin_hypercube(world, 10, amplitude=0.02, seed=4)
    np.testing.assert_array_equal(plan.targets, again.targets)
    assert plan.digest() == again.digest() != pl.reduction.latin_hypercube(world, 10, amplitude=0.02, seed=5).digest()


def test_plans_are_described_by_names():
    world = block(2)
    plan = pl.reduction.latin_hypercube(world, 3, amplitude=0.02, seed=0)
    other = pl.reduction.Plan.of(block(2), plan.described())
    assert other.digest() == plan.digest()
    assert other.actuators[0] is not plan.actuators[0]


def test_what_is_not_an_actuator_is_named():
    world = block(2)
    for actuators, message in (
        (["cable 7"], "no actuator called 'cable 7'"),
        ([block(1).thing("cable 0")], "not an actuator of this"),
        ([], "empty"),
    ):
        with pytest.raises(pl.InputError, match=message):
            pl.reduction.ramps(world, actuators=actuators)
    scene = pl.Scene()
    scene.add(pl.RigidBody.sphere(radius=0.01, mass=0.1))
    with pytest.raises(pl.InputError, match="no actuators"):
        pl.reduction.ramps(scene.compile())


def test_permuted_plans_move_targets_to_other_actuators():
    plan = pl.reduction.ramps(block(3), amplitude=(0.01, 0.02, 0.03), together=False)
    turned = plan.permuted([1, 2, 0])
    np.testing.assert_array_equal(turned.targets, [[0.0, 0.01, 0.0], [0.0, 0.0, 0.02], [0.03, 0.0, 0.0]])
    with pytest.raises(pl.InputError, match="each of 0 … 2 once"):
        plan.permuted([0, 0, 1])


def test_symmetric_runs_are_left_out():
    plan = pl.reduction.full_factorial(block(3), amplitude=0.01)
    turns = pl.reduction.closed_group([[1, 2, 0]])
    assert len(turns) == 2
    lean = plan.distinct(turns)
    assert sorted((lean.targets > 0).sum(axis=1).tolist()) == [1, 2, 3]
    assert plan.distinct().run_count == 7, "the run at rest shows nothing"


def test_symmetric_snapshots_are_made_without_simulation():
    points = np.array([[x, y, 0.0] for x in (0.0, 1.0) for y in (-1.0, 0.0, 1.0)])
    mirror = pl.reduction.Symmetry.of_points(points, np.diag([1.0, -1.0, 1.0]), actuators=[1, 0])
    assert mirror.points.tolist() == [2, 1, 0, 5, 4, 3]
    S = np.arange(12.0).reshape(6, 2)
    np.testing.assert_array_equal(pl.reduction.with_symmetric_forces(S, [mirror]), np.hstack([S, S[mirror.points]]))
    moved = points[None] + [0.0, 0.3, 0.1]
    np.testing.assert_allclose(mirror.positions(moved)[0], points + np.array([0.0, -0.3, 0.1]), atol=1e-15)
    away = points + np.array([0.0, 0.75, 2.0])  # about another plane: x → matrix x + offset
    about = {"offset": [0.0, 1.5, 0.0], "actuators": [1, 0]}
    assert pl.reduction.Symmetry.of_points(away, np.diag([1.0, -1.0, 1.0]), **about).points.tolist() == [
        2,
        1,
        0,
        5,
        4,
        3,
    ]
    with pytest.raises(pl.InputError, match="not symmetric"):
        pl.reduction.Symmetry.of_points(away, np.diag([1.0, -1.0, 1.0]), offset=[0.0, -1.5, 0.0], actuators=[1, 0])
    with pytest.raises(pl.InputError, match="not symmetric"):
        pl.reduction.Symmetry.of_points(points[:5], np.diag([1.0, -1.0, 1.0]), actuators=[0])
    with pytest.raises(pl.InputError, match="transpose"):
        pl.reduction.Symmetry(actuators=[0], points=[0], matrix=2.0 * np.eye(3))


def test_a_group_is_closed():
    mirrors = pl.reduction.closed_group([[1, 0, 2], [0, 2, 1]])
    assert len(mirrors) == 5
    assert all(a.tolist() != b.tolist() for a, b in combinations(mirrors, 2))


def test_symmetries_take_lists_and_check_them():
    turn = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    made = pl.reduction.Symmetry(actuators=[1, 0], points=[2, 0, 1], matrix=turn, offset=[0.0, 0.0, 0.5])
    moved = made.positions([[(1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 3.0)]])
    np.testing.assert_allclose(moved[0], [(-2.0, 0.0, 0.5), (0.0, 0.0, 3.5), (0.0, 1.0, 0.5)])
    np.testing.assert_array_equal(made.forces([[1.0], [2.0], [3.0]]), [[2.0], [3.0], [1.0]])
    for change, said in (
        ({"points": [0, 0]}, "points of a symmetry"), ({"actuators": [1]}, "actuators of a symmetry"),
        ({"actuators": [0.0]}, "actuators of a symmetry"), ({"offset": [0.0]}, "offset"),
        ({"matrix": np.eye(2)}, "matrix"),
        ({"matrix": np.diag([1.0, 1.0, 1.0 + 1e-8])}, "its inverse is its transpose"),
    ):  # fmt: skip
        with pytest.raises(pl.InputError, match=said):
            pl.reduction.Symmetry(**{"actuators": [0], "points": [0, 1]} | change)
