"""What `pliant validate` prints and writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from pliant.cli.output import Output
from pliant.core.checkout import checkout_package


def show_validation(
    output: Output, name: str, *, data: Path | None, out: Path | None = None, listed: bool = False
) -> None:
    """Run a case, a group or everything; print one table of our values beside the references."""
    package = checkout_package("validation", command="pliant validate")
    if listed:
        _list_cases(output, package)
        return
    outcome = package.validate(name, data=data, say=lambda case: output.say(f"{case} …"))
    output.console.print(_table(outcome))
    for case, reason in outcome.skipped.items():
        output.say(f"skipped {case}: {reason}")
    beyond = [f"{case}, {row.quantity}" for case, row in outcome if not row.met]
    if beyond:
        output.say(f"beyond the allowed error: {'; '.join(beyond)}")
    output.finish(outcome.as_json())
    if out is not None:
        for file in package.draw(name, out, data=data):
            output.say(f"wrote {file}")


def _list_cases(output: Output, package: Any) -> None:
    output.console.print("pliant validate [NAME or GROUP] --data DIR --json FILE", style="bold", highlight=False)
    for group, line in package.GROUPS.items():
        output.say(f"{group}: {line}")
        for name, case in package.CASES.items():
            if case.group == group:
                output.say(f"  {name:<24}{case.line}" + (" (needs --data)" if case.data else ""))
    output.finish({name: case.line for name, case in package.CASES.items()})


def _table(outcome: Any) -> Table:
    table = Table(title="pliant validate", title_justify="left", title_style="bold")
    for column in ("case", "quantity", "ours", "reference", "error", "best published", "allowed"):
        table.add_column(column, justify="left" if column in ("case", "quantity") else "right", overflow="fold")
    for name, row in outcome:
        unit = f" {row.unit}" if row.unit else ""
        reference = f"{row.reference:.4g}{unit}" if row.is_relative else "–"
        style = "" if row.met else "red"
        cells = (f"{row.ours:.4g}{unit}", reference, *map(row.measure, (row.error, row.published, row.allowed)))
        table.add_row(name, row.quantity, *cells, style=style)
    return table
