"""The bound on the memory of a case: what counts, and the system's own limits."""

import mmap
import sys

import pytest

import pliant as pl
from pliant.sweep import memory
from pliant.sweep.memory import bounded, checked_memory

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds on memory need Linux")


def test_allocated_memory_is_counted_in_bytes():
    size, before = 64 * 2**20, memory._allocated()
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE):
        during = memory._allocated()
    assert size <= during - before < size + 8 * 2**20
    assert memory._allocated() - before < 8 * 2**20


@pytest.mark.parametrize("hard", [None, 1000, 10**15])
def test_the_limit_stands_above_what_is_allocated_and_below_that_of_the_system(monkeypatch, hard):
    import resource

    infinite = resource.RLIM_INFINITY
    before, made = (5, infinite if hard is None else hard), []
    monkeypatch.setattr(memory, "_allocated", lambda: 300)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: before if kind == resource.RLIMIT_DATA else None)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: made.append((kind, limits)))
    with bounded(2000):
        wanted = 1000 if hard == 1000 else 2300
        assert made == [(resource.RLIMIT_DATA, (wanted, before[1]))]
    assert made[1:] == [(resource.RLIMIT_DATA, before)]
    with pytest.raises(ZeroDivisionError), bounded(2000):
        raise ZeroDivisionError
    assert made[-1] == (resource.RLIMIT_DATA, before), "also after an error"


def test_bounds_are_whole_bytes_of_a_megabyte_or_more(monkeypatch, tmp_path):
    assert checked_memory(None) is None
    assert checked_memory(2.5e9) == 2_500_000_000
    assert checked_memory(2**20) == 2**20
    with pytest.raises(pl.InputError, match="more than 1 MB"):
        checked_memory(2**20 - 1)
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    with pytest.raises(pl.InputError, match="needs Linux"):
        checked_memory(2e9)


def test_without_a_bound_nothing_is_limited():
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with bounded(None):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before
