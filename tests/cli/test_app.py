"""The command line: what it prints, what it writes, and how it fails."""

import json
import sys

import pytest
from typer.testing import CliRunner

import pliant
from pliant import bench, cli, demos
from pliant.cli.app import app
from pliant.cli.info import extras


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def fail(monkeypatch, capsys, *arguments):
    """Exit code and standard error of the installed command."""
    monkeypatch.setattr(sys, "argv", ["pliant", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code, capsys.readouterr().err


def test_help_lists_the_commands():
    text = run("--help")
    assert all(command in text for command in ("info", "warmup", "demo", "bench"))


def test_version():
    assert run("--version").strip() == f"pliant {pliant.__version__}"


def test_info_names_versions_threads_cache_and_extras():
    text = run("info")
    for name in ("pliant", "python", "numpy", "scipy", "numba", "BLAS", "cores", "kernel cache"):
        assert name in text
    for name, present in extras().items():
        assert f"extra {name}" in text
        assert present or f"pliant[{name}]" in text


def test_demo_without_a_name_lists_them():
    assert all(name in run("demo") for name in demos.DEMOS)


def test_an_unknown_name_is_one_line_without_a_traceback(monkeypatch, capsys, tmp_path):
    for command in (["demo", "nothing", "--out", str(tmp_path / "new")], ["bench", "nothing"]):
        code, error = fail(monkeypatch, capsys, *command)
        assert code == 1
        assert len(error.strip().splitlines()) == 1
        assert "'nothing'" in error
        assert "Traceback" not in error
    assert not (tmp_path / "new").exists()


def test_an_unwritable_folder_is_one_line(monkeypatch, capsys, tmp_path):
    (tmp_path / "taken").write_text("a file")
    code, error = fail(monkeypatch, capsys, "demo", "bending", "--out", str(tmp_path / "taken"))
    assert code == 1
    assert "taken" in error
    assert "Traceback" not in error


def test_bench_writes_json(monkeypatch, tmp_path):
    report = {"step_ms": 1.5, "stages_ms": {"solve": 0.5}, "peers": {}}
    monkeypatch.setattr(bench, "BENCHES", {"beam": None})
    monkeypatch.setattr(bench, "run_bench", lambda name: report)
    assert "step_ms" in run("bench", "beam", "--json", str(tmp_path / "beam.json"))
    assert json.loads((tmp_path / "beam.json").read_text()) == report


def test_bench_says_before_it_runs_that_the_file_cannot_be_written(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(bench, "run_bench", lambda name: pytest.fail("ran"))
    code, error = fail(monkeypatch, capsys, "bench", "beam", "--json", str(tmp_path / "nowhere" / "beam.json"))
    assert code == 1
    assert "does not exist" in error
