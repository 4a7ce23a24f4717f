"""What `pliant verify RUN` does: a saved run, simulated again and compared."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from pliant.cli.errors import FAILED, OK
from pliant.cli.output import Output
from pliant.record.storage import load_run
from pliant.record.verification import verified


def show_verification(output: Output, recorded: Path, *, tolerance: float) -> int:
    """Say whether a run replays; the exit code is 0 where it does."""
    found = verified(load_run(recorded), tolerance=tolerance)
    output.say(f"{recorded}: {found.text()}")
    output.finish({"run": str(recorded), "passed": found.passed, "identical": found.identical, **asdict(found)})
    return OK if found.passed else FAILED
