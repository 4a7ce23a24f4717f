"""BLAS runs on one thread inside the block and as before after it; work beside other work."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, get_ident

import numpy  # noqa: F401  (loads its BLAS)
import pytest
from threadpoolctl import threadpool_info

from pliant.core import threads
from pliant.core.threads import allow_threads, beside, divided, one_blas_thread


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_one_thread_inside_and_restored_after():
    before = blas_threads()
    assert before
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_a_second_thread_is_taken_where_it_is_allowed_only():
    one, other = beside(get_ident, get_ident)
    assert one == other == get_ident()
    started = Event()

    def wait():
        assert started.wait(60.0)
        return get_ident()

    def start():
        started.set()
        return get_ident()

    with allow_threads(2):
        one, other = beside(wait, start)
    assert one == get_ident()
    assert other != one


def test_work_that_no_thread_has_begun_is_done_here(monkeypatch):
    """As where other simulations keep all threads busy: nothing waits for them."""
    release = Event()
    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(threads, "_pool", lambda: pool)
        pool.submit(release.wait)
        with allow_threads(2):
            one, other = beside(get_ident, get_ident)
        release.set()
    assert one == other == get_ident()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("first", [True, False])
def test_an_error_of_either_is_raised(count, first):
    def fail():
        raise ValueError("of mine")

    with allow_threads(count), pytest.raises(ValueError, match="of mine"):
        beside(fail if first else int, int if first else fail)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("least", [0.0, 5.0, 100.0])
def test_items_keep_their_order_whoever_does_them(count, least):
    with allow_threads(count):
        assert divided(str, [3, 1, 4, 1, 5], float, least=least) == ["3", "1", "4", "1", "5"]
        assert divided(str, [3], float, least=least) == ["3"]
        assert divided(str, [], float, least=least) == []
