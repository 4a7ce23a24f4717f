"""Processes of this machine, by joblib's loky. A process that dies is replaced."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import BrokenExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from pliant.core.errors import MissingExtraError
from pliant.sweep.case import Job, compute


class Processes:
    """`slots` processes; the parcel stands in a private file, which each of them reads once."""

    name = "processes of this machine"

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.lost: tuple[type[BaseException], ...] = (BrokenExecutor,)
        self._folder = ""
        self._pool: Any = None
        self._sent = ("", "")

    def __enter__(self) -> Processes:
        try:
            from joblib.externals import loky
        except ImportError as error:
            raise MissingExtraError(
                f"{self.slots} workers need joblib: pip install 'pliant[sweep]', or run with workers=1"
            ) from error
        self._loky = loky
        self._folder = tempfile.mkdtemp(prefix="pliant-sweep-")  # nobody else may write there
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None and kind is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def send(self, packed: bytes, digest: str) -> None:
        """Write the parcel."""
        path = Path(self._folder) / "parcel"
        path.write_bytes(packed)
        self._sent = (str(path), digest)

    def submit(self, job: Job) -> Any:
        """Begin a case, in new processes where the earlier ones are broken."""
        # kept for the next sweep for a while, as joblib keeps its own: starting them takes a second
        self._pool = self._loky.get_reusable_executor(max_workers=self.slots, timeout=60, env=_environment())
        return self._pool.submit(compute, *self._sent, *job)

    def check(self) -> None:
        """Processes that die break their futures, so that results or errors always come."""


def _environment() -> dict[str, str]:
    """Each process computes on one thread, unless the user says otherwise."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {name: os.environ.get(name, "1") for name in names}
