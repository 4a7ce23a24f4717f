"""Random inverse problems, easy and degenerate, and the answer by trying every piece with another QP solver."""

from __future__ import annotations

from itertools import product

import numpy as np
import piqp
import pytest

from pliant.solvers.inverse import QpccProblem, compliance_problem

KINDS = ("regular", "duplicated", "unmoved", "whole numbers", "touching", "tight")


def random_arrays(rng: np.random.Generator, *, contacts: tuple[int, int] = (1, 6), easy: bool = False) -> dict:
    """Keyword arguments of `qpcc` for up to 4 actuators; most are degenerate on purpose, `easy` ones are not."""
    na, ne = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    nc = int(rng.integers(contacts[0], contacts[1] + 1))
    kind = "regular" if easy else KINDS[rng.integers(len(KINDS))]
    e, a, c = slice(0, ne), slice(ne, ne + na), slice(ne + na, None)
    H = rng.normal(size=(ne + na + nc, ne + na + nc + 2))
    gaps = 0.5 * rng.normal(size=nc)
    if kind == "duplicated" and nc > 1:
        H[-1] = H[ne + na]
        gaps[-1] = gaps[0] if rng.random() < 0.7 else gaps[-1]
    if kind == "unmoved":
        H[ne + na] = 0.0
    if kind == "whole numbers":
        gaps = np.round(gaps)
    if kind == "touching":
        gaps[rng.random(nc) < 0.6] = 0.0
    W = H @ H.T / H.shape[1]
    arrays = {
        "W_ea": W[e, a], "W_ec": W[e, c], "W_aa": W[a, a], "W_ac": W[a, c], "W_cc": W[c, c],
        "delta_e": rng.normal(size=ne), "delta_a": 0.1 * rng.normal(size=na), "delta_c": gaps,
    }  # fmt: skip
    if rng.random() < 0.6:
        arrays |= {"force_lower": -rng.random(na) * rng.integers(2), "force_upper": 1.5 * rng.random(na)}
    if kind == "tight" or (not easy and rng.random() < 0.4):
        lower = 0.6 * rng.normal(size=na)
        width = 0.6 * rng.random(na) * (rng.random(na) < 0.8)  # a fifth of them equalities
        arrays |= {"displacement_lower": lower, "displacement_upper": lower + width}
    if rng.random() < 0.3:
        arrays["energy_weight"] = 0.0
    return arrays


def piece_minimum(p: QpccProblem, active: np.ndarray) -> float:
    """The least cost on a piece by piqp, inf where it is empty: all forces variables, written anew."""
    na, nc = p.actuator_count, p.contact_count
    E = np.hstack([p.E_a, p.E_c])
    H = E.T @ E
    H[:na, :na] += p.G
    A = np.vstack([np.hstack([p.C_a, p.W_cc]), np.hstack([p.R_a, p.R_c])])
    low = np.concatenate([-p.c, p.row_lower - p.r])
    high = np.concatenate([np.where(active, -p.c, np.inf), p.row_upper - p.r])
    equal, rest = low == high, low != high
    solver = piqp.DenseSolver()
    solver.settings.eps_abs, solver.settings.eps_rel, solver.settings.max_iter = 1e-10, 0.0, 300
    solver.setup(
        H, E.T @ p.e,
        A[equal] if equal.any() else None, low[equal] if equal.any() else None,
        A[rest] if rest.any() else None, low[rest] if rest.any() else None, high[rest] if rest.any() else None,
        np.concatenate([p.x_lower, np.zeros(nc)]), np.concatenate([p.x_upper, np.where(active, np.inf, 0.0)]),
    )  # fmt: skip
    if solver.solve() != piqp.PIQP_SOLVED:
        return np.inf
    z = solver.result.x
    return p.objective(z[:na], z[na:])


def least_cost(p: QpccProblem, *, fixed: np.ndarray | None = None, free: np.ndarray | None = None) -> float:
    """The least cost over all pieces, or over those that agree with `fixed` outside the contacts `free`."""
    free = np.arange(p.contact_count) if free is None else free
    active = np.zeros(p.contact_count, bool) if fixed is None else fixed.copy()
    best = np.inf
    for choice in product((False, True), repeat=len(free)):
        active[free] = choice
        best = min(best, piece_minimum(p, active))
    return best


@pytest.fixture
def random_problem():
    def build(seed: int, **options) -> tuple[dict, QpccProblem]:
        arrays = random_arrays(np.random.default_rng(seed), **options)
        return arrays, compliance_problem(**arrays)

    return build


@pytest.fixture
def enumerated():
    return least_cost


@pytest.fixture
def frictional():
    """Keyword arguments of `qpcc` with three rows a contact."""

    def build(na: int, contacts: int, seed: int) -> dict:
        rng = np.random.default_rng(seed)
        e, a, c = slice(0, 2), slice(2, 2 + na), slice(2 + na, None)
        H = rng.normal(size=(2 + na + 3 * contacts, 6 + na + 3 * contacts))
        W = H @ H.T / H.shape[1]
        return {
            "W_ea": W[e, a], "W_ec": W[e, c], "W_aa": W[a, a], "W_ac": W[a, c], "W_cc": W[c, c],
            "delta_e": rng.normal(size=2), "delta_c": 0.5 * rng.normal(size=3 * contacts), "force_lower": -2.0,
            "force_upper": 2.0,
        }  # fmt: skip

    return build


@pytest.fixture
def slender_beam():
    """A cantilever bent by cables, touched between its nodes: redundant contacts, badly conditioned."""

    def build(na: int, contacts: int, seed: int, *, elements: int = 12, length: float = 0.2) -> QpccProblem:
        rng = np.random.default_rng(seed)
        h, n = length / elements, 2 * elements
        k = np.array(
            [[12, 6 * h, -12, 6 * h], [0, 4 * h * h, -6 * h, 2 * h * h], [0, 0, 12, -6 * h], [0, 0, 0, 4 * h * h]]
        )
        K = np.zeros((n + 2, n + 2))
        for e in range(elements):
            K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += (k + np.triu(k, 1).T) * 0.05 / h**3
        H = np.zeros((1 + na + contacts, n))
        H[0, -2] = 1.0
        for i in range(na):
            H[1 + i, 2 * rng.integers(elements // 4, elements) + 1] = 0.01 * (-1) ** i
        places = rng.uniform(1.2, elements, size=contacts)
        for row, place in zip(H[1 + na :], places, strict=True):
            node, share, side = int(place), place % 1.0, rng.choice([-1.0, 1.0])
            row[2 * node - 2] = side * (1.0 - share)
            row[min(2 * node, n - 2)] += side * share
        W = H @ np.linalg.inv(K[2:, 2:]) @ H.T
        W[1 : 1 + na, 1 : 1 + na] += 2e-5 * np.eye(na)
        a, c = slice(1, 1 + na), slice(1 + na, None)
        return compliance_problem(
            W_ea=W[:1, a], W_ec=W[:1, c], W_aa=W[a, a], W_ac=W[a, c], W_cc=W[c, c],
            delta_e=[rng.uniform(-0.012, 0.012)], force_lower=0.0, force_upper=20.0,
            delta_c=rng.uniform(0.1, 1.0, size=contacts) * (places / elements) ** 1.6 * 0.006,
        )  # fmt: skip

    return build
