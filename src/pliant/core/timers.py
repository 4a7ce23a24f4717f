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

    __slots__ = ("_open", "seconds")

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[tuple[str, float]] = []

    def stage(self, name: str) -> StageTimers:
        """Time the body of a ``with`` block and add it to stage `name`. Blocks may be nested. A small step has nine of
        them, so that they share one object instead of a generator each.
        """
        self._open.append((name, perf_counter()))
        return self

    def since(self, name: str, begin: float) -> float:
        """Add the time since `begin`, of ``perf_counter()``, to stage `name`: a third of the cost of a block, for the
        stages of a step. Returns the time now, at which the next stage may begin.
        """
        now = perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - begin
        return now

    def __enter__(self) -> None:
        """The stage was begun by `stage`."""

    def __exit__(self, *error: object) -> None:
        """End the innermost stage."""
        name, start = self._open.pop()
        self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start
