"""The one file format of the library: an .npz archive of named arrays with a JSON header, without pickle.

The header has under "format" a tag with a version, such as "pliant run 2", and under "made" what wrote it. Writing is
whole or not at all (`core.replacing`). From version 2 on the comment of the archive, its last bytes, is a seal: the
SHA-256 of all bytes before it, so that any changed byte is noticed. Older versions are read by functions that turn the
content of one version into that of the next.

Nothing is allocated before its size is known to be allowed.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pliant.core.errors import FileFormatError, InputError, PliantError
from pliant.core.interrupts import answer_interrupts, interrupts_wait
from pliant.core.provenance import provenance
from pliant.core.replacing import replacing

Migration = Callable[[dict[str, Any], dict[str, Any]], tuple[dict[str, Any], dict[str, Any]]]
"""Turns header and arrays of one version of a format into those of the next, whose tag the new header has."""

UNPACKED = 2**30
"""Bytes that every file may unpack to; beyond it, at most `RATIO` times its own size. A small file must not fill the
memory, and floating-point numbers of real runs are compressed by less than 10."""
RATIO = 20
HEADER = 2**24
"""Characters that the header of every file may have; beyond it, at most `HEADER_RATIO` times the bytes of the file. In
memory its values take up to twenty times as much."""
HEADER_RATIO = 4
ENTRIES = 100_000
"""Arrays in a file: the largest runs have some hundreds."""
_HEADER = "header"
_SEALED_FROM = 2
_SEAL = b"pliant sha256 "
_SEAL_SIZE = len(_SEAL) + 64
_CHUNK = 2**20
_DAMAGED = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, RecursionError, NotImplementedError,
    OverflowError, RuntimeError, SyntaxError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What readers of damaged archives, arrays and JSON raise."""


def write_archive(
    path: str | Path,
    format_tag: str,
    arrays: Mapping[str, Any],
    *,
    header: Mapping[str, Any] | None = None,
    compress: bool = True,
) -> Path:
    """Write `arrays` by name and `header` (JSON values) to `path` (.npz) and return the path.

    Ctrl-C is answered between two arrays: `ZipFile` closes itself where it is interrupted, and may raise there.
    """
    with interrupts_wait(), replacing(path) as part, part.open("w+b") as stream:
        own = {"made": provenance(), **(header or {})}
        write_stream(stream, format_tag, arrays, header=own, compress=compress)
    return Path(path)


def write_stream(
    stream: BinaryIO,
    format_tag: str,
    arrays: Mapping[str, Any],
    *,
    header: Mapping[str, Any] | None = None,
    compress: bool = True,
) -> None:
    """Write the same archive to an open binary `stream` that can be read too."""
    if _HEADER in arrays:
        raise InputError(f"an array cannot be called {_HEADER!r}: that name is reserved for the format of the file")
    text = np.array(json.dumps({"format": format_tag, **(header or {})}))
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    archive = zipfile.ZipFile(stream, "w", method)
    try:
        archive.comment = _SEAL + b"0" * 64
        for name, value in {_HEADER: text, **arrays}.items():
            array = np.asanyarray(value)
            if array.dtype.hasobject:
                raise InputError(f"{name!r} must be an array of numbers to be saved, got {value!r:.200}")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)  # type: ignore[no-untyped-call]
            answer_interrupts()
        archive.close()
    except BaseException:
        # The part written is discarded. ZipFile closes itself at its end, which raises where an entry was interrupted.
        archive.fp = None
        raise
    size = stream.seek(-64, 2)
    digest = _digest(stream, size)
    stream.seek(size)
    stream.write(digest)


