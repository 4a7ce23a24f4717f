"""A Dask cluster of two workers and a Ray of two cores, started on this machine, and how their workers are killed."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

WORKERS = 2
_RAY_HOST = "127.0.0.2"
"""Ray replaces 127.0.0.1 by an address that other machines reach; this one stays on the machine."""
_RAY_STORE = 80_000_000
"""Least size of Ray's store of objects, bytes."""
_START = 90.0
"""Seconds within which a cluster must listen."""


@dataclass(frozen=True)
class Cluster:
    """Its `address` for a sweep, and a function that tells the process ids of its workers."""

    address: str
    workers: Callable[[], list[int]]

    def kill_worker(self, index: int = 0) -> bool:
        """kill −9 one worker; False where there is none at the moment."""
        found = self.workers()
        if not found:
            return False
        with suppress(ProcessLookupError):
            os.kill(found[index % len(found)], signal.SIGKILL)
        return True


@contextmanager
def dask_cluster(workers: int = WORKERS) -> Iterator[Cluster]:
    """A scheduler and workers of one thread each, on the loopback address; a worker that dies is started again."""
    from distributed import LocalCluster

    for name in ("distributed.nanny", "distributed.scheduler", "distributed.worker", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0,
        silence_logs=logging.CRITICAL,
    ) as local:  # fmt: skip

        def pids() -> list[int]:
            found = [nanny.pid for nanny in local.workers.values()]
            return [pid for pid in found if pid]

        yield Cluster(local.scheduler_address.replace("tcp://", "dask://"), pids)


def ray_is_here() -> bool:
    """Whether Ray and what its client needs are installed."""
    try:
        import grpc  # noqa: F401
        import ray  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def ray_cluster(cores: int = WORKERS) -> Iterator[Cluster]:
    """A Ray of one node, in processes of its own, with a server for clients."""
    folder, client, control = tempfile.mkdtemp(prefix="ray-", dir="/tmp"), _free_port(), _free_port()
    command = [
        sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--head", "--block",
        f"--node-ip-address={_RAY_HOST}", f"--port={control}", f"--ray-client-server-port={client}",
        f"--num-cpus={cores}", f"--object-store-memory={_RAY_STORE}", "--include-dashboard=false",
        "--disable-usage-stats", "--min-worker-port=0", "--max-worker-port=0", f"--temp-dir={folder}",
    ]  # fmt: skip
    log = Path(folder) / "start.log"
    with log.open("wb") as stream:
        own = {**os.environ, "GRPC_ENABLE_FORK_SUPPORT": "0"}  # its handlers may hang in the process of a client
        process = subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True, env=own)
    try:
        _wait_for(client, process, log)
        yield Cluster(f"ray://{_RAY_HOST}:{client}", lambda: _ray_workers(process.pid))
    finally:
        _end_all(process)
        subprocess.run(["rm", "-rf", folder], check=False)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START
    while True:
        try:
            socket.create_connection((_RAY_HOST, port), timeout=1.0).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Ray does not start here: {log.read_text(errors='replace')[-1500:]}") from None
            time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((_RAY_HOST, 0))
        return int(free.getsockname()[1])


def _ray_workers(head: int) -> list[int]:
    """Process ids of the workers that compute a task at the moment, of the Ray that `head` started."""
    found = []
    for pid, name in processes_below(head):
        if name.startswith("ray::compute"):
            found.append(pid)
    return sorted(found)


def processes_below(head: int) -> list[tuple[int, str]]:
    """All processes that `head` started, and that these did, with their titles."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [head]
    while waiting:
        for pid in children.get(waiting.pop(), []):
            waiting.append(pid)
            with suppress(OSError):
                found.append((pid, (Path("/proc") / str(pid) / "cmdline").read_text(errors="replace").strip("\0 ")))
    return found


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End Ray's head, and what it leaves behind."""
    own = [pid for pid, _ in processes_below(process.pid)]
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=15.0)
    for pid in [process.pid, *own]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
