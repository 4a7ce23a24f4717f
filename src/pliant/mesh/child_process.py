"""Readers and Gmsh in a process of their own: on a damaged file they may crash, run for ever or fill the memory.

This holds for the CAD kernel, for Gmsh that fills surfaces, and for the readers of rare mesh formats. While files are
read, processor time and memory of the process are bounded by the size of the file.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pliant.core.errors import MeshError, PliantError

_CHILD = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from pliant.mesh.child_process import main; main()"
)
_T = TypeVar("_T")
SECONDS, BYTES_A_SECOND = 10, 50_000
"""Processor time for every file, s, and bytes that another second is added for: ten times what slow readers take."""
MEMORY, RATIO = 2**30, 100
"""Memory for every file, bytes, and how many times the size of the file is added."""


def in_child_process(function: Callable[..., _T], source: Any, *arguments: Any, name: str = "") -> _T:
    """``function(source, *arguments)``, computed in a child process; `function` is one of a module, found by its name.

    Errors of the library pass through. A process that ends in the middle is a `MeshError` that names the source, a file
    or by its `name`.
    """
    call = pickle.dumps(sys.path) + pickle.dumps((function.__module__, function.__name__, (source, *arguments)))
    done = subprocess.run([sys.executable, "-c", _CHILD], input=call, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0 or not done.stdout:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
        raise MeshError(
            f"{name or source} ended the program that works on it ({how}): it is damaged or crosses itself; export it "
            "again, solids as STEP, meshes as .vtu, or mend it in the program that made it"
        )
    value, error = pickle.loads(done.stdout)
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]


@contextmanager
def bounded(path: Path) -> Iterator[None]:
    """Bound the processor time and the memory of this process while it reads `path`: beyond them it ends."""
    try:
        import resource
    except ImportError:  # not on Windows
        yield
        return
    size = path.stat().st_size
    used = resource.getrusage(resource.RUSAGE_SELF)
    now = sum(int(line.split()[1]) for line in _status() if line.startswith("VmSize:")) * 1024
    wanted = {
        resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + SECONDS + size // BYTES_A_SECOND,
        **({resource.RLIMIT_AS: now + MEMORY + RATIO * size} if now else {}),
    }
    before = {limit: resource.getrlimit(limit) for limit in wanted}
    for limit, value in wanted.items():
        soft, hard = before[limit]
        allowed = [one for one in (soft, hard, value) if one != resource.RLIM_INFINITY]
        resource.setrlimit(limit, (min(allowed), hard))
    try:
        yield
    finally:
        for limit, pair in before.items():
            resource.setrlimit(limit, pair)


def _status() -> list[str]:
    """What the system says of this process; nothing where it says nothing."""
    status = Path("/proc/self/status")
    return status.read_text().splitlines() if status.exists() else []


def main() -> None:
    """The child: a call from standard input, its result to standard output, where the CAD kernel must not write."""
    result = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    module, name, arguments = pickle.load(sys.stdin.buffer)
    try:
        answer: tuple[Any, PliantError | None] = getattr(import_module(module), name)(*arguments), None
    except PliantError as error:
        answer = None, error
    with result:
        pickle.dump(answer, result)
