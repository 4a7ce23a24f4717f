"""Forked processes that may be killed: what they do, and what is left of them."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

LONGEST = 120.0
"""Time after which a child hangs, s."""


class Child:
    """A fork of this process that calls ``work(begin)``; what it raises or returns is its answer, "" is good.

    It inherits what is loaded and compiled here, so that it costs milliseconds, and it can crash without harm.
    """

    def __init__(self, work: Callable[[Callable[[], None]], str | None]) -> None:
        self._pipe, there = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115  progress and notices
            try:
                answer = work(lambda: _write(there, b"!")) or ""
            except BaseException as error:
                answer = f"{type(error).__name__}: {error}"
            with suppress(BaseException):
                _write(there, b"=" + answer.encode()[:2000])
            os._exit(0)
        os.close(there)
        self._read = b""

    def wait_begun(self) -> None:
        """Until the work calls `begin`, or ends."""
        end = time.monotonic() + LONGEST
        while not self._read and self._more(end - time.monotonic()):
            pass

    def said(self) -> int:
        """How often the work called `begin`; more where it is over."""
        while self._more(0.001):
            pass
        return len(self._read)

    def send(self, number: int) -> None:
        """Send a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def answer(self) -> str:
        """What the work returned or raised once it is over; how it ended where it could not say."""
        end = time.monotonic() + LONGEST
        while self._more(end - time.monotonic()):
            pass
        hangs = time.monotonic() >= end
        if hangs:
            self.send(signal.SIGKILL)
        os.close(self._pipe)
        _, status = os.waitpid(self.pid, 0)
        if hangs:
            return f"hangs: not over after {LONGEST:.0f} s"
        if os.WIFSIGNALED(status):
            return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return self._read.partition(b"=")[2].decode(errors="replace")

    def _more(self, seconds: float) -> bool:
        if seconds <= 0.0 or not select.select([self._pipe], [], [], seconds)[0]:
            return False
        got = os.read(self._pipe, 4096)
        self._read += got
        return bool(got)


def in_child(work: Callable[[], str | None]) -> str:
    """The answer of a child that does `work`."""
    return Child(lambda begin: work()).answer()


def timed(work: Callable[[], object]) -> float:
    """How long `work` takes in a child, s; an error where it fails."""
    begun = time.perf_counter()
    answer = in_child(lambda: work() and None)
    if answer:
        raise RuntimeError(f"the work fails without a fault: {answer}")
    return time.perf_counter() - begun


def _write(pipe: int, content: bytes) -> None:
    os.write(pipe, content)
