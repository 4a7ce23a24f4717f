"""Reader of C3D, the binary format of motion capture (www.c3d.org, user guide).

A file is a header of 512 bytes, a section of parameters, each in a group, and frames: for every marker x, y, z and a
word with its residual, then analogue channels, which are left out. Numbers are 16-bit integers with a scale, or floats
where the scale is negative, in the byte order of Intel, DEC (floats of the VAX) or SGI/MIPS processors. A marker whose
residual is negative was not seen.

Sizes in a file are compared with its length before anything is allocated.
"""

from __future__ import annotations

import struct
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant.core.declared import declared
from pliant.core.errors import FileFormatError, UnitError
from pliant.core.types import FloatArray
from pliant.core.units import LENGTH_UNITS, metres_per
from pliant.recordings.recording import Recording

_BLOCK = 512
_KEY = 80
_INTEL, _DEC, _MIPS = 84, 85, 86
_CHARACTER, _BYTE, _INTEGER, _FLOAT = -1, 1, 2, 4
_UNITS = {
    "meter": "m", "meters": "m", "metre": "m", "metres": "m", "millimeter": "mm", "millimeters": "mm",
    "millimetre": "mm", "millimetres": "mm", "centimeter": "cm", "centimeters": "cm", "inches": "inch",
}  # fmt: skip
"""Other spellings of units that files have."""


class Parameter(NamedTuple):
    """A parameter of a file: the code of its type, its dimensions and its bytes."""

    kind: int
    shape: tuple[int, ...]
    data: bytes


