"""One or two trials of every fault that costs little; ``make faults`` makes hundreds."""

import os
import signal

import pytest

from benchmarks.faults import caches, children, disks, interrupts, kills, progress, surroundings
from benchmarks.faults.progress import Kind, made, make, table

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="faults are made in forked processes")


@pytest.mark.parametrize("name", ["save a run", "save a world", "save a state", "sweep"])
def test_killed_work_loses_nothing(tmp_path, monkeypatch, name):
    monkeypatch.setattr(kills, "_usual_time", lambda name, folder: 0.02)
    (tmp_path / "trial").mkdir()
    assert kills.kill_trial(name, 3, tmp_path / "trial") is None


@pytest.mark.parametrize("name", ["a step", "simulate", "save"])
def test_ctrl_c_is_a_keyboard_interrupt_and_changes_no_bits(tmp_path, name):
    for seed in range(3):
        assert interrupts.interrupt_trial(name, seed, tmp_path) is None


def test_a_file_that_grows_too_large_leaves_the_earlier_one(tmp_path):
    for seed in range(3):
        (tmp_path / str(seed)).mkdir()
        assert disks.limited_trial(seed, tmp_path / str(seed)) is None


def test_two_threads_step_two_worlds_or_one(tmp_path):
    for seed in range(3):
        assert surroundings.threads_trial(seed, tmp_path) is None


def test_a_forked_process_steps_a_pickled_world(tmp_path):
    assert surroundings.processes_trial(0, tmp_path) is None


def test_planted_code_is_not_executed(tmp_path):
    if os.getuid() != 0:
        pytest.skip("gives files to another user: root only")
    assert caches.planted_trial(1, tmp_path) is None


def test_a_child_says_how_it_ended():
    assert children.in_child(lambda: None) == ""
    assert children.in_child(lambda: "wrong") == "wrong"
    assert children.in_child(lambda: 1 / 0) == "ZeroDivisionError: division by zero"
    assert children.in_child(lambda: os.kill(os.getpid(), signal.SIGTERM)) == "ended by SIGTERM"


def test_trials_that_were_made_are_not_made_again(tmp_path):
    def trial(seed, folder):
        seen.append(seed)
        assert not any(folder.iterdir())
        return "it broke" if seed == 2 else None

    seen, kind = [], Kind("a fault", "some work", "all well", trial, most=4)
    for trials in (2, 3, 9):
        make(tmp_path / "out", kind, trials=trials, seed=0, say=lambda text: None)
    assert seen == [0, 1, 2, 3]
    file = tmp_path / "out" / f"{kind.name}.jsonl"
    file.write_text(file.read_text() + '{"seed": 4, "prob')
    assert [one["problem"] for one in made(tmp_path / "out", kind)] == [None, None, "it broke", None]
    text = table(tmp_path / "out", [kind, Kind("another", "work", "well", trial)])
    assert "| a fault | some work | all well | 4 | 1 |" in text
    assert "| another | work | well | not run |  |" in text
    assert "trial 2: it broke" in text
    assert progress.made(tmp_path, kind) == []
