"""Tables of docs/results.md: what fills them, and that the page names commands that exist."""

import shlex

import pytest

from benchmarks.results import PAGE, as_markdown, commands, filled
from benchmarks.start import first_example
from benchmarks.tables import TABLES, plot_scaling
from benchmarks.tasks import run_bench
from benchmarks.tasks import scaling as scaling_bench

END = "<!-- end of output -->\n"
PAGE_OF_TWO = f"text\n<!-- output of: python a -->\nold\n{END}more\n<!-- output of: b -->\nkept\n{END}"


@pytest.fixture
def scaling(monkeypatch):
    """Small sizes; the first one in a process of its own, as all of the bench."""
    first = scaling_bench._in_child("unknowns", 1)
    monkeypatch.setattr(
        scaling_bench,
        "_in_child",
        lambda name, size: first if name == "unknowns" else scaling_bench.measure(name, size),
    )
    return scaling_bench.run_scaling(series={"unknowns": (1,), "bodies": (1, 2, 3)})


def test_a_part_is_replaced_by_what_its_command_prints():
    assert commands(PAGE_OF_TWO) == ["python a", "b"]
    page = filled(PAGE_OF_TWO, {"python a": "new"})
    assert "old" not in page
    assert "python a -->\n\nnew\n\n<!-- end" in page
    assert "kept" in page
    assert filled(page, {"python a": "new"}) == page


def test_text_becomes_a_listing_and_tests_show_what_they_print():
    assert as_markdown("python a", "| a |\n|---|\n") == "| a |\n|---|"
    assert as_markdown("python a", "3 mm\n") == "```text\n3 mm\n```"
    report = "..\n___ test_sag[tet4-2] ___\n--- Captured stdout call ---\nsag 3 mm\n1 passed in 2.00s\n"
    assert as_markdown("python -m pytest -rP tests", report) == "```text\nsag: sag 3 mm\n```"


def test_the_page_names_tables_that_exist():
    named = [shlex.split(command) for command in commands(PAGE.read_text())]
    tables = [words[3] for words in named if words[:3] == ["python", "-m", "benchmarks.tables"]]
    assert tables
    assert set(tables) <= set(TABLES)


def test_scaling_reports_sizes_times_and_memory(scaling, tmp_path):
    assert scaling["unknowns"]["cases"][0]["size"] == 3 * 6 * 4
    rows = [case["rows"] for case in scaling["bodies"]["cases"]]
    assert rows == [27, 54, 81]
    for series in scaling.values():
        assert all(case["step_ms"] > 0 and case["memory_mb"] > 20 for case in series["cases"])
    table = list(TABLES["scaling"]({"bodies": scaling["bodies"]}))
    assert sum(line.startswith("| bodies") for line in table) == 3
    plot_scaling({"bodies": scaling["bodies"]}, tmp_path / "scaling.svg")
    assert (tmp_path / "scaling.svg").read_text().lstrip().startswith("<?xml")


def test_the_table_of_a_report_with_peers(monkeypatch):
    entry = {"step_ms": 2.0, "floor_ms": 1.0, "tets": 6, "rows": 3, "stages_ms": {"detect": 0.1}}
    entry |= {"residual": 0.0, "nonlinear_residual": 0.1}
    said = {"step_ms": 4.0, "version": "1", "settings": "soft"}
    report = entry | {"peers": {"other": said}, "peer_errors": {"gone": "no\nwheel"}, "variants": {"smooth_one": entry}}
    for name, given in (("beam", report), ("robots", {"block": report})):
        text = "\n".join(TABLES[name](given))
        assert "smooth one" in text
        assert "| 4.00 | 2.00 | 2.0 |" in text
        assert "failed: wheel" in text


def test_the_bench_scaling_reads_no_data(tmp_path):
    with pytest.raises(Exception, match="reads no data"):
        run_bench("scaling", data=tmp_path)


def test_the_program_of_a_first_start_is_that_of_the_readme():
    program = first_example()
    assert program.startswith("import pliant as pl\n")
    assert "print(" in program
