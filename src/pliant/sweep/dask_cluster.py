"""Workers of a Dask cluster, by its own client. Its scheduler gives cases of a worker that dies to another one."""

from __future__ import annotations

import logging
import threading
import uuid
import warnings
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from time import monotonic
from types import TracebackType
from typing import Any

import numpy as np

from pliant.core.errors import MissingExtraError, PliantError, PliantWarning
from pliant.sweep.case import Job, compute
from pliant.sweep.versions import check_versions, own_versions, probe

_CONNECTING = 10.0
"""Seconds that the scheduler has for its first answers."""
_JOINING = 30.0
"""Seconds within which a first worker must have joined the scheduler."""


class DaskCluster:
    """The workers of the scheduler at `host`:`port`."""

    def __init__(self, host: str, port: int) -> None:
        try:
            import distributed
        except ImportError as error:
            raise MissingExtraError("dask:// needs Dask: pip install 'pliant[cluster]'") from error
        self._distributed = distributed
        self.name = f"dask://{host}:{port}"
        self._address = f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"
        self.slots = 1
        # a case that was cancelled lost its scheduler's memory of it, as where the last worker died
        self.lost: tuple[type[BaseException], ...] = (
            distributed.KilledWorker, CancelledError, distributed.client.FutureCancelledError,
        )  # fmt: skip
        self._client: Any = None
        self._parcel: Any = None
        self._digest = ""
        self._session = uuid.uuid4().hex[:8]
        self._warned = False

    def __enter__(self) -> DaskCluster:
        logging.getLogger("distributed.client").setLevel(logging.ERROR)  # it tells of each lost connection
        try:
            self._client = self._connected()
        except (OSError, ValueError, RuntimeError) as error:  # TimeoutError is an OSError
            raise PliantError(
                f"what answers at {self.name} is no Dask scheduler of a version that this one "
                f"({self._distributed.__version__}) can talk to: {str(error) or type(error).__name__}"
            ) from error
        try:
            self._check_workers()
        except BaseException:
            self._client.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parcel = None
        self._client.close()  # cases that are queued are dropped with it

    def send(self, packed: bytes, digest: str) -> None:
        """Make the parcel a task of its own: a worker fetches it once, and a lost one is made again."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*[Ll]arge graph.*")
            self._parcel = self._client.submit(
                np.asarray, np.frombuffer(packed, np.uint8), key=f"pliant-parcel-{digest}-{self._session}"
            )
        self._digest = digest

    def submit(self, job: Job) -> Any:
        """Begin a case. Attempts of one case have keys of their own: the scheduler remembers errors by key."""
        key = f"pliant-case-{self._digest}-{job[0]}-{uuid.uuid4().hex[:8]}"
        return self._client.submit(compute, self._parcel, self._digest, *job, key=key, pure=False)

    def check(self) -> None:
        """An error where the scheduler is gone; a warning where it has no worker."""
        status = self._client.status
        if status not in ("running", "connecting"):
            raise PliantError(f"the scheduler at {self.name} is gone: start it, and the sweep again")
        if status == "running" and not self._workers() and not self._warned:
            self._warned = True
            warnings.warn(f"{self.name} has no worker left; the sweep waits for one", PliantWarning, stacklevel=2)

    def _workers(self) -> dict[str, Any]:
        """What the scheduler tells of its workers, by address; nothing while the connection is lost."""
        found: dict[str, Any] = self._client.scheduler_info(n_workers=-1).get("workers", {})
        return found

    def _connected(self) -> Any:
        """A client. Connecting waits without end for what answers, but not as Dask; its thread is left alone then."""
        made: SimpleQueue[Any] = SimpleQueue()

        def connect() -> None:
            try:
                client = self._distributed.Client(
                    self._address, timeout=_CONNECTING, set_as_default=False, name="pliant-sweep"
                )
                made.put((client, None))
            except Exception as error:
                made.put((None, error))

        threading.Thread(target=connect, daemon=True).start()
        try:
            client, error = made.get(timeout=2.0 * _CONNECTING)
        except Empty:
            raise TimeoutError(f"no answer within {2.0 * _CONNECTING:g} s") from None
        if error is not None:
            raise error
        return client

    def _check_workers(self) -> None:
        """Wait for a first worker; an error where there is none, or where versions are others."""
        end = monotonic() + _JOINING
        while not (workers := self._workers()):
            if monotonic() > end:
                raise PliantError(
                    f"{self.name} has no workers: start some with `dask worker {self._address} --nthreads 1 "
                    "--nworkers auto`; nothing was computed"
                )
            try:
                self._client.wait_for_workers(1, timeout=1.0)
            except TimeoutError:
                continue
        told = self._client.get_versions(check=False)["workers"]
        python = {address: {"python": _minor(each["host"]["python"])} for address, each in told.items()}
        check_versions(python, own={"python": _minor(own_versions()["python"])})  # functions travel between these only
        check_versions(self._client.run(probe()))
        self.slots = sum(worker["nthreads"] for worker in workers.values())
        crowded = [address for address, worker in workers.items() if worker["nthreads"] > 1]
        if crowded:
            warnings.warn(
                f"{len(crowded)} of {len(workers)} workers at {self.name} have several threads: cases take turns in a "
                "process. Start workers with `--nthreads 1 --nworkers auto` to use all cores",
                PliantWarning,
                stacklevel=4,
            )


def _minor(version: str) -> str:
    """The first two numbers of a version of Python."""
    return ".".join(version.split(".")[:2])
