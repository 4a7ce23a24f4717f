"""Addresses of clusters: what one is, and what is said where nothing answers."""

import re
import socket

import pytest

import pliant as pl
from pliant.sweep import addresses
from pliant.sweep.addresses import checked_address, cluster_at


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("dask://10.0.0.5:8786", ("dask", "10.0.0.5", 8786)),
        ("ray://head:1", ("ray", "head", 1)),
        ("dask://[::1]:65535", ("dask", "::1", 65535)),
    ],
)
def test_kind_host_and_port(given, read):
    assert checked_address(given) == read


@pytest.mark.parametrize("given", ["dask://h:0", "dask://h:65536", "dask://::1:80", "ray://h:80/", " ray://h:80", None])
def test_ports_and_hosts_that_do_not_exist(given):
    with pytest.raises(pl.InputError, match=r"dask://10\.0\.0\.5:8786 or ray://10\.0\.0\.5:10001") as caught:
        checked_address(given)
    assert repr(given) in str(caught.value)


@pytest.mark.parametrize(("kind", "package", "start"), [
    ("dask", "distributed", "dask scheduler --port"), ("ray", "ray", "ray start --head --ray-client-server-port"),
])  # fmt: skip
def test_how_to_start_what_does_not_answer(monkeypatch, kind, package, start):
    pytest.importorskip(package)
    pytest.importorskip("grpc" if kind == "ray" else package)
    asked = []

    def connect(address, timeout):
        asked.append((address, timeout))
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(socket, "create_connection", connect)
    said = rf"nothing answers at {kind}://host:4321 within 5 s \(refused\): start `{re.escape(start)} 4321`"
    with pytest.raises(pl.PliantError, match=said):
        cluster_at(f"{kind}://host:4321")
    assert asked == [(("host", 4321), addresses.TIMEOUT)]
