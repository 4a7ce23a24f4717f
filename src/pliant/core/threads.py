"""BLAS limited to one thread around factorization and solve, and explicit threads for large work.

Two BLAS threads on a machine whose second core is busy are up to 30 times slower than one: small fronts wait for each
other. Parallelism in Pliant is explicit, over bodies or copies, never hidden inside BLAS.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from pliant.core.interrupts import interrupts_wait


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries of the process, each with `get_num_threads` and `set_num_threads`."""
    controllers: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return controllers


@cache
def _thread_counts() -> list[Callable[[], int]]:
    """How many threads each library takes: its own function, which threadpoolctl looks up by name in each call."""
    names = [
        f"{getattr(x, '_symbol_prefix', '')}openblas_get_num_threads{getattr(x, '_symbol_suffix', '')}"
        for x in _libraries()
    ]
    return [getattr(x.dynlib, name, x.get_num_threads) for x, name in zip(_libraries(), names, strict=True)]


def _set_threads(counts: Sequence[int], *, one: bool) -> None:
    """Give the libraries that take other `counts` than 1 one thread, or these counts."""
    for library, count in zip(_libraries(), counts, strict=True):
        if count != 1:
            library.set_num_threads(1 if one else count)


_ALLOWED: ContextVar[int] = ContextVar("threads allowed to large work", default=1)
_S = TypeVar("_S")
_T = TypeVar("_T")


def threads_allowed() -> int:
    """Threads that large work may take here; 1 unless inside `allow_threads`."""
    return _ALLOWED.get()


@contextmanager
def allow_threads(count: int) -> Iterator[None]:
    """Allow large work in the ``with`` block up to `count` threads, one BLAS thread each; results are the same."""
    before = _ALLOWED.set(count)
    try:
        yield
    finally:
        _ALLOWED.reset(before)


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that wait for work; starting one anew takes longer than a strip of a front."""
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="pliant")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def beside(one: Callable[[], _T], other: Callable[[], _T]) -> tuple[_T, _T]:
    """Results of two independent functions, on two threads where allowed, else in turn; raises errors of either."""
    if threads_allowed() < 2:
        return one(), other()
    job = _pool().submit(other)
    try:
        first = one()
    except BaseException:
        if not job.cancel():
            job.exception()  # it may still write into what the caller owns
        raise
    return first, other() if job.cancel() else job.result()  # cancelled: the other threads are busy elsewhere


def divided(work: Callable[[_S], _T], items: Sequence[_S], cost: Callable[[_S], float], *, least: float) -> list[_T]:
    """`work` of each item, in their order; on two threads where allowed, if each gets items of a `cost` of at least
    `least` in total.
    """
    if len(items) < 2 or threads_allowed() < 2:
        return [work(item) for item in items]
    costs = [cost(item) for item in items]
    groups: tuple[list[int], list[int]] = ([], [])
    load = [0.0, 0.0]
    for index in sorted(range(len(items)), key=lambda index: -costs[index]):  # the largest first, to the lesser load
        mine = 0 if load[0] <= load[1] else 1
        groups[mine].append(index)
        load[mine] += costs[index]
    if min(load) < least:
        return [work(item) for item in items]
    one, other = (lambda group=group: [work(items[index]) for index in group] for group in groups)  # type: ignore[misc]
    found = dict(zip((*groups[0], *groups[1]), (x for some in beside(one, other) for x in some), strict=True))
    return [found[index] for index in range(len(items))]


class one_blas_thread(AbstractContextManager[None]):  # noqa: N801  reads as what it does: with one_blas_thread(): …
    """Run the body of a ``with`` block with every BLAS limited to one thread.

    The limit belongs to the process; of nested and concurrent blocks only the outermost sets and restores it.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _depth, _previous
        with _lock:
            if _depth == 0:
                _previous = [count() for count in _thread_counts()]
                if _previous.count(1) != len(_previous):
                    _set_threads(_previous, one=True)
            _depth += 1

    def __exit__(self, *error: object) -> None:
        global _depth
        with _lock:
            _depth -= 1
            if _depth == 0 and _previous.count(1) != len(_previous):
                _set_threads(_previous, one=False)


_lock = Lock()
_depth = 0
_previous: list[int] = []
"""Blocks of `one_blas_thread` that run, and the counts of threads before them. Numbers of the module: what changes in a
class makes Python forget where it has found all else there.
"""


def _begin_anew() -> None:
    """In a forked process: another thread of its parent may have held the lock."""
    global _lock, _depth
    _lock, _depth = Lock(), 0


os.register_at_fork(after_in_child=_begin_anew)


class pinned_threads(AbstractContextManager[None]):  # noqa: N801  with pinned_threads(2): …
    """One BLAS thread, and up to `count` threads of our own for large work; Ctrl-C waits (`interrupts_wait`)."""

    __slots__ = ("_allowed", "_pinned", "_waiting")

    def __init__(self, count: int) -> None:
        self._allowed = None if count == 1 else allow_threads(count)
        self._waiting, self._pinned = interrupts_wait(), one_blas_thread()

    def __enter__(self) -> None:
        self._waiting.__enter__()
        try:
            self._pinned.__enter__()
        except BaseException:
            self._waiting.__exit__()
            raise
        if self._allowed is not None:
            self._allowed.__enter__()

    def __exit__(self, *error: Any) -> None:
        try:
            if self._allowed is not None:
                self._allowed.__exit__(*error)
            self._pinned.__exit__()
        finally:
            self._waiting.__exit__()
