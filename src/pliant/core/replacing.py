"""The one way in which the library writes files: whole, or not at all.

What is written stands in a new folder beside its place, is flushed to the disk, and then takes that place by a rename,
which the folder records on the disk too. An interrupted write, a full disk or a loss of power leaves the file that was
there. Files that a writer makes beside its own (steps of a series, arrays of an XDMF mesh) come along, before it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pliant.core.errors import InputError
from pliant.core.interrupts import undisturbed

_PART = ".part"
_NAME = 40
"""Characters of the name of the file in that of its folder: a name has at most 255 bytes."""


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """The path to write `path` to, of the same name in a folder of its own; it takes its place when the block ends.

    Where the block raises, nothing changes. A link keeps pointing to its file; devices and pipes are written directly.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    if not target.parent.is_dir():
        raise InputError(f"the folder of {path} does not exist; make it, or choose another file")
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name[:_NAME]}.", suffix=_PART, dir=target.parent))
    try:
        yield scratch / target.name
        written = sorted(file for file in scratch.rglob("*") if file.is_file())
        for file in sorted(written, key=lambda file: file == scratch / target.name):  # the one asked for comes last
            _move(file, target.parent / file.relative_to(scratch))
    finally:
        undisturbed(shutil.rmtree, scratch, True)  # interrupted, it closes a folder twice: an OSError over the Ctrl-C


def replace_text(path: str | Path, text: str) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def _move(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        shutil.copymode(target, file)
    _flush(file, os.O_RDONLY)
    os.replace(file, target)
    if hasattr(os, "O_DIRECTORY"):  # other systems have no handle of a folder
        _flush(target.parent, os.O_RDONLY | os.O_DIRECTORY)


def _flush(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
