"""A progress bar with the time left, for long calls: one line on stderr, in terminals and notebooks."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

PATIENCE = 2.0
"""Seconds after which a call that nobody asked for a bar shows one."""
_REFRESH = 0.2
"""Least time between two drawings, s: a terminal over a network is slow."""
_WIDTH = 24
"""Width of the bar, characters."""


@contextmanager
def progress_bar(title: str, count: int, *, shown: bool | None = None) -> Iterator[Callable[[], None]]:
    """A bar of `count` pieces of work while the context lasts; call what it gives after each piece.

    `shown` None draws it on a terminal and in a notebook once the work has taken two seconds; True at once and
    anywhere; False never.
    """
    if shown is False or (shown is None and not is_watched()):
        yield lambda: None
        return
    bar = _Bar(title, count, PATIENCE if shown is None else 0.0)
    try:
        yield bar.advance
    finally:
        bar.close()


@contextmanager
def waiting(title: str, *, shown: bool | None = None) -> Iterator[None]:
    """A line with the time passed while the context lasts, for one call that does not say how far it is.

    `shown` as in `progress_bar`. Another thread draws: the call must release the interpreter, as calls of C libraries
    do.
    """
    if shown is False or (shown is None and not is_watched()):
        yield
        return
    over = threading.Event()
    clock = threading.Thread(target=_tick, args=(title, PATIENCE if shown is None else 0.0, over), daemon=True)
    clock.start()
    try:
        yield
    finally:
        over.set()
        clock.join()


def _tick(title: str, delay: float, over: threading.Event) -> None:
    """Draw the time passed until `over` is set; remove the line then."""
    begin = monotonic()
    if over.wait(delay):
        return
    while True:
        sys.stderr.write(f"\r{title}, {duration(monotonic() - begin)} so far\033[K")
        sys.stderr.flush()
        if over.wait(_REFRESH):
            break
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()


def is_watched() -> bool:
    """Whether a person sees stderr: it is a terminal, or the output of a notebook cell."""
    if sys.stderr is None:
        return False
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")


class _Bar:
    """The line that is drawn again and again."""

    def __init__(self, title: str, count: int, delay: float) -> None:
        self._title, self._count, self._done = title, max(count, 1), 0
        self._begin = monotonic()
        self._next = self._begin + delay
        self._drawn = False

    def advance(self) -> None:
        """One piece of work more is done."""
        self._done += 1
        now = monotonic()
        if now >= self._next:
            self._next = now + _REFRESH
            self._drawn = True
            sys.stderr.write(f"\r{line(self._title, self._done, self._count, now - self._begin)}\033[K")
            sys.stderr.flush()

    def close(self) -> None:
        """Remove the line."""
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def line(title: str, done: int, count: int, seconds: float) -> str:
    """The text of a bar: `done` pieces of `count` in `seconds`, with the time left at the same pace."""
    filled = round(_WIDTH * done / count)
    left = seconds * (count - done) / max(done, 1)
    bar = "━" * filled + "─" * (_WIDTH - filled)
    return f"{title} {bar} {100 * done // count:3d} %, {done} of {count}, {duration(left)} left"


def duration(seconds: float) -> str:
    """'12 s', '3 min 20 s', '2 h 05 min'."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
