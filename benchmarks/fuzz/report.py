"""The table of the fuzzing, and its place in a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.fuzz.campaign import Record
from benchmarks.fuzz.child import READ, REFUSED, TOO_LARGE
from pliant.core.replacing import replace_text

START, END = "<!-- fuzz: start -->", "<!-- fuzz: end -->"


def markdown(records: Sequence[Record], seed: int) -> str:
    """A row for each reader: files, those read, those refused, and failures."""
    lines = [
        f"Made by `python -m benchmarks.fuzz --seed {seed}`.",
        "",
        "| reader | mutated files | read | refused | of these too large | other errors, deaths, hangs |",
        "|---|---|---|---|---|---|",
    ]
    for one in records:
        failures = sum(one.failures.values())
        large = one.outcomes[TOO_LARGE]
        counts = (one.done, one.outcomes[READ], one.outcomes[REFUSED] + large, large, failures)
        lines.append(f"| {one.reader} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def write_between(path: Path, table: str) -> None:
    """Put `table` between the marked lines of the document `path`."""
    before, _, rest = path.read_text(encoding="utf-8").partition(START)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{path} has no lines {START!r} and {END!r}")
    replace_text(path, f"{before}{START}\n{table}\n{END}{after}")
