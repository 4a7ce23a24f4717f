"""Versions of workers: which differences are told, of how many workers, and fingerprints of the code."""

import hashlib
import platform
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.sweep import versions
from pliant.sweep.versions import OtherVersionsError, check_versions


@pytest.mark.parametrize("count", [1, 3, 4, 40])
def test_three_workers_are_named_and_the_others_counted(count):
    with pytest.raises(OtherVersionsError) as caught:
        check_versions({f"w{k}": {"numpy": "1.0"} for k in range(count)}, own={"numpy": "2.0"})
    named = ", ".join(f"w{k}" for k in range(min(count, 3)))
    more = f" and {count - 3} more" if count > 3 else ""
    assert f"numpy 1.0 instead of 2.0 on {named}{more}. " in str(caught.value)


def test_only_what_both_tell_is_compared():
    check_versions({"w": {"numpy": "2.0", "torch": "1.0"}}, own={"numpy": "2.0", "scipy": "1.0"})
    check_versions({}, own={"numpy": "2.0"})


def test_versions_that_differ_among_workers_are_told_apart():
    with pytest.raises(OtherVersionsError) as caught:
        check_versions({"a": {"x": "1"}, "b": {"x": "3"}, "c": {"x": "1"}}, own={"x": "2"})
    assert "x 1 instead of 2 on a, c; x 3 instead of 2 on b. " in str(caught.value)


def test_the_fingerprint_of_the_code_is_that_of_its_files():
    root, digest = Path(pliant.__file__).parent, hashlib.sha256()
    for name in sorted(root.rglob("*.py")):
        digest.update(f"{name.relative_to(root).as_posix()}\n".encode() + name.read_bytes())
    versions.own_versions.cache_clear()
    assert versions._source_digest() == versions.own_versions()["source"] == digest.hexdigest()[:12]


def test_the_versions_of_this_process_are_those_of_its_packages():
    versions.own_versions.cache_clear()
    found = versions.own_versions()
    assert found["numpy"] == np.__version__
    assert found["python"] == platform.python_version()
    assert {"pliant", "scipy", "numba", "source"} <= set(found)
    assert versions.own_versions() is found, "read once"


def test_a_worker_without_pliant_tells_so(monkeypatch):
    import importlib.metadata
    import sys

    told = versions.probe()
    real = importlib.metadata.version

    def version(name):
        if name in ("pliant", "numba"):
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setitem(sys.modules, "pliant.sweep.versions", None)
    monkeypatch.setattr(importlib.metadata, "version", version)
    found = told()
    assert (found["pliant"], found["numba"]) == ("not installed", "not installed")
    assert found["scipy"] == real("scipy")
    assert "source" not in found
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
