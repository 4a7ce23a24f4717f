"""What a demonstration hands back, and the table that reports a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from pliant.record import Run


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished demonstration: the table it printed from, the files it wrote and the page to open first."""

    run: Run
    table: Table
    files: tuple[Path, ...]
    page: Path


def stage_table(run: Run, *, title: str) -> Table:
    """Median time of a step by stage (ms), and the real-time factor of `run`."""
    step = float(np.median(run.step_seconds))
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("stage")
    table.add_column("ms a step", justify="right")
    table.add_column("share", justify="right")
    for stage, seconds in run.stage_seconds.items():
        median = float(np.median(seconds))
        table.add_row(stage, f"{1e3 * median:.2f}", f"{median / step:.0%}")
    table.add_section()
    table.add_row("whole step", f"{1e3 * step:.2f}", "")
    table.add_row("simulated step", f"{1e3 * float(np.diff(run.times).mean()):.2f}", "")
    table.add_row("real-time factor", f"[bold]{run.real_time_factor:.2f}×[/]", "", end_section=True)
    return table


def stages_table(runs: Mapping[str, Run], *, title: str) -> Table:
    """Median time of a step by stage (ms) of several runs side by side, and their real-time factors."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("ms a step")
    for name in runs:
        table.add_column(name, justify="right")
    for stage in dict.fromkeys(stage for run in runs.values() for stage in run.stage_seconds):
        times = [run.stage_seconds.get(stage) for run in runs.values()]
        table.add_row(stage, *("" if one is None else f"{1e3 * float(np.median(one)):.2f}" for one in times))
    table.add_section()
    table.add_row("whole step", *(f"{1e3 * float(np.median(run.step_seconds)):.2f}" for run in runs.values()))
    table.add_row("simulated step", *(f"{1e3 * float(np.diff(run.times).mean()):.2f}" for run in runs.values()))
    factors = (f"[bold]{run.real_time_factor:.2f}×[/]" for run in runs.values())
    table.add_row("real-time factor", *factors, end_section=True)
    return table
