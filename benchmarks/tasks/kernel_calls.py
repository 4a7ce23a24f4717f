"""Time of a step inside compiled code: calls from Python into kernels, LAPACK and the QP solver, counted and timed.

The names by which the library calls them are replaced by timed ones for a while. What a call takes to read its
arguments counts as inside; everything between calls is Python. The processor time of the clock itself, which is read
twice a call, is taken off.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from scipy.linalg import lapack

LAPACK = ("dpotrf", "dpotrs", "dgesv", "dpstrf", "dtrtrs")


class KernelCalls:
    """Counts and times calls into compiled code inside `observed` blocks: `count` calls, `seconds` in them."""

    def __init__(self) -> None:
        self.count, self.seconds = 0, 0.0
        self._clock = float(np.median(np.diff([process_time() for _ in range(2000)])))
        self._places = [
            *((vars(module), name, self._timed(value)) for module, name, value in _kernels()),
            *((vars(lapack), name, self._timed(getattr(lapack, name))) for name in LAPACK),
        ]

    @contextmanager
    def observed(self) -> Iterator[None]:
        """Count and time the calls of the ``with`` block, from zero."""
        self.count, self.seconds = 0, 0.0
        before = [(names, name, names[name]) for names, name, _ in self._places]
        for names, name, timed in self._places:
            names[name] = timed
        try:
            yield
        finally:
            for names, name, function in before:
                names[name] = function

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            start = process_time()
            result = function(*args, **options)
            self.seconds += process_time() - start - self._clock
            self.count += 1
            return result

        return call


def _kernels() -> list[tuple[Any, str, Any]]:
    """Modules of the library, and the names in them that stand for kernels."""
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "pliant"]
    return [
        (module, name, value)
        for module in modules
        for name, value in list(vars(module).items())
        if isinstance(value, Dispatcher)
    ]
