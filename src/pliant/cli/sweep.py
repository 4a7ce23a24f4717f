"""What `pliant sweep SCENE.py` does: a scene file for many values of its parameters, in parallel, into one table."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from rich.table import Table

from pliant.cli.output import Output, check_folder, plain, value_text
from pliant.cli.run import many_values, split_settings
from pliant.cli.scene_file import SceneFile, run_scene
from pliant.core.errors import InputError

_SHOWN = 40
"""Rows of a table on the terminal; the file holds all."""


def show_sweep(
    output: Output,
    scene: Path,
    *,
    settings: Sequence[str],
    cases_file: Path | None,
    until: float | None,
    out: Path | None,
    folder: Path | None,
    workers: int | None,
) -> None:
    """Run a scene file once for each case, print the table of its measures and write it to `out`; `until` in s."""
    from pliant.sweep import SweepError, digest_of, run

    check_folder(out)
    if out is not None and out.suffix.lower() not in (".csv", ".json"):
        raise InputError(f"the table is written as .csv or .json, got {out}")
    file = SceneFile.read(scene)
    cases = sweep_cases(file, settings, cases_file)
    identity = {"scene": digest_of(file.source), "until": str(until)}
    failed: SweepError | None = None
    try:
        results: list[Any] = list(
            run(
                partial(run_case, str(scene), until), cases, folder=folder, identity=identity, workers=workers,
                progress=None,
            )
        )  # fmt: skip
    except SweepError as error:
        failed, results = error, error.results
    rows = [row | measures_of(result) for row, result in zip(cases, results, strict=True)]
    output.console.print(_table(f"{scene}: {len(rows)} cases", rows))
    if len(rows) > _SHOWN:
        output.say(f"and {len(rows) - _SHOWN} more")
    if out is not None:
        write_table(out, rows)
        output.say(f"wrote {out}")
    output.finish({"scene": str(scene), "rows": rows, "complete": failed is None})
    if failed is not None:
        raise failed


def sweep_cases(file: SceneFile, settings: Sequence[str], cases_file: Path | None) -> list[dict[str, Any]]:
    """One dictionary of parameters for each case: the rows of a CSV file, times the grid of all settings."""
    grid = {name: many_values(text) for name, text in split_settings(settings)}
    rows = [{}] if cases_file is None else _read_cases(cases_file)
    if not grid and cases_file is None:
        raise InputError("a sweep needs parameters: --set NAME=A,B,C, --set NAME=FIRST:LAST:COUNT, or --cases FILE.csv")
    cases = [row | dict(zip(grid, values, strict=True)) for row in rows for values in product(*grid.values())]
    for name in dict.fromkeys(name for case in cases for name in case):
        if name not in file.parameters:
            known = ", ".join(file.parameters) or "none: assign plain values at the top level of the file"
            raise InputError(f"{file.path} has no parameter {name!r}; its parameters are {known}")
    return cases


def run_case(scene: str, until: float | None, case: Mapping[str, Any]) -> dict[str, Any]:
    """The measures of one case, as the arrays that a sweep keeps."""
    import numpy as np

    result = run_scene(SceneFile.read(scene), case, until=until)
    if result.stopped is not None:
        raise result.stopped
    if not result.measures:
        raise InputError(f"{scene} measures nothing: define measure(run), or let main() return numbers by name")
    return {"names": np.array(list(result.measures)), "values": np.array(json.dumps(list(result.measures.values())))}


def measures_of(result: Mapping[str, Any] | None) -> dict[str, Any]:
    """Measures by name from what `run_case` kept; nothing for a case that failed."""
    if result is None:
        return {}
    return dict(zip([str(name) for name in result["names"]], json.loads(str(result["values"])), strict=True))


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """A row for each case; a CSV file has a column for each name that occurs, empty where a case failed."""
    if path.suffix.lower() == ".json":
        path.write_text(json.dumps(list(rows), indent=2, default=plain) + "\n", encoding="utf-8")
        return
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=_columns(rows))
        writer.writeheader()
        writer.writerows(rows)


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    names = _columns(rows)
    for name in names:
        table.add_column(name, justify="right")
    for row in rows[:_SHOWN]:
        table.add_row(*(value_text(row[name]) if name in row else "failed" for name in names))
    return table


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _read_cases(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file whose first line names the parameters."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.DictReader(stream))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file ({error}); a text file with commas is wanted") from error
    if not rows:
        raise InputError(f"{path} holds no cases: its first line names parameters, each other line is a case")
    cases = []
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise InputError(f"{path}, line {number}: as many values as there are names in the first line are needed")
        cases.append({name.strip(): many_values(text)[0] for name, text in row.items()})
    return cases
