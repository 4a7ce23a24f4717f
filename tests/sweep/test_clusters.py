"""Sweeps on a Dask cluster of two workers, and on Ray: killed workers, killed drivers, bad addresses."""

import os
import signal
import socket
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from benchmarks.faults import sweeps
from benchmarks.faults.clusters import dask_cluster, ray_cluster, ray_is_here
from pliant import sweep

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed like this here")


def square(case):
    return {"value": np.array(case["x"] ** 2), "worker": np.array(os.getpid())}


def cases(count):
    return [{"x": k} for k in range(count)]


@pytest.fixture(scope="module")
def dask():
    """A cluster of two workers."""
    pytest.importorskip("distributed")
    pytest.importorskip("pyarrow")
    with dask_cluster() as cluster:
        yield cluster


def never(case):
    raise AssertionError("no case begins")


@pytest.mark.parametrize("on", ["dask:/x:1", "http://a:1", "dask://host", "ray://a:99999", "dask://:8786", 5, ""])
def test_what_is_no_address_is_told(on):
    with pytest.raises(pl.InputError, match=r"dask://HOST:PORT"):
        sweep.run(never, cases(2), on=on, progress=False)


@pytest.mark.parametrize(("kind", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_extra_is_told_with_its_remedy(monkeypatch, kind, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(pl.MissingExtraError, match=r"pip install 'pliant\[cluster\]'"):
        sweep.run(never, cases(2), on=f"{kind}://127.0.0.1:1", progress=False)


def test_an_address_where_nothing_answers_is_named_at_once():
    pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begin = time.monotonic()
    with pytest.raises(pl.PliantError, match=rf"nothing answers at dask://127.0.0.1:{port}.*nothing was computed"):
        sweep.run(never, cases(2), on=f"dask://127.0.0.1:{port}", progress=False)
    with pytest.raises(pl.PliantError, match=r"nothing answers at dask://no-such-host.invalid:8786"):
        sweep.run(never, cases(2), on="dask://no-such-host.invalid:8786", progress=False)
    assert time.monotonic() - begin < 30.0


def test_processes_are_not_counted_on_a_cluster():
    with pytest.raises(pl.InputError, match="those of the cluster"):
        sweep.run(never, cases(2), on="dask://127.0.0.1:1", workers=2, progress=False)


def test_cases_survive_their_workers_and_one_that_kills_them_is_named(dask, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()

    def task(case):
        mark = marks / f"{case['x']}"
        if case["x"] == 5 and not mark.exists():  # killed once, as by a lack of memory beside others
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if case["x"] == 7:
            raise pl.ConvergenceError("no equilibrium")
        return square(case)

    with pytest.raises(sweep.SweepError, match=r"1 of 12 cases failed.*no equilibrium") as caught:
        sweep.run(task, cases(12), on=dask.address, folder=tmp_path / "kept", progress=False)
    values = [None if result is None else int(result["value"]) for result in caught.value.results]
    assert values == [None if k == 7 else k * k for k in range(12)]
    assert len(list((tmp_path / "kept").glob("case_*.npz"))) == 11
    assert isinstance(caught.value.failures[0][1], pl.ConvergenceError)


def test_a_world_is_sent_once_to_each_worker(dask):
    class Large:
        """Tells how often it arrived in the process that holds it."""

        def __init__(self):
            self.data = np.zeros(10**6)

        def __setstate__(self, state):
            self.__dict__.update(state)
            os.environ["PLIANT_TEST_ARRIVED"] = str(int(os.environ.get("PLIANT_TEST_ARRIVED", 0)) + 1)

    large = Large()

    def task(case):
        arrived = int(os.environ["PLIANT_TEST_ARRIVED"])
        return {"arrived": np.array(arrived), "worker": np.array(os.getpid()), "size": np.array(large.data.size)}

    results = sweep.run(task, cases(20), on=dask.address, progress=False)
    assert {int(result["size"]) for result in results} == {10**6}
    assert {int(result["arrived"]) for result in results} == {1}


def test_other_versions_are_told_before_the_first_case(dask, monkeypatch):
    from pliant.sweep import versions

    other = versions.own_versions() | {"numpy": "1.0", "pliant": "9.9"}
    monkeypatch.setattr(versions, "own_versions", lambda: other)
    with pytest.raises(pl.PliantError, match=r"pliant .* instead of 9\.9 on tcp://.*; numpy .* instead of 1\.0"):
        sweep.run(never, cases(2), on=dask.address, progress=False)


def test_a_scheduler_that_is_gone_ends_the_sweep():
    pytest.importorskip("distributed")
    from pliant.sweep.dask_cluster import DaskCluster

    engine = DaskCluster("127.0.0.1", 1)
    engine._client = SimpleNamespace(status="closed")
    with pytest.raises(pl.PliantError, match=r"dask://127.0.0.1:1 is gone"):
        engine.check()
    engine._client = SimpleNamespace(status="connecting", scheduler_info=lambda n_workers: {})
    engine.check()
    engine._client.status = "running"
    with pytest.warns(pl.PliantWarning, match="waits for one"):
        engine.check()


def test_what_is_no_scheduler_is_told(monkeypatch):
    pytest.importorskip("distributed")
    from pliant.sweep import dask_cluster as engine

    monkeypatch.setattr(engine, "_CONNECTING", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(pl.PliantError, match="no Dask scheduler"):
        sweep.run(never, cases(2), on=f"dask://127.0.0.1:{server.getsockname()[1]}", progress=False)


def test_workers_and_driver_killed_on_dask_end_in_the_table_of_processes(dask, tmp_path):
    reference = sweeps.undisturbed(tmp_path / "undisturbed", 24, workers=1)
    found = sweeps.disturbed(tmp_path / "dask", 24, dask, reference)
    assert {k: found[k] for k in ("rows", "lost", "twice", "other values", "finished cases computed again")} == {
        "rows": 24, "lost": 0, "twice": 0, "other values": 0, "finished cases computed again": 0,
    }  # fmt: skip


@pytest.mark.slow  # Ray starts eight processes
def test_workers_and_driver_killed_on_ray_end_in_the_same_table(tmp_path):
    if not ray_is_here():
        pytest.skip("Ray or its client (grpcio) is not installed: pip install 'pliant[cluster]'")
    reference = sweeps.undisturbed(tmp_path / "undisturbed", 24, workers=1)
    with ray_cluster() as cluster:
        found = sweeps.disturbed(tmp_path / "ray", 24, cluster, reference)
        results = sweep.run(square, cases(6), on=cluster.address, progress=False)
    assert (found["rows"], found["lost"], found["twice"], found["other values"]) == (24, 0, 0, 0)
    assert [int(result["value"]) for result in results] == [k * k for k in range(6)]


@pytest.mark.slow  # processes of this machine start again and again
def test_workers_and_driver_killed_here_end_in_the_same_table(tmp_path):
    reference = sweeps.undisturbed(tmp_path / "undisturbed", 24, workers=1)
    found = sweeps.disturbed(tmp_path / "processes", 24, None, reference)
    assert (found["rows"], found["lost"], found["twice"], found["other values"]) == (24, 0, 0, 0)
