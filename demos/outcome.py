"""What a demonstration hands back, and the table that reports a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from pliant.record import Run
from pliant.viewer.export_surfaces import Shown
from pliant.viewer.page import write_page
from pliant.viewer.picture import write_picture


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished demonstration: the table it printed from, the files it wrote and the page to open first."""

    run: Run
    table: Table
    files: tuple[Path, ...]
    page: Path


def write_outcome(
    out: Path,
    name: str,
    run: Run,
    shown: Shown,
    *,
    frames: Sequence[int],
    title: str,
    caption: str,
    stats: Mapping[str, str],
    table: Table,
) -> Outcome:
    """Write the picture of `frames`, the page and the recorded run as `name` into `out`; `stats` stand on the page."""
    times = {
        "real-time factor": f"{run.real_time_factor:.1f}×",
        "step": f"{1e3 * float(np.median(run.step_seconds)):.1f} ms",
    }
    picture = write_picture(out / f"{name}.png", surfaces=shown.surfaces, frames=frames, times=shown.times, title=title)
    page = write_page(
        out / f"{name}.html", surfaces=shown.surfaces, times=shown.times, title=title, caption=caption,
        stats=times | dict(stats), floor=shown.floor,
    )  # fmt: skip
    return Outcome(run, table, (picture, page, run.save(out / f"{name}.npz")), page=page)


def stage_table(run: Run, *, title: str) -> Table:
    """Median time of a step by stage (ms), and the real-time factor of `run`."""
    step = float(np.median(run.step_seconds))
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("stage")
    table.add_column("ms a step", justify="right")
    table.add_column("fraction", justify="right")
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
