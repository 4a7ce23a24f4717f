"""The factor of a rod: compliance of rows, some of which do not touch it."""

import numpy as np
import pytest
from scipy import sparse

from pliant.models.rod.factor import RodFactor


@pytest.mark.parametrize("symmetric", [True, False])
def test_rows_that_do_not_touch_the_rod_have_no_compliance(symmetric):
    rng = np.random.default_rng(5)
    size, free = 12, np.array([1, 2, 3, 5, 8, 9, 11])
    A = rng.normal(size=(7, 7))
    A = A @ A.T + np.eye(7) + (0.0 if symmetric else 0.1 * (A - A.T))
    H = rng.normal(size=(6, size))
    H[[0, 3, 5]] = 0.0
    expected = H[:, free] @ np.linalg.inv(A) @ H[:, free].T
    factor, rows = RodFactor(A, free, size, symmetric=symmetric), sparse.csr_matrix(H)
    W = factor.compliance(rows)
    np.testing.assert_allclose(W, 0.5 * (expected + expected.T), atol=1e-12)
    assert not W[[0, 3, 5]].any()
    assert W.any()
    lam, moved = rng.normal(size=6), np.zeros(size)
    moved[free] = np.linalg.solve(A, H[:, free].T @ lam)
    np.testing.assert_allclose(factor.response(rows, lam), moved, atol=1e-12)
    np.testing.assert_allclose(factor.response(rows.copy(), lam), moved, atol=1e-12)  # rows that it has not seen
