"""Every example runs to its last check, and after the warm-up none of them compiles anything."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def warm():
    subprocess.run([sys.executable, "-c", "from pliant.cli.warmup import warm_all; warm_all()"], check=True)


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path, warm):
    result = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.strip(), "an example prints what it found"
    assert "compiling" not in result.stderr, "the warm-up missed a kernel, or an array type, of this example"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_ends_in_a_check(path):
    assert "\nassert " in path.read_text() or "\n    assert " in path.read_text()
