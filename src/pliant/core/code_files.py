"""Files of machine code: one for each signature and processor of a kernel, checksummed, written at once or not at all.

What stands in them is unpickled and executed. A file that is cut short, damaged, of another version of Numba or of
other sources counts as missing, as does one that another user owns or may write to. Each file is complete in itself
and named after what it is for, so that processes which compile at the same time never mix their results.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

from pliant.core.numba_internals import dumps

SUFFIX = ".code"
_DIGEST = 16
"""Bytes of the checksum at the head of a file."""


class CodeFiles:
    """Files of the kernel called `name` in `folder`; `stamp` stands for its sources. `private` ones are of one user."""

    def __init__(self, folder: Path, name: str, stamp: str, *, private: bool) -> None:
        self._folder, self._name, self._private = folder, name, private
        self._made_by = (numba.__version__, stamp)

    @property
    def exist(self) -> bool:
        """Whether there is machine code of any signature."""
        return any(self._folder.glob(f"{self._name}.*{SUFFIX}"))

    def load(self, key: Any) -> Any:
        """What was saved for `key`, a signature with a processor; None where there is no good file."""
        try:
            with self._path(key).open("rb") as file:
                if self._private and not _is_own(file.fileno()):
                    return None
                content = file.read()
        except OSError:
            return None
        body = memoryview(content)[_DIGEST:]
        if _checksum(body) != content[:_DIGEST]:
            return None
        made_by, rest = pickle.loads(body)
        if made_by != self._made_by:
            return None  # the rest may need what this version of Numba has not
        found, data = pickle.loads(rest)
        return data if found == key else None

    def save(self, key: Any, data: Any) -> None:
        """Keep `data` for `key`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        body = pickle.dumps((self._made_by, dumps((key, data))), protocol=pickle.HIGHEST_PROTOCOL)
        path = self._path(key)
        partial = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}.part")
        try:
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write(_checksum(body) + body)
            os.replace(partial, path)
        finally:
            with suppress(OSError):
                partial.unlink()

    def _path(self, key: Any) -> Path:
        text = repr((*key, self._made_by)).encode()
        return self._folder / f"{self._name}.{hashlib.blake2b(text, digest_size=8).hexdigest()}{SUFFIX}"


def _checksum(body: bytes | memoryview) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()


def _is_own(file: int) -> bool:
    """Whether an open file is of this user or of the system, and nobody else can write to it."""
    if not hasattr(os, "getuid"):
        return True
    found = os.fstat(file)
    return found.st_uid in (0, os.getuid()) and not found.st_mode & 0o022
