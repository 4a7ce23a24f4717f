"""Elimination of bilateral rows: several columns of gaps at once are what each is alone."""

import numpy as np

from pliant.solvers.contact.elimination import eliminate


def test_further_columns_are_treated_as_the_first():
    rng = np.random.default_rng(3)
    H = rng.normal(size=(9, 12))
    W, D = H @ H.T, np.ones(9)
    q = rng.normal(size=(9, 4))
    kept, gone = np.array([0, 2, 3, 7]), np.array([1, 4, 5, 6, 8])
    together = eliminate(W, q, kept, gone, D, allowed=np.inf)
    for k in range(4):
        alone = eliminate(W, q[:, k], kept, gone, D, allowed=np.inf)
        np.testing.assert_allclose(together.q[:, k], alone.q, rtol=1e-12)
        np.testing.assert_allclose(together.forces_free[:, k], alone.forces_free, rtol=1e-12)
        np.testing.assert_allclose(together.W, alone.W, rtol=1e-12)
    lam = np.zeros((9, 4))
    lam[gone] = together.forces_free
    np.testing.assert_allclose((q + W @ lam)[gone], 0.0, atol=1e-10)


def test_an_indefinite_block_is_eliminated_as_it_is():
    """W of a chamber beyond its largest pressure is negative; the kept row behind it stays though it cannot move."""
    rng = np.random.default_rng(5)
    W = rng.normal(size=(5, 5))
    W, q = W + W.T, rng.normal(size=5)
    kept, out = np.array([0, 3]), np.array([1, 2, 4])
    left = eliminate(W, q, kept, out, np.ones(5), allowed=np.inf, indefinite=True)
    lam = np.zeros(5)
    lam[kept] = rng.normal(size=2)
    lam[out] = left.forces(lam[kept])
    np.testing.assert_allclose((W @ lam + q)[out], 0.0, atol=1e-12)
    np.testing.assert_allclose((W @ lam + q)[kept], left.W @ lam[kept] + left.q, atol=1e-12)
