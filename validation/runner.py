"""Runs cases and gathers their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from pliant.core.errors import InputError, MissingExtraError
from validation.cases import CASES, GROUPS, Case
from validation.row import Row


@dataclass(frozen=True)
class Outcome:
    """The rows of the cases that ran, by name, and the reason for each case that was skipped."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[str, Row]]:
        return ((name, row) for name, rows in self.rows.items() for row in rows)

    def as_json(self) -> dict[str, Any]:
        """{"rows": […], "skipped": […]}, ready for JSON."""
        rows = [
            {
                "name": name,
                **row.as_json(),
                "source": row.source or CASES[name].source,
                "licence": CASES[name].licence,
                "command": command(name),
            }
            for name, row in self
        ]
        return {"rows": rows, "skipped": [{"name": name, "reason": reason} for name, reason in self.skipped.items()]}


def command(name: str) -> str:
    """The command that repeats the rows of the case `name`."""
    return f"pliant validate {name}" + (" --data DIR" if CASES[name].data else "")


def selected(name: str = "") -> list[str]:
    """Names of the cases that `name`, a case or a group, stands for; all of them without it."""
    if not name or name in CASES:
        return [name] if name else list(CASES)
    chosen = [case for case, about in CASES.items() if about.group == name]
    if name not in GROUPS:
        raise InputError(
            f"there is no case {name!r}; the cases are {', '.join(CASES)} and the groups {', '.join(GROUPS)}"
        )
    return chosen


def validate(name: str = "", *, data: Path | None = None, say: Callable[[str], None] | None = None) -> Outcome:
    """Run the case or the group `name`, or everything; `say` is told the name of each case before it runs.

    A case whose recordings or optional packages are absent is skipped, with the reason.
    """
    if data is not None and not Path(data).is_dir():
        raise InputError(f"--data {data} is not a folder; give the folder with the recordings (docs/validation.md)")
    outcome = Outcome()
    for case in selected(name):
        reason = _absent(CASES[case], data)
        if reason:
            outcome.skipped[case] = reason
            continue
        if say is not None:
            say(case)
        try:
            outcome.rows[case] = list(_call(CASES[case].rows, CASES[case], data))
        except MissingExtraError as error:
            outcome.skipped[case] = str(error)
    return outcome


def draw(name: str, folder: Path, *, data: Path | None = None) -> list[Path]:
    """Write the pictures of the case or group `name` into `folder`; cases without data or pictures have none."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for case in map(CASES.__getitem__, selected(name)):
        if case.pictures and not _absent(case, data):
            files += _call(case.pictures, case, data, folder)
    return files


def _absent(case: Case, data: Path | None) -> str:
    """Why the recordings of a case cannot be read; empty where they can, or where it needs none."""
    if not case.data:
        return ""
    if data is None:
        return f"needs recordings: --data DIR with the folder {case.data}/ (from {case.source})"
    return "" if (data / case.data).is_dir() else f"{data} has no folder {case.data}/ (from {case.source})"


def _call(path: str, case: Case, data: Path | None, *more: Any) -> Any:
    module, _, function = path.partition(":")
    given = (data / case.data,) if case.data and data is not None else ()
    return getattr(import_module(module), function)(*given, *more)
