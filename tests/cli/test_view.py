"""`pliant view`: what it refuses, and how it says so."""

import socket
import sys

import pytest
from typer.testing import CliRunner

from pliant import cli
from pliant.cli.app import app

pytest.importorskip("viser")


def fail(monkeypatch, capsys, *arguments):
    """Exit code and standard error of the installed command."""
    monkeypatch.setattr(sys, "argv", ["pliant", "view", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code, capsys.readouterr().err


def test_help_says_what_can_be_viewed():
    text = CliRunner().invoke(app, ["view", "--help"], env={"COLUMNS": "200"}).output
    assert all(word in text for word in ("--port", "--host", "--no-browser", "--screenshot", "SCENE.py"))


def test_names_and_files_that_are_none(monkeypatch, capsys, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import pliant as pl\nscene = pl.Scene(gravity=3)\n")
    for what, words in (
        ("octopus", ["'octopus'", "finger", "trunk", "maze"]),
        (str(tmp_path / "none.npz"), ["no file", "none.npz"]),
        (str(broken), ["gravity"]),
    ):
        code, error = fail(monkeypatch, capsys, what, "--no-browser")
        assert code == 1
        assert all(word in error for word in words)
        assert "Traceback" not in error


def test_a_taken_port_is_refused_where_it_was_asked_for(monkeypatch, capsys, tmp_path):
    scene = tmp_path / "scene.py"
    scene.write_text("import pliant as pl\nscene = pl.Scene()\nscene.add(pl.robots.finger())\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, error = fail(monkeypatch, capsys, str(scene), "--port", port, "--no-browser")
    assert code == 1
    assert f"port {port}" in error
    assert "0 for any that is free" in error


def test_a_picture_is_a_png(monkeypatch, capsys, tmp_path):
    code, error = fail(monkeypatch, capsys, "ball", "--screenshot", str(tmp_path / "ball.gif"))
    assert code == 1
    assert ".png" in error
