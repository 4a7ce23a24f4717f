"""The soak's own logic: its checker against closed forms and brute force, commands, resuming, failures, the table."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import pliant as pl
from benchmarks.soak import episodes, progress, report
from benchmarks.soak.checker import Ball, Block, HalfSpace, Solid, depth_in_shape, depth_of_solids
from benchmarks.soak.drive import JUMP, Drive, random_amounts
from benchmarks.soak.episodes import Robots, class_of, commands, run_episode
from benchmarks.soak.progress import Progress, repeat, soak
from benchmarks.soak.report import END, START, markdown, robot_summary, stepper_summaries, write_between
from benchmarks.soak.zoo import ZOO
from benchmarks.tasks.tail import run_tail
from brute_force import penetration


@pytest.fixture(scope="module")
def cube():
    mesh = pl.mesh.box((0.02, 0.02, 0.02), (2, 2, 2))
    return Solid(np.asarray(mesh.cells)), np.asarray(mesh.points)


@pytest.fixture
def robots(monkeypatch):
    """Robots whose penetration is sampled every 20 ms."""
    monkeypatch.setattr(episodes, "SAMPLED", 0.02)
    return Robots()


@pytest.fixture
def short(robots):
    """An episode of 60 ms of the finger."""
    return partial(run_episode, robots, "finger", 0, seconds=0.06)


def test_depth_in_shapes_is_that_of_closed_forms(cube):
    solid, points = cube
    assert depth_in_shape(solid, points, HalfSpace(0.003)) == pytest.approx(0.003)
    assert depth_in_shape(solid, points, HalfSpace(-0.003)) == 0.0
    assert depth_in_shape(solid, points, Ball((0.0, 0.0, -0.004), 0.005)) == pytest.approx(0.001)
    assert depth_in_shape(solid, points, Ball((0.01, 0.01, 0.03), 0.005)) == 0.0
    wide = Block(np.array((0.01, 0.01, 0.028)), np.array((0.2, 0.2, 0.02)))
    assert depth_in_shape(solid, points, wide) == pytest.approx(0.002)
    narrow = Block(np.array((0.01, 0.01, 0.022)), np.array((0.008, 0.008, 0.008)), np.eye(3))
    assert depth_in_shape(solid, points, narrow) == pytest.approx(0.002), "its corners stand in a face"


def test_depth_of_two_solids_is_that_of_brute_force(cube):
    solid, points = cube
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = points + rng.uniform(-0.02, 0.02, 3)
        wanted = penetration(points[None], solid.triangles, other[None], solid.triangles, samples=6)[0]
        found = depth_of_solids(solid, points, solid, other)
        assert found <= wanted + 1e-9
        assert (found > 0.0) == (wanted > 1e-9)
    assert depth_of_solids(solid, points, solid, points + 0.03) == 0.0


def test_a_fold_is_measured_and_a_body_at_rest_is_not():
    mesh = pl.mesh.box((0.02, 0.02, 0.01), (2, 2, 1))
    cells, points = np.asarray(mesh.cells), np.asarray(mesh.points)
    solid = Solid(np.vstack([cells, cells + len(points)]))
    for lift, depth in ((0.012, 0.0), (0.0085, 0.0015)):
        above = points + np.array((0.003, 0.002, lift))
        assert solid.self_depth(np.vstack([points, above])) == pytest.approx(depth, abs=1e-9)


def test_commands_repeat_and_stay_in_their_range():
    drive = Drive((), pl.Displacement, -0.01, 0.05)
    one, two = (random_amounts(np.random.default_rng(3), 4000, 0.01, drive, idle=0.3) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert one.min() >= -0.01
    assert one.max() <= 0.05
    assert one.max() > 0.045, "to its end"
    jumps = np.abs(np.diff(one))
    assert 0.3 * JUMP * 0.06 < jumps.max() <= JUMP * 0.06 + 1e-12
    assert np.median(jumps) < 0.02 * 0.06


def test_every_robot_of_the_library_is_in_the_zoo():
    made = {name.replace("_", " ") for name in pl.robots.__all__ if name[0].islower()}
    assert set(ZOO) == made


def test_an_episode_repeats_bit_by_bit_and_checks_its_steps(short):
    first, state, failures = short()
    again, same, _ = short()
    assert state.q[0].tobytes() == same.q[0].tobytes()
    assert not failures
    assert first.simulated == pytest.approx(0.06)
    assert len(first.cpu) == len(first.wall) == len(first.rows) == 6
    assert all(len(seconds) == 6 for seconds in first.stages.values())
    assert [number for number, *_ in first.penetration] == [1, 3, 5]
    assert again.counts == first.counts == {}


def test_errors_are_counted_and_the_run_goes_on(robots, short, monkeypatch):
    step = robots.stepper("finger", "Euler 10 ms")
    calls = []

    def failing(world, state, controls):
        calls.append(state)
        if len(calls) in (2, 3):
            raise pl.ConvergenceError(f"residual {len(calls)}.5e-3 of 'finger' is too large")
        return step(world, state, controls)

    monkeypatch.setitem(robots._steppers, ("finger", "Euler 10 ms"), failing)
    record, _, failures = short()
    assert record.counts == {"error: ConvergenceError: residual # of … is too large": 2}
    assert len(record.cpu) == 4
    assert [failure.step for failure in failures] == [1, 2]
    assert calls[1] is calls[2] is calls[3], "the last good state"
    assert class_of(KeyError("x")).startswith("error (not a PliantError): KeyError")


def test_geometric_steps_take_volumes_only(robots):
    assert robots.can_take("finger", "Geometric 20 ms")
    assert not robots.can_take("gripper", "Geometric 20 ms"), "its cube is rigid"
    assert robots.can_take("gripper", "Euler 10 ms")


def test_states_that_are_wrong_are_named(robots):
    world = robots.scene("finger", "Euler 10 ms").world
    state = world.initial_state()
    assert list(episodes.wrongs(state, state, 0.01)) == []
    mirrored, thrown = state.q[0] * (1.0, 1.0, -1.0), state.q[0] + (1.01, 0.0, 0.0)
    cases = ((np.nan * state.q[0], "not finite"), (mirrored, "inverted element accepted"), (thrown, "blown up"))
    for q, word in cases:
        wrong = type(state).of(world, 0.0, (q, *state.q[1:]), state.v, state.lam.copy(), None, (), ())  # as steps do
        assert list(episodes.wrongs(state, wrong, 0.01)) == [word]


def test_sections_that_turn_fast_are_not_blown_up(robots):
    state = robots.scene("spine", "Euler 10 ms").world.initial_state()
    v = [np.array(each) for each in state.v]
    v[0][5, 1] = (300.0, 0.0, 0.0)  # rad/s
    turning = type(state).of(state.world, 0.0, state.q, v, state.lam.copy(), None, (), ())
    assert list(episodes.wrongs(state, turning, 0.01)) == []


def test_a_soak_that_was_ended_continues(tmp_path):
    """Three episodes in one go are those of two runs, the second of which begins anew after a killed episode."""
    names, said = ["finger"], []
    whole, halves = (Progress(tmp_path / name, seed=1, seconds=0.06) for name in ("whole", "halves"))
    assert soak(names, whole, minutes=0.003, say=said.append)
    assert len(said) == whole.done("finger") == 3
    assert not soak(names, halves, minutes=0.003, wall=0.0, say=said.append), "no time"
    assert soak(names, halves, minutes=0.001, say=said.append)
    assert halves.done("finger") == 1
    (tmp_path / "halves" / "finger" / "part-episode-0001.json").write_text("{")  # a process killed while it wrote
    assert soak(names, Progress(tmp_path / "halves", seed=1, seconds=0.06), minutes=0.003, say=said.append)
    ends = [np.load(folder / "finger" / "state.npz") for folder in (tmp_path / "whole", tmp_path / "halves")]
    for name in ends[0].files:
        if ends[0][name].dtype.kind == "f":
            np.testing.assert_array_equal(ends[0][name], ends[1][name])
    with pytest.raises(pl.InputError, match="another --folder"):
        Progress(tmp_path / "halves", seed=2)


def test_an_episode_goes_on_from_one_with_friction_where_its_own_scene_has_none(robots, short, tmp_path):
    kept = Progress(tmp_path, seed=0)
    record, state, _ = short()
    geometric = next(k for k in range(20) if episodes.stepper_of(k).startswith("Geometric"))
    for index in range(geometric):
        kept.keep(replace(record, index=index, stepper=episodes.stepper_of(index)), state, [])
    start = kept.start("finger", robots)
    assert start.world is robots.scene("finger", episodes.stepper_of(geometric)).world
    assert start.world is not state.world
    np.testing.assert_array_equal(start.q[0], state.q[0])


def test_a_failed_step_is_kept_and_can_be_done_again(robots, short, tmp_path):
    kept = Progress(tmp_path, seed=0)
    record, state, _ = short()
    kinds, amounts = commands(robots.scene("finger", "Euler 10 ms"), "finger", 0, 0.01, seed=0, seconds=0.06)
    failure = episodes.Failure(state, 4, kinds, tuple(amounts[4]), "blown up")
    for _ in range(progress.KEPT_FAILURES + 2):
        kept.keep(record, state, [failure])
    (path,) = (tmp_path / "finger" / "failures").glob("*.npz")
    assert "was: blown up" in repeat(path)


def test_the_table_shows_what_was_counted(short, tmp_path):
    record, _, _ = short()
    record.count("inverted element accepted")
    record.count("penetration unreported: finger – itself")
    summary = robot_summary([record])
    assert summary["inverted"] == summary["unreported"] == 1
    assert summary["steps"] == 6
    assert set(summary["stages_ms"]) >= {"detect", "factorize", "constraints"}
    assert summary["median_ms"] <= summary["p99_ms"] <= summary["max_ms"]
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    write_between(page, markdown({"finger": summary}, stepper_summaries([record])))
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| finger | inverted element accepted | 1 |" in text
    assert "| Euler 10 ms | 6 |" in text
    with pytest.raises(ValueError, match="has no lines"):
        write_between(_written(tmp_path / "bare.md"), "table")


def test_memory_that_grows_is_seen():
    grows = [episodes.Record("finger", k, "", wall=[0.0] * 10, memory=(100.0, 101.0)) for k in range(10)]
    assert report.memory_growth(grows) == pytest.approx(100.0)
    assert report.memory_growth(grows[:4]) is None


def test_the_bench_of_the_tail_has_the_documented_keys():
    found = run_tail(seconds=1.5, robots=("finger",))
    assert set(found) == {"median_ms", "p99_ms", "max_ms", "steps", "robots"}
    assert 0.0 < found["median_ms"] <= found["p99_ms"] <= found["max_ms"]
    assert found["steps"] == found["robots"]["finger"]["steps"] > 0
    assert json.loads(json.dumps(found)) == found
    with pytest.raises(pl.InputError, match="reads no data"):
        run_tail(data="somewhere")


def _written(path):
    path.write_text("nothing marked\n")
    return path
