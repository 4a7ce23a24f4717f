"""The regularization of a linear solve is removed to second order where contacts stick, slip or are open."""

import numpy as np
import pytest
from scipy import sparse

from pliant.constraints.rows import Rows
from pliant.solvers.contact import Law, MixedProblem, solve
from pliant.stepping import refinement

UNKNOWNS, CONTACTS, MU = 15, 4, 0.4


class Dense:
    """A matrix as the system and the factor of a model."""

    constrained_dx = None

    def __init__(self, A, r):
        self.A, self.r = A, r

    def product(self, x):
        return self.A @ x

    def solve(self, b):
        return np.linalg.solve(self.A, b)

    def compliance(self, H):
        return np.asarray(H @ np.linalg.solve(self.A, H.T.toarray()))


def solution(A, f, rows):
    """dx and λ of A dx = f + Hᵀλ under the laws of the rows, and its problem."""
    H = rows.H[0].toarray()
    W = H @ np.linalg.solve(A, H.T)
    problem = MixedProblem.of(W, rows.gap + H @ np.linalg.solve(A, f), rows.law, mu=rows.mu)
    lam = solve(problem, tolerance=1e-13).lam
    return np.linalg.solve(A, f + H.T @ lam), lam, problem


def errors(seed, sigma):
    """Errors of dx with A = K + σM, before and after σM is removed, and the states of the contacts with K and A."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((2, UNKNOWNS, UNKNOWNS))
    K, M = (b @ b.T + 3.0 * np.eye(UNKNOWNS) for b in B)
    H = sparse.csr_matrix(rng.standard_normal((3 * CONTACTS, UNKNOWNS)))
    f, gap = 10.0 * rng.standard_normal(UNKNOWNS), np.zeros(3 * CONTACTS)
    gap[::3] = rng.uniform(-0.5, 0.5, CONTACTS)
    rows = Rows.of([H], gap, np.full(3 * CONTACTS, Law.COULOMB), mu=np.full(3 * CONTACTS, MU))
    exact, lam_exact, _ = solution(K, f, rows)
    A = K + sigma * M
    dx, lam, problem = solution(A, f, rows)
    found = refinement.refined([Dense(K, f)], [Dense(A, f)], rows, problem, [dx], lam, [f], [None])
    return np.linalg.norm(dx - exact), np.linalg.norm(found.dx[0] - exact), states(lam_exact), states(lam)


def states(lam):
    """0 open, 1 sticking, 2 slipping."""
    force = lam.reshape(-1, 3)
    slips = np.linalg.norm(force[:, 1:], axis=1) >= (1.0 - 1e-6) * MU * force[:, 0]
    return np.where(force[:, 0] > 0.0, 1 + slips, 0).tolist()


@pytest.mark.parametrize("slips", [False, True])
def test_the_error_is_of_second_order(slips, monkeypatch):
    monkeypatch.setattr(refinement, "REDUCTION", 1e-6)
    tried = 0
    for seed in range(40):
        coarse, fine = errors(seed, 1e-2), errors(seed, 1e-3)
        if not coarse[2] == coarse[3] == fine[3] or (2 in coarse[2]) is not slips or not any(coarse[2]):
            continue
        tried += 1
        before, after, *_ = coarse
        assert after < 0.2 * before
        assert fine[1] < 0.03 * after + 1e-5 * fine[0]
    assert tried >= 3


def test_the_error_shrinks_where_other_contacts_are_active_without_the_regularization():
    """The laws are solved in turns with the motion: one turn left a sixth of the error, or all of it."""
    tried = [errors(seed, 1.0) for seed in range(30)]
    ratios = [after / before for before, after, exact, regularized in tried if exact != regularized]
    assert len(ratios) >= 10
    assert max(ratios) < 0.5
    assert np.median(ratios) < 0.1
