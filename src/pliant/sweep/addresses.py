"""Addresses of clusters: ``dask://HOST:PORT`` and ``ray://HOST:PORT``."""

from __future__ import annotations

import re
import socket
from typing import Any

from pliant.core.errors import InputError, PliantError
from pliant.sweep.engine import Engine

TIMEOUT = 5.0
"""Seconds within which an address must answer."""
_ADDRESS = re.compile(r"^(dask|ray)://(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):(\d{1,5})$")
_USUAL = {"dask": 8786, "ray": 10001}


def checked_address(on: Any) -> tuple[str, str, int]:
    """Kind, host and port of an address."""
    found = _ADDRESS.match(on) if isinstance(on, str) else None
    if found is None or not 0 < int(found[3]) < 65536:
        raise InputError(
            f"on of a sweep must be dask://HOST:PORT or ray://HOST:PORT, such as dask://10.0.0.5:{_USUAL['dask']} or "
            f"ray://10.0.0.5:{_USUAL['ray']}, got {on!r:.100}"
        )
    return found[1], found[2].strip("[]"), int(found[3])


def cluster_at(on: str) -> Engine:
    """The engine for an address, whose extra is installed and which something answers at."""
    kind, host, port = checked_address(on)
    if kind == "dask":
        from pliant.sweep.dask_cluster import DaskCluster

        made: Engine = DaskCluster(host, port)
    else:
        from pliant.sweep.ray_cluster import RayCluster

        made = RayCluster(host, port)
    _check_reachable(kind, host, port)
    return made


def _check_reachable(kind: str, host: str, port: int) -> None:
    try:
        socket.create_connection((host, port), timeout=TIMEOUT).close()
    except OSError as error:
        starts = {
            "dask": f"`dask scheduler --port {port}` there, and workers",
            "ray": f"`ray start --head --ray-client-server-port {port}` there",
        }[kind]
        raise PliantError(
            f"nothing answers at {kind}://{host}:{port} within {TIMEOUT:g} s ({error}): start {starts}, or correct the "
            "address; nothing was computed"
        ) from error
