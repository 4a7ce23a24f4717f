"""One forked process for each trial: it makes the mutation and runs the tests that can notice, until one fails."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.mutate.coverage import Called, Choice, Recorder, record_path
from benchmarks.mutate.edit import ROOT, Edit
from benchmarks.mutate.swap import UnswappableError, swap

MEMORY = 12 * 2**30
"""Bytes of address space of a trial."""
COMPILATION = 240.0
"""Processor seconds that a test may take beside its usual time where kernels are compiled."""
PATIENCE = 20.0
"""Processor seconds that any test may take beside five times its usual time."""


class Outcome(NamedTuple):
    """How a trial ended: "killed", "timeout", "survived" or "unswappable"; the test, and how many were run."""

    verdict: str
    test: str
    own_room: bool
    tests: int
    seconds: float


def tried(edit: Edit, choices: list[Choice], scratch: Path, *, compiles: bool) -> Outcome:
    """Make `edit` in a process of its own and run `choices` there."""
    if not choices:
        return Outcome("survived", "", False, 0, 0.0)
    beside = PATIENCE + COMPILATION * compiles

    def work(say: Callable[[Any], None]) -> None:
        try:
            swap(edit)
        except UnswappableError as error:
            say(("unswappable", str(error)))
            return
        for index, _, failed in _run([choice.item for choice in choices], lambda i: _limit(choices[i], beside)):
            say(("failed" if failed else "passed", index))
            if failed:
                return

    start = time.monotonic()
    words = dict(_forked(work, scratch, patience=10.0 * beside))
    seconds = time.monotonic() - start
    if "unswappable" in words:
        return Outcome("unswappable", words["unswappable"], False, 0, seconds)
    done = words.get("passed", -1) + 1
    if "end" in words and "failed" not in words:
        return Outcome("survived", "", False, done, seconds)
    choice = choices[words.get("failed", min(done, len(choices) - 1))]  # or that in which the process died
    verdict = "timeout" if words.get("status") == -signal.SIGXCPU or "silent" in words else "killed"
    return Outcome(verdict, choice.item.nodeid, choice.own_room, done + 1, seconds)


def recorded(items: list[pytest.Item], folder: Path, scratch: Path) -> None:
    """Run the tests of one file, unchanged, and keep what each of them calls."""
    path = record_path(folder, Path(items[0].path))
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")

    def work(say: Callable[[Any], None]) -> None:
        recorder = Recorder()
        items[0].config.pluginmanager.register(recorder)
        with partial.open("w", encoding="utf-8") as file:
            used = [0.0]

            def begin(_: int) -> None:
                used[0] = time.process_time()
                recorder.begin()

            for _, item, failed in _run(items, begin):
                called = Called(time.process_time() - used[0], not failed, recorder.end(item))
                file.write(json.dumps([item.nodeid, round(called.seconds, 4), called.passed, sorted(called.labels)]))
                file.write("\n")
                file.flush()
                say(("passed", None))

    for _ in _forked(work, scratch, patience=600.0):
        pass
    partial.replace(path)


class _Listener:
    """A pytest plugin that knows whether the last test failed."""

    failed = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed = self.failed or report.failed


def _run(items: list[pytest.Item], before: Callable[[int], None]) -> Iterator[tuple[int, pytest.Item, bool]]:
    listener = _Listener()
    items[0].config.pluginmanager.register(listener)
    for index, item in enumerate(items):
        listener.failed = False
        following = items[index + 1] if index + 1 < len(items) else None
        before(index)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        yield index, item, listener.failed


def _limit(choice: Choice, beside: float) -> None:
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + 5.0 * choice.seconds + beside) + 1, resource.RLIM_INFINITY))


def _forked(work: Callable[[Callable[[Any], None]], None], scratch: Path, *, patience: float) -> Iterator[Any]:
    """What `work` says in a process of its own, then how that ended where it did not end by itself."""
    scratch.mkdir(parents=True, exist_ok=True)
    read, write = os.pipe()
    process = os.fork()
    if not process:
        _work(work, read, write, scratch)
    os.close(write)
    rest = b""
    while select.select([read], [], [], patience)[0]:
        part = os.read(read, 65536)
        *lines, rest = (rest + part).split(b"\n")
        words = [tuple(json.loads(line)) for line in lines]
        yield from words
        if not part or (words and words[-1][0] == "end"):
            break
    else:
        yield ("silent", patience)
    os.close(read)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # also what the test left running
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, -signal.SIGKILL):
        yield ("status", code)


def _work(work: Callable[[Callable[[Any], None]], None], read: int, write: int, scratch: Path) -> None:
    code = 1
    try:
        os.setsid()
        os.close(read)
        os.chdir(scratch)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with os.fdopen(write, "w", encoding="utf-8") as file:

            def say(word: Any) -> None:
                file.write(f"{json.dumps(word)}\n")
                file.flush()

            work(say)
            say(("end", None))
        code = 0
    finally:
        os._exit(code)


def package_is_ours() -> bool:
    """Whether the tests import the library of this checkout."""
    return str(Path(sys.modules["pliant"].__file__ or "")).startswith(str(ROOT))
