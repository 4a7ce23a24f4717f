"""Trials of faults that were made, in a folder: one line of JSON for each, so that the next call makes the others."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Trial = Callable[[int, Path], str | None]
"""Makes trial number `seed` in an empty folder; returns what went wrong."""


@dataclass(frozen=True)
class Kind:
    """A kind of fault in one piece of work; `expected` is what its trials show, `most` how many make sense."""

    fault: str
    work: str
    expected: str
    trial: Trial
    most: int = 10**6

    @property
    def name(self) -> str:
        """Name of its file of trials."""
        return re.sub(r"[^A-Za-z0-9]+", "-", f"{self.fault} {self.work}")


def made(folder: Path, kind: Kind) -> list[dict[str, Any]]:
    """The trials of `kind` so far. A last line that was cut short does not count."""
    path, found = folder / f"{kind.name}.jsonl", []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def make(folder: Path, kind: Kind, *, trials: int, seed: int, say: Callable[[str], object]) -> None:
    """Make the trials of `kind` that are missing of so many."""
    folder.mkdir(parents=True, exist_ok=True)
    done = {one["seed"] for one in made(folder, kind)}
    wanted = [number for number in range(seed, seed + min(trials, kind.most)) if number not in done]
    if not wanted:
        return
    say(f"{kind.fault}, {kind.work}: {len(wanted)} trials")
    with tempfile.TemporaryDirectory(prefix="pliant-faults-") as temporary:
        for number in wanted:
            own = Path(temporary) / f"trial-{number}"
            own.mkdir()
            begun = time.perf_counter()
            problem = kind.trial(number, own)
            record = {"seed": number, "problem": problem, "seconds": time.perf_counter() - begun}
            with (folder / f"{kind.name}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            if problem:
                say(f"  {number}: {problem}")
            shutil.rmtree(own, ignore_errors=True)


def table(folder: Path, kinds: Sequence[Kind]) -> str:
    """Trials and failures of all kinds, and what failed."""
    lines = ["| fault | work | afterwards | trials | failures |", "|---|---|---|---|---|"]
    failures = []
    for kind in kinds:
        trials = made(folder, kind)
        bad = [one for one in trials if one["problem"]]
        shown = str(len(trials)) if trials else "not run"
        lines.append(f"| {kind.fault} | {kind.work} | {kind.expected} | {shown} | {len(bad) if trials else ''} |")
        failures += [f"- {kind.fault}, {kind.work}, trial {one['seed']}: {one['problem']:.300}" for one in bad[:3]]
    return "\n".join([*lines, *(["", "What failed (at most three of a kind):", "", *failures] if failures else [])])
