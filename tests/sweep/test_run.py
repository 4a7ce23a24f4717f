"""What a sweep does around its cases: progress, the count of processes, what a cluster gets, what the driver keeps."""

import json
import os
import sys
from concurrent.futures import Future
from contextlib import contextmanager

import numpy as np
import pytest

from pliant import sweep
from pliant.sweep.case import Outcome, compute_here
from pliant.sweep.parcel import Parcel, digest_of_bytes

RUN = sys.modules["pliant.sweep.run"]


def square(case):
    return {"value": np.array(case["x"] ** 2)}


def cases(count):
    return [{"x": float(k), "seed": k} for k in range(count)]


@pytest.fixture
def bars(monkeypatch):
    """Progress bars that are not drawn: title, count, whether shown, and how far each came."""
    made = []

    @contextmanager
    def bar(title, count, *, shown):
        state = {"title": title, "count": count, "shown": shown, "done": 0}
        made.append(state)
        yield lambda: state.update(done=state["done"] + 1)

    monkeypatch.setattr(RUN, "progress_bar", bar)
    return made


def test_progress_counts_the_missing_cases(bars, tmp_path):
    sweep.run(square, cases(2), folder=tmp_path, workers=1, progress=False)
    sweep.run(square, cases(5), folder=tmp_path, workers=1)
    assert [(bar["count"], bar["done"], bar["shown"]) for bar in bars] == [(2, 2, False), (3, 3, None)]
    assert bars[0]["title"] == "sweep"


@pytest.mark.parametrize("progress", [None, True, False])
def test_a_failure_is_told_as_it_happens_unless_progress_is_off(bars, capsys, progress):
    def fails(case):
        raise ValueError("no equilibrium")

    with pytest.raises(sweep.SweepError):
        sweep.run(fails, cases(1), workers=1, progress=progress)
    said = capsys.readouterr().err
    assert ("ValueError: no equilibrium" in said and "'x': 0.0" in said) is (progress is not False)


@pytest.mark.parametrize(
    ("workers", "cores", "missing", "processes"),
    [
        (None, None, 9, 1),
        (None, 3, 9, 3),
        (None, 3, 2, 2),
        (None, 1, 5, 1),
        (5, 2, 9, 5),
        (5, 2, 3, 3),
        (4, 2, 1, 1),
        (3, 2, 0, 1),
    ],
)
def test_processes_are_those_asked_for_or_one_for_each_core_but_no_more_than_cases(
    monkeypatch, workers, cores, missing, processes
):
    counted = []

    def computed(parcel, jobs, on, count):
        counted.append(count)
        assert on is None
        yield from (compute_here(parcel, *job) for job in jobs)

    monkeypatch.setattr(RUN, "_computed", computed)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert len(sweep.run(square, cases(missing), workers=workers, progress=False)) == missing
    assert counted == [processes]


def test_the_worker_that_comes_too_late_changes_nothing(monkeypatch, tmp_path):
    def twice(parcel, jobs, on, count):
        for index, _ in jobs:
            yield Outcome(index, {"value": np.array(index)})
        for index, _ in jobs:
            yield Outcome(index, {"value": np.array(-1)})

    monkeypatch.setattr(RUN, "_computed", twice)
    results = sweep.run(square, cases(3), folder=tmp_path, workers=2, progress=False)
    assert [int(result["value"]) for result in results] == [0, 1, 2]
    results = sweep.run(square, cases(3), folder=tmp_path, workers=2, progress=False)
    assert [int(result["value"]) for result in results] == [0, 1, 2], "stored as they were first"


