"""`pliant sweep`: grids and lists of cases, the table, going on after a stop, and cases that fail."""

import csv
import json

import pytest

from pliant.cli.run import many_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2.5,4", [1, 2.5, 4]),
        ("0:1:3", [0.0, 0.5, 1.0]),
        ("soft,hard", ["soft", "hard"]),
        ("(0,0,1),(0,1,0)", [(0, 0, 1), (0, 1, 0)]),
        ("True", [True]),
        ("1e5", [1e5]),
    ],
)
def test_values_of_an_option(text, values):
    assert many_values(text) == values


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_a_grid_makes_a_table_in_which_softer_blocks_sag_more(pliant, scene, tmp_path):
    code, out, err = pliant(
        "sweep", scene, "--set", "young=5e4,1e5", "--set", "push=0:0.1:2", "--out", "t.csv", "--workers", 1, "--json",
        "t.json",
    )  # fmt: skip
    assert code == 0, err
    assert "4 cases" in out
    rows = rows_of(tmp_path / "t.csv")
    assert [(float(row["young"]), float(row["push"])) for row in rows] == [(5e4, 0), (5e4, 0.1), (1e5, 0), (1e5, 0.1)]
    assert float(rows[0]["sag (mm)"]) > float(rows[2]["sag (mm)"])
    assert json.loads((tmp_path / "t.json").read_text())["rows"][0]["sag (mm)"] == float(rows[0]["sag (mm)"])


def test_cases_from_a_file_and_going_on_after_a_stop(pliant, scene, tmp_path):
    (tmp_path / "cases.csv").write_text("young,push\n5e4,0\n1e5,0.1\n")
    arguments = ["sweep", scene, "--cases", "cases.csv", "--out", "t.json", "--folder", "kept", "--workers", 1]
    assert pliant(*arguments)[0] == 0
    first = (tmp_path / "t.json").read_text()
    (tmp_path / "kept" / "case_00001.npz").unlink()
    before = (tmp_path / "kept" / "case_00000.npz").stat().st_mtime_ns
    assert pliant(*arguments)[0] == 0
    assert (tmp_path / "t.json").read_text() == first
    assert (tmp_path / "kept" / "case_00000.npz").stat().st_mtime_ns == before, "a finished case is not run again"
    scene.write_text(scene.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    code, _, err = pliant(*arguments)
    assert code == 1
    assert "another scene" in err


def test_a_failed_case_leaves_the_others_in_the_table(pliant, scene, tmp_path):
    code, _, err = pliant("sweep", scene, "--set", "young=1e5,-1", "--out", "t.csv", "--workers", 1)
    assert code == 1
    assert "1 of 2 cases failed" in err
    assert "young" in err
    good, bad = rows_of(tmp_path / "t.csv")
    assert float(good["sag (mm)"]) > 0.0
    assert bad["sag (mm)"] == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "a sweep needs parameters"),
        (["--set", "yong=1,2"], "no parameter 'yong'"),
        (["--set", "young=1,2", "--out", "t.xlsx"], ".csv, .json or .parquet"),
        (["--cases", "nowhere.csv"], "there is no file nowhere.csv"),
        (["--set", "young=1e5,1e5"], "more than once"),
        (["--set", "young=a:b:3"], "no range"),
    ],
)
def test_bad_options_are_told_before_anything_runs(pliant, scene, arguments, said):
    code, _, err = pliant("sweep", scene, *arguments)
    assert code == 1
    assert said in err


def test_a_parquet_table_keeps_its_cases_and_all_parameters(pliant, scene, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    arguments = ["sweep", scene, "--set", "young=1e5,2e5", "--out", "t.parquet", "--workers", 1]
    assert pliant(*arguments)[0] == 0
    first = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [(row["young"], row["push"], row["label"], row["run_status"]) for row in first] == [
        (1e5, 0.0, "block", "done"), (2e5, 0.0, "block", "done"),
    ]  # fmt: skip
    assert first[0]["sag (mm)"] > first[1]["sag (mm)"] > 0.0
    assert len(list((tmp_path / "t.cases").glob("case_*.npz"))) == 2
    assert pliant(*arguments)[0] == 0
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == first
    code, _, err = pliant("sweep", scene, "--set", "push=0,1", "--out", "t.parquet", "--workers", 1)
    assert code == 1
    assert "t.parquet is the table of a sweep over young, not over push" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--on", "dask://127.0.0.1:1"], "nothing answers at dask://127.0.0.1:1"),
        (["--on", "spark://127.0.0.1:1"], "dask://HOST:PORT or ray://HOST:PORT"),
        (["--on", "dask://127.0.0.1:1", "--workers", "2"], "those of the cluster"),
        (["--memory", "0"], "memory of a sweep"),
    ],
)
def test_a_cluster_that_is_not_there_is_told_before_anything_runs(pliant, scene, arguments, said):
    pytest.importorskip("distributed")
    code, _, err = pliant("sweep", scene, "--set", "young=1e5,2e5", "--out", "t.csv", *arguments)
    assert code == 1
    assert said in " ".join(err.split())


def test_workers_are_processes(pliant, scene, tmp_path):
    pytest.importorskip("joblib")
    code, _, err = pliant("sweep", scene, "--set", "young=5e4,1e5", "--out", "t.csv", "--workers", 2, "--until", 0.02)
    assert code == 0, err
    assert len(rows_of(tmp_path / "t.csv")) == 2
