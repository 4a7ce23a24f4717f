"""The progress bar counts pieces of work, says the time left, and costs nothing where it is not shown."""

import subprocess
import sys
import time

import pytest

from pliant.core import progress
from pliant.core.progress import duration, is_watched, line, progress_bar, waiting


def test_a_shown_bar_reaches_its_end_and_goes(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_REFRESH", 0.0)
    with progress_bar("work", 2, shown=True) as advance:
        advance()
        advance()
    said = capsys.readouterr().err
    assert "50 %, 1 of 2" in said
    assert "100 %, 2 of 2, 0 s left" in said
    assert said.endswith("\r\033[K")


def test_nobody_watches_a_pipe(capsys):
    assert not is_watched()
    with progress_bar("work", 1) as advance:
        advance()
    assert capsys.readouterr().err == ""


def test_a_long_call_shows_a_bar_unasked(capsys, monkeypatch):
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    with progress_bar("short", 1) as advance:
        advance()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress_bar("long", 1) as advance:
        advance()
    assert "long" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "text"), [(12, "12 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")])
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_time_left_is_at_the_pace_so_far():
    assert line("work", 1, 4, 10.0).endswith("1 of 4, 30 s left")


def test_a_bar_loads_no_rich():
    code = (
        "import sys, pliant.public\nfrom pliant.core.progress import progress_bar\n"
        "with progress_bar('work', 1, shown=True) as advance:\n    advance()\nprint('rich' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_a_call_without_pieces_says_the_time_passed(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_REFRESH", 0.01)
    with waiting("meshing", shown=True):
        time.sleep(0.05)
    said = capsys.readouterr().err
    assert "meshing, 0 s so far" in said
    assert said.endswith("\r\033[K")
    with waiting("meshing"):
        pass
    assert capsys.readouterr().err == ""
