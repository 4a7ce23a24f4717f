"""A bound on the memory that one case may take: it fails then, and the worker and its other cases live on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pliant.core.checks import positive
from pliant.core.errors import CapacityError, InputError

_STATUS = Path("/proc/self/status")
_LEAST = 2**20


def checked_memory(memory: Any) -> int | None:
    """The bound in bytes; an error where it is no bound, or where the system cannot keep to one."""
    if memory is None:
        return None
    bound = int(positive("memory of a sweep", memory, unit="bytes"))
    if bound < _LEAST:
        raise InputError(f"memory of a sweep is in bytes, got {bound}: a case takes more than 1 MB; 2e9 are 2 GB")
    if not _STATUS.exists():
        raise InputError("a bound on the memory of a case needs Linux (RLIMIT_DATA); leave out memory here")
    return bound


@contextmanager
def bounded(memory: int | None) -> Iterator[None]:
    """While it lasts, this process may allocate at most `memory` bytes more than it has; `CapacityError` beyond."""
    if memory is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _allocated() + memory
    if before[1] != resource.RLIM_INFINITY:
        limit = min(limit, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    except MemoryError as error:
        raise CapacityError(
            f"the case needs more than its bound of {memory / 1e6:.0f} MB beside what its worker has ({error}); "
            "raise memory, or make the case smaller"
        ) from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _allocated() -> int:
    """Private memory of this process, bytes."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmData:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("no VmData in /proc/self/status")