class _Numbers:
    """Integers and floats in the byte order of a processor."""

    def __init__(self, processor: int) -> None:
        self.order = ">" if processor == _MIPS else "<"
        self.is_dec = processor == _DEC

    def integers(self, data: bytes, *, signed: bool = True) -> Any:
        """16-bit integers."""
        return np.frombuffer(data[: len(data) // 2 * 2], f"{self.order}{'i' if signed else 'u'}2")

    def floats(self, data: bytes) -> FloatArray:
        """32-bit floats, as float64. Those of the VAX have their halves exchanged and an exponent larger by two."""
        data = data[: len(data) // 4 * 4]
        if self.is_dec:
            halves = np.frombuffer(data, "<u2").reshape(-1, 2)[:, ::-1]
            return np.asarray(np.ascontiguousarray(halves).view("<f4").ravel(), np.float64) / 4.0
        return np.asarray(np.frombuffer(data, f"{self.order}f4"), np.float64)


@declared
def load_c3d(path: str | Path, *, unit: str | None = None) -> Recording:
    """The markers of a C3D file: `points` (frames, markers, 3) in m, `rate` in Hz, `labels`; gaps are NaN.

    The unit is that of the parameter POINT:UNITS. `unit` ("mm"…) is for files without one, and must not contradict it.
    A file that is truncated or contradicts itself is a `FileFormatError`.
    """
    path = Path(path)
    try:
        content = path.read_bytes() if path.is_file() else None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
    if content is None:
        raise FileFormatError(f"there is no file {path}")
    return parse_c3d(content, path, unit=unit)


def parse_c3d(content: bytes, path: Path, *, unit: str | None = None) -> Recording:
    """The recording in the bytes of a file, whose `path` is for messages; see `load_c3d`."""
    with np.errstate(all="ignore"):  # floats of a damaged file may be anything; they are checked where they are used
        return _File(path, content).recording(unit)


class _File:
    """The bytes of a file, its byte order and its parameters by "GROUP:NAME"."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.content = path, content
        if len(content) < 2 * _BLOCK:
            raise self.error(f"it has {len(content)} bytes, fewer than a header and a section of parameters")
        start = (content[0] - 1) * _BLOCK
        if content[1] != _KEY or start < _BLOCK:
            raise self.error(
                f"it begins with bytes {content[0]}, {content[1]} in place of a block number ≥ 2 and {_KEY}"
            )
        if start + 4 > len(content):
            raise self.error(f"its parameters begin at byte {start}, behind its end at {len(content)}")
        processor = content[start + 3]
        if processor not in (_INTEL, _DEC, _MIPS):
            raise self.error(
                f"its processor type is {processor}; known are {_INTEL} Intel, {_DEC} DEC, {_MIPS} SGI/MIPS"
            )
        self.numbers = _Numbers(processor)
        self.parameters = self._parameters(start + 4, start + content[start + 2] * _BLOCK)

    def error(self, what: str) -> FileFormatError:
        """The error that says what is wrong with the file."""
        return FileFormatError(f"{self.path} is not a readable C3D file: {what}; export it again")

    def _parameters(self, start: int, end: int) -> dict[str, Parameter]:
        groups: dict[int, str] = {}
        found: list[tuple[int, str, Parameter]] = []
        at, end = start, min(end if end > start else len(self.content), len(self.content))
        while at + 2 <= end:
            length, group = struct.unpack_from("bb", self.content, at)
            length = abs(length)  # a negative one marks a locked parameter
            if length == 0:
                break
            name_end = at + 2 + length
            if name_end + 2 > end:
                raise self.error(f"the parameter at byte {at} goes beyond its section")
            name = self.content[at + 2 : name_end].decode("latin-1").upper().strip()
            offset = int(self.numbers.integers(self.content[name_end : name_end + 2], signed=False)[0])
            if group < 0:
                groups[-group] = name
            elif group > 0:
                found.append((group, name, self._parameter(name, name_end + 2, end)))
            if offset == 0:
                break
            if offset < 2:
                raise self.error(f"the parameter {name!r} at byte {at} points to itself")
            at = name_end + offset
        return {f"{groups[group]}:{name}": parameter for group, name, parameter in found if group in groups}

    def _parameter(self, name: str, at: int, end: int) -> Parameter:
        if at + 2 > end:
            raise self.error(f"the parameter {name!r} goes beyond its section")
        kind, dimensions = struct.unpack_from("bB", self.content, at)
        if kind not in (_CHARACTER, _BYTE, _INTEGER, _FLOAT):
            raise self.error(f"the parameter {name!r} has the type {kind}")
        if at + 2 + dimensions > end:
            raise self.error(f"the parameter {name!r} goes beyond its section")
        shape = tuple(self.content[at + 2 : at + 2 + dimensions])
        size = abs(kind)
        for extent in shape:
            size *= extent
        first = at + 2 + dimensions
        if first + size > end:
            raise self.error(f"the parameter {name!r} of {size} bytes goes beyond its section")
        return Parameter(kind, shape, self.content[first : first + size])

    # Values of parameters

    def number(self, name: str) -> float | None:
        """The first number of a parameter, without sign if it is an integer; None where it is absent or text."""
        parameter = self.parameters.get(name)
        if parameter is None or len(parameter.data) < abs(parameter.kind):
            return None
        if parameter.kind == _FLOAT:
            return float(self.numbers.floats(parameter.data[:4])[0])
        if parameter.kind == _INTEGER:
            return float(self.numbers.integers(parameter.data[:2], signed=False)[0])
        return float(parameter.data[0]) if parameter.kind == _BYTE else None

    def texts(self, name: str) -> list[str]:
        """The strings of a parameter of characters, whose first dimension is their length."""
        parameter = self.parameters.get(name)
        if parameter is None or parameter.kind != _CHARACTER or not parameter.shape or not parameter.shape[0]:
            return []
        width, data = parameter.shape[0], parameter.data
        parts = [data[k : k + width] for k in range(0, len(data), width)]
        return [part.decode("utf-8", "replace").replace("\0", " ").strip() for part in parts]

    def _integer(self, offset: int) -> int:
        return int(self.numbers.integers(self.content[offset : offset + 2], signed=False)[0])

    def _float(self, offset: int) -> float:
        return float(self.numbers.floats(self.content[offset : offset + 4])[0])

    def _given(self, name: str, header: float) -> float:
        """The parameter `name`, which counts more than the `header`."""
        value = self.number(name)
        return header if value is None else value

    # The recording

    def recording(self, unit: str | None) -> Recording:
        markers = self._count("POINT:USED", self._integer(2), "markers")
        analogue = self._integer(4)
        frames = self._frames()
        rate, scale = self._given("POINT:RATE", self._float(20)), self._given("POINT:SCALE", self._float(12))
        start = (int(self._given("POINT:DATA_START", self._integer(16))) - 1) * _BLOCK
        if not isfinite(rate) or rate <= 0.0:
            raise self.error(f"its rate is {rate} Hz")
        if not isfinite(scale) or scale == 0.0:
            raise self.error(f"the scale of its points is {scale}")
        size = 4 if scale < 0.0 else 2
        width = (4 * markers + analogue) * size
        if start < _BLOCK or start + frames * width > len(self.content):
            raise self.error(
                f"{frames} frames of {width} bytes from byte {start} on do not fit into its {len(self.content)} bytes"
            )
        data = self.content[start : start + frames * width]
        words = self.numbers.floats(data) if scale < 0.0 else np.asarray(self.numbers.integers(data), np.float64)
        words = words.reshape(frames, -1)[:, : 4 * markers].reshape(frames, markers, 4)
        points = words[:, :, :3] * (1.0 if scale < 0.0 else scale) * self._metres(unit)
        points[~(words[:, :, 3] >= 0.0)] = np.nan
        return Recording(points, rate, self._labels(markers))

    def _count(self, name: str, header: int, what: str) -> int:
        given = self.number(name)
        if given is not None and given != header:
            raise self.error(f"its header has {header} {what}, its parameter {name} {given:g}")
        if header < 1:
            raise self.error(f"it has no {what}")
        return header

    def _frames(self) -> int:
        """Number of frames. The header counts to 65535; parameters that various programs write go beyond."""
        first, last = self._integer(6), self._integer(8)
        header = last - first + 1
        trial = [self.parameters.get(f"TRIAL:ACTUAL_{end}_FIELD") for end in ("START", "END")]
        if all(p is not None and p.kind == _INTEGER and len(p.data) >= 4 for p in trial):
            words = [self.numbers.integers(p.data[:4], signed=False).astype(np.int64) for p in trial if p is not None]
            low, high = (int(pair[0] + 65536 * pair[1]) for pair in words)
            long = high - low + 1
        else:
            value = self.number("POINT:LONG_FRAMES")
            value = self.number("POINT:FRAMES") if value is None else value
            long = int(value) if value is not None and isfinite(value) else header
        frames = long if last >= 65535 or first == 0 or long == header else header
        if frames < 1:
            raise self.error(f"it has {frames} frames (first {first}, last {last})")
        return frames

    def _labels(self, markers: int) -> tuple[str, ...]:
        """Names of the markers; beyond 255 they go on in LABELS2, LABELS3…"""
        labels = self.texts("POINT:LABELS")
        more = 2
        while len(labels) < markers and f"POINT:LABELS{more}" in self.parameters:
            labels += self.texts(f"POINT:LABELS{more}")
            more += 1
        labels += [""] * (markers - len(labels))
        return tuple(label or f"marker {k + 1}" for k, label in enumerate(labels[:markers]))

    def _metres(self, unit: str | None) -> float:
        """Metres in the unit of the points."""
        texts = self.texts("POINT:UNITS")
        said = texts[0] if texts else ""
        own = _UNITS.get(said.lower(), said if said in LENGTH_UNITS else said.lower())
        if not own and unit is None:
            raise UnitError(f'{self.path} does not say its unit of length (POINT:UNITS); give unit="mm", "m"…')
        if own and own not in LENGTH_UNITS:
            raise UnitError(
                f"{self.path} has the unit {said!r}, which is not a unit of length; known are {', '.join(LENGTH_UNITS)}"
            )
        if unit is None or not own:
            return metres_per(own or str(unit))
        if metres_per(unit) != metres_per(own):
            raise UnitError(f"{self.path} is in {own} by its own POINT:UNITS, not in {unit}; leave unit= out")
        return metres_per(own)
