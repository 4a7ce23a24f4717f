"""The table of `pliant validate`: rows, cases, what is skipped, what is written."""

import json
from importlib import import_module

import pytest
from typer.testing import CliRunner

import validation
from benchmarks.results import commands
from pliant.cli.app import app
from pliant.core.errors import InputError, MissingExtraError
from validation import CASES, GROUPS, Case, Outcome, Row, page, runner

KEYS = {"name", "quantity", "ours", "reference", "unit", "error", "source"}


@pytest.fixture
def cases(monkeypatch):
    """Two cases in place of the real ones; the second needs recordings."""

    def case(**options):
        return Case(line="a line", group="literature", source="A. Author", licence="MIT", **options)

    made = {"one": case(rows="made_up:one"), "two": case(rows="made_up:two", data="two", pictures="made_up:drawn")}
    for module in (runner, page, validation):
        monkeypatch.setattr(module, "CASES", made)

    class MadeUp:
        @staticmethod
        def one():
            return [Row(quantity="length", ours=1.01, reference=1.0, unit="m", allowed=0.005)]

        @staticmethod
        def two(data):
            return [Row(quantity="rms", ours=0.2, reference=0.0, unit="mm", published=0.4, source=data.name)]

        @staticmethod
        def drawn(data, folder):
            (folder / "two.png").write_bytes(b"")
            return [folder / "two.png"]

    monkeypatch.setattr(runner, "import_module", lambda name: MadeUp)
    return MadeUp


def test_the_error_of_a_row_is_relative_or_in_its_unit():
    assert Row(quantity="a", ours=1.1, reference=1.0).error == pytest.approx(0.1)
    distance = Row(quantity="a", ours=-0.3, reference=0.0, unit="mm", allowed=0.2)
    assert distance.error == pytest.approx(0.3)
    assert not distance.is_relative
    assert not distance.met
    assert distance.measure(0.3) == "0.3 mm"
    with pytest.raises(InputError, match="must be finite"):
        Row(quantity="a", ours=float("nan"), reference=1.0)


@pytest.mark.usefixtures("cases")
def test_what_needs_absent_recordings_is_skipped_and_says_so(tmp_path):
    outcome = validation.validate()
    assert set(outcome.rows) == {"one"}
    assert "--data" in outcome.skipped["two"]
    assert "no folder two/" in validation.validate("two", data=tmp_path).skipped["two"]
    with pytest.raises(InputError, match="not a folder"):
        validation.validate(data=tmp_path / "nowhere")
    with pytest.raises(InputError, match="there is no case 'three'"):
        validation.validate("three")


def test_a_missing_package_skips_its_case(cases, monkeypatch):
    def absent():
        raise MissingExtraError("pip install something")

    monkeypatch.setattr(cases, "one", absent)
    assert validation.validate("one").skipped == {"one": "pip install something"}


@pytest.mark.usefixtures("cases")
def test_the_command_prints_one_table_and_writes_rows(tmp_path):
    (tmp_path / "two").mkdir()
    file = tmp_path / "rows.json"
    result = CliRunner().invoke(app, ["validate", "--data", str(tmp_path), "--json", str(file), "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "beyond the allowed error: one, length" in result.output
    rows = json.loads(file.read_text())["rows"]
    assert [row["name"] for row in rows] == ["one", "two"]
    assert all(set(row) >= KEYS | {"licence", "command", "published"} for row in rows)
    assert rows[1]["source"] == "two"
    assert rows[1]["command"] == "pliant validate two --data DIR"
    assert (tmp_path / "two.png").exists()


@pytest.mark.usefixtures("cases")
def test_the_list_names_every_case():
    result = CliRunner().invoke(app, ["validate", "--list"])
    assert "one" in result.output
    assert "(needs --data)" in result.output


@pytest.mark.usefixtures("cases")
def test_the_table_of_the_page_has_every_row(tmp_path):
    (tmp_path / "two").mkdir()
    text = page.table(validation.validate(data=tmp_path))
    assert "| `one` | length | 1.01 m | 1 m | 1 % (beyond) | – | 0.5 % |" in text
    assert "| `two` | rms | 0.2 mm | – | 0.2 mm | 0.4 mm | – |" in text


def test_the_cases_are_complete():
    for name, case in CASES.items():
        assert case.group in GROUPS, name
        for path in filter(None, (case.rows, case.pictures)):
            module, _, function = path.partition(":")
            assert callable(getattr(import_module(module), function)), name


def test_the_page_shows_every_case():
    text = page.PAGE.read_text(encoding="utf-8")
    shown = [command.removeprefix("pliant validate").removesuffix("--data DIR").strip() for command in commands(text)]
    assert {case for name in shown for case in runner.selected(name)} == set(CASES)


def test_an_outcome_without_rows_is_empty():
    assert Outcome().as_json() == {"rows": [], "skipped": []}
