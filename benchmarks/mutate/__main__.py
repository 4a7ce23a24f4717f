"""The command line of mutation testing; see the package."""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.mutate.coverage import Coverage, is_compiled, read_record, record_path
from benchmarks.mutate.edit import ROOMS, ROOT, Edit, deliberate_faults
from benchmarks.mutate.progress import Progress
from benchmarks.mutate.report import Result, survivors, table
from benchmarks.mutate.sites import drawn
from benchmarks.mutate.swap import functions, kernels, users
from benchmarks.mutate.trial import Outcome, package_is_ours, recorded, tried
from benchmarks.soak.report import write_between

TESTS = (
    "actuators", "collision", "constraints", "control", "core", "estimation", "gradients", "gym", "hybrid",
    "identification", "materials", "mesh", "models", "record", "reduced", "reduction", "solvers", "stepping", "sweep",
    "verification", "viewer", "world",
)  # fmt: skip
"""Folders of tests that run in the process of a trial; examples, documents and commands start others."""
APART = ("test_browser.py", "test_page.py")
"""Files of tests that start a browser."""
UNUSED = ("terminal", "xdist", "cacheprovider")
"""Plugins of pytest that trials do without."""


class Trials:
    """A pytest plugin that takes the place of its loop: the tests are collected once and run in forked processes."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self.folder: Path = options.folder.resolve()
        self.scratch = Path(tempfile.mkdtemp(prefix="mutate-"))
        self._progress = Progress(self.folder)
        self._end = time.monotonic() + 60.0 * options.wall
        self.faults: list[Result] = []
        self.random: list[Result] = []
        self.finished = True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Record what tests call, then try the mutations."""
        if not package_is_ours():
            raise pytest.UsageError(f"pliant is not imported from {ROOT}; set PYTHONPATH to its folder src")
        functions(), kernels(), users()  # before the processes part
        gc.collect()
        gc.freeze()
        files: dict[Path, list[pytest.Item]] = {}
        for item in session.items:
            files.setdefault(Path(item.path), []).append(item)
        for index, (path, items) in enumerate(sorted(files.items())):
            if not record_path(self.folder, path).exists() and time.monotonic() < self._end:
                print(f"recording {index + 1} of {len(files)}: {path.relative_to(ROOT)}", flush=True)
                recorded(items, self.folder, self.scratch)
        if self._options.record_only:
            return True
        called = {}
        for path in files:
            called.update(read_record(record_path(self.folder, path)))
        self._coverage = Coverage(session.items, called)
        for edit, deliberate in self._edits():
            outcome = self._tried(edit)
            if outcome is not None:
                (self.faults if deliberate else self.random).append((edit, outcome))
        return True

    def _edits(self) -> Iterator[tuple[Edit, bool]]:
        rooms = self._options.room or list(ROOMS)
        if not self._options.random_only:
            yield from ((edit, True) for edit in deliberate_faults() if not self._options.room or edit.room in rooms)
        count, seed, kernels = self._options.trials, self._options.seed, not self._options.python_only
        draws = [drawn(room, count, seed, kernels=kernels) for room in rooms]
        yield from ((edit, False) for turn in zip(*draws) for edit in turn)

    def _tried(self, edit: Edit) -> Outcome | None:
        """How the trial of `edit` ended, now or in an earlier run; None where it is left for a later one."""
        outcome, again = self._progress[edit], self._options.again
        done = outcome is not None and (outcome.verdict != "survived" or not again)
        if done or (again and outcome is None):
            return outcome
        if time.monotonic() > self._end:
            self.finished = False
            return outcome
        choices = self._coverage.choices(edit, own=self._options.seconds, others=self._options.seconds)
        outcome = tried(edit, choices, self.scratch, compiles=is_compiled(edit))
        self._progress.add(edit, outcome)
        where = f"{edit.room}: {edit.name} in {edit.path}:{edit.function}"
        said = f"{outcome.verdict:11} {outcome.seconds:5.1f} s {outcome.tests:4} tests  {where} {outcome.test}"
        print(said, flush=True)
        return outcome


def main() -> None:
    """Run or continue, then report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutate", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--room", action="append", choices=list(ROOMS), help="only this one; may be given several times"
    )
    parser.add_argument("--trials", type=int, default=30, help="random mutations of each room")
    parser.add_argument("--random-only", action="store_true", help="no deliberate faults")
    parser.add_argument("--python-only", action="store_true", help="no kernels: each of their trials compiles")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=15.0, help="processor time of a room's tests in one trial")
    parser.add_argument("--wall", type=float, default=float("inf"), help="end after so many minutes by the clock")
    parser.add_argument("--folder", type=Path, default=Path("out/mutate"), help="where progress is kept")
    parser.add_argument("--again", action="store_true", help="only repeat the survivors")
    parser.add_argument("--record-only", action="store_true", help="only record what tests call")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="folders of tests")
    parser.add_argument("--write", type=Path, help="document whose marked table is replaced")
    options = parser.parse_args()
    trials = Trials(options)
    ignored = [f"--ignore-glob=*/{name}" for name in APART]
    folders = [str(ROOT / "tests" / name) for name in options.tests]
    without = ["--override-ini=addopts=--import-mode=importlib", *(f"-pno:{name}" for name in UNUSED)]
    scratch = f"--basetemp={trials.scratch / 'pytest'}"
    try:
        code = pytest.main(
            [*folders, *ignored, *without, scratch, "-s", "-m", "not slow", f"--rootdir={ROOT}"], [trials]
        )
    finally:
        shutil.rmtree(trials.scratch, ignore_errors=True)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(f"the tests could not be collected (pytest ended with {code!r})")
    if options.record_only:
        return
    said = report(trials.faults, trials.random, options)
    left = survivors([*trials.faults, *trials.random])
    (trials.folder / "survivors.diff").write_text(f"{left}\n", encoding="utf-8")
    print(f"\n{left}\n\n{said}")
    if not trials.finished:
        print("not finished; the same command continues")
    if options.write:
        write_between(options.write, said, name="mutate")


def report(faults: list[Result], random: list[Result], options: argparse.Namespace) -> str:
    """Both tables, with the command that repeats them."""
    about = f"--trials {options.trials} --seed {options.seed} --seconds {options.seconds:g}"
    about += " --python-only" * options.python_only
    return f"""Deliberate faults, written by hand (`benchmarks/mutate/faults.toml`):

{table(faults)}

Mutations at random, `python -m benchmarks.mutate {about}`:

{table(random)}"""


if __name__ == "__main__":
    main()