def read_archive(
    path: str | Path, *format_tags: str, what: str, older: Mapping[str, Migration] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a file that `write_archive` wrote with one of `format_tags`, or with an `older` tag.

    `what` is the expected content in errors, such as "a saved state". `older` are the migrations by the tag of what
    they read; "" stands for a file without a header, as of states of early versions.
    """
    path, migrations = Path(path), older or {}
    try:
        with path.open("rb") as stream:
            sealed = _is_sealed(stream, path)
            arrays = _read_arrays(stream)
            size = stream.seek(0, 2)
        text = str(arrays.pop(_HEADER)) if _HEADER in arrays or "" not in migrations else "{}"
        header = _read_header(text, size)
    except (OSError, InputError) as error:
        raise FileFormatError(f"{path} is not {what}: {error}") from error
    except _DAMAGED as error:
        raise FileFormatError(f"{path} is not {what}, or it is damaged: write it again") from error
    tag = str(header.get("format", ""))
    _check_format(path, tag, (*format_tags, *migrations), what)
    if not sealed and _version_of(tag) >= _SEALED_FROM:
        raise FileFormatError(f"{path} is not {what}: its checksum is missing, so it was changed after it was written")
    with decoding(path, what):
        while tag in migrations:
            header, arrays = migrations[tag](header, arrays)
            tag = str(header["format"])
    return header, arrays


def _is_sealed(stream: BinaryIO, path: Path) -> bool:
    """Whether the file ends in a seal; an error where that is not of its bytes."""
    size = stream.seek(0, 2)
    if size < _SEAL_SIZE:
        return False
    stream.seek(size - _SEAL_SIZE)
    comment = stream.read(_SEAL_SIZE)
    if not comment.startswith(_SEAL):
        return False
    if _digest(stream, size - 64) != comment[len(_SEAL) :]:
        raise InputError(
            "its checksum is wrong: bytes were changed or lost after it was written; take another copy, or write it "
            "again"
        )
    return True


def _digest(stream: BinaryIO, size: int) -> bytes:
    """SHA-256 of the first `size` bytes, in hexadecimal."""
    digest = hashlib.sha256()
    stream.seek(0)
    while size > 0:
        chunk = stream.read(min(_CHUNK, size))
        if not chunk:
            break
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest().encode()


def _read_arrays(stream: BinaryIO) -> dict[str, Any]:
    """All arrays of an archive; sizes are checked before anything is allocated."""
    limit = max(UNPACKED, RATIO * stream.seek(0, 2))
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        if len(entries) > ENTRIES:
            raise InputError(f"it has {len(entries)} arrays, more than the {ENTRIES} allowed")
        total = sum(entry.file_size for entry in entries)
        if total > limit:
            raise InputError(f"it would unpack to {total / 2**30:.1f} GiB, more than the {limit / 2**30:.1f} allowed")
        arrays: dict[str, Any] = {}
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if name in arrays or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(f"it has two arrays {name!r:.80}, or one that is packed in an unusual way")
            with archive.open(entry) as part:
                arrays[name] = _read_array(part, entry.file_size)
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


def _read_header(text: str, size: int) -> dict[str, Any]:
    """The object that the JSON `text` spells, from a file of `size` bytes."""
    if len(text) > max(HEADER, HEADER_RATIO * size):
        raise InputError(f"its header of {len(text)} characters is too long for a file of {size} bytes")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("the header is no object")
    return found


@contextmanager
def decoding(path: str | Path, what: str) -> Iterator[None]:
    """Turn errors of the interpretation of `path` into a `FileFormatError` that names the file."""
    try:
        yield
    except PliantError as error:
        raise FileFormatError(f"{path} is not {what}: {error}") from error
    except _DAMAGED as error:
        raise FileFormatError(
            f"{path} is not {what}: data that this version of Pliant expects is missing ({type(error).__name__}: "
            f"{error}); it was probably written by another version, or is damaged"
        ) from error


def _check_format(path: Path, found: str, tags: tuple[str, ...], what: str) -> None:
    if found in tags:
        return
    reads = " or ".join(repr(tag) for tag in tags if tag)
    if found.rpartition(" ")[0] in {tag.rpartition(" ")[0] for tag in tags if tag} and _version_of(found) >= 0:
        raise FileFormatError(
            f"{path} was written by another version of Pliant ({found!r}; this one reads {reads}): open it with that "
            "version, or create it again"
        )
    raise FileFormatError(f"{path} is not {what}: it holds {found!r:.80}, not {reads}")


def _version_of(tag: str) -> int:
    """The version in a tag, −1 where it has none."""
    version = tag.rpartition(" ")[2]
    return int(version) if version.isascii() and version.isdigit() and len(version) < 6 else -1
