"""Where compiled kernels are kept."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pliant.core import kernels
from pliant.core.code_files import CodeFiles


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


def test_no_writable_folder_is_an_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(OSError, match="PLIANT_CACHE_DIR"):
        folder_with(monkeypatch, blocked)


def test_a_user_without_a_home_has_a_private_folder(monkeypatch, tmp_path):
    def no_home(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(kernels.Path, "expanduser", no_home)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert [folder.parent for folder in kernels._usual_folders()] == [tmp_path]


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


def test_every_process_looks_for_the_same_code(capsys):
    """A kernel that is kept under a name with an address in it would compile in every process."""
    script = (
        "import importlib, pkgutil, sys, pliant\n"
        "for found in pkgutil.walk_packages(pliant.__path__, 'pliant.'):\n"
        "    found.name.startswith('pliant.cli.templates.') or importlib.import_module(found.name)\n"
        "from pliant.core.kernels import Dispatcher\n"
        "for name in sorted(n for n in sys.modules if n.startswith('pliant.')):\n"
        "    for value in vars(sys.modules[name]).values():\n"
        "        if isinstance(value, Dispatcher) and value.__module__ == name:\n"
        "            print(value._cache._impl.locator.get_cache_path())\n"
    )
    exec(script, {})  # in this process
    here = capsys.readouterr().out
    there = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "solvers.linear.blas-" in here
    assert here == there


SMALL = "from pliant.core.kernels import kernel\n@kernel\ndef tripled(x):\n    return 3 * x\n"


def run_small(folder, script, **environment):
    """Standard output and error of a script that may import `pliant_small`, a module with one kernel."""
    (folder / "pliant_small.py").write_text(SMALL)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip


COUNT = (
    "from pliant.core import kernels; import pliant_small; print(pliant_small.tripled(2.0), kernels.compiled_count())"
)


@pytest.mark.skipif(kernels.DEBUG, reason="code with checked bounds is never packaged")
def test_packaged_code_needs_no_compilation_and_no_folder(tmp_path):
    """Code compiled for the portable processor is loaded from the package where no folder can be written."""
    if not all(kernels.binding.get_host_cpu_features().get(f[1:]) for f in kernels.PORTABLE[1].split(",")):
        pytest.skip("this processor is older than those that packaged kernels are compiled for")
    name, features = kernels.PORTABLE
    target = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "PLIANT_CACHE_DIR": str(tmp_path)}
    run_small(tmp_path, COUNT, **target)
    place = f"pathlib.Path({str(tmp_path)!r}, 'kernels')"
    packaged = f"import pathlib; from pliant.core import kernels; kernels.PACKAGED = {place}; "
    nowhere = {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "TMPDIR": "/proc/none"}
    run = run_small(tmp_path, packaged + COUNT, **nowhere)
    assert run.stdout.split() == ["6.0", "0"]
    assert run.stderr == ""


def test_a_damaged_file_is_compiled_again(tmp_path):
    """A file cut short, as after a power loss, costs one compilation and no error."""
    environment = {"PLIANT_CACHE_DIR": str(tmp_path)}
    assert run_small(tmp_path, COUNT, **environment).stdout.split() == ["6.0", "1"]
    (file,) = (tmp_path / "kernels").rglob("*.code")
    file.write_bytes(file.read_bytes()[:-20])
    assert run_small(tmp_path, COUNT, **environment).stdout.split() == ["6.0", "1"]
    assert run_small(tmp_path, COUNT, **environment).stdout.split() == ["6.0", "0"]


@pytest.fixture
def code(tmp_path):
    """The file of one signature, the key that it is of, and what reads and writes it."""
    files = CodeFiles(tmp_path, "tripled-kernel.py311", "a1b2", private=True)
    key = ("float64", ("x86_64", "some processor", "+avx2"), ("12ab", "34cd"))
    files.save(key, b"machine code")
    (path,) = tmp_path.glob("*.code")
    return path, key, files


def test_code_of_a_signature_is_found_again(code):
    _, key, files = code
    assert files.exist
    assert files.load(key) == b"machine code"
    assert files.load(("float32", *key[1:])) is None
    assert CodeFiles(files._folder, "tripled-kernel.py311", "another", private=True).load(key) is None


def test_no_damage_of_a_code_file_is_executed(code):
    """Every changed byte and every cut counts as no file, and is written over."""
    path, key, files = code
    good = path.read_bytes()
    for k in range(len(good)):
        path.write_bytes(good[:k] + bytes([good[k] ^ (1 << k % 8)]) + good[k + 1 :])
        assert files.load(key) is None, k
        path.write_bytes(good[:k])
        assert files.load(key) is None, k
    path.write_bytes(np.random.default_rng(1).bytes(5000))
    assert files.load(key) is None
    files.save(key, b"machine code")
    assert files.load(key) == b"machine code"
    assert list(path.parent.iterdir()) == [path], "nothing half-written is left"


def test_code_of_another_version_of_numba_is_not_read(code, monkeypatch):
    path, key, files = code
    monkeypatch.setattr("numba.__version__", "0.1")
    older = CodeFiles(path.parent, "tripled-kernel.py311", "a1b2", private=True)
    older.save(key, b"older")
    (other,) = {*path.parent.glob("*.code")} - {path}
    other.replace(path)
    assert files.load(key) is None


def test_files_that_others_can_write_are_not_read(code):
    path, key, files = code
    path.chmod(0o666)
    assert files.load(key) is None
    files.save(key, b"machine code")
    assert files.load(key) == b"machine code"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="gives a folder to another user: root only")
def test_code_of_another_user_is_not_loaded(monkeypatch, tmp_path):
    """Machine code is executed: a folder that another user owns, or everybody can write to, is not read."""
    (tmp_path / "kernels").mkdir()
    os.chown(tmp_path, 12345, 12345)
    with pytest.raises(OSError, match="nobody else"):
        folder_with(monkeypatch, tmp_path)
    os.chown(tmp_path, 0, 0)
    (tmp_path / "kernels").chmod(0o777)
    with pytest.raises(OSError, match="nobody else"):
        folder_with(monkeypatch, tmp_path)
    (tmp_path / "kernels").chmod(0o775)
    assert folder_with(monkeypatch, tmp_path).stat().st_mode & 0o777 == 0o755


BEYOND = "from pliant.core.kernels import kernel\n@kernel\ndef beyond(x, k):\n    return x[k]\n"


def test_debug_kernels_check_bounds_and_are_kept_apart(tmp_path):
    """An index outside of an array is an error with PLIANT_DEBUG, whatever was compiled without it before."""
    (tmp_path / "pliant_beyond.py").write_text(BEYOND)
    script = (
        "import numpy as np, pliant_beyond as b; from pliant.core import kernels\n"
        "print(b.beyond(np.ones(3), 1))\n"
        "try:\n    b.beyond(np.ones(3), 3 if kernels.DEBUG else 2)\nexcept IndexError:\n    print('refused')\n"
        "print(kernels.compiled_count())"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])

    def told(debug):
        environment = {**os.environ, "PYTHONPATH": path, "PLIANT_CACHE_DIR": str(tmp_path), "PLIANT_DEBUG": debug}
        return subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()

    assert [told("0"), told("1"), told("1")] == [["1.0", "1"], ["1.0", "refused", "1"], ["1.0", "refused", "0"]]
    assert told("") == ["1.0", "0"]


def test_a_numba_that_caches_in_another_way_compiles_and_says_so(tmp_path):
    """Private parts of Numba may change: kernels still run, and a line says that nothing is kept."""
    script = "import numba.core.caching as caching; del caching.CacheImpl; " + COUNT
    for _ in range(2):
        run = run_small(tmp_path, script, PLIANT_CACHE_DIR=str(tmp_path))
        assert run.stdout.split() == ["6.0", "1"]
        assert "compiled kernels are not kept (Numba " in run.stderr
        assert not list(tmp_path.rglob("*.code"))
