"""What Pliant uses of Numba beyond its documented interface, in one place: where machine code is cached, and how.

A version of Numba that has it elsewhere leaves `MISSING` with the reason: kernels are then compiled in every process,
and a line on standard error says so (`core.kernels`). Known to work are 0.60 to 0.68.
"""

from __future__ import annotations

from typing import Any

import numba

__all__ = [
    "MISSING",
    "CacheImpl",
    "CacheLocator",
    "Dispatcher",
    "FunctionCache",
    "dumps",
    "rtsys",
    "use_cache",
]

MISSING: Exception | None = None
"""Why this version of Numba cannot be told where to keep machine code; None where it can."""
CacheImpl: Any = None
FunctionCache: Any = object
CacheLocator: Any = object
rtsys: Any = None
dumps: Any = None

try:
    from numba.core.caching import CacheImpl, FunctionCache  # type: ignore[no-redef]
    from numba.core.caching import _CacheLocator as CacheLocator  # type: ignore[no-redef]
    from numba.core.runtime import rtsys  # type: ignore[no-redef]
    from numba.core.serialize import dumps  # type: ignore[no-redef]

    _ = CacheImpl._locator_classes, FunctionCache._index_key, FunctionCache._load_overload
except (ImportError, AttributeError) as error:
    MISSING = error

Dispatcher: Any = type(numba.njit(lambda: None))
"""The class of compiled functions."""


def use_cache(compiled: Any, cache: Any) -> None:
    """Let `compiled` take its machine code from `cache`; Numba has no argument for the location of one."""
    compiled._cache = cache
