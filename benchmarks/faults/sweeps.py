"""A sweep of a scene file whose workers and whose driver are killed while it runs, on each engine.

    python -m benchmarks.faults.sweeps [--cases 1000] [--only dask] [--write docs/reliability.md]

At a quarter of the cases one worker is killed, at half the driver (kill −9), which is started again, at three quarters
another worker. The table at the end is compared with that of an undisturbed sweep, column by column and bit by bit;
times and machines are of each run. About three minutes for 1000 cases on two quiet cores.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks.faults.clusters import Cluster, dask_cluster, processes_below, ray_cluster
from benchmarks.soak.report import write_between

SCENE = '''
"""A bar that its cable bends, over a plane."""

import numpy as np
import pliant as pl

pull = 0.01  # m
seed = 0
until = 0.05  # s

scene = pl.Scene(gravity=(0, 0, -9.81))
rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
mesh = pl.mesh.box((0.1, 0.02, 0.02), (5, 1, 1))
bar = scene.add(pl.Volume(mesh, rubber, clamp=pl.regions.plane(axis="x", at=0.0), name="bar"))
cable = scene.add(pl.Cable(bar, [(x, 0.01, 0.002) for x in np.linspace(0.0, 0.1, 6)]))
plane = scene.add(pl.Obstacle.plane(point=(0, 0, -0.005)))
scene.collide(bar, plane, friction=0.3)


def control(t, state):
    return {cable: pl.Displacement(pull * t)}


def measure(run):
    tip = run.points(bar)[-1, -1]
    return {"x": tip[0], "z": tip[2], "tension": run.actuation(cable)[1][-1]}
'''
LONGEST = 1200.0
"""Seconds after which a sweep hangs."""
SAME = ("pull", "seed", "x", "z", "tension", "run_case", "run_key", "run_status", "run_pliant")
"""Columns that do not depend on when and where a case was computed."""
HEAD = (
    "engine", "cases", "workers killed", "drivers killed", "rows", "lost", "twice", "other values",
    "finished cases computed again", "seconds",
)  # fmt: skip


class Driver:
    """A process of `pliant sweep` in a folder of its own, which may be killed and started again."""

    def __init__(self, folder: Path, cases: int, on: str | None, workers: int = 2) -> None:
        folder.mkdir(parents=True)
        (folder / "scene.py").write_text(SCENE)
        self.folder, self.kept = folder, folder / "table.cases"
        where = ["--workers", str(workers)] if on is None else ["--on", on]
        self._command = [
            sys.executable, "-m", "pliant", "sweep", "scene.py", "--set", f"pull=0.001:0.02:{cases}",
            "--out", "table.parquet", *where,
        ]  # fmt: skip
        self._log = folder / "log.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin, or go on."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, cwd=self.folder, stdout=log, stderr=log)

    def done(self) -> int:
        """Cases that are finished."""
        return len(list(self.kept.glob("case_*.npz")))

    def wait(self, count: int) -> None:
        """Until that many cases are finished, or the process has ended."""
        end = time.monotonic() + LONGEST
        while self.done() < count and self.process.poll() is None:
            if time.monotonic() > end:
                raise RuntimeError(f"hangs at {self.done()} cases: {self.said()}")
            time.sleep(0.02)

    def kill(self) -> bool:
        """kill −9; False where it was over before."""
        running = self.process.poll() is None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return running

    def finish(self) -> list[dict[str, Any]]:
        """The rows of the table, once the process is over."""
        from pyarrow import parquet

        if self.process.wait(timeout=LONGEST):
            raise RuntimeError(f"the sweep failed: {self.said()}")
        rows: list[dict[str, Any]] = parquet.read_table(self.folder / "table.parquet").to_pylist()
        return rows

    def workers(self) -> list[int]:
        """Process ids of the workers that it started on this machine."""
        return [pid for pid, command in processes_below(self.process.pid) if "popen_loky" in command]

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that was started last."""
        assert self._process is not None
        return self._process

    def said(self) -> str:
        """The end of what it printed."""
        return self._log.read_text(errors="replace")[-2000:]


def undisturbed(folder: Path, cases: int, workers: int = 2) -> list[dict[str, Any]]:
    """The rows of a sweep over processes of this machine."""
    driver = Driver(folder, cases, None, workers)
    driver.start()
    return driver.finish()


def disturbed(folder: Path, cases: int, cluster: Cluster | None, reference: list[dict[str, Any]]) -> dict[str, Any]:
    """What was counted in a sweep, the workers and the driver of which were killed; see `HEAD`."""
    begin = time.monotonic()
    driver = Driver(folder, cases, None if cluster is None else cluster.address)
    workers = driver.workers if cluster is None else cluster.workers
    driver.start()
    driver.wait(cases // 4)
    killed = _kill_one(workers)
    driver.wait(cases // 2)
    drivers = int(driver.kill())
    before = {path: path.stat().st_mtime_ns for path in driver.kept.glob("case_*.npz")}
    driver.start()
    driver.wait(3 * cases // 4)
    killed += _kill_one(workers)
    rows = driver.finish()
    keys = [row["run_key"] for row in rows]
    wanted = {row["run_key"]: row for row in reference}
    other = [row for row in rows if any(row[name] != wanted.get(row["run_key"], {}).get(name) for name in SAME)]
    return {
        "engine": "processes" if cluster is None else cluster.address.partition(":")[0],
        "cases": cases,
        "workers killed": killed,
        "drivers killed": drivers,
        "rows": len(rows),
        "lost": len(set(wanted) - set(keys)),
        "twice": len(keys) - len(set(keys)),
        "other values": len(other),
        "finished cases computed again": sum(path.stat().st_mtime_ns != when for path, when in before.items()),
        "seconds": round(time.monotonic() - begin),
    }


def _kill_one(workers: Callable[[], list[int]]) -> int:
    """Kill one worker, as soon as there is one."""
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        for pid in workers():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            return 1
        time.sleep(0.005)
    return 0


def markdown(found: list[dict[str, Any]]) -> str:
    """The table of what was counted."""
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    lines += [f"| {' | '.join(str(row[name]) for name in HEAD)} |" for row in found]
    return "\n".join(lines)


def main() -> None:
    """Run the sweeps and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults.sweeps", description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--only", choices=("processes", "dask", "ray"), action="append")
    parser.add_argument("--write", type=Path, help="document whose marked table is replaced")
    options = parser.parse_args()
    engines: dict[str, Callable[[], AbstractContextManager[Any]]] = {
        "processes": nullcontext, "dask": dask_cluster, "ray": ray_cluster,
    }  # fmt: skip
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="pliant-sweeps-") as scratch:
        reference = undisturbed(Path(scratch) / "undisturbed", options.cases)
        for name in options.only or engines:
            with engines[name]() as cluster:
                found.append(disturbed(Path(scratch) / name, options.cases, cluster, reference))
            print(found[-1], flush=True)
    count = f" --cases {options.cases}" if options.cases != 1000 else ""
    text = f"Made by `python -m benchmarks.faults.sweeps{count}`.\n\n{markdown(found)}"
    print(text)
    if options.write:
        write_between(options.write, text, name="sweeps")


if __name__ == "__main__":
    main()
