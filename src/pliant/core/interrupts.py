"""Ctrl-C during long calls: the call ends after its present piece of work and hands back what it has.

Python's own handler raises in the middle of whatever runs. Here it sets a flag instead. In a kernel that returns
arrays, and in the compiler, Numba calls functions of Python from machine code that does not expect an exception: there
Ctrl-C waits for the end of the kernel, and in a step for the next stage. A second Ctrl-C within `AGAIN` seconds raises
`KeyboardInterrupt` at once, so that a program with many calls in a loop can be ended.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, at a tenth of the time
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import get_ident
from time import monotonic
from typing import Any, TypeVar

AGAIN = 3.0
"""Time within which a second Ctrl-C ends the program, s."""
_last: float = -AGAIN
_raising = 0
_missed: list[tuple[int, Any]] = []
_handler: Any = signal.default_int_handler
_T = TypeVar("_T")


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """While it lasts, Ctrl-C raises `KeyboardInterrupt` in every call: a part would be taken for the whole result."""
    global _raising
    _raising += 1
    try:
        yield
    finally:
        _raising -= 1


class interrupts_wait(AbstractContextManager[None]):  # noqa: N801  reads as what it does: with interrupts_wait(): …
    """While it lasts, Ctrl-C waits for `answer_interrupts` or for its end: then the handler does what it does.

    Inside another one, outside of the main thread and where Ctrl-C is ignored nothing changes.
    """

    __slots__ = ("_entered",)

    def __enter__(self) -> None:
        global _handler
        handler = _signal.getsignal(signal.SIGINT)
        self._entered = handler is not _wait and callable(handler) and _in_main_thread()
        if self._entered:
            _handler = handler
            _missed.clear()
            _signal.signal(signal.SIGINT, _wait)

    def __exit__(self, *error: object) -> None:
        if self._entered:
            _signal.signal(signal.SIGINT, _handler)
            answer_interrupts()


def answer_interrupts() -> None:
    """Let a Ctrl-C that waits do what its handler does: raise `KeyboardInterrupt`, as a rule."""
    if _missed and _in_main_thread():
        _handler(*_missed.pop())


def undisturbed(function: Callable[..., _T], *given: Any) -> _T:
    """``function(*given)``, which Ctrl-C does not end in the middle."""
    if _signal.getsignal(signal.SIGINT) is _wait:
        return function(*given)
    with interrupts_wait():
        return function(*given)


def _wait(number: int, frame: Any) -> None:
    _missed[:] = [(number, frame)]


_main = threading.main_thread().ident


def _in_main_thread() -> bool:
    return get_ident() == _main


def _find_main_thread() -> None:
    """In a forked process: its only thread is the main one."""
    global _main
    _main = threading.main_thread().ident


os.register_at_fork(after_in_child=_find_main_thread)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """While it lasts, Ctrl-C makes what it gives return True. Where another handler is set, and outside of the main
    thread, which receives no signals, nothing changes.
    """
    hit = False
    main = threading.current_thread() is threading.main_thread()
    if _raising or not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return

    def note(number: int, frame: Any) -> None:
        nonlocal hit
        global _last
        now = monotonic()
        again, _last = now - _last < AGAIN, now
        if again:
            raise KeyboardInterrupt
        hit = True

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: hit
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
