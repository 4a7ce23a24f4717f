"""Processes of this machine: their file, their threads, and what becomes of them at the end."""

import os
import stat
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from pliant.sweep.case import compute
from pliant.sweep.processes import Processes, _environment

loky = pytest.importorskip("joblib.externals.loky")


class Pool:
    def __init__(self):
        self.submitted, self.ended = [], []

    def submit(self, *job):
        self.submitted.append(job)
        return len(self.submitted)

    def shutdown(self, **how):
        self.ended.append(how)


@pytest.fixture
def pool(monkeypatch):
    """A pool that starts no process, with the options by which it was asked for."""
    made = Pool()
    made.options = []
    monkeypatch.setattr(loky, "get_reusable_executor", lambda **options: made.options.append(options) or made)
    return made


def test_each_process_computes_on_one_thread_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    told = _environment()
    assert (told["OMP_NUM_THREADS"], told["NUMBA_NUM_THREADS"]) == ("1", "3")
    assert {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} < set(told)


def test_a_case_names_the_file_of_its_parcel(pool):
    with Processes(3) as engine:
        engine.send(b"packed", "digest")
        engine.submit((7, "case"))
        ((function, path, *rest),) = pool.submitted
        assert (function, rest) == (compute, ["digest", 7, "case"])
        assert Path(path).read_bytes() == b"packed"
        assert stat.S_IMODE(os.stat(Path(path).parent).st_mode) == 0o700
        assert pool.options[0]["max_workers"] == engine.slots == 3
        assert pool.options[0]["timeout"] >= 10, "the next sweep need not start them again"
        assert pool.options[0]["env"] == _environment()
    assert not Path(path).parent.exists()
    assert not pool.ended, "the next sweep has them at once"


def test_processes_end_where_the_sweep_is_interrupted(pool):
    engine = Processes(2)

    def interrupted(begun):
        with engine:
            if begun:
                engine.submit((0, "case"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted(begun=True)
    assert pool.ended == [{"wait": True, "kill_workers": True}], "none computes on without its driver"
    assert not Path(engine._folder).exists()
    engine = Processes(2)
    with pytest.raises(KeyboardInterrupt):
        interrupted(begun=False)
    assert len(pool.ended) == 1, "nothing was begun"


def test_a_broken_pool_is_a_loss():
    assert issubclass(BrokenProcessPool, Processes(1).lost)
    assert issubclass(loky.process_executor.TerminatedWorkerError, Processes(1).lost)
