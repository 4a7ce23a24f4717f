"""What an experiment reports: our numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from pliant.record import Run


@dataclass(frozen=True, eq=False)
class Report:
    """Numbers of an experiment.

    `metrics` are ours and `paper` the published ones, by the same names, which end in their unit (`step_ms`,
    `mean_error_mm`). `notes` say what was chosen where the paper is silent, and what differs. `run` is the recorded
    motion, for looking at it; `pictures(folder)` writes pictures and returns their files; `full` whether the published
    size ran.
    """

    title: str
    metrics: Mapping[str, Any]
    paper: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    run: Run | None = field(default=None, repr=False)
    pictures: Callable[[Path], Sequence[Path]] | None = field(default=None, repr=False)
    full: bool = True
    seconds: float = 0.0

    def timed(self, seconds: float) -> Report:
        """The report with the time that the experiment took, s."""
        return replace(self, seconds=seconds)

    def as_json(self) -> dict[str, Any]:
        """The report without the run, ready for JSON."""
        return {
            "title": self.title,
            "metrics": dict(self.metrics),
            "paper": dict(self.paper),
            "notes": list(self.notes),
            "full": self.full,
            "seconds": self.seconds,
        }

    def table(self) -> Table:
        """Ours and the paper's numbers side by side."""
        table = Table(title=self.title, title_justify="left", title_style="bold")
        for column in ("", "here", "paper"):
            table.add_column(column, justify="left" if not column else "right")
        names = dict.fromkeys([*self.metrics, *self.paper])
        for name in names:
            table.add_row(name, text(self.metrics.get(name)), text(self.paper.get(name)))
        return table


def text(value: Any) -> str:
    """A value as it stands in a table: floats with four digits."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
