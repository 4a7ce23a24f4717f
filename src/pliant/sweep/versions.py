"""What a worker computes with, compared with what the process of the user has, before the first case."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pliant.core.errors import PliantError
from pliant.core.provenance import provenance

Versions = dict[str, str]
"""Versions by name, and under "source" a fingerprint of the code: two checkouts of one version may differ."""


class OtherVersionsError(PliantError):
    """Workers of a sweep have other versions than the process that started it."""


@cache
def own_versions() -> Versions:
    """The versions of this process."""
    return {**provenance()["versions"], "source": _source_digest()}


def probe() -> Callable[[], Versions]:
    """A function that tells the versions of the process in which it runs, also where Pliant is not installed there.

    It is an inner function: pickled by value, it needs nothing of Pliant where it arrives.
    """

    def told() -> Versions:
        try:
            from pliant.sweep.versions import own_versions

            return own_versions()
        except ImportError:
            import platform
            from importlib.metadata import PackageNotFoundError, version

            found = {"python": platform.python_version()}
            for name in ("pliant", "numpy", "scipy", "numba"):
                try:
                    found[name] = version(name)
                except PackageNotFoundError:
                    found[name] = "not installed"
            if found["pliant"] != "not installed":
                found["source"] = "of a version that cannot compute sweeps on clusters"
            return found

    return told


def check_versions(workers: Mapping[str, Mapping[str, str]], *, own: Mapping[str, str] | None = None) -> None:
    """An error that lists what of the `workers`, versions by address, is other than here."""
    here = own_versions() if own is None else own
    found: dict[str, list[str]] = {}
    for address, there in workers.items():
        for name, version in here.items():
            if name in there and there[name] != version:
                found.setdefault(f"{name} {there[name]} instead of {version}", []).append(address)
    if found:
        listed = "; ".join(f"{what} on {_some(addresses)}" for what, addresses in found.items())
        raise OtherVersionsError(
            f"workers have other versions than this process: {listed}. Results would not belong to one version: "
            "install the same versions everywhere (the same wheel of Pliant), and start the workers again"
        )


def _some(addresses: list[str]) -> str:
    """The first three of `addresses`."""
    more = f" and {len(addresses) - 3} more" if len(addresses) > 3 else ""
    return ", ".join(addresses[:3]) + more


def _source_digest() -> str:
    """A fingerprint of the Python files of the package."""
    spec = find_spec("pliant")
    assert spec is not None
    assert spec.origin is not None
    root, digest = Path(spec.origin).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
