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


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    folder = folder_with(monkeypatch, tmp_path)
    assert folder.is_dir()
    assert folder.parent == tmp_path


def test_code_is_kept_by_content(tmp_path):
    """A copy of the sources elsewhere finds the code; a change of an inlined function or of a constant, even in a
    module that is imported for another one, compiles again, and documentation does not.
    """
    base = 'from pliant_constant import FACTOR\n@inline\ndef scaled(x):\n    """Scaled."""\n    return FACTOR * x\n'
    middle = "from pliant_base import scaled\n@inline\ndef twice(x):\n    return scaled(2 * x)\n"
    top = "from pliant_middle import twice\n@kernel\ndef run(x):\n    return twice(x)\n"
    decorators = "from pliant.core.kernels import inline, kernel\n"
    script = (
        "import pliant_top; value = pliant_top.run(1.0); print(value, sum(pliant_top.run.stats.cache_hits.values()))"
    )

    def answer(folder, factor, source=base):
        folder.mkdir(exist_ok=True)
        files = {"constant": f"FACTOR = {factor}\n", "base": source, "middle": middle, "top": top}
        for name, text in files.items():
            (folder / f"pliant_{name}.py").write_text(decorators + text)
        path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        environment = {
            **os.environ,
            "PLIANT_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return run.stdout.split()

    assert answer(tmp_path / "here", 3.0) == ["6.0", "0"]
    assert answer(tmp_path / "here", 3.0) == ["6.0", "1"]
    assert answer(tmp_path / "there", 3.0) == ["6.0", "1"]
    assert answer(tmp_path / "here", 4.0) == ["8.0", "0"]
    assert answer(tmp_path / "here", 4.0, base.replace("* x", "* x + 1")) == ["9.0", "0"]
    assert answer(tmp_path / "here", 3.0) == ["6.0", "1"]
    documented = base.replace('"Scaled.', '"Scaled by a constant.\\n').replace("* x", "* x  # why")
    assert answer(tmp_path / "here", 3.0, documented) == ["6.0", "1"]


def test_every_process_looks_in_the_same_folders(tmp_path):
    """What differs from process to process, as an address does, must not be part of what code is known by."""
    for name in ("one", "other"):
        environment = {**os.environ, "PLIANT_CACHE_DIR": str(tmp_path / name)}
        subprocess.run([sys.executable, "-c", "import pliant.stepping.minimum_energy"], env=environment, check=True)
    one, other = ({path.name for path in (tmp_path / name / "kernels").iterdir()} for name in ("one", "other"))
    assert one == other
    assert any(name.startswith("solvers.linear.blas-") for name in one)


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


def test_every_process_looks_for_the_same_code():
    """A kernel that is kept under a name with an address in it would compile in every process."""
    script = (
        "import importlib, pkgutil, sys, pliant\n"
        "for found in pkgutil.walk_packages(pliant.__path__, 'pliant.'):\n    importlib.import_module(found.name)\n"
        "from pliant.core.kernels import Dispatcher\n"
        "for name in sorted(n for n in sys.modules if n.startswith('pliant.')):\n"
        "    for value in vars(sys.modules[name]).values():\n"
        "        if isinstance(value, Dispatcher) and value.__module__ == name:\n"
        "            print(value._cache._impl.locator.get_cache_path())\n"
    )
    first, second = (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert "solvers.linear.blas-" in first
    assert first == second
