"""Where compiled kernels are kept."""

import os
import subprocess
import sys

import pytest

from pliant.core import kernels


def folder_with(monkeypatch, path):
    monkeypatch.setenv("PLIANT_CACHE_DIR", str(path))
    kernels.cache_folder.cache_clear()
    try:
        return kernels.cache_folder()
    finally:
        kernels.cache_folder.cache_clear()


def test_the_folder_follows_the_environment_and_names_the_sources(monkeypatch, tmp_path):
    folder = folder_with(monkeypatch, tmp_path)
    assert folder.is_dir()
    assert folder.parent == tmp_path
    assert folder.name.startswith("kernels-")


def test_no_writable_folder_is_an_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(OSError, match="PLIANT_CACHE_DIR"):
        folder_with(monkeypatch, blocked)


def test_a_kernel_is_compiled_once_and_announced(tmp_path):
    """The first process compiles and says so on one line, the second loads from the cache and stays silent."""
    script = (
        "import numpy as np; from pliant.models.volume.assembly import set_mass; values = np.ones((1, 3, 3));"
        "set_mass(values, np.zeros(1, np.int64), np.ones(1), 2.0); print(values[0].trace())"
    )
    environment = {**os.environ, "PLIANT_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout.strip() for run in runs] == ["6.0", "6.0"]
    assert "compiling kernels" in runs[0].stderr
    assert runs[0].stderr.count("\n") == 1
    assert runs[1].stderr == ""
