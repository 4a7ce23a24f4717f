"""Stage timers: how long each stage of a step took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class StageTimers:
    """Accumulates wall-clock seconds by stage name.

    >>> timers = StageTimers()
    >>> with timers.stage("factorize"):
    ...     pass
    >>> list(timers.seconds)
    ['factorize']
    """

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the body of a ``with`` block and add it to stage `name`."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start
