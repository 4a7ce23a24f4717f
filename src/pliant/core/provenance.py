"""What made a result: versions, platform and processor, which every file of results carries."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

SAME_BITS = ("versions", "platform", "processor", "blas")
"""What must be equal for a computation to give the same bits again."""


def provenance() -> dict[str, Any]:
    """Date, versions, platform and processor of a computation, as JSON values."""
    return {"date": datetime.now(UTC).isoformat(timespec="seconds"), **_machine()}


def made_by() -> str:
    """The same without the date, as one line for formats that hold a text."""
    machine = _machine()
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return f"{versions}; {machine['platform']}, {machine['processor']}"


def differences(made: Mapping[str, Any]) -> list[str]:
    """What of `SAME_BITS` is other here than where a file was `made`, in words; empty: the same bits are expected."""
    here = _machine()
    found = []
    for name in SAME_BITS:
        then, now = made.get(name), here[name]
        if isinstance(now, dict):
            others = then if isinstance(then, dict) else {}
            changed = [key for key in now if others.get(key) != now[key]]
            found += [f"{key} {others.get(key, 'unknown')} then, {now[key]} now" for key in changed]
        elif then != now:
            found.append(f"{name} {then or 'unknown'} then, {now} now")
    return found


@cache
def _machine() -> dict[str, Any]:
    from llvmlite import binding

    versions = {name: _version(name) for name in ("pliant", "numpy", "scipy", "numba")}
    versions["python"] = platform.python_version()
    return {
        "versions": versions,
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name(),
        "blas": _blas(),
    }


def _blas() -> str:
    """The BLAS that SciPy brings and the processor that it chose its kernels for."""
    import scipy.linalg.blas  # noqa: F401  (a BLAS is seen only once it is loaded)
    from threadpoolctl import threadpool_info

    found = {
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip()
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return "; ".join(sorted(found)) or "none found"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a checkout that is not installed
        return "not installed"
