"""Compilation of kernels by Numba, cached on disk, with a notice while a first run compiles.

Kernels are ordinary functions under `@kernel` (called from Python) or `@inline` (called from kernels only). A wheel
carries their machine code for processors of the level x86-64-v3 (`make wheel`), loaded from the package, which may be
read-only. On other processors, and for edited sources, a kernel is compiled on first use and stored in the user's cache
folder (`PLIANT_CACHE_DIR` overrides it), so once per machine; `pliant warmup` does it ahead.

Numba's own cache depends on the path and date of a kernel's file and misses changes of inlined functions. Here it
depends on content: one folder for each module, named after a digest of its byte code and of what it imports for its
kernels. Copies of the same sources use the same folder, also where only documentation, comments or functions that are
not compiled differ.

`PLIANT_DEBUG=1` compiles kernels with checked bounds, into folders of their own: an index outside of an array is an
`IndexError` instead of damaged memory, at about twice the time. `make test-debug` runs the tests so.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite import binding
from numba.core import event

from pliant.core.code_files import CodeFiles
from pliant.core.interrupts import undisturbed
from pliant.core.numba_internals import (
    MISSING,
    CacheImpl,
    CacheLocator,
    Dispatcher,
    FunctionCache,
    rtsys,
    use_cache,
)

PACKAGED = Path(__file__).parents[1] / "_kernels"
"""Folder of the machine code that a wheel carries; absent from a source checkout."""

PORTABLE = (
    "x86-64-v3",
    "+64bit,+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,"
    "+sse4.1,+sse4.2,+ssse3,+xsave",
)
"""Processor and features, in LLVM's words, that packaged machine code is compiled for: those of every x86-64 processor
since 2015. Numba takes them from NUMBA_CPU_NAME and NUMBA_CPU_FEATURES.
"""

DEBUG = os.environ.get("PLIANT_DEBUG", "") not in ("", "0")
"""Whether kernels check the bounds of arrays; read once, when Pliant is imported."""

_FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}  # NaN and infinity keep their meaning


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on first use; the interpreter lock is released while it runs."""
    compiled = _compiled(function, _KernelLocator, nogil=True)
    if not _NUMBERS.fullmatch(str(function.__annotations__.get("return"))):
        compiled.__class__ = _ArrayKernel
    _kernels.append(compiled)
    return compiled


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for use inside kernels, where LLVM inlines it."""
    return _compiled(function, _InlineLocator)


class _ArrayKernel(Dispatcher):  # type: ignore[misc]
    """A kernel that returns arrays, or tuples with names: Numba makes these with functions of Python. Where Ctrl-C came
    there, the kernel went on with an exception set, and ended in a `SystemError` or a segmentation fault.
    """

    def __call__(self, *given: Any) -> Any:
        return undisturbed(_call, self, *given)


_call = Dispatcher.__call__
_NUMBERS = re.compile(r"(tuple\[)?(None|int|float|bool)(, (int|float|bool))*\]?")
"""Annotations of results that are made without Python."""


def _compiled(function: Callable[..., Any], locator: type[_KernelLocator], **options: Any) -> Callable[..., Any]:
    dispatcher = numba.njit(error_model="numpy", boundscheck=DEBUG, fastmath=_FAST_MATH, **options)(function)
    if MISSING is None:
        use_cache(dispatcher, _KernelCache(function, locator))
    dispatcher._compile_for_args = partial(undisturbed, dispatcher._compile_for_args)
    compiled: Callable[..., Any] = dispatcher
    return compiled


class _KernelCache(FunctionCache):
    """Machine code of one kernel: that of the package where this processor can run it, else that of the user's folder.

    A damaged file counts as a missing one, as does a folder that cannot be written: the kernel is compiled again.
    """

    def __init__(self, function: Callable[..., Any], locator: type[_KernelLocator]) -> None:
        usual = CacheImpl._locator_classes
        CacheImpl._locator_classes = [locator]
        try:
            super().__init__(function)
        finally:
            CacheImpl._locator_classes = usual
        place, name, stamp = self._impl.locator, self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = CodeFiles(Path(place.get_cache_path()), name, stamp, private=True)
        self._packaged = CodeFiles(Path(place.packaged_folder), name, stamp, private=False)

    @property
    def is_stored(self) -> bool:
        """Whether the user's folder has machine code of the kernel."""
        return bool(self._cache_file.exist)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Stored machine code of a signature, or None. Numba would first import all that it compiles with, which
        takes a while; machine code needs no more of it than the allocator of arrays.
        """
        rtsys.initialize(target_context)
        found = self._load_overload(signature, target_context)
        _notice.loaded += found is not None
        return found

    def _load_overload(self, signature: Any, target_context: Any) -> Any:
        own = self._index_key(signature, target_context.codegen())
        packaged = (own[0], (own[1][0], *PORTABLE), own[2])
        if _runs_portable_code():
            found = self._rebuilt(self._packaged, packaged, target_context)
            if found is not None:
                return found
        return self._rebuilt(self._cache_file, own, target_context)

    def _rebuilt(self, files: CodeFiles, key: Any, target_context: Any) -> Any:
        try:
            data = files.load(key)
            return None if data is None else self._impl.rebuild(target_context, data)
        except Exception:  # written by a Numba that calls itself the same
            return None

    def _save_overload(self, signature: Any, data: Any) -> None:
        try:
            if self._impl.check_cachable(data):
                self._cache_file.save(self._index_key(signature, data.codegen), self._impl.reduce(data))
        except OSError as error:
            _notice.unsaved(error)


@cache
def _runs_portable_code() -> bool:
    """Whether the package carries machine code and this processor has all that it uses."""
    if DEBUG or not PACKAGED.is_dir():
        return False
    host = binding.get_host_cpu_features()
    return all(host.get(feature[1:], False) for feature in PORTABLE[1].split(","))


class _KernelLocator(CacheLocator):
    """Location of the cached code of `function`, by its content."""

    role = "kernel"

    def __init__(self, function: Callable[..., Any]) -> None:
        self._digest = _digest(function.__module__)
        self._name = f"{function.__module__.removeprefix('pliant.')}-{self._digest}{'-debug' * DEBUG}"

    @property
    def packaged_folder(self) -> str:
        return str(PACKAGED / self._name)

    @classmethod
    def from_function(cls, function: Callable[..., Any], path: str) -> _KernelLocator:
        return cls(function)

    def get_cache_path(self) -> str:
        return str(cache_folder() / self._name)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return self.role  # instead of the line: qualified names identify the kernels of a module


class _InlineLocator(_KernelLocator):
    role = "inline"  # needed to compile kernels, not to run them: a wheel leaves them out


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
    """Folder of the kernels compiled on this machine: PLIANT_CACHE_DIR, else the user's cache, else a private folder
    among the temporary ones. Where none is writable, kernels of the package still load and others are not kept.
    """
    given = os.environ.get("PLIANT_CACHE_DIR")
    candidates = [Path(given) / "kernels"] if given else [folder / "kernels" for folder in _usual_folders()]
    for folder in candidates:
        if _is_usable(folder):
            return folder
    if given:
        raise OSError(
            f"PLIANT_CACHE_DIR={given} is no folder for compiled kernels: it must be writable, and by nobody else; "
            "choose another one, or unset it"
        )
    return candidates[0]


def _usual_folders() -> list[Path]:
    """The user's cache, where there is a home, and a folder of this user among the temporary ones."""
    found = []
    with suppress(RuntimeError):  # a user without a home, as in containers
        found.append(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "pliant")
    with suppress(FileNotFoundError):  # no folder for temporary files
        user = os.getuid() if hasattr(os, "getuid") else "user"
        found.append(Path(tempfile.gettempdir()) / f"pliant-{user}")
    return [folder for folder in found if folder.is_absolute()] or [Path(os.devnull)]


