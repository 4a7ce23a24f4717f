"""Errors and warnings of the command line: one paragraph and an exit code; with --debug, the whole traceback."""

from __future__ import annotations

import re
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

from pliant.core.errors import PliantError, PliantWarning

OK, FAILED, USAGE, DEFECT, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES: dict[int, str] = {
    OK: "success",
    FAILED: "the command failed for the reason in its message",
    USAGE: "an unknown or incomplete command or option",
    DEFECT: "an error in Pliant itself",
    INTERRUPTED: "stopped from the keyboard",
}
"""Meaning of the exit codes."""
_NUMBER = re.compile(r"[-+]?\d[\d.eE+-]*")


class SceneFileError(PliantError):
    """A scene file failed; the message names the line."""


def report_error(error: BaseException, *, debug: bool) -> int:
    """Print an error on standard error and return the exit code."""
    console = Console(stderr=True)
    if debug:
        text = "".join(traceback.format_exception(error)).rstrip()
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    if isinstance(error, KeyboardInterrupt):
        _paragraph(console, "stopped from the keyboard")
        return INTERRUPTED
    if isinstance(error, (PliantError, OSError)):
        _paragraph(console, str(error))
        return FAILED
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({Path(place[0].filename).name}, line {place[0].lineno})" if place else ""
    advice = "" if debug else ", and run it again with --debug to see the whole traceback"
    _paragraph(
        console,
        f"unexpected error: {type(error).__name__}: {error}{where}. This is a defect: please "
        f"report it with the output of `pliant info`{advice}.",
    )
    return DEFECT


class Warnings:
    """Prints warnings as one line each; of those that differ only in their numbers, the first and a count."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        warnings.simplefilter("always", PliantWarning)
        warnings.showwarning = self._show

    def end(self) -> None:
        """Print how many were suppressed."""
        more = sum(count - 1 for count in self._counts.values())
        if more:
            self._print(f"{more} more warning{'s' if more > 1 else ''} of the same kind")
        self._counts.clear()

    def _show(self, message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
        kind = _NUMBER.sub("", str(message))
        self._counts[kind] += 1
        if self._counts[kind] == 1:
            known = issubclass(category, UserWarning)
            self._print(f"warning: {message}" if known else f"{category.__name__}: {message}")

    def _print(self, text: str) -> None:
        console = Console(stderr=True)
        console.print(f"pliant: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def _paragraph(console: Console, text: str) -> None:
    console.print(f"pliant: {text}", style="bold red", markup=False, highlight=False, soft_wrap=True)