def test_a_cluster_gets_files_and_processes_get_the_folder(monkeypatch, tmp_path):
    made = []

    def computed(parcel, jobs, on, count):
        made.append(parcel)
        yield from (Outcome(index, {}) for index, _ in jobs)

    monkeypatch.setattr(RUN, "_computed", computed)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text("7")
    options = {"progress": False, "memory": 2e9, "folder": "kept", "identity": {"world": "w"}}
    sweep.run(square, cases(1), on="dask://host:1", files=["data.txt"], **options)
    sweep.run(square, cases(1), workers=2, **options)
    sweep.run(square, cases(2), workers=2, **options)
    cluster, here = made[0], made[-1]
    assert (cluster.files, cluster.memory, cluster.records, cluster.home) == (
        {"data.txt": b"7"},
        2_000_000_000,
        None,
        None,
    )
    assert (dict(here.files), here.memory, here.home) == ({}, 2_000_000_000, str(tmp_path))
    assert here.records.folder == tmp_path / "kept", "also from another folder"
    assert here.records.identity == {"world": "w"}


def test_results_of_a_cluster_and_errors_of_cases_are_kept_by_the_driver(monkeypatch, tmp_path):
    def computed(parcel, jobs, on, count):
        yield Outcome(0, {"value": np.array(5)}, seconds=1.5, made={"machine": "far"})
        yield Outcome(1, None, ValueError("no"), "the trace", 2.5, {"machine": "far"})

    monkeypatch.setattr(RUN, "_computed", computed)
    with pytest.raises(sweep.SweepError):
        sweep.run(square, cases(2), on="dask://host:1", folder=tmp_path, progress=False)
    with np.load(tmp_path / "case_00000.npz") as data:
        header = json.loads(str(data["header"]))
        assert int(data["value"]) == 5
    assert (header["seconds"], header["made"], header["number"]) == (1.5, {"machine": "far"}, 0)
    kept = json.loads((tmp_path / "failed_00001.json").read_text())
    assert kept == {
        "case": cases(2)[1], "error": "ValueError: no", "seconds": 2.5, "made": {"machine": "far"},
        "trace": "the trace",
    }  # fmt: skip


class Engine:
    """Computes each case as it is begun, and notes what it was given."""

    name, slots, lost = "engine", 2, ()

    def __init__(self, notes):
        self.notes = notes

    def __enter__(self):
        self.notes.append("entered")
        return self

    def __exit__(self, *error):
        self.notes.append("left")

    def send(self, packed, digest):
        self.notes.append((packed, digest))

    def submit(self, job):
        future = Future()
        future.set_result(Outcome(job[0], {"value": np.array(job[0])}))
        return future

    def check(self):
        raise AssertionError("nothing is waited for")


class Noted:
    """A parcel that says how it was packed."""

    memory = records = None

    def packed(self, *, by_value=False):
        return b"by value" if by_value else b"by reference"


@pytest.mark.parametrize(
    ("on", "count", "packed"),
    [(None, 2, b"by reference"), ("dask://host:1", 1, b"by value"), ("ray://host:1", 3, b"by value")],
)
def test_workers_of_this_machine_import_modules_and_those_of_a_cluster_are_sent_them(monkeypatch, on, count, packed):
    notes = []
    monkeypatch.setattr(RUN, "Processes", lambda slots: notes.append(slots) or Engine(notes))
    monkeypatch.setattr(RUN, "cluster_at", lambda address: notes.append(address) or Engine(notes))
    found = list(RUN._computed(Noted(), [(k, None) for k in range(5)], on, count))
    assert sorted(outcome.index for outcome in found) == list(range(5))
    assert notes == [count if on is None else on, "entered", (packed, digest_of_bytes(packed)), "left"]


def test_nothing_starts_where_nothing_is_missing(monkeypatch):
    monkeypatch.setattr(RUN, "cluster_at", None)
    monkeypatch.setattr(RUN, "Processes", None)
    for on in (None, "dask://host:1"):
        assert list(RUN._computed(Noted(), [], on, 4)) == []


def test_cases_of_one_process_are_computed_one_after_the_other_as_they_are_asked_for():
    seen = []
    made = RUN._computed(Parcel(lambda case: seen.append(case) or {}), [(0, "a"), (1, "b")], None, 1)
    assert next(made).index == 0
    assert seen == ["a"]
    assert [outcome.index for outcome in made] == [1]