def _is_usable(folder: Path) -> bool:
    """Whether this user, and nobody else, can write into `folder`, made if need be: what stands there is executed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.access(folder, os.W_OK) and all(_is_private(path) for path in (folder, folder.parent))
    except OSError:
        return False


def _is_private(folder: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    found = folder.stat()
    if found.st_uid not in (0, os.getuid()):
        return False
    if found.st_mode & stat.S_IWOTH:
        return bool(found.st_mode & stat.S_ISVTX)  # in a sticky folder nobody can replace what others own
    if found.st_mode & stat.S_IWGRP and found.st_uid == os.getuid():
        folder.chmod(found.st_mode & ~stat.S_IWGRP)  # made under a umask of 002
    return True


class _CompileNotice(event.Listener):
    """Shows one line while kernels of Pliant compile, and only then: a cached kernel triggers no event."""

    def __init__(self) -> None:
        self._depth = 0
        self._told = False
        self.count = 0
        self.loaded = 0
        self.shown = True

    def on_start(self, event: Any) -> None:
        self._depth += 1
        function = event.data["dispatcher"].py_func
        if self._depth > 1 or not function.__module__.startswith("pliant"):
            return
        self.count += 1
        if not self.shown:
            return
        if sys.stderr.isatty():
            sys.stderr.write(f"\rpliant: compiling kernels, first run only ({self.count}: {function.__name__})\033[K")
            sys.stderr.flush()
        elif self.count == 1:
            sys.stderr.write("pliant: compiling kernels, first run only; `pliant warmup` does it ahead\n")

    def unsaved(self, error: OSError | str) -> None:
        """Say once that compiled code cannot be kept, so that the next process compiles again."""
        if not self._told:
            self._told = True
            remedy = "install numba<0.69" if MISSING else "set PLIANT_CACHE_DIR to a folder"
            sys.stderr.write(f"pliant: compiled kernels are not kept ({error}); {remedy}\n")

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self.count and self.shown and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


_kernels: list[Any] = []
_notice = _CompileNotice()
event.register("numba:compile", _notice)
if MISSING is not None:
    _notice.unsaved(f"Numba {numba.__version__} keeps them in another way than Pliant knows: {MISSING}")


def hide_notice() -> None:
    """Compile without a notice in this process: its parent shows the progress."""
    _notice.shown = False


def compiled_count() -> int:
    """Count of kernels that this process has compiled, as they were not in the cache."""
    return _notice.count


def prepared_count() -> int:
    """Count of kernels that this process has compiled or loaded; while it grows, times are not those of the work."""
    return _notice.count + _notice.loaded


def stored_kernels() -> tuple[int, int]:
    """How many of the imported kernels have stored machine code, of this process or another, and their count."""
    if MISSING is not None:
        return 0, len(_kernels)
    return sum(each._cache.is_stored for each in _kernels), len(_kernels)
