"""Programs in strange surroundings, and worlds in other processes and threads: all give the same bits."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pliant as pl
from benchmarks.faults.children import in_child
from benchmarks.faults.works import world

SCRIPT = """
import hashlib, os, sys
from pathlib import Path
import pliant as pl
from benchmarks.faults.works import world
made, cable = world()
run = pl.simulate(made, pl.ImplicitEuler(0.01), until=0.1, control=lambda t, state: {cable: pl.Displacement(0.05 * t)})
here = Path(sys.argv[1])
again = pl.load(run.save(here / "run.npz"))
pl.load(made.save(here / "world.npz")).load_state(run.state(-1).save(here / "state.npz"))
for name in ("run.html", "run.csv", "run.gltf", "run.pvd"):
    pl.export(again, here / name)
text = (here / "run.csv").read_text(encoding="utf-8")
print(hashlib.sha256(again.positions[0].tobytes() + text.encode()).hexdigest())
"""
OPTIMIZED = (
    "tests/core/test_archive.py",
    "tests/core/test_checks.py",
    "tests/world/test_state.py",
    "tests/world/test_storage.py",
    "tests/record/test_run.py",
    "tests/sweep/test_sweep.py",
    "tests/mesh/test_mesh.py",
    "tests/materials/test_laws.py",
    "tests/solvers/linear/test_symbolic.py",
    "tests/constraints/test_rows.py",
)
"""Tests that are run with `python -O`, in which no assert of the library is left; those of pytest are its own."""
_NOWHERE = "/proc/none"
SURROUNDINGS: dict[str, dict[str, Any]] = {
    "python -O": {"options": ["-O"]},
    "python -OO": {"options": ["-OO"]},
    "the C locale, ASCII": {"env": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
    "a German locale": {"env": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}, "before": "german"},
    "spaces and Unicode in paths": {"folder": "Übung 1 – 机器人 ρ"},
    "no HOME": {"without": ["HOME", "XDG_CACHE_HOME"]},
    "a HOME that cannot be written": {"env": {"HOME": _NOWHERE}, "without": ["XDG_CACHE_HOME"]},
    "an empty XDG_CACHE_HOME": {"env": {"XDG_CACHE_HOME": ""}},
    "umask 0": {"umask": 0},
    "umask 077": {"umask": 0o077},
    "warnings as errors": {"options": ["-W", "error"]},
}
_GERMAN = """
import locale
for name in ("de_DE.UTF-8", "de_DE.utf8", "C.UTF-8"):
    try:
        locale.setlocale(locale.LC_ALL, name)
        break
    except locale.Error:
        continue
"""


def surroundings_trial(seed: int, folder: Path) -> str | None:
    """The script in one of the surroundings."""
    name = list(SURROUNDINGS)[seed % len(SURROUNDINGS)]
    given = SURROUNDINGS[name]
    answer = _answer(folder / given.get("folder", "here"), **{k: v for k, v in given.items() if k != "folder"})
    wanted = _wanted(folder.parent)
    return None if answer == wanted else f"{name}: {answer[-400:]}"


@cache
def _wanted(folder: Path) -> str:
    return _answer(folder / "usual")


def _answer(
    folder: Path, *, options: Any = (), env: Any = None, without: Any = (), umask: int | None = None, before: str = "",
) -> str:  # fmt: skip
    """What the script prints, the error where there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    variables = {**os.environ, **(env or {})}
    for name in without:
        variables.pop(name, None)
    text = (_GERMAN if before == "german" else "") + SCRIPT
    done = subprocess.run(
        [sys.executable, *options, "-c", text, str(folder)],
        env=variables, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=600,
        umask=-1 if umask is None else umask, check=False,
    )  # fmt: skip
    said = done.stdout.strip()
    return said.splitlines()[-1] if done.returncode == 0 and said else f"exit {done.returncode}: {done.stderr}"


def optimized_trial(seed: int, folder: Path) -> str | None:
    """A file of tests with `python -O`."""
    name = OPTIMIZED[seed % len(OPTIMIZED)]
    if not Path(name).exists():
        return f"{name} is not there: run this at the root of a checkout"
    done = subprocess.run(
        [sys.executable, "-O", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", name],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    return None if done.returncode == 0 else f"{name}: {done.stdout[-400:]}"


def digest(made: pl.World, cable: Any, threads: int = 1, state: Any = None) -> str:
    """Fingerprint of the states of ten steps."""
    stepper, state, hashed = pl.ImplicitEuler(0.01, threads=threads), state or made.initial_state(), hashlib.sha256()
    for k in range(10):
        state, _ = stepper(made, state, {cable: pl.Displacement(0.001 * k)})
        hashed.update(state.q[0].tobytes() + state.lam.tobytes())
    return hashed.hexdigest()


def step_there(content: bytes) -> str:
    """Steps of a pickled world, in another process."""
    return digest(*pickle.loads(content), threads=2)


def processes_trial(seed: int, folder: Path) -> str | None:
    """A pickled world in a process of multiprocessing, with kernels loaded and two threads in use here."""
    method = ("fork", "spawn")[seed % 2]

    def work() -> str | None:
        made, cable = world()
        wanted = digest(made, cable, threads=2)
        with multiprocessing.get_context(method).Pool(1) as pool:
            found = pool.apply_async(step_there, [pickle.dumps((made, cable))]).get(timeout=100)
        return None if found == wanted else f"{method}: other bits"

    return in_child(work) or None


def threads_trial(seed: int, folder: Path) -> str | None:
    """Several threads: two worlds, one world with two steppers, or one stepper for both."""

    def work() -> str | None:
        made, cable = world()
        pairs = [(made, cable), pickle.loads(pickle.dumps((made, cable)))] if seed % 3 == 0 else [(made, cable)] * 2
        wanted, found = digest(made, cable), [""] * 2
        shared = pl.ImplicitEuler(0.01)

        def step(index: int) -> None:
            if seed % 3 < 2:
                found[index] = digest(*pairs[index], threads=1 + seed % 2)
                return
            state, hashed = made.initial_state(), hashlib.sha256()
            for k in range(10):
                state, _ = shared(made, state, {cable: pl.Displacement(0.001 * k)})
                hashed.update(state.q[0].tobytes() + state.lam.tobytes())
            found[index] = hashed.hexdigest()

        threads = [threading.Thread(target=step, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return None if found == [wanted] * 2 else "other bits, or an error in a thread"

    return in_child(work) or None


def pickle_trial(seed: int, folder: Path) -> str | None:
    """World, state and stepper are pickled after some steps: the motion goes on with the same bits."""

    def work() -> str | None:
        made, cable = world(0.1 * (seed % 3))
        stepper, state = pl.ImplicitEuler(0.01), made.initial_state()
        for _ in range(seed % 7):
            state, _ = stepper(made, state, {cable: pl.Displacement(0.002)})
        copied, handle, there, own = pickle.loads(pickle.dumps((made, cable, state, stepper)))
        if there.world is not copied or copied.fingerprint != made.fingerprint:
            return "a copied state belongs to another world"
        after, _ = stepper(made, state, {cable: pl.Displacement(0.003)})
        same, _ = own(copied, there, {handle: pl.Displacement(0.003)})
        if any(array.flags.writeable for array in (*there.q, *there.v, there.lam)):
            return "arrays of a copied state can be written"
        return None if all(np.array_equal(a, b) for a, b in zip(after.q, same.q, strict=True)) else "other bits"

    return in_child(work) or None
