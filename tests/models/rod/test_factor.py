"""The factor of a rod: compliance of rows, some of which do not touch it."""

import numpy as np
import pytest
from scipy import sparse

from pliant.models.rod.factor import RodFactor
from pliant.models.rod.system import RodSystem


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


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 18])
@pytest.mark.parametrize("unknowns", [6, 7, 8])
def test_rows_and_forces_pass_through_the_factor_together(count, unknowns):
    """A motion under rows, some of which do not touch the rod, and one that was displaced, as dense solves say."""
    rng = np.random.default_rng(100 * count + unknowns)
    size = 12
    free = np.sort(rng.permutation(size)[:unknowns])
    A = rng.normal(size=(unknowns, unknowns))
    A = A @ A.T + np.eye(unknowns)
    H = rng.normal(size=(count, size))
    H[1::3] = 0.0
    r, lam, shift = np.zeros(size), rng.normal(size=count), rng.normal(size=size)
    r[free] = rng.normal(size=unknowns)
    factor, rows = RodFactor(A, free, size, symmetric=True), sparse.csr_matrix(H)
    inverse = np.zeros((size, size))
    inverse[np.ix_(free, free)] = np.linalg.inv(A)
    for displaced in (False, True):
        motion = factor.motion(r.reshape(-1, 3))
        expected = inverse @ r
        if displaced:
            motion, expected = motion.displaced((expected + shift).reshape(-1, 3)), expected + shift
        W, delta = np.ones((count, count)), np.ones(count)
        moved = motion.condense(rows, W, delta)
        assert motion.finite
        np.testing.assert_allclose(W - 1.0, H @ inverse @ H.T, atol=1e-12)
        np.testing.assert_array_equal(W, W.T)
        np.testing.assert_allclose(delta - 1.0, H @ expected, atol=1e-12)
        expected += inverse @ H.T @ lam
        np.testing.assert_allclose(moved.under(lam).ravel(), expected, atol=1e-12)
    motion = factor.motion(r.reshape(-1, 3))
    moved, system = motion.condense(rows, W, delta), _System(A, free, r)
    dx, error, total = moved.solved(system, rows, lam)
    np.testing.assert_allclose(dx.ravel(), expected - shift, atol=1e-12)
    pushed = np.square((r + H.T @ lam)[free]).sum()
    assert error < 1e-24 * pushed
    assert total == pytest.approx(pushed)
    error, total = motion.error_squares(system, dx + 1e-3, rows, lam)
    assert total == pytest.approx(pushed)
    assert error == pytest.approx(np.square(1e-3 * A.sum(axis=1)).sum())


class _System(RodSystem):
    """A dx = r over the unknowns `free`; the others are constrained."""

    def __init__(self, A, free, r):
        self._A, self._free, self._r = A, free, r

    def equation(self):
        size, free = len(self._r), self._free
        A, constrained = np.zeros((size, size)), np.ones(size, np.bool_)
        A[np.ix_(free, free)], constrained[free] = self._A, False
        return A, np.arange(size), constrained, self._r


def test_a_motion_that_is_not_finite_says_so():
    factor, r = RodFactor(np.eye(4), np.arange(4), 6, symmetric=True), np.zeros((2, 3))
    assert factor.motion(r).finite
    r[1, 0] = np.nan
    assert not factor.motion(r).finite
    motion = factor.motion(r)
    motion.condense(sparse.csr_matrix(np.ones((2, 6))), np.zeros((2, 2)), np.zeros(2))
    assert not motion.finite
