"""The one way to compile a kernel: Numba, cached on disk, with a line on screen while a first run compiles.

Kernels are ordinary functions under `@kernel` (called from Python) or `@inline` (called from kernels only). Their
machine code is kept in the user's cache folder (`PLIANT_CACHE_DIR` overrides it), so a kernel is compiled once per
machine; `pliant warmup` does it ahead. Numba notices when the file of a kernel changes, but not when a function that
the kernel inlines does: the folder's name therefore carries a fingerprint of all files with inlined functions.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import event

_FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}  # NaN and infinity keep their meaning


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use; the interpreter lock is released while it runs."""
    return _compiled(function, nogil=True)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for use inside kernels, where LLVM inlines it."""
    return _compiled(function)


def _compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        compiled: Callable[..., Any] = numba.njit(
            cache=True, error_model="numpy", boundscheck=False, fastmath=_FAST_MATH, **options
        )(function)
    finally:
        numba.config.CACHE_DIR = previous
    return compiled


@cache
def cache_folder() -> Path:
    """Folder of the compiled kernels: the first writable of PLIANT_CACHE_DIR, the user's cache and the temporary
    folder.
    """
    user = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pliant"
    given = os.environ.get("PLIANT_CACHE_DIR")
    candidates = [Path(given)] if given else [user, Path(tempfile.gettempdir()) / "pliant"]
    for candidate in candidates:
        folder = candidate / f"kernels-{_fingerprint()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise OSError(
        f"no folder for compiled kernels is writable, tried {candidates}; set PLIANT_CACHE_DIR to one that is"
    )


def _fingerprint() -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        text = path.read_bytes()
        if b"@inline" in text:
            digest.update(text)
    return digest.hexdigest()[:12]


class _CompileNotice(event.Listener):
    """Shows one line while kernels of Pliant compile, and only then: a cached kernel triggers no event."""

    def __init__(self) -> None:
        self._depth = 0
        self._count = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        function = event.data["dispatcher"].py_func
        if self._depth > 1 or not function.__module__.startswith("pliant"):
            return
        self._count += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\rpliant: compiling kernels, first run only ({self._count}: {function.__name__})\033[K")
            sys.stderr.flush()
        elif self._count == 1:
            sys.stderr.write("pliant: compiling kernels, first run only; `pliant warmup` does it ahead\n")

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._count and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


event.register("numba:compile", _CompileNotice())
