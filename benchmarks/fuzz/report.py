"""The table of the fuzzing."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.fuzz.campaign import Record
from benchmarks.fuzz.child import READ, REFUSED, TOO_LARGE


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
