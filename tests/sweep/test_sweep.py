"""Sweeps: order, resumption, folders that belong to something else, failures, workers that die."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import pliant as pl
from pliant import sweep


def square(case):
    return {"value": np.array(case["x"] ** 2), "worker": np.array(os.getpid())}


def cases(count):
    return [{"x": float(k), "seed": k} for k in range(count)]


def test_results_come_in_the_order_of_the_cases():
    results = sweep.run(square, cases(4), workers=1, progress=False)
    assert [float(r["value"]) for r in results] == [0.0, 1.0, 4.0, 9.0]
    assert {int(r["worker"]) for r in results} == {os.getpid()}


def test_two_workers_give_the_same():
    pytest.importorskip("joblib")

    def slow(case):  # defined here: closures travel too
        time.sleep(0.05 * (3 - case["x"]))
        return {"value": np.array(case["x"] ** 2), "worker": np.array(os.getpid())}

    results = sweep.run(slow, cases(4), workers=2, progress=False)
    assert [float(r["value"]) for r in results] == [0.0, 1.0, 4.0, 9.0]
    assert os.getpid() not in {int(r["worker"]) for r in results}


def test_workers_of_an_earlier_sweep_work_in_the_present_folder(tmp_path, monkeypatch):
    pytest.importorskip("joblib")

    def here(case):
        return {"folder": np.array(os.getcwd()), "text": np.array(open("own.txt").read())}

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.txt").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        results = sweep.run(here, cases(2), folder="kept", workers=2, progress=False)
        assert {str(result["text"]) for result in results} == {name}
        assert len(list((tmp_path / name / "kept").glob("case_*"))) == 2


def test_a_finished_case_is_not_computed_again(tmp_path):
    seen = []

    def noted(case):
        seen.append(case["x"])
        return square(case)

    options = {"folder": tmp_path, "identity": {"world": "w", "plan": "p"}, "workers": 1, "progress": False}
    sweep.run(noted, cases(2), **options)
    again = sweep.run(noted, cases(4), **options)
    assert seen == [0.0, 1.0, 2.0, 3.0]
    assert [float(r["value"]) for r in again] == [0.0, 1.0, 4.0, 9.0]
    with np.load(tmp_path / "case_00001.npz") as data:
        header = json.loads(str(data["header"]))
    assert header["case"] == {"x": 1.0, "seed": 1}
    assert header["identity"] == {"world": "w", "plan": "p"}
    assert header["made"]["versions"]["numpy"] == np.__version__
    assert header["made"]["date"].startswith("20")
    assert 0.0 <= header["seconds"] < 10.0


def test_an_interruption_loses_only_the_running_case(tmp_path):
    def interrupted(case):
        if case["x"] == 2.0:
            raise KeyboardInterrupt
        return square(case)

    with pytest.raises(KeyboardInterrupt):
        sweep.run(interrupted, cases(4), folder=tmp_path, workers=1, progress=False)
    assert sorted(p.name for p in tmp_path.glob("case*")) == ["case_00000.npz", "case_00001.npz"]
    assert not list(tmp_path.glob("*.part"))
    assert len(sweep.run(square, cases(4), folder=tmp_path, workers=1, progress=False)) == 4


def test_a_folder_of_another_world_is_refused(tmp_path):
    sweep.run(square, cases(1), folder=tmp_path, identity={"world": "a", "plan": "p"}, workers=1, progress=False)
    with pytest.raises(pl.InputError, match=r"another world \(a instead of b\)"):
        sweep.run(square, cases(1), folder=tmp_path, identity={"world": "b", "plan": "p"}, workers=1, progress=False)
    changed = [{"x": 5.0}]
    with pytest.raises(pl.InputError, match="cases of this sweep have changed"):
        sweep.run(square, changed, folder=tmp_path, identity={"world": "a", "plan": "p"}, workers=1, progress=False)


def test_one_failure_does_not_stop_the_others(tmp_path):
    def fails(case):
        if case["x"] == 1.0:
            raise pl.ConvergenceError("no equilibrium")
        return square(case)

    with pytest.raises(sweep.SweepError, match=r"1 of 3 cases failed.*'x': 1\.0.*no equilibrium") as caught:
        sweep.run(fails, cases(3), folder=tmp_path, workers=1, progress=False)
    assert [case["x"] for case, _ in caught.value.failures] == [1.0]
    assert isinstance(caught.value.failures[0][1], pl.ConvergenceError)
    assert [r is None for r in caught.value.results] == [False, True, False]
    sweep.run(square, cases(3), folder=tmp_path, workers=1, progress=False)


def test_a_broken_file_is_computed_again(tmp_path):
    sweep.run(square, cases(2), folder=tmp_path, workers=1, progress=False)
    (tmp_path / "case_00001.npz").write_bytes(b"half")
    with pytest.warns(pl.PliantWarning, match="case_00001"):
        results = sweep.run(square, cases(2), folder=tmp_path, workers=1, progress=False)
    assert float(results[1]["value"]) == 1.0


def test_bad_cases_are_named():
    with pytest.raises(pl.InputError, match=r"'x': 1\.0\} occurs more than once"):
        sweep.run(square, [{"x": 0.0}, {"x": 1.0}, {"x": 1.0}], workers=1, progress=False)
    with pytest.raises(pl.InputError, match="JSON"):
        sweep.run(square, [object()], workers=1, progress=False)
    with pytest.raises(pl.InputError, match="workers"):
        sweep.run(square, cases(1), workers=0, progress=False)


SCRIPT = """
import os, pathlib, signal, sys, time
import numpy as np
from pliant import sweep

