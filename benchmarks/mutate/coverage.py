"""Which tests can notice a mutation: the functions that each test calls, recorded once for each file of tests.

The profiler of Python's standard library says which functions ran, also those that a shared fixture called for the
tests after it. It does not see kernels: these count as called where a Python function that names them was. Records are
kept by the content of a file of tests, with the processor time of each test.
"""

from __future__ import annotations

import cProfile
import hashlib
import json
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath
from types import CodeType
from typing import Any, NamedTuple

import pytest
from numba.core.dispatcher import Dispatcher

from benchmarks.mutate.edit import ROOT, Edit
from benchmarks.mutate.swap import functions, is_own, kernels, users

LONGEST = 4.0
"""Processor seconds of a test beyond which no trial runs it."""


class Called(NamedTuple):
    """What one test did: its processor time in seconds, whether it passed, and the labels of what it called."""

    seconds: float
    passed: bool
    labels: frozenset[str]


class Choice(NamedTuple):
    """A test that can notice a mutation, with its usual processor time, and whether it is one of the file's room."""

    item: pytest.Item
    seconds: float
    own_room: bool


def label(code: CodeType) -> str:
    """Path and name of the outermost function around code."""
    return f"{code.co_filename.removeprefix(f'{ROOT}/')}:{code.co_qualname.split('.<locals>')[0]}"


class Recorder:
    """A pytest plugin that gathers the functions called by a test and by the shared fixtures that it uses."""

    def __init__(self) -> None:
        self._profile = cProfile.Profile(builtins=False)
        self._seen: set[str] = set()
        self._threads: set[CodeType] = set()
        self._shared: dict[Any, set[str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Keep what a fixture of a file calls: the first of its tests sets it up for all."""
        self._seen |= self._drained()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                own = self._shared[fixturedef] = self._drained()
                self._seen |= own

    def begin(self) -> None:
        """Listen from now on, with nothing gathered."""
        self._seen = set()
        threading.setprofile(lambda frame, event, _: self._threads.add(frame.f_code) if event == "call" else None)
        self._profile.enable()

    def end(self, item: pytest.Item) -> frozenset[str]:
        """Labels of what a test called."""
        self._seen |= self._drained()
        self._profile.disable()
        threading.setprofile(None)
        definitions = [one for several in item._fixtureinfo.name2fixturedefs.values() for one in several]
        return frozenset(self._seen.union(*(self._shared.get(one, ()) for one in definitions)))

    def _drained(self) -> set[str]:
        self._profile.disable()
        codes = {entry.code for entry in self._profile.getstats() if isinstance(entry.code, CodeType)}
        codes, self._threads = codes | self._threads, set()
        self._profile.clear()
        self._profile.enable()
        return {label(code) for code in codes if is_own(code)}


def record_path(folder: Path, tests: Path) -> Path:
    """Where the record of a file of tests is kept; another content, another place."""
    digest = hashlib.sha1(tests.read_bytes(), usedforsecurity=False).hexdigest()[:12]
    return folder / "coverage" / f"{'.'.join(tests.relative_to(ROOT).with_suffix('').parts)}-{digest}.jsonl"


def read_record(path: Path) -> dict[str, Called]:
    """What the tests of a file called, by their names; a line that was cut short is left out."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            name, seconds, passed, labels = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[name] = Called(seconds, passed, frozenset(labels))
    return found


class Coverage:
    """Tests by the functions that they call."""

    def __init__(self, items: list[pytest.Item], called: dict[str, Called]) -> None:
        self._items = {item.nodeid: item for item in items if item.nodeid in called}
        self._called = called
        self._by_label: dict[str, list[str]] = {}
        for name in self._items:
            if called[name].passed and called[name].seconds <= LONGEST:
                for one in called[name].labels:
                    self._by_label.setdefault(one, []).append(name)

    def choices(self, edit: Edit, *, own: float, others: float) -> list[Choice]:
        """Tests that can notice `edit`, file by file: its mirror, those of its room, all others; in a file each
        function of tests once before its further parameters, the cheapest first. Both groups end where they would take
        more than `own` and `others` seconds.
        """
        room, mirror = own_tests(edit.path)
        names = {name for one in labels_of(edit) for name in self._by_label.get(one, ())}
        names |= {name for name in self._items if _file(name) in mirror and self._called[name].passed}
        files: dict[str, list[str]] = {}
        for name in sorted(names, key=self._seconds):
            files.setdefault(_file(name), []).append(name)
        rank = {file: (file not in mirror, not file.startswith(room), self._seconds(files[file][0])) for file in files}
        chosen, left = [], {True: own, False: others}
        for file in sorted(files, key=rank.__getitem__):
            own_room = file.startswith(room)
            for name in _spread(files[file]):
                seconds = self._seconds(name)
                if seconds <= min(left[own_room], LONGEST):
                    left[own_room] -= seconds
                    chosen.append(Choice(self._items[name], seconds, own_room))
        return chosen

    def _seconds(self, name: str) -> float:
        return self._called[name].seconds


def _file(name: str) -> str:
    return name.partition("::")[0]


def _spread(names: list[str]) -> list[str]:
    """First one test of each function, then the second of each, and so on."""
    count: dict[str, int] = {}
    ranked = []
    for name in names:
        function = name.partition("[")[0]
        count[function] = count.get(function, 0) + 1
        ranked.append((count[function], name))
    return [name for _, name in sorted(ranked, key=lambda one: one[0])]


def own_tests(path: str) -> tuple[tuple[str, ...], set[str]]:
    """Beginnings of the tests of a file's room, and the files of tests that mirror it."""
    inside = PurePath(path).relative_to("src/pliant")
    room = f"tests/{inside.parts[0]}/"
    mirrored = [f"test_{inside.stem}.py", f"test_{inside.parent.name}.py"]
    return (room,), {p.relative_to(ROOT).as_posix() for m in mirrored for p in (ROOT / room).rglob(m)}


@cache
def _labels() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for function in functions():
        found.setdefault(label(function.__code__), []).append(function)
    return found


def labels_of(edit: Edit) -> set[str]:
    """Labels of the functions whose calls reach what an edit changes."""
    changed = f"{edit.path}:{edit.function}"
    own = {id(one.py_func): one for one in kernels()}
    if edit.function:
        found = {changed}
        stale = [own[id(one)] for one in _labels().get(changed, ()) if id(one) in own]
    else:
        names = {line.partition("=")[0].partition(":")[0].strip() for line in edit.lines[0].splitlines()}
        using = [one for one in functions() if names & set(one.__code__.co_names)]
        found = {label(one.__code__) for one in using}
        found |= {one for one in _labels() if one.startswith(f"{edit.path}:")}
        stale = [own[id(one)] for one in using if id(one) in own]
    seen = {id(one) for one in stale}
    while stale:
        for user in users().get(id(stale.pop()), ()):
            if not isinstance(user, Dispatcher):
                found.add(label(user.__code__))
            elif id(user) not in seen:
                seen.add(id(user))
                stale.append(user)
    return found


def is_compiled(edit: Edit) -> bool:
    """Whether a trial has to compile: the edit is in a kernel, or in a value that kernels may hold."""
    changed = f"{edit.path}:{edit.function}"
    return not edit.function or any(label(one.py_func.__code__) == changed for one in kernels())
