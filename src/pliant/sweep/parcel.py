"""What every worker of a sweep needs beside its cases: the function and files, sent to each worker once.

A parcel is pickled once, in the process of the user. A worker unpacks it at its first case and keeps it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pliant.core.errors import InputError, MissingExtraError, PliantError
from pliant.sweep.records import Records
from pliant.sweep.versions import check_versions, own_versions

LARGEST = 2**29
"""Bytes of the files that are sent to a worker, at most."""


@dataclass(frozen=True)
class Parcel:
    """The `task` of a sweep, `files` by relative path, the `memory` of a case in bytes or None, versions that workers
    must have. Workers of this machine compute in the folder `home` and store what they computed in `records`.
    """

    task: Callable[[Any], Mapping[str, Any]]
    files: Mapping[str, bytes] = field(default_factory=dict)
    memory: int | None = None
    versions: Mapping[str, str] = field(default_factory=own_versions)
    records: Records | None = None
    home: str | None = None

    def packed(self, *, by_value: bool = False) -> bytes:
        """The parcel as bytes; `by_value`: with the code of the module of its task, which workers may not have."""
        try:
            import cloudpickle
        except ImportError as error:
            raise MissingExtraError(
                "several workers need cloudpickle: pip install 'pliant[sweep]', or run with workers=1"
            ) from error
        head = json.dumps(dict(self.versions)).encode() + b"\n"  # by itself: others may not be able to read the rest
        module = _own_module(self.task) if by_value else None
        if module is not None and module.__name__ in cloudpickle.list_registry_pickle_by_value():
            module = None  # its user did so
        if module is not None:
            cloudpickle.register_pickle_by_value(module)
        try:
            return head + bytes(cloudpickle.dumps(self, protocol=5))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise InputError(
                f"the function of this sweep cannot be sent to another process ({error}): leave open files, locks and "
                "windows out of what it refers to, or run with workers=1"
            ) from error
        finally:
            if module is not None:
                cloudpickle.unregister_pickle_by_value(module)


@dataclass(frozen=True)
class Unpacked:
    """A parcel in a worker, and the folder in which it computes; None: the present one."""

    parcel: Parcel
    folder: str | None

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Cases of one process take turns: its working folder and the bound on its memory belong to one case."""
        with _TURN:
            if self.folder is None:
                yield
                return
            _forget_modules(other_than=self.folder)
            before = Path.cwd()
            os.chdir(self.folder)
            if self.folder in _folders and self.folder not in sys.path:
                sys.path.insert(0, self.folder)
            try:
                yield
            finally:
                os.chdir(before)


_TURN = threading.Lock()
_LOADING = threading.Lock()
_MOST_KEPT = 4
"""Parcels that a worker keeps: a cluster may compute several sweeps in turn."""
_kept: dict[str, Unpacked] = {}
_folders: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""Folders with the files of parcels, by their path; they go with the process."""


def _forget_modules(other_than: str) -> None:
    """Modules that came with another sweep: this one may have others of their names."""
    others = tuple(path + os.sep for path in _folders if path != other_than)
    if others:
        sys.path[:] = [path for path in sys.path if not (path + os.sep).startswith(others)]
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(others):
                del sys.modules[name]


def digest_of_bytes(data: bytes) -> str:
    """A fingerprint of a packed parcel."""
    return hashlib.sha256(data).hexdigest()[:16]


def unpacked(packed: Any, digest: str) -> Unpacked:
    """The parcel of `packed`, bytes or the path of a file that holds them; unpacked once in each process."""
    with _LOADING:
        found = _kept.get(digest)
        if found is None:
            data = Path(packed).read_bytes() if isinstance(packed, str) else bytes(packed)
            head, _, body = data.partition(b"\n")
            check_versions({"this worker": own_versions()}, own=json.loads(head))
            found = _unpacked(body)
            while len(_kept) >= _MOST_KEPT:
                del _kept[next(iter(_kept))]
            _kept[digest] = found
        return found


def _unpacked(data: bytes) -> Unpacked:
    try:
        parcel = pickle.loads(data)
    except ImportError as error:
        raise PliantError(
            f"a worker of the sweep cannot import what its function needs ({error}): install it there, or send it "
            "with files=[…]"
        ) from error
    if not parcel.files:
        return Unpacked(parcel, parcel.home)
    folder = tempfile.TemporaryDirectory(prefix="pliant-sweep-")
    for name, content in parcel.files.items():
        target = Path(folder.name) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    path = os.path.realpath(folder.name)
    _folders[path] = folder
    return Unpacked(parcel, path)


def file_contents(files: Sequence[str | Path]) -> dict[str, bytes]:
    """Contents of `files`, and of all files in folders among them, by their path relative to the present folder."""
    here, found, size = Path.cwd(), dict[str, bytes](), 0
    for given in files:
        path = Path(given)
        if not path.exists():
            raise InputError(f"there is no file {path} to send to the workers")
        for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
            try:
                name = file.absolute().relative_to(here)
            except ValueError:
                name = Path("..")
            if ".." in name.parts:
                raise InputError(
                    f"{file} is outside of {here}: workers find files by their path relative to the folder in which "
                    "the sweep is started; start it in a folder above all files"
                )
            size += file.stat().st_size
            if size > LARGEST:
                raise InputError(
                    f"the files of the sweep have more than {LARGEST / 1e6:.0f} MB ({file} is beyond): put large "
                    "files where every worker can read them, and name them by their absolute path"
                )
            found[name.as_posix()] = file.read_bytes()
    return found


def _own_module(task: Any) -> Any:
    """The module of a task where it is a file of the user, beside or below the present folder; None elsewhere."""
    while isinstance(task, partial):
        task = task.func
    module = sys.modules.get(getattr(task, "__module__", None) or "")
    path = getattr(module, "__file__", None)
    if module is None or path is None or module.__name__ in ("__main__", "__mp_main__"):
        return None  # what stands in the script itself is sent by value anyway
    if module.__name__.partition(".")[0] == "pliant" or "site-packages" in Path(path).parts:
        return None
    return module
