"""kill −9 at a random moment of a piece of work: nothing is lost, nothing half-written is read, the next call works."""

from __future__ import annotations

import signal
import time
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.faults.children import Child, in_child, timed
from benchmarks.faults.works import WORKS


def kill_trial(name: str, seed: int, folder: Path) -> str | None:
    """One trial; what is wrong afterwards, None where nothing is."""
    work = WORKS[name]
    problem = in_child(partial(work.prepare, folder, seed))
    if problem:
        return f"before the fault: {problem}"
    moment = np.random.default_rng(seed).uniform(0.0, 1.2) * _usual_time(name, folder.parent)

    def disturbed(begin: object) -> None:
        begin()  # type: ignore[operator]
        work.work(folder, seed)

    child = Child(disturbed)
    child.wait_begun()
    time.sleep(moment)
    child.send(signal.SIGKILL)
    answer = child.answer()
    if answer not in ("", "ended by SIGKILL"):
        return f"the work: {answer}"
    return in_child(partial(work.check, folder, seed)) or None


@cache
def _usual_time(name: str, folder: Path) -> float:
    """How long the work takes undisturbed, s: the mean of several, since some differ from seed to seed."""
    work, spans = WORKS[name], []
    for seed in range(6 if name == "export" else 2):
        own = folder / f"usual {name} {seed}"
        own.mkdir(exist_ok=True)
        if problem := in_child(partial(work.prepare, own, seed)):
            raise RuntimeError(f"{name} fails without a fault: {problem}")
        spans.append(timed(partial(work.work, own, seed)))
    return float(np.mean(spans))
