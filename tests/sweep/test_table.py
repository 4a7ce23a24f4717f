"""Tables: rows and their provenance, failures, files that belong to something else, the same table after a stop."""

import csv
import json
import sys

import numpy as np
import pytest

import pliant as pl
from pliant import sweep

parquet = pytest.importorskip("pyarrow.parquet")


def task(case):
    if case["x"] == 2 and case.get("fails"):
        raise pl.ConvergenceError("no equilibrium")
    return {"square": np.array(case["x"] ** 2), "path": np.arange(3.0) * case["x"]}


def cases(count, **more):
    return [{"x": k, "seed": 10 + k, **more} for k in range(count)]


OPTIONS = {"workers": 1, "progress": False}


def rows_of(path):
    return parquet.read_table(path).to_pylist()


def results_of(path):
    """What does not depend on when a case was computed."""
    return [{k: v for k, v in row.items() if k not in ("run_seconds", "run_date")} for row in rows_of(path)]


def test_a_row_says_how_it_was_made(tmp_path):
    path = tmp_path / "t.parquet"
    sweep.run(task, cases(3), table=path, identity={"world": "w"}, **OPTIONS)
    row = rows_of(path)[2]
    assert (row["x"], row["seed"], row["square"], row["path"]) == (2, 12, 4, [0.0, 2.0, 4.0])
    assert (row["run_case"], row["run_status"], row["run_error"]) == (2, "done", None)
    assert row["run_key"] == sweep.digest_of({"x": 2, "seed": 12})
    assert row["run_numpy"] == np.__version__
    assert row["run_machine"]
    assert 0.0 <= row["run_seconds"] < 10.0
    stored = json.loads(parquet.read_schema(path).metadata[b"pliant"])
    assert stored["identity"] == {"world": "w"}
    assert stored["parameters"] == ["x", "seed"]


def test_a_failure_is_a_row_with_its_error_and_is_computed_again(tmp_path):
    path, folder = tmp_path / "t.parquet", tmp_path / "kept"
    with pytest.raises(sweep.SweepError):
        sweep.run(task, cases(4, fails=True), table=path, folder=folder, **OPTIONS)
    rows = rows_of(path)
    assert [row["run_status"] for row in rows] == ["done", "done", "failed", "done"]
    assert rows[2]["run_error"] == "ConvergenceError: no equilibrium"
    assert rows[2]["square"] is None
    kept = json.loads((folder / "failed_00002.json").read_text())
    assert "no equilibrium" in kept["error"]
    assert "in task" in kept["trace"]
    assert kept["case"]["x"] == 2
    sweep.run(lambda case: task({"x": case["x"]}), cases(4, fails=True), table=path, folder=folder, **OPTIONS)
    assert [row["run_status"] for row in rows_of(path)] == ["done"] * 4
    assert not list(folder.glob("failed*"))


def test_an_interrupted_sweep_ends_in_the_same_table(tmp_path):
    whole, path, folder = tmp_path / "whole.parquet", tmp_path / "t.parquet", tmp_path / "kept"
    sweep.run(task, cases(6), table=whole, **OPTIONS)

    def interrupted(case):
        if case["x"] == 4:
            raise KeyboardInterrupt
        return task(case)

    with pytest.raises(KeyboardInterrupt):
        sweep.run(interrupted, cases(6), table=path, folder=folder, **OPTIONS)
    assert not path.exists()
    sweep.run(task, cases(6), table=path, folder=folder, **OPTIONS)
    assert results_of(path) == results_of(whole)
    finished = rows_of(path)
    sweep.run(task, cases(6), table=path, folder=folder, **OPTIONS)
    assert rows_of(path) == finished, "times and dates are those of the computation"


@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet"])
def test_the_table_of_another_sweep_is_not_overwritten(tmp_path, ending):
    path, seen = tmp_path / f"t{ending}", []
    sweep.run(task, cases(2), table=path, **OPTIONS)
    sweep.run(task, cases(3), table=path, **OPTIONS)
    before = path.read_bytes()

    def other(case):
        seen.append(case)
        return {"a": np.array(1)}

    with pytest.raises(pl.InputError, match=r"a sweep over x.*, not over y"):
        sweep.run(other, [{"y": 1}], table=path, **OPTIONS)
    if ending == ".parquet":
        with pytest.raises(pl.InputError, match="another world"):
            sweep.run(other, cases(3), table=path, identity={"world": "b"}, **OPTIONS)
    assert path.read_bytes() == before
    path.write_bytes(b"\x00\xff no table")
    with pytest.raises(pl.InputError, match=r"no sweep wrote|over"):
        sweep.run(other, cases(3), table=path, **OPTIONS)
    assert not seen


def test_bad_tables_are_told_before_anything_runs(tmp_path):
    def never(case):
        raise AssertionError

    for path, said in ((tmp_path / "t.xlsx", "written as"), (tmp_path / "no" / "t.csv", "does not exist")):
        with pytest.raises(pl.InputError, match=said):
            sweep.run(never, cases(2), table=path, **OPTIONS)
    with pytest.raises(pl.InputError, match="begins with"):
        sweep.run(never, [{"run_case": 1}], table=tmp_path / "t.parquet", **OPTIONS)


