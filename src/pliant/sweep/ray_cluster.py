"""Workers of a Ray cluster, by Ray's client. A case has a process of its own while it runs."""

from __future__ import annotations

import logging
import warnings
from types import TracebackType
from typing import Any

import numpy as np

from pliant.core.errors import MissingExtraError, PliantError
from pliant.sweep.case import Job, compute
from pliant.sweep.versions import OtherVersionsError, check_versions, probe

_CONNECTIONS = 3
"""Attempts to connect: Ray starts a process for each client, which under load sometimes hangs in its fork."""
_ASKED = 60.0
"""Seconds that all nodes have to tell their versions: Ray starts a process on each."""


class RayCluster:
    """The nodes of the cluster whose head serves clients at `host`:`port`."""

    def __init__(self, host: str, port: int) -> None:
        try:
            import grpc  # noqa: F401  without it Ray has no client
            import ray
        except ImportError as error:
            raise MissingExtraError("ray:// needs Ray with its client: pip install 'pliant[cluster]'") from error
        self._ray = ray
        self.name = f"ray://{host}:{port}"
        self._address = f"ray://[{host}]:{port}" if ":" in host else f"ray://{host}:{port}"
        self.slots = 1
        errors = ray.exceptions
        self.lost: tuple[type[BaseException], ...] = (
            errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError, errors.OutOfMemoryError,
            errors.LocalRayletDiedError, ConnectionError,
        )  # fmt: skip
        self._context: Any = None
        self._parcel: Any = None
        self._digest = ""
        self._compute: Any = None

    def __enter__(self) -> RayCluster:
        logging.getLogger("ray").setLevel(logging.ERROR)
        for attempt in range(_CONNECTIONS):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._context = self._ray.init(self._address, allow_multiple=True, logging_level=logging.ERROR)
                break
            except (RuntimeError, ConnectionError, ValueError) as error:
                if "version" in str(error).lower():
                    raise OtherVersionsError(f"{self.name} has other versions than this process: {error}") from error
                if "Starting Ray client server failed" not in str(error) or attempt == _CONNECTIONS - 1:
                    raise PliantError(
                        f"what answers at {self.name} is no Ray that serves this client: {error}"
                    ) from error
        self._context.__enter__()  # calls of Ray in this thread go there, beside other clusters of the user
        try:
            self._check_nodes()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parcel = self._compute = None
        self._leave()

    def send(self, packed: bytes, digest: str) -> None:
        """Put the parcel where each node fetches it once; its processes read it there."""
        self._parcel = self._ray.put(np.frombuffer(packed, np.uint8))
        self._digest = digest
        # a case that kills its process is tried again by the sweep, which tells it from those beside it
        self._compute = self._ray.remote(num_cpus=1, max_retries=0)(compute)

    def submit(self, job: Job) -> Any:
        """Begin a case. Without its connection Ray would start a cluster of its own here."""
        self.check()
        try:
            return self._compute.remote(self._parcel, self._digest, *job).future()
        except ConnectionError as error:
            raise self._gone() from error

    def check(self) -> None:
        """An error where the connection is lost."""
        if not self._ray.is_initialized():
            raise self._gone()

    def _gone(self) -> PliantError:
        return PliantError(f"the connection to {self.name} is lost: start the cluster, and the sweep again")

    def _leave(self) -> None:
        """Disconnect, which ends cases that run or wait, and give calls of Ray back to the user's cluster."""
        self._context.__exit__()
        self._context.disconnect()

    def _check_nodes(self) -> None:
        """An error where no node has a core, or where versions are others."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
        if not nodes:
            raise PliantError(f"{self.name} has no node with a free core; nothing was computed")
        ask = self._ray.remote(num_cpus=0, max_retries=0)(probe())
        asked = [
            ask.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote()
            for node in nodes
        ]
        told = self._ray.get(asked, timeout=_ASKED)
        check_versions({node["NodeManagerAddress"]: found for node, found in zip(nodes, told, strict=True)})
        self.slots = sum(int(node["Resources"]["CPU"]) for node in nodes)
