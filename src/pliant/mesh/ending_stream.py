"""Streams that end: some readers of text formats read lines for ever where a file ends before its last section does."""

from __future__ import annotations

import io
from pathlib import Path

_PATIENCE = 100
"""Empty lines at the end of a file after which its reader waits for something that does not come."""


class _EndingBytes(io.BufferedReader):
    _ended = 0

    def readline(self, size: int | None = -1) -> bytes:
        """The next line; an `EOFError` where none has come for long."""
        line = super().readline(size)
        self._ended = 0 if line else _counted(self._ended)
        return line


class _EndingText(io.TextIOWrapper):
    _ended = 0

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """The next line; an `EOFError` where none has come for long."""
        line = super().readline(size)
        self._ended = 0 if line else _counted(self._ended)
        return line


def ending_stream(path: Path, *, text: bool) -> io.BufferedReader | io.TextIOWrapper:
    """The file `path`, open, whose `readline` raises an `EOFError` where a reader does not notice its end."""
    stream = _EndingBytes(io.FileIO(path))
    return _EndingText(stream) if text else stream


def _counted(ended: int) -> int:
    if ended >= _PATIENCE:
        raise EOFError("it ends in the middle")
    return ended + 1
