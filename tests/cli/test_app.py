"""The command line: what it prints, what it writes, and how it fails."""

import json
import os
import subprocess
import sys
import types
import warnings

import pytest
from typer.testing import CliRunner

import demos
import experiments
import pliant
from benchmarks import tasks
from pliant import cli
from pliant.cli.app import app
from pliant.cli.info import extras
from pliant.core import errors as pliant_errors
from pliant.record import Run


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


COMMANDS = (
    "info", "warmup", "demo", "new", "run", "sweep", "play", "export", "mesh", "bench", "reproduce", "reduce",
    "validate", "view", "identify",
)  # fmt: skip


def test_help_lists_the_commands_and_exit_codes():
    text = run("--help")
    assert all(command in text for command in COMMANDS)
    assert "130" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_knows_json(command):
    text = run(command, "--help")
    assert "Usage" in text
    assert "--json" in text


@pytest.mark.parametrize("arguments", [["nothing"], ["run"], ["demo", "--nothing"], ["run", "x.py", "--until", "soon"]])
def test_wrong_usage_is_exit_code_two(pliant, arguments):
    code, _, err = pliant(*arguments)
    assert code == 2
    assert "Traceback" not in err


def test_a_defect_is_exit_code_three_and_says_what_to_do(pliant, monkeypatch):
    monkeypatch.setattr("pliant.cli.info.facts", lambda: 1 / 0)
    code, _, err = pliant("info")
    assert code == 3
    assert "ZeroDivisionError" in err
    assert "--debug" in err
    assert "Traceback" not in err
    assert "Traceback" in pliant("info", "--debug")[2]


def test_a_stop_from_the_keyboard_is_exit_code_130(pliant, monkeypatch):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.cli.info.facts", stop)
    assert pliant("info")[0] == 130


def test_warnings_of_one_kind_are_told_once(pliant, monkeypatch):
    def warn():
        for k in range(4):
            warnings.warn(f"at {k} s: too fast by {0.1 * k:.1f} mm", pliant_errors.PliantWarning, stacklevel=2)
        return {}

    monkeypatch.setattr("pliant.cli.info.facts", warn)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings():
        _, _, err = pliant("info")
    assert err.count("too fast") == 1
    assert "more warnings of the same kind" in err


def test_completion_knows_commands_and_names():
    environment = {**os.environ, "_PLIANT_COMPLETE": "complete_bash", "COMP_WORDS": "pliant demo t", "COMP_CWORD": "2"}
    script = "from pliant.cli.app import app; app(prog_name='pliant')"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert result.stdout.split() == ["tour", "trunk"], result.stderr
    environment |= {"COMP_WORDS": "pliant re", "COMP_CWORD": "1"}
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert result.stdout.split() == ["reproduce", "reduce"], result.stderr


def test_json_of_lists_and_facts(pliant):
    assert json.loads(pliant("demo", "--json", "-")[1]) == demos.DEMOS
    assert set(json.loads(pliant("bench", "--json", "-")[1])) == set(tasks.BENCHES)
    assert "coevoet-trunk" in json.loads(pliant("reproduce", "--json", "-")[1])
    assert set(json.loads(pliant("info", "--json", "-")[1])["extras"]) == set(extras())


def test_a_demo_tells_its_files_as_json(pliant, monkeypatch, tmp_path, saved_run):
    from demos.outcome import Outcome, stage_table

    recorded = Run.load(saved_run)
    outcome = Outcome(recorded, stage_table(recorded, title="a demo"), (tmp_path / "a.html",), tmp_path / "a.html")
    monkeypatch.setattr(demos, "run_demo", lambda name, out: outcome)
    code, out, err = pliant("demo", "bending", "--out", "out", "--no-open", "--json", "-")
    assert code == 0, err
    assert "a demo" in err
    report = json.loads(out)
    assert report["page"] == str(tmp_path / "a.html")
    assert report["run"]["steps"] == 10


def test_warmup_reports_its_parts_as_json(pliant, monkeypatch, tmp_path):
    from pliant.cli import warmup

    monkeypatch.setattr(warmup, "PARTS", {"hybrid systems": warmup.PARTS["hybrid systems"]})
    monkeypatch.setattr(warmup, "_stamp", lambda: tmp_path / "warm")
    code, out, _ = pliant("warmup", "--json", "-")
    assert code == 0
    assert list(json.loads(out)["parts"]) == ["hybrid systems"]


def test_a_published_experiment_as_json(pliant, monkeypatch):
    report = experiments.Report("a title", {"step_ms": 1.5}, {"step_ms": 3.0}, notes=("chosen",))
    monkeypatch.setattr(experiments, "reproduce", lambda name, full: report)
    code, out, err = pliant("reproduce", "coevoet-trunk", "--json", "-")
    assert code == 0
    assert json.loads(out)["paper"] == {"step_ms": 3.0}
    assert "chosen" in err


@pytest.mark.parametrize("command", ["demo", "bench", "reproduce", "validate"])
def test_outside_a_checkout_the_error_says_how_to_get_one(command, pliant, monkeypatch, tmp_path):
    monkeypatch.setattr("pliant.core.checkout.ROOT", tmp_path)
    code, _, err = pliant(command)
    assert code == 1
    assert "source checkout" in err
    assert "pip install --editable" in err
    assert "Traceback" not in err


def test_the_studio_without_a_checkout_says_what_its_hybrid_systems_need(monkeypatch, tmp_path):
    from pliant.viewer import zoo

    monkeypatch.setattr("pliant.core.checkout.ROOT", tmp_path)
    with pytest.raises(pliant_errors.MissingExtraError, match="`pliant view delta` needs the folder exp"):
        zoo.entry("delta").made()


def test_a_foreign_package_of_the_same_name_is_not_run(pliant, monkeypatch, tmp_path):
    foreign = types.ModuleType("demos")
    foreign.__file__ = str(tmp_path / "demos" / "__init__.py")
    monkeypatch.setitem(sys.modules, "demos", foreign)
    code, _, err = pliant("demo")
    assert code == 1
    assert "was imported under that" in " ".join(err.split())


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
    monkeypatch.setattr(tasks, "BENCHES", {"beam": None})
    monkeypatch.setattr(tasks, "run_bench", lambda name: report)
    assert "step_ms" in run("bench", "beam", "--json", str(tmp_path / "beam.json"))
    written = json.loads((tmp_path / "beam.json").read_text())
    assert written.pop("made")["versions"].keys() >= {"pliant", "numpy"}
    assert written == report


def test_bench_says_before_it_runs_that_the_file_cannot_be_written(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(tasks, "run_bench", lambda name: pytest.fail("ran"))
    code, error = fail(monkeypatch, capsys, "bench", "beam", "--json", str(tmp_path / "nowhere" / "beam.json"))
    assert code == 1
    assert "does not exist" in error
