"""Gmsh on what others made, in a process of its own: a damaged file or surface may crash it, and the caller with it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from pliant.core.errors import MeshError, PliantError

_CHILD = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from pliant.mesh.child_process import main; main()"
)
_T = TypeVar("_T")


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
            f"{name or source} ended the program that meshes it ({how}): it is damaged or crosses itself; export it "
            "again, solids as STEP, or mend it in the program that made it"
        )
    value, error = pickle.loads(done.stdout)
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]


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
