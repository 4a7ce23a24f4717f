"""Some mutated files for every reader, read here; `make fuzz` reads 10 000 of each in processes of their own."""

import json

import numpy as np
import pytest

from benchmarks.fuzz import campaign as module
from benchmarks.fuzz import child
from benchmarks.fuzz.campaign import GOOD, Record, campaign
from benchmarks.fuzz.child import READ, case_of, outcome_of
from benchmarks.fuzz.readers import READERS
from benchmarks.fuzz.report import markdown
from benchmarks.soak.report import write_between

QUICK = [name for name, reader in READERS.items() if not reader.forks]
FEW = {"run": 6, "world": 6, "state": 6, "reduced world": 4}
CASES = 12


@pytest.mark.parametrize("name", QUICK)
def test_mutated_files_are_read_or_refused(name, tmp_path):
    for index in range(FEW.get(name, CASES)):
        ending, data = case_of(name, 1, index)
        path = tmp_path / f"case{ending}"
        path.write_bytes(data)
        assert outcome_of(READERS[name], path) in GOOD, f"case {index} of {name!r}"


@pytest.mark.parametrize("name", ["sweep case", "mesh .vtk", "surface .stl", "CSV recording", "C3D", "scene file"])
def test_files_that_are_not_mutated_are_read(name, tmp_path):
    for ending, data in READERS[name].samples():
        path = tmp_path / f"case{ending}"
        path.write_bytes(data)
        assert outcome_of(READERS[name], path) == READ


def test_cases_repeat_by_their_seed_and_differ():
    cases = [case_of("C3D", 0, k)[1] for k in range(20)]
    assert cases == [case_of("C3D", 0, k)[1] for k in range(20)]
    assert len({case_of("C3D", seed, k)[1] for seed in (0, 1) for k in range(20)}) > 30


def test_other_errors_are_told_with_their_place(tmp_path, monkeypatch):
    def wrong(path):
        return np.zeros(3)[5]

    reader = child.Reader(wrong, lambda: [])
    assert outcome_of(reader, tmp_path).startswith("IndexError: ")

    def greedy(path):
        raise child.PliantError("too large") from MemoryError()

    assert outcome_of(child.Reader(greedy, lambda: []), tmp_path) == child.TOO_LARGE


def test_a_campaign_keeps_failures_and_goes_on(tmp_path, monkeypatch):
    asked = []

    def outcomes(reader, seed, first, last):
        asked.append(first)
        for index in range(first, last):
            if index == 7:
                yield index, "the process died: -11"
                return
            yield index, "TypeError: x.py:3 f" if index in (2, 3, 4, 5, 9) else READ

    monkeypatch.setattr(module, "_outcomes", outcomes)
    first = campaign(tmp_path, "C3D", seed=0, count=8)
    record = campaign(tmp_path, "C3D", seed=0, count=12)
    assert asked == [0, 8]
    assert first.done == 8
    assert record.done == 12
    assert record.failures == {"TypeError: x.py:# f": 5, "the process died: #": 1}
    assert sorted(path.name for path in (tmp_path / "c3d").iterdir()) == [
        "000002.c3d",
        "000003.c3d",
        "000004.c3d",
        "000007.c3d",
    ]
    assert json.loads((tmp_path / "c3d.json").read_text())["made"]["versions"]["numpy"] == np.__version__
    assert Record.opened(tmp_path, "C3D", 1).done == 0, "another seed begins anew"
    assert "| C3D | 12 | 6 | 0 | 0 | 6 |" in markdown([record], 0)


def test_the_table_goes_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- fuzz: start -->\nold\n<!-- fuzz: end -->\nafter\n")
    write_between(page, "new", name="fuzz")
    assert page.read_text() == "before\n<!-- fuzz: start -->\nnew\n<!-- fuzz: end -->\nafter\n"


@pytest.mark.slow
def test_a_child_process_reads_within_its_bounds(tmp_path):
    record = campaign(tmp_path, "C3D", seed=0, count=30)
    assert record.done == 30
    assert not record.failures
