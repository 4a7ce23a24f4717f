"""The one way to compile a kernel: Numba, cached on disk, with a line on screen while a first run compiles.

Kernels are ordinary functions under `@kernel` (called from Python) or `@inline` (called from kernels only). Numba keeps
their machine code beside the source, or in the user's cache folder where that is not writable, so a kernel is
compiled once per machine. `pliant warmup` does it ahead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "boundscheck": False}


def kernel(function: Function) -> Function:
    """Compile `function` on first use; contraction and reassociation of floating point are allowed, NaN is kept."""
    compiled: Function = numba.njit(fastmath={"contract", "reassoc", "nsz", "arcp"}, nogil=True, **_OPTIONS)(function)
    return compiled


def inline(function: Function) -> Function:
    """Compile `function` for use inside kernels, inlined into its callers by LLVM."""
    compiled: Function = numba.njit(fastmath={"contract", "reassoc", "nsz", "arcp"}, **_OPTIONS)(function)
    return compiled


class _CompileNotice(event.Listener):
    """Prints one progress line while kernels compile, and only then (cached kernels trigger no event)."""

    def __init__(self) -> None:
        self._depth = 0
        self._count = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        name = str(getattr(event.data["dispatcher"], "py_func", None) and event.data["dispatcher"].py_func.__name__)
        if self._depth == 1 and event.data["dispatcher"].py_func.__module__.startswith("pliant"):
            self._count += 1
            sys.stderr.write(f"\rpliant: compiling kernels, first run only ({self._count}: {name}) \033[K")
            sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._count:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


event.register("numba:compile", _CompileNotice())
