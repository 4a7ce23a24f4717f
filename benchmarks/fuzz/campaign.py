"""Runs the cases of a reader in child processes, keeps what became of them, and goes on where it was ended."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.fuzz.child import READ, REFUSED, TOO_LARGE, case_of
from pliant.core.provenance import provenance
from pliant.core.replacing import replace_text

GOOD = (READ, REFUSED, TOO_LARGE)
SECONDS = 20.0
"""Processor time that a file may take; reading a valid one takes milliseconds."""
STALLED = 300.0
"""Time by the clock that a file may take on a machine in use."""
_KEPT = 3
"""Files that are kept of each kind of failure."""
_EVERY = 100


@dataclass
class Record:
    """What became of the first `done` cases of a reader: counts of outcomes, and files of each kind of failure."""

    reader: str
    seed: int
    done: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    files: dict[str, list[int]] = field(default_factory=dict)

    @property
    def failures(self) -> dict[str, int]:
        """Counts of what is neither read nor refused."""
        return {kind: count for kind, count in self.outcomes.items() if kind not in GOOD}

    @classmethod
    def opened(cls, folder: Path, reader: str, seed: int) -> Record:
        """The record in `folder`, empty where there is none of this seed."""
        path = cls.path(folder, reader)
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if stored.get("seed") != seed:
            return cls(reader, seed)
        return cls(reader, seed, stored["done"], Counter(stored["outcomes"]), stored["files"])

    @staticmethod
    def path(folder: Path, reader: str) -> Path:
        """Its file."""
        return folder / f"{re.sub(r'[^a-z0-9]+', '-', reader.lower())}.json"

    def save(self, folder: Path) -> None:
        """Keep it."""
        kept = {"reader": self.reader, "seed": self.seed, "done": self.done, "outcomes": self.outcomes}
        replace_text(
            self.path(folder, self.reader), json.dumps({**kept, "files": self.files, "made": provenance()}, indent=1)
        )

    def add(self, folder: Path, index: int, outcome: str) -> None:
        """Count the outcome of a case, and keep the file of a failure."""
        kind = re.sub(r"-?\d[\d.e+-]*", "#", outcome) if outcome not in GOOD else outcome
        self.outcomes[kind] += 1
        self.done = index + 1
        kept = self.files.setdefault(kind, []) if kind not in GOOD else [0] * _KEPT
        if len(kept) < _KEPT:
            kept.append(index)
            ending, data = case_of(self.reader, self.seed, index)
            path = self.path(folder, self.reader).with_suffix("") / f"{index:06d}{ending}"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)


def campaign(
    folder: Path, reader: str, *, seed: int, count: int, tick: Callable[[Record], None] = lambda r: None
) -> Record:
    """Bring the record of a reader to `count` cases."""
    folder.mkdir(parents=True, exist_ok=True)
    record = Record.opened(folder, reader, seed)
    while record.done < count:
        for index, outcome in _outcomes(reader, seed, record.done, count):
            record.add(folder, index, outcome)
            if record.done % _EVERY == 0:
                record.save(folder)
                tick(record)
        record.save(folder)
    return record


def _outcomes(reader: str, seed: int, first: int, last: int) -> Iterator[tuple[int, str]]:
    """Outcomes from `first` on until `last`, or until the child died or was ended for the time it took."""
    command = [sys.executable, "-m", "benchmarks.fuzz.child", reader, str(seed), str(first), str(last)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as child:
        try:
            yield from _told(child, reader, first, last)
        finally:
            _end(child)


def _told(child: subprocess.Popen[bytes], reader: str, first: int, last: int) -> Iterator[tuple[int, str]]:
    lines, index = _lines(child), first
    if next(lines, "") != "ready":
        raise RuntimeError(f"the reader {reader!r} did not get ready: {child.wait()}")
    for line in lines:
        if line is None:
            yield index, f"hang: more than {SECONDS:g} s"
            return
        number, _, outcome = line.partition(" ")
        index = int(number) + 1
        yield int(number), outcome
    if index < last:
        yield index, f"the process died: {child.wait()}"


def _lines(child: subprocess.Popen[bytes]) -> Iterator[Any]:
    """Lines of a child; None where it takes too long for one."""
    assert child.stdout is not None
    rest, began, spent = b"", monotonic(), 0.0
    started = False
    while True:
        ready, _, _ = select.select([child.stdout], [], [], 1.0)
        if ready:
            more = os.read(child.stdout.fileno(), 65536)
            if not more:
                return
            *whole, rest = (rest + more).split(b"\n")
            began, spent = monotonic(), _processor_time(child.pid)
            for line in whole:
                started = True
                yield line.decode("ascii", "replace")
        elif started and (_processor_time(child.pid) - spent > SECONDS or monotonic() - began > STALLED):
            yield None
            return


def _processor_time(process: int) -> float:
    """Seconds of processor time of a process and its own children, those that still run included."""
    total = 0.0
    for other in [process, *_children(process)]:
        try:
            parts = Path(f"/proc/{other}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, parts[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def _children(process: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child and what it has forked: its session is its own."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
