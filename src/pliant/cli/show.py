"""What `pliant demo`, `pliant bench` and `pliant reproduce` print and write."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pliant.core.errors import InputError


def show_demos(console: Console) -> None:
    """The names of the demos, each with one line."""
    from pliant.demos import DEMOS

    _names(console, DEMOS, usage="pliant demo NAME")


def show_demo(console: Console, name: str, *, out: Path, open_page: bool) -> None:
    """Run a demo, print its table and its files, and open its page where a screen is there."""
    from pliant.demos import run_demo

    outcome = run_demo(name, out=out)
    console.print(outcome.table)
    for file in outcome.files:
        console.print(f"wrote {file}", highlight=False, soft_wrap=True)
    if open_page and _has_screen():
        webbrowser.open(outcome.page.resolve().as_uri())
    else:
        console.print(f"open {outcome.page} in a browser to watch it move", highlight=False, soft_wrap=True)


def show_benches(console: Console) -> None:
    """The names of the benchmarks."""
    from pliant.bench import BENCHES

    _names(
        console, {name: _first_line(bench) for name, bench in BENCHES.items()}, usage="pliant bench NAME --json FILE"
    )


def show_bench(console: Console, name: str, *, json_file: Path | None, data: Path | None) -> None:
    """Run a benchmark, print its numbers, and write them to `json_file` where one is given."""
    from pliant.bench import BENCHES, run_bench

    if name not in BENCHES:
        raise InputError(f"there is no benchmark {name!r}; the benchmarks are {', '.join(BENCHES)}")
    _check_folder(json_file)
    result: dict[str, Any] = run_bench(name) if data is None else run_bench(name, data=data)
    table = Table(title=name, title_justify="left", title_style="bold", show_header=False)
    for key, value in result.items():
        table.add_row(key, _text(value))
    console.print(table)
    if json_file is not None:
        json_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        console.print(f"wrote {json_file}", highlight=False, soft_wrap=True)


def show_experiments(console: Console) -> None:
    """The names of the published experiments, each with one line."""
    from pliant.experiments import EXPERIMENTS

    _names(console, EXPERIMENTS, usage="pliant reproduce NAME --json FILE")


def show_experiment(
    console: Console, name: str, *, json_file: Path | None, full: bool, view_run: bool, out: Path | None = None
) -> None:
    """Run a published experiment, print its numbers beside the paper's, write and show them where asked."""
    from pliant.experiments import reproduce

    _check_folder(json_file)
    report = reproduce(name, full=full)
    console.print(report.table())
    for note in report.notes:
        console.print(f"- {note}", markup=False, highlight=False)
    console.print(f"{report.seconds:.1f} s", highlight=False)
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_json(), indent=2) + "\n")
    if out is not None and report.pictures is not None:
        out.mkdir(parents=True, exist_ok=True)
        for file in report.pictures(out):
            console.print(f"wrote {file}", highlight=False, soft_wrap=True)
    if view_run and report.run is not None:
        from pliant.viewer.live import view

        view(report.run)


def _check_folder(json_file: Path | None) -> None:
    if json_file is not None and not json_file.resolve().parent.is_dir():
        raise InputError(f"the folder of {json_file} does not exist; make it, or choose another file")


def _names(console: Console, lines: dict[str, str], *, usage: str) -> None:
    console.print(usage, style="bold", highlight=False)
    for name, line in lines.items():
        console.print(f"  {name:<12}{line}", highlight=False, soft_wrap=True)


def _first_line(bench: Any) -> str:
    return (bench.__doc__ or "").strip().split("\n")[0]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key} {_text(inner)}" for key, inner in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _has_screen() -> bool:
    """Whether a browser window can open: a person at a terminal, and on Linux a display."""
    shown = sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return shown and sys.stdout.isatty()
