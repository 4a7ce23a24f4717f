"""What `pliant sweep SCENE.py` does: a scene file for many values of its parameters, in parallel, into one table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from rich.table import Table

from pliant.cli.output import Output, value_text
from pliant.cli.run import many_values, split_settings
from pliant.cli.scene_file import SceneFile, run_scene
from pliant.cli.scene_needs import files_of
from pliant.core.csv_rows import csv_rows
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
    on: str | None = None,
    files: Sequence[Path] = (),
    memory: float | None = None,
) -> None:
    """Run a scene file once for each case, print the table of its measures and write it to `out`.

    `until` in s, `memory` of a case in MB. Beside a Parquet table finished cases are always kept: in `folder`, or in
    one named after the table.
    """
    from pliant.sweep import SweepError, Table, digest_of, run
    from pliant.sweep.parcel import digest_of_bytes

    here = Path.cwd()
    file = SceneFile.read(scene.relative_to(here) if scene.is_absolute() and scene.is_relative_to(here) else scene)
    cases = sweep_cases(file, settings, cases_file)
    identity = {"scene": digest_of(file.source), "until": str(until)}
    if needed := files_of(file):
        identity["set of files"] = digest_of([digest_of_bytes(path.read_bytes()) for path in needed])
    if folder is None and out is not None and out.suffix.lower() == ".parquet":
        folder = out.with_suffix(".cases")
    failed: SweepError | None = None
    try:
        results: list[Any] = list(
            run(
                partial(run_case, file, until), cases,
                folder=folder, identity=identity,
                table=None if out is None else Table(out, measures_of, file.parameters),
                on=on, files=() if on is None else [*files_of(file, cases), *files],
                memory=None if memory is None else 1e6 * memory, workers=workers, progress=None,
            )
        )  # fmt: skip
    except SweepError as error:
        failed, results = error, error.results
    rows = [row | measures_of(result) for row, result in zip(cases, results, strict=True)]
    output.console.print(_table(f"{scene}: {len(rows)} cases", rows))
    if len(rows) > _SHOWN:
        output.say(f"and {len(rows) - _SHOWN} more")
    if out is not None:
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


def run_case(file: SceneFile, until: float | None, case: Mapping[str, Any]) -> dict[str, Any]:
    """The measures of one case, as the arrays that a sweep keeps."""
    import numpy as np

    result = run_scene(file, case, until=until)
    if result.stopped is not None:
        raise result.stopped
    if not result.measures:
        raise InputError(f"{file.path} measures nothing: define measure(run), or let main() return numbers by name")
    return {"names": np.array(list(result.measures)), "values": np.array(json.dumps(list(result.measures.values())))}


def measures_of(result: Mapping[str, Any] | None) -> dict[str, Any]:
    """Measures by name from what `run_case` kept; nothing for a case that failed."""
    if result is None:
        return {}
    return dict(zip([str(name) for name in result["names"]], json.loads(str(result["values"])), strict=True))


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        table.add_column(name, justify="right")
    for row in rows[:_SHOWN]:
        table.add_row(*(value_text(row[name]) if name in row else "failed" for name in names))
    return table


def _read_cases(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV file whose first line names the parameters."""
    names, *rows = csv_rows(path) or [[]]
    if not rows:
        raise InputError(f"{path} holds no cases: its first line names parameters, each other line is a case")
    cases = []
    for number, row in enumerate(rows, start=2):
        values = [many_values(text)[:1] for text in row]
        if len(row) != len(names) or not all(values):
            raise InputError(f"{path}, line {number}: as many values as there are names in the first line are needed")
        cases.append({name.strip(): value for name, (value,) in zip(names, values, strict=True)})
    return cases
