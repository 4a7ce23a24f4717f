"""Stage timers: how long each stage of a step took."""

from __future__ import annotations

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

    def stage(self, name: str) -> _Stage:
        """Time the body of a ``with`` block and add it to stage `name`."""
        return _Stage(self.seconds, name)


class _Stage:
    """A ``with`` block that is timed. Small steps have eight of them: it is lighter than a generator."""

    __slots__ = ("_name", "_seconds", "_start")

    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self._seconds, self._name = seconds, name

    def __enter__(self) -> None:
        self._start = perf_counter()

    def __exit__(self, *error: object) -> None:
        self._seconds[self._name] = self._seconds.get(self._name, 0.0) + perf_counter() - self._start
