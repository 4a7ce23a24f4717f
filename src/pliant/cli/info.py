"""What `pliant info` prints: enough for a bug report."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from importlib.util import find_spec

from rich.table import Table

from pliant.cli.output import Output
from pliant.cli.warmup import core_count, is_warm
from pliant.core.code_files import SUFFIX
from pliant.core.kernels import cache_folder

EXTRAS: dict[str, tuple[str, ...]] = {
    "cluster": ("joblib", "distributed", "ray", "grpc", "pyarrow"),
    "hybrid": ("control", "sksundae", "pythonfmu", "fmpy", "cloudpickle"),
    "mesh": ("gmsh",),
    "plot": ("matplotlib",),
    "stream": ("serial",),
    "sweep": ("joblib", "cloudpickle"),
    "viewer": ("viser",),
}
"""Modules that each extra brings."""


def facts() -> dict[str, str]:
    """Versions, machine, threads and kernels, in the order they are shown."""
    versions = {name: metadata.version(name) for name in ("pliant", "numpy", "scipy", "numba")}
    kernels = sum(1 for _ in cache_folder().rglob(f"*{SUFFIX}"))
    return {
        "pliant": versions.pop("pliant"),
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        **versions,
        "BLAS": _blas(),
        "cores": f"{core_count()} usable of {os.cpu_count()}",
        "kernels": _kernel_text(kernels, is_warm()),
        "kernel cache": str(cache_folder()),
    }


def _kernel_text(count: int, warm: bool) -> str:
    """What is known of the compiled functions in the cache, and what to do about those that may be missing."""
    if warm:
        return f"all compiled, {count} functions"
    some = f"{count} functions compiled so far" if count else "none compiled yet"
    return f"{some}; the first runs compile what they need, `pliant warmup` all at once"


def extras() -> dict[str, bool]:
    """Whether each extra is installed."""
    return {name: all(find_spec(module) is not None for module in modules) for name, modules in EXTRAS.items()}


def show_info(output: Output) -> None:
    """Print `facts` and `extras` as one table."""
    table = Table(show_header=False, box=None)
    for name, fact in facts().items():
        table.add_row(name, fact)
    for name, present in extras().items():
        table.add_row(f"extra {name}", "present" if present else rf"absent: pip install 'pliant\[{name}]'")
    output.console.print(table, highlight=False, soft_wrap=True)
    output.finish(facts() | {"extras": extras()})


def _blas() -> str:
    import scipy.linalg.blas  # noqa: F401  (a BLAS is seen only once it is loaded)
    from threadpoolctl import threadpool_info

    found = {
        f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads outside Pliant, 1 inside"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return "; ".join(sorted(found)) or "none found"
