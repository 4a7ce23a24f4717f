"""The one way to compile a kernel: Numba, cached on disk, with a line on screen while a first run compiles.

Kernels are ordinary functions under `@kernel` (called from Python) or `@inline` (called from kernels only). Their
machine code is kept in the user's cache folder (`PLIANT_CACHE_DIR` overrides it), so a kernel is compiled once per
machine; `pliant warmup` does it ahead. Numba's own cache goes by the path and the time of a kernel's file, and does not
notice when a function that the kernel inlines changes. Here code is kept by content: one folder for each module, named
after a digest of its text and of what it imports for its kernels. Other copies of the same sources find it too.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import event
from numba.core.caching import CacheImpl, _CacheLocator
from numba.core.dispatcher import Dispatcher

_FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}  # NaN and infinity keep their meaning


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use; the interpreter lock is released while it runs."""
    return _compiled(function, nogil=True)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for use inside kernels, where LLVM inlines it."""
    return _compiled(function)


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    usual = CacheImpl._locator_classes
    CacheImpl._locator_classes = [_ByContent]  # Numba's one way to say where code is kept
    try:
        compiled: Callable[..., Any] = numba.njit(
            cache=True, error_model="numpy", boundscheck=False, fastmath=_FAST_MATH, **options
        )(function)
    finally:
        CacheImpl._locator_classes = usual
    return compiled


class _ByContent(_CacheLocator):
    """Numba's question where the code of `function` is kept, answered by what it is made of."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._line = function.__code__.co_firstlineno
        self._digest = _digest(function.__module__, function.__code__.co_filename)
        self._folder = cache_folder() / f"{function.__module__.removeprefix('pliant.')}-{self._digest}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], path: str) -> _ByContent:
        locator = cls(function)
        locator.ensure_cache_path()
        return locator

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return str(self._line)


@cache
def _digest(module: str, path: str) -> str:
    """Digest of the text of a module and of all that its kernels may take from elsewhere: kernels and constants."""
    digest = hashlib.sha1(Path(path).read_bytes(), usedforsecurity=False)
    for name, value in sorted(vars(sys.modules[module]).items()):
        if not name.startswith("__"):
            digest.update(f"{name}{_trace(value, module)}".encode())
    return digest.hexdigest()[:12]


def _trace(value: Any, module: str) -> str:
    if isinstance(value, Dispatcher):
        function = value.py_func
        return "" if function.__module__ == module else _digest(function.__module__, function.__code__.co_filename)
    if isinstance(value, ModuleType) and value.__name__.startswith("pliant."):
        return "".join(_trace(own, module) for own in vars(value).values() if isinstance(own, Dispatcher))
    return repr(value) if isinstance(value, bool | int | float | str | tuple | np.ndarray) else ""


@cache
def cache_folder() -> Path:
    """Folder of the compiled kernels: the first writable of PLIANT_CACHE_DIR, the user's cache and the temporary
    folder.
    """
    user = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pliant"
    given = os.environ.get("PLIANT_CACHE_DIR")
    candidates = [Path(given)] if given else [user, Path(tempfile.gettempdir()) / "pliant"]
    for candidate in candidates:
        folder = candidate / "kernels"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise OSError(
        f"no folder for compiled kernels is writable, tried {candidates}; set PLIANT_CACHE_DIR to one that is"
    )


class _CompileNotice(event.Listener):
    """Shows one line while kernels of Pliant compile, and only then: a cached kernel triggers no event."""

    def __init__(self) -> None:
        self._depth = 0
        self.count = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        function = event.data["dispatcher"].py_func
        if self._depth > 1 or not function.__module__.startswith("pliant"):
            return
        self.count += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\rpliant: compiling kernels, first run only ({self.count}: {function.__name__})\033[K")
            sys.stderr.flush()
        elif self.count == 1:
            sys.stderr.write("pliant: compiling kernels, first run only; `pliant warmup` does it ahead\n")

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self.count and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


_notice = _CompileNotice()
event.register("numba:compile", _notice)


def compiled_count() -> int:
    """Kernels that this process has compiled, because no earlier one had."""
    return _notice.count
