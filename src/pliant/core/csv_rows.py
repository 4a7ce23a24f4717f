"""Rows of a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

from pliant.core.errors import FileFormatError


def csv_rows(path: str | Path) -> list[list[str]]:
    """The rows of a CSV file in UTF-8, without empty ones."""
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"there is no file {path}")
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            return [row for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileFormatError(f"{path} is not a table of text with commas (CSV, UTF-8): {error}") from error
