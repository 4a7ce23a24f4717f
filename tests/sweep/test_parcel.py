"""Parcels: versions, files that are sent, modules of the user, errors that cross processes, bounds on memory."""

import functools
import os
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


def test_a_worker_keeps_the_last_four_parcels(monkeypatch):
    monkeypatch.setattr(parcels, "_kept", {})
    loads = []
    monkeypatch.setattr(parcels.pickle, "loads", lambda data, real=parcels.pickle.loads: loads.append(1) or real(data))
    tasks = [sent(lambda case, k=k: {"k": np.array(k)}) for k in range(5)]
    for task in tasks[:4] * 2:
        task({})
    assert len(loads) == 4
    tasks[4]({})
    assert [int(task({}).result["k"]) for task in tasks[1:]] == [1, 2, 3, 4]
    assert len(loads) == 5
    assert int(tasks[0]({}).result["k"]) == 0
    assert len(loads) == 6, "the oldest had gone"


def test_a_parcel_in_a_file_is_that_of_its_bytes(tmp_path):
    packed = Parcel(lambda case: {"x": np.array(case)}).packed()
    (tmp_path / "parcel").write_bytes(packed)
    digest = digest_of_bytes(packed)
    assert len(digest) == 16
    parcels._kept.pop(digest, None)
    assert int(compute(str(tmp_path / "parcel"), digest, 0, 3).result["x"]) == 3
    (tmp_path / "parcel").unlink()
    assert int(compute(str(tmp_path / "parcel"), digest, 0, 4).result["x"]) == 4, "read once"


def test_what_pickling_by_value_registers_is_taken_back(tmp_path, monkeypatch):
    import cloudpickle

    (tmp_path / "my_other_study.py").write_text("def task(case):\n    return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import my_other_study

    task = functools.partial(functools.partial(my_other_study.task))
    assert parcels._own_module(task) is my_other_study
    by_reference, by_value = Parcel(task).packed(), Parcel(task).packed(by_value=True)
    assert len(by_value) > len(by_reference) + 100
    assert not cloudpickle.list_registry_pickle_by_value()
    cloudpickle.register_pickle_by_value(my_other_study)
    try:
        Parcel(task).packed(by_value=True)
        assert cloudpickle.list_registry_pickle_by_value() == {"my_other_study"}, "what the user did stays"
    finally:
        cloudpickle.unregister_pickle_by_value(my_other_study)


def test_modules_of_packages_and_of_the_script_are_not_sent(monkeypatch):
    assert parcels._own_module(np.linalg.norm) is None
    assert parcels._own_module(compute) is None
    assert parcels._own_module(len) is None
    assert parcels._own_module(test_what_cannot_be_sent_is_told) is sys.modules[__name__]
    main = type(sys)("__main__")
    main.__file__ = "script.py"
    monkeypatch.setitem(sys.modules, "__main__", main)
    of_script = lambda case: {}  # noqa: E731
    of_script.__module__ = "__main__"
    assert parcels._own_module(of_script) is None


def test_files_may_have_as_many_bytes_as_the_bound(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parcels, "LARGEST", 10)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "one").write_bytes(b"123456")
    (tmp_path / "a" / "two").write_bytes(b"1234")
    assert file_contents(["a"]) == {"a/b/one": b"123456", "a/two": b"1234"}
    (tmp_path / "a" / "two").write_bytes(b"12345")
    with pytest.raises(pl.InputError, match="more than 0 MB"):
        file_contents(["a"])


def test_a_worker_that_lacks_a_module_says_so(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def task(case):\n    return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    packed = Parcel(only_here.task).packed()
    monkeypatch.delitem(sys.modules, "only_here")
    (tmp_path / "only_here.py").unlink()
    outcome = compute(packed, digest_of_bytes(packed), 3, None)
    assert outcome.unfit
    assert outcome.index == 3
    assert "cannot import what its function needs (No module named 'only_here')" in str(outcome.error)


def test_the_folder_of_the_user_is_entered_again(tmp_path, monkeypatch):
    """Also after a failure; the files of the sweep are not left on the path of imports of another."""
    monkeypatch.chdir(tmp_path)

    def task(case):
        if case == "fails":
            raise ValueError
        return {"here": np.array(os.getcwd()), "first": np.array(sys.path[0])}

    run, plain = sent(task, files={"a": b"1"}), sent(task, home=str(tmp_path.parent))
    for case in ("fails", 1, 2):
        result = run(case).result
        assert os.getcwd() == str(tmp_path)
        if result is not None:
            assert str(result["here"]) == str(result["first"]) != str(tmp_path)
            assert sys.path.count(str(result["first"])) == 1
    own = str(result["here"])
    result = plain(1).result
    assert str(result["here"]) == str(tmp_path.parent)
    assert own not in sys.path
    assert str(tmp_path.parent) not in sys.path
