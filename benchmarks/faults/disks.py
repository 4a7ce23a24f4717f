"""A disk that is full or cannot be written: a clear error, the earlier file stays, nothing is left beside it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import pliant as pl
from benchmarks.faults.children import in_child
from benchmarks.faults.works import EXPORTS, KERNELS, WORKS, compile_kernels, kernel_module, motion, world
from pliant.core import kernels
from pliant.core.errors import PliantError

WRITERS: dict[str, Callable[[Path, int], object]] = {
    "run.npz": lambda path, steps: motion(steps).save(path),
    "state.npz": lambda path, steps: motion(steps).state(-1).save(path),
    "world.npz": lambda path, steps: world(0.1 if steps == 60 else 0.0)[0].save(path),
    **{f"run-as{ending}": lambda path, steps: pl.export(motion(steps), path) for ending in EXPORTS},
}
"""What writes a file, of the 60 steps that do not fit or of the 5 before."""
_ROOT = hasattr(os, "getuid") and os.getuid() == 0


def limited_trial(seed: int, folder: Path) -> str | None:
    """A file may have only part of the size that it needs (EFBIG)."""
    return in_child(partial(_too_large, seed, folder)) or None


def full_trial(seed: int, folder: Path) -> str | None:
    """A file system of 1 MB with too little room (ENOSPC), mounted for the trial; needs root."""
    with Mounted(folder / "small", "size=1m") as small:
        return in_child(partial(_no_room, seed, small)) or None


def read_only_trial(seed: int, folder: Path) -> str | None:
    """A file system that became read-only; without root a folder without permission to write."""
    return in_child(partial(_read_only, seed, folder)) or None


def _fails(write: Callable[[], object]) -> str | None:
    """None where `write` ends in an error that a person understands."""
    try:
        write()
    except (PliantError, OSError) as error:
        return None if str(error) else f"an error without a text: {error!r}"
    return "no error"


def _beside(path: Path) -> list[str]:
    return sorted(
        p.name for p in path.parent.iterdir() if p != path and p.is_file() and not p.name.startswith("filler")
    )


def _too_large(seed: int, folder: Path) -> str | None:
    random = np.random.default_rng(seed)
    name = list(WRITERS)[seed % len(WRITERS)]
    path = folder / name
    WRITERS[name](path, 60)
    size = max(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    shutil.rmtree(folder)
    folder.mkdir()
    WRITERS[name](path, 5)
    before, others = path.read_bytes(), _beside(path)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(random.uniform(0.0, 0.95) * size), most))
    wrong = _fails(lambda: WRITERS[name](path, 60))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return _after(name, path, before, others, wrong)


def _no_room(seed: int, folder: Path) -> str | None:
    random = np.random.default_rng(seed)
    name = list(WRITERS)[seed % len(WRITERS)]
    path = folder / name
    WRITERS[name](path, 5)
    before, others = path.read_bytes(), _beside(path)
    left = shutil.disk_usage(folder).free
    room = int(random.integers(0, 2)) * 4096
    with (folder / "filler").open("wb") as filler:
        filler.write(bytes(max(left - room, 0)))
    wrong = _fails(lambda: WRITERS[name](path, 60))
    if wrong == "no error" and path.read_bytes() != before:
        wrong = None  # it fitted into what was left
        before = path.read_bytes()
    (folder / "filler").unlink()
    return _after(name, path, before, others, wrong)


def _after(name: str, path: Path, before: bytes, others: list[str], wrong: str | None) -> str | None:
    if wrong:
        return f"{name}: {wrong}"
    if path.read_bytes() != before:
        return f"{name}: the earlier file is damaged"
    if _beside(path) != others:
        return f"{name}: left beside it: {sorted(set(_beside(path)) - set(others))}"
    WRITERS[name](path, 60)
    return None


def _read_only(seed: int, folder: Path) -> str | None:
    name = list(WRITERS)[seed % len(WRITERS)]
    if _ROOT:
        with Mounted(folder / "small", "size=4m") as small:
            WRITERS[name](small / name, 5)
            before = (small / name).read_bytes()
            subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
            wrong = _fails(lambda: WRITERS[name](small / name, 60))
            return f"{name}: {wrong}" if wrong else None if (small / name).read_bytes() == before else "damaged"
    WRITERS[name](folder / name, 5)
    folder.chmod(0o555)
    try:
        wrong = _fails(lambda: WRITERS[name](folder / name, 60))
    finally:
        folder.chmod(0o755)
    return f"{name}: {wrong}" if wrong else None


def cache_without_room_trial(seed: int, folder: Path) -> str | None:
    """Compiled code that cannot be kept: the kernels work, and the cache has no half file."""

    def work() -> str | None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        (folder / "cache").mkdir()
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = int(np.random.default_rng(seed).uniform(200, 9000))
        WORKS["warm-up"].prepare(folder, seed)
        kernel_module(folder)  # its source is written before the disk is full
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
        compile_kernels(folder, seed)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        left = [path.name for path in (folder / "cache").rglob("*.part")]
        before = kernels.compiled_count()
        compile_kernels(folder, seed)
        if kernels.compiled_count() - before not in range(KERNELS + 1):
            return "kernels were compiled more than once"
        return f"left in the cache: {left}" if left else None

    return in_child(work) or None


class Mounted:
    """A small file system in memory at `place`, for a ``with`` block."""

    def __init__(self, place: Path, options: str) -> None:
        self._place, self._options = place, options

    def __enter__(self) -> Path:
        self._place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", self._options, "tmpfs", str(self._place)], check=True)
        return self._place

    def __exit__(self, *error: object) -> None:
        subprocess.run(["umount", str(self._place)], check=True)


def can_mount() -> bool:
    """Whether file systems can be mounted here."""
    return _ROOT and shutil.which("mount") is not None
