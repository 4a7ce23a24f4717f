"""What commands print and write: tables for people on the terminal, JSON for programs in a file or in a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pliant.core.errors import InputError
from pliant.core.provenance import provenance
from pliant.core.replacing import replace_text

STANDARD_OUTPUT = Path("-")


class Output:
    """Where a command reports: JSON goes to `json_file`; for "-", standard output, text goes to standard error."""

    def __init__(self, json_file: Path | None = None) -> None:
        check_folder(json_file)
        self._json = json_file
        self.console = Console(stderr=json_file == STANDARD_OUTPUT)

    def say(self, text: str) -> None:
        """One line, exactly as it is."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def table(self, title: str, rows: Mapping[str, Any]) -> None:
        """Names and values side by side."""
        table = Table(title=title, title_justify="left", title_style="bold", show_header=False)
        for name, value in rows.items():
            table.add_row(name, value_text(value))
        self.console.print(table)

    def finish(self, data: Any, *, made: bool = True) -> None:
        """Write `data` as JSON, where it was asked for, with what `made` it: versions, machine, parameters."""
        if self._json is None:
            return
        if made and isinstance(data, Mapping):
            data = {**data, "made": {**provenance(), "command": ["pliant", *sys.argv[1:]]}}
        text = json.dumps(data, indent=2, default=plain) + "\n"
        if self._json == STANDARD_OUTPUT:
            sys.stdout.write(text)
            sys.stdout.flush()  # a program at the other end of the pipe may wait for it
        else:
            replace_text(self._json, text)
            self.say(f"wrote {self._json}")


def check_folder(file: Path | None) -> None:
    """An `InputError` where the folder of `file` does not exist: told before anything runs."""
    if file is not None and file != STANDARD_OUTPUT and not file.resolve().parent.is_dir():
        raise InputError(f"the folder of {file} does not exist; make it, or choose another file")


def value_text(value: Any) -> str:
    """A number, a text or a mapping of them, for a cell of a table."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key} {value_text(inner)}" for key, inner in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """Arrays, NumPy numbers and paths as what JSON knows."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