def test_values_of_several_kinds_are_kept_as_json(tmp_path):
    path = tmp_path / "t.parquet"
    given = [{"x": 1}, {"x": "soft"}, {"x": [1, 2]}]
    sweep.run(lambda case: {"one": np.array(1.5)}, given, table=path, **OPTIONS)
    assert [json.loads(row["x"]) for row in rows_of(path)] == [1, "soft", [1, 2]]


def test_parameters_that_cases_leave_out_stand_in_the_table(tmp_path):
    path = tmp_path / "t.parquet"
    table = sweep.Table(path, lambda result: {"a": float(result["square"])}, {"young": 1e5, "x": 7})
    sweep.run(task, cases(2), table=table, **OPTIONS)
    assert [(row["young"], row["x"], row["a"]) for row in rows_of(path)] == [(1e5, 0, 0.0), (1e5, 1, 1.0)]


def test_tables_of_text_hold_parameters_and_results_in_the_order_of_the_cases(tmp_path):
    given = [{"x": 3, "seed": 5}, {"seed": 6, "x": 1}]
    rows = [
        {"x": 3, "seed": 5, "square": 9, "path": [0.0, 3.0, 6.0]},
        {"seed": 6, "x": 1, "square": 1, "path": [0.0, 1.0, 2.0]},
    ]
    sweep.run(task, given, table=tmp_path / "t.json", **OPTIONS)
    assert json.loads((tmp_path / "t.json").read_text()) == rows
    sweep.run(task, given, table=tmp_path / "T.CSV", **OPTIONS)
    with (tmp_path / "T.CSV").open(newline="", encoding="utf-8") as stream:
        assert list(csv.DictReader(stream)) == [{name: str(value) for name, value in row.items()} for row in rows]


def test_cases_that_are_plain_values_are_a_column(tmp_path):
    sweep.run(lambda case: {"square": np.array(case**2)}, [3, 4], table=tmp_path / "t.json", **OPTIONS)
    assert json.loads((tmp_path / "t.json").read_text()) == [{"case": 3, "square": 9}, {"case": 4, "square": 16}]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
@pytest.mark.parametrize("count", [1, 3])
def test_the_table_of_the_same_sweep_is_written_again(tmp_path, ending, count):
    path = tmp_path / f"t.{ending}"
    for _ in range(2):
        sweep.run(task, cases(count), table=path, **OPTIONS)
    with pytest.raises(pl.InputError, match=r"a sweep over x, seed, not over seed, x;"):
        sweep.run(task, [{"seed": 1, "x": 1}], table=path, **OPTIONS)
    with pytest.raises(
        pl.InputError, match=r"a sweep over x, seed, not over x, seed, more;|over x, seed, .*, not over"
    ):
        sweep.run(task, cases(count, more=1), table=path, **OPTIONS)


def test_a_failed_case_keeps_its_place_in_a_table_of_text(tmp_path):
    with pytest.raises(sweep.SweepError):
        sweep.run(task, cases(4, fails=True), table=tmp_path / "t.json", **OPTIONS)
    rows = json.loads((tmp_path / "t.json").read_text())
    assert [row.get("square") for row in rows] == [0, 1, None, 9]
    assert rows[2] == {"x": 2, "seed": 12, "fails": True}


def test_a_table_of_another_format_and_an_empty_one(tmp_path):
    path = tmp_path / "t.parquet"
    sweep.run(task, cases(1), table=path, **OPTIONS)
    table = parquet.read_table(path)
    stored = json.loads(table.schema.metadata[b"pliant"])
    assert stored["made"]["versions"]["numpy"] == np.__version__
    stored["format"] = "another 9"
    parquet.write_table(table.replace_schema_metadata({"pliant": json.dumps(stored)}), path)
    with pytest.raises(pl.InputError, match="of the format 'another 9', not 'pliant sweep table 1'"):
        sweep.run(task, cases(1), table=path, **OPTIONS)
    for ending, text in (("json", "[]"), ("csv", "")):  # the tables of a sweep without cases
        (tmp_path / f"t.{ending}").write_text(text)
        sweep.run(task, cases(2), table=tmp_path / f"t.{ending}", **OPTIONS)


def test_all_that_differs_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    sweep.run(task, cases(1), table=path, identity={"world": "a", "same": "s"}, **OPTIONS)
    with pytest.raises(pl.InputError, match="the table of a sweep with another plan and another world;"):
        sweep.run(task, cases(1), table=path, identity={"plan": "p", "world": "b", "same": "s"}, **OPTIONS)


def test_pyarrow_is_needed_for_parquet_only(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    sweep.run(task, [{"run_x": 1, "x": 2}], table=tmp_path / "t.json", **OPTIONS)
    with pytest.raises(pl.MissingExtraError, match=r"pip install 'pliant\[cluster\]'"):
        sweep.run(task, cases(1), table=tmp_path / "t.parquet", **OPTIONS)
