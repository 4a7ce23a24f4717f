"""Parcels: versions, files that are sent, modules of the user, errors that cross processes, bounds on memory."""

import sys
import textwrap

import numpy as np
import pytest

import pliant as pl
from pliant import sweep
from pliant.sweep import parcel as parcels
from pliant.sweep.case import compute
from pliant.sweep.parcel import Parcel, digest_of_bytes, file_contents
from pliant.sweep.versions import OtherVersionsError, check_versions, own_versions, probe

pytest.importorskip("cloudpickle")


def sent(task, **options):
    """A function that computes a case as a worker does."""
    packed = Parcel(task, **options).packed(by_value=True)
    return lambda case, index=0: compute(packed, digest_of_bytes(packed), index, case)


def test_other_versions_are_listed_with_their_workers():
    own = own_versions()
    assert {"pliant", "numpy", "scipy", "numba", "python", "source"} <= set(own)
    check_versions({"a": own})
    with pytest.raises(OtherVersionsError) as caught:
        check_versions({"a": own | {"numpy": "1.0"}, "b": own | {"numpy": "1.0", "python": "3.9.1"}, "c": own})
    text = str(caught.value)
    assert f"numpy 1.0 instead of {np.__version__} on a, b" in text
    assert "python 3.9.1 instead of" in text
    assert "on b;" in text or "on b." in text


def test_a_worker_without_this_pliant_can_tell(monkeypatch):
    told = probe()
    assert told() == own_versions()
    monkeypatch.setitem(sys.modules, "pliant.sweep.versions", None)
    assert told()["numpy"] == np.__version__
    with pytest.raises(OtherVersionsError, match="source"):
        check_versions({"old": told()})


def test_a_worker_of_another_version_computes_nothing():
    run = sent(lambda case: {"x": np.array(1)}, versions=own_versions() | {"numpy": "1.0"})
    outcome = run({})
    assert outcome.unfit
    assert "instead of 1.0" in str(outcome.error)


def test_files_and_modules_come_along_and_are_unpacked_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "n.txt").write_text("7")
    (tmp_path / "mine_beside.py").write_text("TIMES = 2\n")

    def task(case):
        from pathlib import Path

        import mine_beside  # of the files, not of this folder

        return {"value": np.array(mine_beside.TIMES * int(Path("data/n.txt").read_text()))}

    contents = file_contents(["data", "mine_beside.py"])
    assert set(contents) == {"data/n.txt", "mine_beside.py"}
    first = sent(task, files=contents)
    (tmp_path / "data" / "n.txt").unlink()
    (tmp_path / "mine_beside.py").unlink()
    loads = []
    monkeypatch.setattr(parcels.pickle, "loads", lambda data, real=parcels.pickle.loads: loads.append(1) or real(data))
    assert [int(first({}, k).result["value"]) for k in range(3)] == [14, 14, 14]
    assert loads == [1]
    second = sent(task, files=contents | {"mine_beside.py": b"TIMES = 3\n"})
    assert int(second({}).result["value"]) == 21, "a module of the sweep before"
    assert int(first({}).result["value"]) == 14
    assert tmp_path == tmp_path.cwd()


def test_files_out_of_reach_are_told(tmp_path, monkeypatch):
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside.txt").write_text("a")
    monkeypatch.chdir(tmp_path / "inside")
    with pytest.raises(pl.InputError, match="outside of"):
        file_contents([tmp_path / "outside.txt"])
    with pytest.raises(pl.InputError, match="no file"):
        file_contents(["nowhere"])
    monkeypatch.setattr(parcels, "LARGEST", 10)
    (tmp_path / "inside" / "large").write_bytes(bytes(11))
    with pytest.raises(pl.InputError, match="absolute path"):
        file_contents(["large"])


def test_code_of_a_module_of_the_user_is_sent(tmp_path, monkeypatch):
    (tmp_path / "my_study.py").write_text(
        textwrap.dedent("""
            import numpy as np
            FACTOR = 3
            def task(case):
                return {"value": np.array(FACTOR * case["x"])}
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    import my_study

    run = sent(my_study.task)
    monkeypatch.delitem(sys.modules, "my_study")
    (tmp_path / "my_study.py").unlink()
    assert int(run({"x": 2}).result["value"]) == 6


def test_errors_arrive_as_what_they_are_or_as_their_text():
    class OwnError(Exception):
        def __init__(self, a, b):
            super().__init__(f"{a} and {b}")

    def task(case):
        raise {"own": OwnError(1, 2), "ours": pl.ConvergenceError("no equilibrium"), "value": ValueError("v")}[case]

    run = sent(task)
    assert str(run("own").error) == "OwnError: 1 and 2"
    assert isinstance(run("ours").error, pl.ConvergenceError)
    outcome = run("value")
    assert isinstance(outcome.error, ValueError)
    assert "in task" in outcome.trace
    assert outcome.made["machine"]


def test_what_cannot_be_sent_is_told():
    import threading

    lock = threading.Lock()
    with pytest.raises(pl.InputError, match="cannot be sent"):
        Parcel(lambda case: {"a": lock}).packed()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds on memory need Linux")
def test_a_case_that_needs_too_much_memory_fails_alone():
    def task(case):
        return {"sum": np.array(np.ones(case).sum())}

    with pytest.raises(sweep.SweepError, match="bound of 50 MB") as caught:
        sweep.run(task, [1000, 10**8, 2000], workers=1, memory=5e7, progress=False)
    assert [result is None for result in caught.value.results] == [False, True, False]
    assert isinstance(caught.value.failures[0][1], pl.CapacityError)
    assert np.ones(2 * 10**7).sum() == 2e7, "the bound has ended"
    for bad in (0, -1, 5, "2 GB", float("nan")):
        with pytest.raises(pl.InputError, match="memory of a sweep"):
            sweep.run(task, [1], workers=1, memory=bad, progress=False)
