"""Elimination of bilateral rows: several columns of gaps at once are what each is alone."""

import numpy as np
import pytest

from pliant.solvers.contact import ConflictingRowsError
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


@pytest.mark.parametrize("left", [0.0, 1e-13, 1e-12])
def test_redundant_rows_split_their_load_whatever_rounding_left_of_them(left):
    """A row given twice, up to `left` of its compliance: forces by the pseudo-inverse, not by dividing by `left`."""
    rng = np.random.default_rng(1)
    H = rng.normal(size=(4, 6))
    H /= np.linalg.norm(H, axis=1, keepdims=True)
    H[2] = H[1]
    W = H @ H.T
    W[2, 2] += left
    q = H @ rng.normal(size=6)
    kept, gone = np.array([0]), np.array([1, 2, 3])
    found = eliminate(W, q, kept, gone, np.ones(4), allowed=1e-9)
    once = eliminate(H[[0, 1, 3]] @ H[[0, 1, 3]].T, q[[0, 1, 3]], kept, np.array([1, 2]), np.ones(3), allowed=1e-9)
    np.testing.assert_allclose(found.forces_free, once.forces_free[[0, 0, 1]] * [0.5, 0.5, 1.0], atol=1e-9)
    np.testing.assert_allclose(found.W, once.W, atol=1e-9)
    np.testing.assert_allclose(found.q, once.q, atol=1e-9)
    q[2] += 1e-6
    with pytest.raises(ConflictingRowsError, match="rows 1, 2 contradict each other: they are redundant"):
        eliminate(W, q, kept, gone, np.ones(4), allowed=1e-9)
    eliminate(W, q, kept, gone, np.ones(4), allowed=1e-5)


def test_a_row_that_eliminated_rows_make_rigid_has_no_compliance_left():
    """A kept row that repeats an eliminated one; nothing is left of it but its gap. W need not be symmetric."""
    rng = np.random.default_rng(2)
    H = rng.normal(size=(3, 5))
    H[2] = 3.0 * H[1]
    found = eliminate(H @ H.T, np.ones(3), np.array([0, 2]), np.array([1]), np.ones(3), allowed=1e-9)
    np.testing.assert_array_equal(found.W[1], 0.0)
    np.testing.assert_array_equal(found.W[:, 1], 0.0)
    assert found.W[0, 0] > 1e-3
    A = rng.normal(size=(6, 6)) + 4.0 * np.eye(6)
    q, kept, gone = rng.normal(size=6), np.array([1, 4]), np.array([0, 2, 3, 5])
    found = eliminate(A, q, kept, gone, np.ones(6), allowed=1e-9)
    inverse = np.linalg.inv(A[np.ix_(gone, gone)])
    np.testing.assert_allclose(found.q, q[kept] - A[np.ix_(kept, gone)] @ inverse @ q[gone], atol=1e-12)
    np.testing.assert_allclose(
        found.W, A[np.ix_(kept, kept)] - A[np.ix_(kept, gone)] @ inverse @ A[np.ix_(gone, kept)], atol=1e-12
    )
    np.testing.assert_allclose(found.forces(np.zeros(2)), -inverse @ q[gone], atol=1e-12)
