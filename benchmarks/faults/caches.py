"""Kernel caches that are damaged, shared, planted by another user, or used by two processes at once."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.faults.children import Child, in_child
from benchmarks.faults.disks import Mounted
from benchmarks.faults.works import compile_kernels, kernel_module
from pliant.core import kernels

DAMAGES = ("empty", "cut short", "random bytes", "a changed bit", "other version", "a folder", "text")


def damaged_trial(seed: int, folder: Path) -> str | None:
    """One file of the cache is damaged: it is compiled again."""
    problem = in_child(partial(compile_kernels, folder, seed))
    if problem:
        return f"before the fault: {problem}"
    random, files = np.random.default_rng(seed), sorted((folder / "cache").rglob("*.code"))
    path, damage = files[random.integers(len(files))], DAMAGES[seed % len(DAMAGES)]
    content = path.read_bytes()
    _damage(path, content, damage, random)
    answer = in_child(partial(_compiles_again, folder, seed, 1))
    return f"{damage}: {answer}" if answer else None


def _damage(path: Path, content: bytes, damage: str, random: np.random.Generator) -> None:
    place = int(random.integers(len(content)))
    if damage == "a folder":
        path.unlink()
        path.mkdir()
    elif damage == "other version":
        (version, stamp), rest = pickle.loads(content[16:])
        body = pickle.dumps(((version + ".9", stamp), rest))
        path.write_bytes(hashlib.blake2b(body, digest_size=16).digest() + body)
    elif damage == "a changed bit":
        path.write_bytes(
            content[:place] + bytes([content[place] ^ (1 << int(random.integers(8)))]) + content[place + 1 :]
        )
    else:
        path.write_bytes(
            {"empty": b"", "cut short": content[:place], "text": b"no code\n"}.get(damage, random.bytes(len(content)))
        )


def _compiles_again(folder: Path, seed: int, count: int) -> str | None:
    before = kernels.compiled_count()
    compile_kernels(folder, seed)
    found = kernels.compiled_count() - before
    return None if found == count else f"{found} kernels were compiled, not {count}"


def together_trial(seed: int, folder: Path) -> str | None:
    """Two processes compile the same kernels for different signatures, at the same time."""

    def work(kind: type, begin: object) -> str | None:
        begin()  # type: ignore[operator]
        made, values = kernel_module(folder), np.arange(5, dtype=kind)
        return None if made.times_1(values, kind(2)) == 20 else "a wrong number"

    (folder / "cache").mkdir()
    both = [Child(partial(work, kind)) for kind in (np.float64, np.int64)]
    wrong = [answer for child in both if (answer := child.answer())]
    wrong += [answer for kind in (np.float64, np.int64) if (answer := in_child(partial(_loads, folder, kind)))]
    return "; ".join(wrong) or None


def _loads(folder: Path, kind: type) -> str | None:
    made, before = kernel_module(folder), kernels.compiled_count()
    if made.times_1(np.arange(5, dtype=kind), kind(2)) != 20:
        return "a wrong number from the cache"
    return f"{kind.__name__} was compiled again" if kernels.compiled_count() > before else None


class _Planted:
    """A pickle that makes a file when it is read."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch '{self._mark}'",)


def planted_trial(seed: int, folder: Path) -> str | None:
    """Another user could write to the cache and planted code with a good checksum: it is not executed."""
    problem = in_child(partial(compile_kernels, folder, seed))
    if problem:
        return f"before the fault: {problem}"
    mark, cache = folder / "executed", folder / "cache"
    body = pickle.dumps(_Planted(mark))
    for path in cache.rglob("*.code"):
        path.write_bytes(hashlib.blake2b(body, digest_size=16).digest() + body)
        if seed % 3 == 0:
            path.chmod(0o666)
        elif seed % 3 == 1 and os.getuid() == 0:
            os.chown(path, 12345, 12345)
    if seed % 3 == 2 or os.getuid() != 0:
        (cache / "kernels").chmod(0o777)
        answer = in_child(partial(compile_kernels, folder, seed))
        if "by nobody else" not in answer:
            return f"a folder that others can write: {answer or 'is used'}"
    else:
        answer = in_child(partial(_compiles_again, folder, seed, 2))
        if answer:
            return answer
    return "code of another user was executed" if mark.exists() else None


def read_only_trial(seed: int, folder: Path) -> str | None:
    """The user's cache is on a read-only file system: kernels compile into a private temporary folder."""
    with Mounted(folder / "home", "size=1m") as home:
        subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)

        def work() -> str | None:
            os.environ.pop("PLIANT_CACHE_DIR", None)
            os.environ |= {"XDG_CACHE_HOME": str(home), "TMPDIR": str(folder)}
            tempfile.tempdir = None
            kernels.cache_folder.cache_clear()
            found = kernels.cache_folder()
            if found.parent.parent != folder or found.parent.stat().st_mode & 0o022:
                return f"kernels would be kept in {found}"
            return None

        return in_child(work) or None
