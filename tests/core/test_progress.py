"""The progress bar counts pieces of work, and costs nothing where it is not shown."""

import subprocess
import sys

import rich
from rich.console import Console

from pliant.core.progress import progress_bar


def test_a_shown_bar_reaches_its_end(capsys, monkeypatch):
    monkeypatch.setattr(rich, "_console", Console(force_terminal=True))
    with progress_bar("work", 2, shown=True) as advance:
        advance()
        advance()
    assert "100%" in capsys.readouterr().out


def test_a_bar_that_is_not_shown_loads_no_rich():
    code = (
        "import sys, pliant.public\nfrom pliant.core.progress import progress_bar\n"
        "with progress_bar('work', 1, shown=False) as advance:\n    advance()\nprint('rich' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"
