"""What the engine for Dask asks of Dask's client, by a double: workers, versions, the parcel, the end."""

import queue
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import pliant as pl
from pliant.sweep import dask_cluster
from pliant.sweep.case import compute
from pliant.sweep.dask_cluster import DaskCluster, _minor
from pliant.sweep.versions import OtherVersionsError, own_versions

pytest.importorskip("distributed")


class Client:
    """The part of Dask's client that the engine calls; `joining` workers stand there after so many questions."""

    def __init__(self, threads, *, joining=0, python=None, versions=None):
        self.threads, self.joining, self.closed, self.submitted = threads, joining, 0, []
        self.python, self.versions = python or own_versions()["python"], versions or own_versions()
        self.waited, self.asked, self.status = [], [], "running"

    def scheduler_info(self, n_workers):
        self.asked.append(n_workers)
        if self.joining > 0:
            return {"workers": {}}
        return {"workers": {f"tcp://{k}": {"nthreads": count} for k, count in enumerate(self.threads)}}

    def wait_for_workers(self, count, timeout):
        self.waited.append((count, timeout))
        self.joining -= 1
        if self.joining > 0:
            raise TimeoutError

    def get_versions(self, check):
        assert check is False, "Dask only warns; Pliant compares itself"
        return {"workers": {f"tcp://{k}": {"host": {"python": self.python}} for k in range(len(self.threads))}}

    def run(self, function):
        assert function() == own_versions()
        return {f"tcp://{k}": self.versions for k in range(len(self.threads))}

    def submit(self, function, *arguments, key, pure=True):
        self.submitted.append((function, arguments, key, pure))
        return f"future {len(self.submitted)}"

    def close(self):
        self.closed += 1


@pytest.fixture
def entered(monkeypatch):
    """Enters an engine whose client is a double."""

    def enter(threads, **options):
        client = Client(threads, **options)
        engine = DaskCluster("host", 8786)
        monkeypatch.setattr(DaskCluster, "_connected", lambda self: client)
        return client, engine

    return enter


def test_cases_at_a_time_are_the_threads_of_all_workers(entered):
    client, engine = entered([1, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with engine:
            assert engine.slots == 3
            assert set(client.asked) == {-1}, "of all workers, not of the first five"
            assert client.closed == 0
    assert client.closed == 1


def test_workers_with_several_threads_are_counted_and_told(entered):
    _, engine = entered([1, 4, 2])
    with pytest.warns(pl.PliantWarning, match="2 of 3 workers at dask://host:8786 have several threads"), engine:
        assert engine.slots == 7


def test_the_first_worker_is_waited_for(entered, monkeypatch):
    client, engine = entered([1], joining=3)
    with engine:
        assert [count for count, _ in client.waited] == [1, 1, 1]
    client, engine = entered([1], joining=10**9)
    times = iter([0.0, dask_cluster._JOINING - 1.0, dask_cluster._JOINING + 1.0])
    monkeypatch.setattr(dask_cluster, "monotonic", lambda: next(times))
    with pytest.raises(pl.PliantError, match=r"has no workers: start some with `dask worker tcp://host:8786"):
        engine.__enter__()
    assert len(client.waited) == 1
    assert client.closed == 1


@pytest.mark.parametrize(
    "other", [{"python": "3.1.7"}, {"versions": own_versions() | {"numpy": "1.0"}}], ids=["python", "numpy"]
)
def test_workers_of_other_versions_end_the_connection(entered, other):
    client, engine = entered([1, 1], **other)
    with pytest.raises(OtherVersionsError, match=r"instead of .* on tcp://0, tcp://1"):
        engine.__enter__()
    assert client.closed == 1


def test_patches_of_python_do_not_matter_minor_versions_do():
    assert [_minor(text) for text in ("3.13.0rc1", "3.11", "3.9.18")] == ["3.13", "3.11", "3.9"]


def test_the_parcel_is_a_task_that_all_cases_share(entered):
    client, engine = entered([1])
    with engine:
        engine.send(b"packed", "digest")
        assert [engine.submit((7, "case")), engine.submit((7, "case"))] == ["future 2", "future 3"]
        (make, (data,), name, _), first, second = client.submitted
        assert make is np.asarray
        assert (data.dtype, data.tobytes()) == (np.uint8, b"packed")
        assert "digest" in name
        assert first[:2] == (compute, ("future 1", "digest", 7, "case"))
        assert first[2] != second[2], "the scheduler would give the error of the first attempt again"
        assert not first[3]
        assert DaskCluster("host", 1)._session != engine._session, "two sweeps of one parcel are two"
    assert engine._parcel is None


@pytest.mark.parametrize(("host", "said"), [("10.0.0.5", "10.0.0.5"), ("::1", "[::1]")])
def test_addresses_of_dask(host, said):
    engine = DaskCluster(host, 8786)
    assert (engine.name, engine._address, engine.slots) == (f"dask://{host}:8786", f"tcp://{said}:8786", 1)


def test_a_warning_of_no_workers_comes_once():
    engine = DaskCluster("host", 1)
    engine._client = SimpleNamespace(status="running", scheduler_info=lambda n_workers: {"workers": {}})
    with pytest.warns(pl.PliantWarning, match="waits for one"):
        engine.check()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.check()


def test_a_connection_is_waited_for_as_long_as_the_scheduler_may_take(monkeypatch):
    waited = []

    class Queue(queue.SimpleQueue):
        def get(self, timeout):
            waited.append(timeout)
            return super().get(timeout=timeout)

    engine = DaskCluster("host", 8786)
    monkeypatch.setattr(engine, "_distributed", SimpleNamespace(Client=lambda address, **options: address))
    monkeypatch.setattr(dask_cluster, "SimpleQueue", Queue)
    assert engine._connected() == "tcp://host:8786"
    assert waited[0] > dask_cluster._CONNECTING, "its own limit comes first"


def test_errors_of_the_connection_are_raised_here(monkeypatch):
    def refuse(*arguments, **options):
        assert options["set_as_default"] is False, "the user's own client stays his"
        assert options["timeout"] == dask_cluster._CONNECTING
        raise ValueError("another protocol")

    engine = DaskCluster("host", 8786)
    monkeypatch.setattr(engine, "_distributed", SimpleNamespace(Client=refuse, __version__="0.0"))
    with pytest.raises(pl.PliantError, match=r"no Dask scheduler of a version .*0\.0.*: another protocol"):
        engine.__enter__()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(pl.MissingExtraError):
        DaskCluster("host", 1)
