"""BLAS runs on one thread inside the block and as before after it."""

import numpy  # noqa: F401  (loads its BLAS)
from threadpoolctl import threadpool_info

from pliant.core.threads import one_blas_thread


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
