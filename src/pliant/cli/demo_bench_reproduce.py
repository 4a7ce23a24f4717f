"""What `pliant demo`, `pliant bench` and `pliant reproduce` print and write."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Any

from pliant.cli.output import Output
from pliant.cli.run import run_summary
from pliant.core.checkout import checkout_package
from pliant.core.errors import InputError


def show_demo(output: Output, name: str, *, out: Path, open_page: bool) -> None:
    """Run a demo, print its table and its files, and open its page if there is a screen; without a name, list all."""
    demos = checkout_package("demos", command="pliant demo")
    if not name:
        _list_names(output, demos.DEMOS, usage="pliant demo NAME")
        return
    outcome = demos.run_demo(name, out=out)
    output.console.print(outcome.table)
    for file in outcome.files:
        output.say(f"wrote {file}")
    output.finish({"name": name, "files": list(outcome.files), "page": outcome.page, "run": run_summary(outcome.run)})
    from pliant.viewer.live import has_screen

    if open_page and sys.stdout.isatty() and has_screen():
        webbrowser.open(outcome.page.resolve().as_uri())
    else:
        output.say(f"open {outcome.page} in a browser to watch it move")


def show_bench(output: Output, name: str, *, data: Path | None) -> None:
    """Run a benchmark and report its numbers; without a name, list the benchmarks."""
    tasks = checkout_package("benchmarks.tasks", command="pliant bench")
    if not name:
        lines = {name: (bench.__doc__ or "").strip().split("\n")[0] for name, bench in tasks.BENCHES.items()}
        _list_names(output, lines, usage="pliant bench NAME --json FILE")
        return
    if name not in tasks.BENCHES:
        raise InputError(f"there is no benchmark {name!r}; the benchmarks are {', '.join(tasks.BENCHES)}")
    result: dict[str, Any] = tasks.run_bench(name) if data is None else tasks.run_bench(name, data=data)
    output.table(name, result)
    output.finish(result)


def show_experiment(output: Output, name: str, *, full: bool, view_run: bool, out: Path | None = None) -> None:
    """Run a published experiment and print its numbers beside the paper's; without a name, list the experiments."""
    experiments = checkout_package("experiments", command="pliant reproduce")
    if not name:
        _list_names(output, experiments.EXPERIMENTS, usage="pliant reproduce NAME --json FILE")
        return
    report = experiments.reproduce(name, full=full)
    output.console.print(report.table())
    for note in report.notes:
        output.console.print(f"- {note}", markup=False, highlight=False)
    output.say(f"{report.seconds:.1f} s")
    output.finish(report.as_json())
    if out is not None and report.pictures is not None:
        out.mkdir(parents=True, exist_ok=True)
        for file in report.pictures(out):
            output.say(f"wrote {file}")
    if view_run and report.run is not None:
        from pliant.viewer.live import view

        view(report.run)


def _list_names(output: Output, lines: dict[str, str], *, usage: str) -> None:
    output.console.print(usage, style="bold", highlight=False)
    width = 2 + max(len(name) for name in lines)
    for name, line in lines.items():
        output.say(f"  {name:<{width}}{line}")
    output.finish(lines, made=False)
