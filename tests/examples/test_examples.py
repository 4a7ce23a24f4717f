"""Every example runs to its last check, and after the warm-up none of them compiles anything."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


def run(path, folder):
    return subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True)


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    result = run(path, tmp_path)
    if "compiling" in result.stderr:  # perhaps nobody warmed up before: once more after it
        subprocess.run([sys.executable, "-c", "from pliant.cli.warmup import warm_all; warm_all()"], check=True)
        result = run(path, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.strip(), "an example prints what it found"
    assert "compiling" not in result.stderr, "the warm-up missed a kernel, or an array type, of this example"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_ends_in_a_check(path):
    assert "\nassert " in path.read_text() or "\n    assert " in path.read_text()
