"""Reader of tables: a line for each frame, with its time and x, y, z of every marker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pliant.core.checks import positive
from pliant.core.declared import declared
from pliant.core.errors import FileFormatError, InputError
from pliant.core.types import FloatArray
from pliant.core.units import metres_per
from pliant.recordings.recording import Recording

_UNEVEN = 0.5
"""A frame may be early or late by less than this fraction of the time between two, or a frame is missing."""
_GAPS = frozenset(("", "nan", "na", "null", "-"))
"""What stands in the cell of a marker that was not seen."""


@declared
def load_csv(
    path: str | Path, *, unit: str, time: int | None = 0, first: int = 1, rate: float | None = None,
    labels: Sequence[str] | None = None, delimiter: str = ",",
) -> Recording:  # fmt: skip
    """The recording of a table: x, y, z of each marker (`unit`: "m", "mm"…) from column `first` on, counted from 0.

    `time` is the column of the time in s; None where there is none, then `rate` (Hz) is needed. Lines before the first
    one of numbers are a header. Cells that are empty or "nan" are gaps. `points` of the result are in m, `labels` those
    given, or 1, 2, 3….
    """
    scale = metres_per(unit)
    if time is None and rate is None:
        raise InputError("a table without a column of time needs rate=…, the frames a second")
    if not delimiter:
        raise InputError("delimiter must be one or more characters, such as ','; it is empty")
    table = _numbers(Path(path), delimiter)
    columns = table.shape[1]
    if not 0 <= first < columns or not 0 <= (time or 0) < columns:
        raise InputError(f"{path} has {columns} columns; first={first} and time={time} are counted from 0")
    if (columns - first) % 3:
        raise FileFormatError(
            f"{path} has {columns - first} columns from column {first} on, which are not x, y and z of markers"
        )
    count = (columns - first) // 3
    points = scale * table[:, first:].reshape(len(table), count, 3)
    frequency = positive("rate", rate, unit="Hz") if time is None else _rate(table[:, time], path)
    names = tuple(labels) if labels is not None else tuple(str(k + 1) for k in range(count))
    return Recording(points, frequency, names)


def _rate(times: FloatArray, path: str | Path) -> float:
    """Frames a second of evenly spaced `times`, s."""
    if len(times) < 2:
        raise FileFormatError(f"{path} has {len(times)} frame; two are needed for a rate: give time=None and rate=…")
    period = float(times[-1] - times[0]) / (len(times) - 1)
    if not np.isfinite(times).all() or not period > 0.0:
        raise FileFormatError(f"the times of {path} must be numbers that grow, in s; check the column time=…")
    late = np.abs(np.diff(times) / period - 1.0)
    if late.max() > _UNEVEN:
        where = int(np.argmax(late))
        raise FileFormatError(
            f"the times of {path} are not evenly spaced: {np.diff(times)[where]:g} s follow frame {where}, where "
            f"{period:g} s are the mean; fill missing frames with gaps (empty cells)"
        )
    return 1.0 / period


def _numbers(path: Path, delimiter: str) -> FloatArray:
    """The table (lines, columns) of a file, NaN for gaps."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines() if path.is_file() else None
    except UnicodeDecodeError:
        raise FileFormatError(
            f"{path} is not a table of text (UTF-8); motion capture in C3D: pl.recordings.load_c3d"
        ) from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
    if lines is None:
        raise FileFormatError(f"there is no file {path}")
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = _parsed(line.split(delimiter))
        if row is None:
            if not rows:
                continue  # a header
            raise FileFormatError(f"line {number} of {path} has a cell that is no number: {line:.60}")
        if rows and len(row) != len(rows[0]):
            raise FileFormatError(f"line {number} of {path} has {len(row)} columns, the lines before {len(rows[0])}")
        rows.append(row)
    if not rows:
        raise FileFormatError(f"{path} has no line of numbers separated by {delimiter!r}")
    return np.array(rows)


def _parsed(cells: list[str]) -> list[float] | None:
    """The numbers of a line; None where a cell is none, or where all are gaps, as in a header without text."""
    numbers = []
    for cell in cells:
        text = cell.strip()
        try:
            numbers.append(np.nan if text.lower() in _GAPS else float(text))
        except ValueError:
            return None
    return None if np.isnan(numbers).all() else numbers
