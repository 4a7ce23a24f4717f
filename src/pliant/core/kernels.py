"""Compilation of kernels by Numba, cached on disk, with a notice while a first run compiles.

Kernels are ordinary functions under `@kernel` (called from Python) or `@inline` (called from kernels only). Their
machine code is stored in the user's cache folder (`PLIANT_CACHE_DIR` overrides it), so a kernel is compiled once per
machine; `pliant warmup` does it ahead. Numba's own cache depends on the path and date of a kernel's file and misses
changes of inlined functions. Here the cache depends on content: one folder for each module, named after a digest of its
syntax tree and of what it imports for its kernels. Copies of the same sources use the same folder, also where only
documentation, comments or functions that are not compiled differ.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
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
    CacheImpl._locator_classes = [_ByContent]  # Numba has no argument for the location of its cache
    try:
        compiled: Callable[..., Any] = numba.njit(
            cache=True, error_model="numpy", boundscheck=False, fastmath=_FAST_MATH, **options
        )(function)
    finally:
        CacheImpl._locator_classes = usual
    return compiled


class _ByContent(_CacheLocator):
    """Location of the cached code of `function`, by its content."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._digest = _digest(function.__module__)
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
        return "kernel"  # instead of the line: qualified names identify the kernels of a module


@cache
def _digest(module: str) -> str:
    """Digest of the byte code of a module and of what its kernels may take from elsewhere: kernels and constants. It is
    first asked for while the module is imported, whose code is then at hand.
    """
    digest = hashlib.sha1(usedforsecurity=False)
    _add_code(digest, _module_code(module))
    for name, value in sorted(vars(sys.modules[module]).items()):
        trace = _trace(value, module)
        if trace and not name.startswith("__"):
            digest.update(f"{name}{trace}".encode())
    return digest.hexdigest()[:12]


def _module_code(module: str) -> CodeType:
    frame = sys._getframe()
    while frame.f_code.co_name != "<module>" or frame.f_globals.get("__name__") != module:
        if frame.f_back is None:
            raise RuntimeError(f"a kernel of {module} is defined outside of its import; define it at the top level")
        frame = frame.f_back
    return frame.f_code


def _add_code(digest: Any, code: CodeType) -> None:
    """Add what `code` does, with that of the functions and classes in it, and without names of files, lines and
    documentation, which is the first constant.
    """
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)).encode())
    for index, constant in enumerate(code.co_consts):
        if isinstance(constant, CodeType):
            _add_code(digest, constant)
        elif index or not isinstance(constant, str):
            digest.update(_stable(constant).encode())


def _stable(constant: Any) -> str:
    """Text of a constant; sets are sorted, since their order differs from process to process."""
    return repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant)


def _trace(value: Any, module: str) -> str:
    if isinstance(value, Dispatcher):
        function = value.py_func
        return "" if function.__module__ == module else _digest(function.__module__)
    if isinstance(value, ModuleType) and value.__name__.startswith("pliant."):
        return "".join(_trace(own, module) for own in vars(value).values() if isinstance(own, Dispatcher))
    if isinstance(value, type) and issubclass(value, tuple):
        return repr(getattr(value, "_fields", ""))  # kernels see named tuples by the order of their fields
    return repr(value) if isinstance(value, bool | int | float | str | tuple | np.ndarray) else ""


@cache
def cache_folder() -> Path:
    """Folder of the compiled kernels: PLIANT_CACHE_DIR, else the user's cache, else the temporary folder."""
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
    """Count of kernels that this process has compiled, as they were not in the cache."""
    return _notice.count
