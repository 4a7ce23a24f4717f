"""Ctrl-C during long calls: the call ends after its present piece of work and hands back what it has.

Python's own handler raises in the middle of whatever runs, inside a compiled kernel too, which turns it into a
`SystemError` now and then. Here it sets a flag instead. A second Ctrl-C within `AGAIN` seconds raises
`KeyboardInterrupt` at once, so that a program with many calls in a loop can be ended.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

AGAIN = 3.0
"""Time within which a second Ctrl-C ends the program, s."""
_last: float = -AGAIN
_raising = 0


@contextmanager
def interrupts_raise() -> Iterator[None]:
    """While it lasts, Ctrl-C raises `KeyboardInterrupt` in every call: a part would be taken for the whole result."""
    global _raising
    _raising += 1
    try:
        yield
    finally:
        _raising -= 1


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
