"""Time of a step inside compiled code: calls from Python into kernels, LAPACK and the QP solver, counted and timed.

The names by which the library calls them are replaced by timed ones for a while. What a call takes to read its
arguments counts as inside; everything between calls is Python. What the timing of a call takes, measured on a function
that does nothing, is taken off. Times are by the clock: that of processor time takes as long as a small kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from numba.core.dispatcher import Dispatcher
from scipy.linalg import lapack

LAPACK = ("dpotrf", "dpotrs", "dgesv", "dpstrf", "dtrtrs")


class KernelCalls:
    """Counts and times calls into compiled code inside `observed` blocks: `count` calls, `seconds` in them and
    `outside` seconds of the block between them.
    """

    def __init__(self) -> None:
        self.count, self.seconds, self.outside = 0, 0.0, 0.0
        self._cost = 0.0
        self._cost = self._cost_of_a_call()
        self._places = [
            *((vars(module), name, self._timed(value)) for module, name, value in _kernels()),
            *((vars(lapack), name, self._timed(getattr(lapack, name))) for name in LAPACK),
        ]

    @contextmanager
    def observed(self) -> Iterator[None]:
        """Count and time the calls of the ``with`` block, from zero."""
        self.count, self.seconds, self.outside = 0, 0.0, 0.0
        before = [(names, name, names[name]) for names, name, _ in self._places]
        for names, name, timed in self._places:
            names[name] = timed
        start = perf_counter()
        try:
            yield
        finally:
            self.outside = perf_counter() - start - self.seconds - self.count * self._cost
            for names, name, function in before:
                names[name] = function

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            start = perf_counter()
            result = function(*args, **options)
            self.seconds += perf_counter() - start
            self.count += 1
            return result

        return call

    def _cost_of_a_call(self) -> float:
        """Seconds that the timing of a call takes outside of what it times."""
        timed, count = self._timed(lambda: None), 2000
        start = perf_counter()
        for _ in range(count):
            timed()
        return (perf_counter() - start - self.seconds) / count


def _kernels() -> list[tuple[Any, str, Any]]:
    """Modules of the library, and the names in them that stand for kernels."""
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "pliant"]
    return [
        (module, name, value)
        for module in modules
        for name, value in list(vars(module).items())
        if isinstance(value, Dispatcher)
    ]
