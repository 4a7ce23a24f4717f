"""The one file format of the library: an .npz archive of named arrays with a JSON header, without pickle.

The header has under "format" a tag with a version, such as "pliant run 1". Writing is atomic: to a temporary file
beside the target, flushed to the disk, then renamed. An interrupted write leaves the previous file unchanged.
"""

from __future__ import annotations

import json
import math
import os
import threading
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pliant.core.errors import InputError

_HEADER = "header"
_DAMAGED = (
    ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError, NotImplementedError, RuntimeError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What readers of damaged archives, arrays and JSON raise."""
UNPACKED = 2**30
"""Bytes that every file may unpack to; beyond it, at most `RATIO` times its own size. A small file must not fill the
memory, and floating-point numbers of real runs are compressed by less than 10."""
RATIO = 20


def write_archive(
    path: str | Path,
    format_tag: str,
    arrays: Mapping[str, Any],
    *,
    header: Mapping[str, Any] | None = None,
    compress: bool = True,
) -> Path:
    """Write `arrays` by name and `header` (JSON values) to `path` (.npz) and return the path."""
    path = Path(path)
    target = path.resolve()  # a link keeps pointing to the file, whose content is replaced
    partial = target.with_name(f"{target.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        with partial.open("wb") as stream:
            write_stream(stream, format_tag, arrays, header=header, compress=compress)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, target)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
    return path


def write_stream(
    stream: BinaryIO,
    format_tag: str,
    arrays: Mapping[str, Any],
    *,
    header: Mapping[str, Any] | None = None,
    compress: bool = True,
) -> None:
    """Write the same archive to an open binary `stream`."""
    if _HEADER in arrays:
        raise InputError(f"an array cannot be called {_HEADER!r}: that name is reserved for the format of the file")
    text = np.array(json.dumps({"format": format_tag, **(header or {})}))
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, value in {_HEADER: text, **arrays}.items():
            array = np.asanyarray(value)
            if array.dtype.hasobject:
                raise InputError(f"{name!r} must be an array of numbers to be saved, got {value!r}")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)  # type: ignore[no-untyped-call]


def read_archive(
    path: str | Path, *format_tags: str, what: str, untagged: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a file that `write_archive` wrote with one of `format_tags`.

    `what` is the expected content in errors, such as "a saved state". `untagged` accepts a file without a header, as of
    states of early versions: its header is empty.
    """
    path = Path(path)
    try:
        arrays = _read_arrays(path)
        text = str(arrays.pop(_HEADER)) if _HEADER in arrays or not untagged else "{}"
        header = dict(json.loads(text))
    except (OSError, InputError) as error:
        raise InputError(f"{path} is not {what}: {error}") from error
    except _DAMAGED as error:
        raise InputError(f"{path} is not {what}, or it is damaged: write it again") from error
    _check_format(path, str(header.get("format")), format_tags, what, untagged and not header)
    return header, arrays


def _read_arrays(path: Path) -> dict[str, Any]:
    """All arrays of an archive; sizes are checked before anything is allocated."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total, limit = sum(entry.file_size for entry in entries), max(UNPACKED, RATIO * path.stat().st_size)
        if total > limit:
            raise InputError(f"it would unpack to {total / 2**30:.1f} GiB, more than the {limit / 2**30:.1f} allowed")
        arrays = {}
        for entry in entries:
            with archive.open(entry) as stream:
                arrays[entry.filename.removesuffix(".npy")] = _read_array(stream, entry.file_size)
    return arrays


def _read_array(stream: Any, size: int) -> Any:
    """The array in an entry of `size` bytes, which must be exactly its header and its numbers."""
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, by_columns, dtype = read_header[np.lib.format.read_magic(stream)](stream)  # type: ignore[no-untyped-call]
    wanted = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or wanted != size - stream.tell():
        raise ValueError(f"{wanted} bytes announced, {size - stream.tell()} there")
    array: Any = np.ndarray(shape, dtype, bytearray(stream.read(wanted)), order="F" if by_columns else "C")
    stream.read()  # to the end: the checksum is compared there
    return array


@contextmanager
def decoding(path: str | Path, what: str) -> Iterator[None]:
    """Turn errors of the interpretation of `path` into an `InputError` that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path} is not {what}: {error}") from error
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path} is not {what}: data that this version of Pliant expects is missing ({type(error).__name__}: "
            f"{error}); it was probably written by another version, or is damaged"
        ) from error


def _check_format(path: Path, found: str, tags: tuple[str, ...], what: str, accepted: bool) -> None:
    if found in tags or accepted:
        return
    reads = " or ".join(repr(tag) for tag in tags)
    kind, _, version = found.rpartition(" ")
    if version.isdigit() and kind in {tag.rpartition(" ")[0] for tag in tags}:
        raise InputError(
            f"{path} was written by another version of Pliant ({found!r}; this one reads {reads}): open it with that "
            "version, or create it again"
        )
    raise InputError(f"{path} is not {what}: it holds {found!r}, not {reads}")
