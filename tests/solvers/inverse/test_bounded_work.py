"""Random inverse problems with many contacts, friction and limits: all end, with a status or an error that says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant as pl
from pliant.solvers.inverse import QpccStatus


def arrays(seed: int, contacts: int, mu: float, *, limits: bool) -> dict[str, Any]:
    """Keyword arguments of `qpcc`; about half of the problems have redundant contacts."""
    rng = np.random.default_rng([seed, contacts, int(mu > 0.0), int(limits)])
    na, ne, width = int(rng.integers(2, 9)), int(rng.integers(1, 7)), 3 if mu else 1
    n = ne + na + width * contacts
    freedoms = int(rng.choice([n + 2, max(10, n // 2)]))
    H = rng.normal(size=(n, freedoms)) / np.sqrt(freedoms)
    W = H @ H.T
    e, a, c = slice(0, ne), slice(ne, ne + na), slice(ne + na, None)
    gaps = (H @ rng.normal(size=freedoms))[c].reshape(-1, width)
    gaps[:, 0] = np.where(rng.random(contacts) < 0.5, gaps[:, 0], np.abs(gaps[:, 0]))
    given: dict[str, Any] = {
        "W_ea": W[e, a], "W_ec": W[e, c], "W_aa": W[a, a], "W_ac": W[a, c], "W_cc": W[c, c],
        "delta_e": rng.normal(size=ne), "delta_a": 0.1 * rng.normal(size=na), "delta_c": gaps.ravel(),
    }  # fmt: skip
    if mu:
        given["mu"] = mu
    if limits:
        given |= {"force_lower": np.zeros(na), "force_upper": 2.0 * rng.random(na)}
        if rng.random() < 0.5:
            given |= {"displacement_lower": -rng.random(na) - 0.3, "displacement_upper": rng.random(na) + 0.3}
    return given


def ends(contacts: int, mu: float, seeds: range) -> None:
    for seed in seeds:
        for limits in (False, True):
            try:
                result = pl.solvers.qpcc(**arrays(seed, contacts, mu, limits=limits))
            except (pl.errors.InfeasibleError, pl.errors.ConvergenceError):
                assert limits  # without limits every problem has an answer
                continue
            assert isinstance(result.status, QpccStatus)
            assert result.residual <= 1e-6
            assert result.iterations <= 2000


@pytest.mark.parametrize("mu", [0.0, 0.6])
def test_problems_with_many_contacts_end(mu: float) -> None:
    for contacts in (5, 16, 40):
        ends(contacts, mu, range(2))


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.0, 0.6])
def test_problems_with_eighty_contacts_end(mu: float) -> None:
    ends(80, mu, range(10))
