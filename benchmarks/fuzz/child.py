"""The process that reads mutated files, bounded in memory; its parent bounds its time and sees how it ends."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import traceback
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.readers import READERS, Reader
from pliant.core.errors import PliantError
from pliant.mesh import io

GROWTH = 2**30
"""Bytes of address space that reading may take beyond what the process has after it has read valid files."""
READ, REFUSED, TOO_LARGE = "read", "refused", "refused, as it announces more than 1 GiB"


def case_of(name: str, seed: int, index: int) -> tuple[str, bytes]:
    """Ending and bytes of the mutated file `index` of a reader."""
    return READERS[name].case(np.random.default_rng([seed, zlib.crc32(name.encode()), index]))


def outcome_of(reader: Reader, path: Path) -> str:
    """What became of a file: one of those above, or the class of another error and where it was raised."""
    if reader.forks:
        return _forked(reader, path)
    return _outcome(reader, path)


def _outcome(reader: Reader, path: Path) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(path)
    except PliantError as error:
        str(error).encode("utf-8", "backslashreplace")
        return TOO_LARGE if _out_of_memory(error) else REFUSED
    except Exception as error:
        return f"{type(error).__name__}: {_place(error)}"
    return READ


def _out_of_memory(error: BaseException) -> bool:
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and len(causes) < 20:
        causes.append(cause)
    return any(isinstance(one, MemoryError) for one in causes)


def _place(error: BaseException) -> str:
    """The last line of the library on the way to an error, and its message."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "pliant" in frame.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno} {frames[-1].name}" if frames else "?"
    return f"{where}: {str(error)[:120]!a}"


def _forked(reader: Reader, path: Path) -> str:
    """The outcome in a process of its own, whose death counts as a refusal: so `in_child_process` reports it."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(there)
        os.write(here, _outcome(reader, path).encode("ascii", "replace")[:2000])
        os._exit(0)
    os.close(here)
    with os.fdopen(there, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said or REFUSED


def _here(function: Any, path: Path, *arguments: Any) -> Any:
    """In place of `in_child_process`, where the process that reads is one of its own already."""
    return function(path, *arguments)


def main() -> None:
    """Read the files that the arguments (reader, seed, first, last) name; one line of output for each."""
    name, seed, first, last = sys.argv[1], *map(int, sys.argv[2:5])
    io.in_child_process = _here
    reader, told = READERS[name], os.fdopen(os.dup(1), "w", buffering=1)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)  # the readers of some formats talk
    with tempfile.TemporaryDirectory() as folder:
        for ending, data in reader.samples():
            path = Path(folder) / f"case{ending}"
            path.write_bytes(data)
            outcome_of(reader, path)
        _bound_memory()
        print("ready", file=told)
        for index in range(first, last):
            ending, data = case_of(name, seed, index)
            path = Path(folder) / f"case{ending}"
            path.write_bytes(data)
            print(f"{index} {outcome_of(reader, path)}", file=told)


def _bound_memory() -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + GROWTH, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
