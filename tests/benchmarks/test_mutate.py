"""Mutation testing itself: its list of faults, the sites it finds, and that a mutation reaches what runs."""

import os
import tomllib
from collections import Counter

import numpy as np
import pytest

from benchmarks.mutate.coverage import own_tests
from benchmarks.mutate.edit import JUSTIFIED, ROOMS, ROOT, Edit, deliberate_faults, reason, source_of
from benchmarks.mutate.progress import Progress
from benchmarks.mutate.report import survivors, table
from benchmarks.mutate.sites import drawn, edits_of
from benchmarks.mutate.swap import UnswappableError, swap
from benchmarks.mutate.trial import Outcome, _forked
from pliant.core.arrays import add_product
from pliant.core.units import metres_per

SOURCE = '''"""A module."""
import numpy as np
LIMIT = 3


def f(x: float = 1.0, *, y=2) -> float:
    """Text."""
    if x < LIMIT and not y:
        raise ValueError(f"{x + 1} is too small, {-1}")
    self.z[0] = max(x, 0.0)
    return g(x, y, unit=3) ** 2 - x
'''


def edit(was, now, source=SOURCE, path="src/pliant/core/made_up.py"):
    start = source.encode().index(was.encode())
    return Edit(path, start, start + len(was.encode()), now, "made up", source)


def test_deliberate_faults_fit_the_sources():
    """Each text is there once (else the list says which), each change is Python, and every room has some."""
    faults = deliberate_faults()
    assert len(faults) >= 98
    assert not [name for name, count in Counter(fault.name for fault in faults).items() if count > 1]
    for fault in faults:
        compile(fault.changed, fault.path, "exec")
    assert set(ROOMS) <= {fault.room for fault in faults}


def test_justified_survivors_name_lines_that_are_there():
    for entry in tomllib.loads(JUSTIFIED.read_text(encoding="utf-8")).get("survivor", []):
        lines = [line.strip() for line in source_of(entry["path"]).splitlines()]
        assert set(entry["was"].splitlines()) <= set(lines), f"{entry['path']} has no line {entry['was']!r}"
        assert entry["kind"] in ("equivalent", "speed", "message", "rounding", "unreachable", "layout")
        assert len(entry["reason"]) > 10


def test_sites_are_found_outside_messages_and_signatures():
    found = {(one.name, one.changed.splitlines()[_line(one)].strip()) for one in edits_of("a.py", SOURCE)}
    assert ("constant", "LIMIT = 6") in found
    assert ("comparison", "if (x <= LIMIT) and not y:") in found
    assert ("boolean", "if (x < LIMIT or not y):") in found
    assert ("dropped clamp", "self.z[0] = x") in found
    assert ("dropped statement", "pass") in found
    assert ("dropped keyword", "return g(x, y) ** 2 - x") in found
    assert ("argument order", "return g(y, x, unit=3) ** 2 - x") in found
    assert ("squared", "return g(x, y, unit=3) - x") in found
    assert ("arithmetic", "return (g(x, y, unit=3) ** 2 + x)") in found
    changed = {_line(one) + 1 for one in edits_of("a.py", SOURCE)}
    assert changed == {3, 8, 10, 11}
    assert not any("unit=6" in one.changed or "unit=0" in one.changed for one in edits_of("a.py", SOURCE))


def _line(one):
    return one.source.encode()[: one.start].count(b"\n")


def test_draws_are_repeatable_and_each_says_something_else():
    first, again, other = (drawn("sweep", 12, seed) for seed in (0, 0, 1))
    assert [one.key for one in first] == [one.key for one in again] != [one.key for one in other]
    assert len({one.key for one in first}) == 12
    for one in first:
        assert one.room == "sweep"
        compile(one.changed, one.path, "exec")


def test_a_mutation_is_known_again_where_its_function_moved():
    one = edit("max(x, 0.0)", "x")
    moved = edit("max(x, 0.0)", "x", SOURCE.replace("LIMIT = 3", "# µm\nLIMIT = 3\nOTHER = 4"))
    changed = edit("max(x, 0.0)", "x", SOURCE.replace("** 2", "** 3"))
    assert one.key == moved.key != changed.key
    assert one.function == "f"
    assert one.lines == ("self.z[0] = max(x, 0.0)", "self.z[0] = x")
    assert "-    self.z[0] = max(x, 0.0)\n+    self.z[0] = x" in one.diff


def test_results_are_kept_and_counted(tmp_path):
    killed, survived = edit("max(x, 0.0)", "x"), edit("3", "4")
    Progress(tmp_path).add(killed, Outcome("killed", "tests/core/test_a.py::test_b", True, 3, 0.1))
    Progress(tmp_path).add(survived, Outcome("survived", "", False, 9, 0.1))
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"key": "cut sho')
    progress = Progress(tmp_path)
    results = [(one, progress[one]) for one in (killed, survived)]
    assert results[0][1].verdict == "killed"
    assert progress[edit("0.0", "1.0")] is None
    assert reason(survived) is None
    assert table(results).splitlines()[2] == "| core | 2 | 1 | 0 | 0 | 1 | 0 | 50% |"
    assert survivors(results).endswith("-LIMIT = 3\n+LIMIT = 4")


def test_the_tests_of_a_file_are_those_of_its_room():
    room, mirror = own_tests("src/pliant/core/units.py")
    assert room == ("tests/core/",)
    assert mirror == {"tests/core/test_units.py"}


def in_a_process(one, measure, tmp_path):
    """What `measure` gives before and after a mutation, in a process of its own; this one is not changed."""

    def work(say):
        before = measure()
        try:
            swap(one)
        except UnswappableError as error:
            say(("refused", str(error)))
        else:
            say(("measured", [before, measure()]))

    with_fork = dict(_forked(work, tmp_path, patience=60.0))
    return with_fork.get("measured") or with_fork["refused"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forked processes")
def test_a_mutation_reaches_what_was_imported_and_no_other_process(tmp_path):
    path = "src/pliant/core/units.py"
    value = edit('"dm": 0.1', '"dm": 0.01', source_of(path), path)
    result = edit("return LENGTH_UNITS[unit]", "return -LENGTH_UNITS[unit]", source_of(path), path)
    assert in_a_process(value, lambda: metres_per("dm"), tmp_path) == [0.1, 0.01]
    assert in_a_process(result, lambda: metres_per("cm"), tmp_path) == [0.01, -0.01]
    assert metres_per("dm") == 0.1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forked processes")
def test_a_mutated_kernel_is_compiled_in_its_process(tmp_path):
    from scipy import sparse

    path = "src/pliant/core/arrays.py"
    source = source_of(path)
    was = next(line.strip() for line in source[source.index("def _add_product") :].splitlines() if "+=" in line)

    def product():
        total = np.zeros(2)
        add_product(sparse.csr_matrix(np.diag([2.0, 3.0])), np.ones(2), total)
        return total.tolist()

    one = edit(was, was.replace("+=", "-="), source, path)
    assert in_a_process(one, product, tmp_path) == [[2.0, 3.0], [-2.0, -3.0]]
    assert product() == [2.0, 3.0]


def test_a_class_body_is_refused(tmp_path):
    path = "src/pliant/actuators/limits.py"
    one = edit("    lower: float = -np.inf\n", "    lower: float = 0.0\n", source_of(path), path)
    assert "would change" in in_a_process(one, lambda: 0, tmp_path)
    assert str(ROOT) not in one.diff