def task(case):
    if case == 3:
        while len(list(pathlib.Path(sys.argv[1]).glob("case*.npz"))) < 3:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": np.array(case)}

sweep.run(task, list(range(4)), folder=sys.argv[1], workers=2, progress=False)
"""


@pytest.mark.slow  # two processes import the library
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed like this here")
def test_a_killed_worker_loses_only_what_was_running(tmp_path):
    pytest.importorskip("joblib")
    command = [sys.executable, "-c", SCRIPT.replace("sys.argv[1]", repr(str(tmp_path)))]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "PliantError: a worker of the sweep was killed" in result.stderr
    assert {"case_00000.npz", "case_00001.npz", "case_00002.npz"} == {p.name for p in tmp_path.glob("case*.npz")}


def test_worlds_written_alike_have_the_same_fingerprint():
    def world(young):
        scene = pl.Scene()
        rubber = pl.materials.Corotated(young=young, poisson=0.4, density=1000)
        scene.add(pl.Volume(pl.mesh.box((0.1, 0.1, 0.1), (1, 1, 1)), rubber, clamp=pl.regions.plane(axis="x", at=0)))
        return scene.compile()

    assert sweep.world_digest(world(1e5)) == sweep.world_digest(world(1e5)) != sweep.world_digest(world(2e5))


def test_a_folder_that_does_not_say_what_it_holds_is_refused(tmp_path):
    options = {"workers": 1, "progress": False}
    sweep.run(square, cases(2), folder=tmp_path, **options)
    with pytest.raises(pl.InputError, match=r"another world \(None instead of w\)"):
        sweep.run(square, cases(2), folder=tmp_path, identity={"world": "w"}, **options)
    (tmp_path / "sweep.json").unlink()
    with pytest.raises(pl.InputError, match="do not say what they belong to"):
        sweep.run(square, cases(2), folder=tmp_path, **options)
    other = tmp_path / "identified"
    sweep.run(square, cases(2), folder=other, identity={"world": "w"}, **options)
    with pytest.raises(pl.InputError, match=r"another world \(w instead of None\)"):
        sweep.run(square, cases(2), folder=other, **options)


def test_one_missing_case_needs_no_other_process(tmp_path):
    sweep.run(square, cases(3), folder=tmp_path, workers=1, progress=False)
    (tmp_path / "case_00001.npz").unlink()
    results = sweep.run(square, cases(3), folder=tmp_path, workers=4, progress=False)
    assert {int(r["worker"]) for r in results} == {os.getpid()}


def test_what_is_stored_is_said_where_there_is_a_folder(tmp_path):
    def fails(case):
        raise ValueError("no")

    for folder, said in ((None, False), (tmp_path, True)):
        with pytest.raises(sweep.SweepError) as caught:
            sweep.run(fails, cases(2), folder=folder, workers=1, progress=False)
        assert (f"stored in {folder}" in str(caught.value)) is said
        assert [str(error) for _, error in caught.value.failures] == ["no", "no"]
