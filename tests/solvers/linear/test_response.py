"""Motions under row forces: which rows touch a body, residuals over all bodies, and blocks in their places."""

from math import inf, sqrt

import numpy as np
import pytest
from scipy import sparse

from pliant.solvers.linear.response import SolvedMotion, SolvedResponse, add_block, linear_residual, touching_rows


class Dense(SolvedResponse):
    """A⁻¹ of a small matrix."""

    def __init__(self, A):
        self.A = A

    def solve(self, rhs):
        return np.linalg.solve(self.A, np.ravel(rhs)).reshape(np.shape(rhs))

    def compliance(self, H):
        return H @ np.linalg.solve(self.A, H.toarray().T)


class System:
    """A dx = r."""

    def __init__(self, A, r):
        self.A, self.r = A, r

    def error_of(self, dx):
        rest = self.A @ dx.ravel() - self.r.ravel()
        return float(rest @ rest), float(self.r.ravel() @ self.r.ravel())


def rows_of(rng, filled):
    """Rows over 6 unknowns of which only `filled` have entries."""
    H = np.where(np.asarray(filled)[:, None], rng.normal(size=(len(filled), 6)), 0.0)
    return H, sparse.csr_matrix(H)


@pytest.mark.parametrize("filled", [[1, 1, 1], [0, 1, 0, 1, 1], [1, 0, 0], [0, 0]])
@pytest.mark.parametrize("seed", range(3))
def test_a_body_answers_to_the_rows_that_touch_it(filled, seed):
    """W, δ and the motion under forces by dense algebra; rows without entries feel nothing and push nothing."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(6, 6))
    A, r = B @ B.T + np.eye(6), rng.normal(size=(2, 3))
    H, rows = rows_of(rng, filled)
    touching, indices = touching_rows(rows)
    np.testing.assert_array_equal(touching.toarray(), H[np.flatnonzero(filled)])
    assert len(touching.indptr) == sum(filled) + 1
    assert (indices is None) == all(filled)
    assert indices is None or indices.tolist() == np.flatnonzero(filled).tolist()
    motion = Dense(A).motion(r)
    W, delta = np.zeros((len(filled),) * 2), rng.normal(size=len(filled))
    free = delta.copy()
    solved = motion.condense(rows, W, delta)
    np.testing.assert_allclose(W, H @ np.linalg.solve(A, H.T), atol=1e-12)
    np.testing.assert_allclose(delta - free, H @ np.linalg.solve(A, r.ravel()), atol=1e-12)
    lam = rng.normal(size=len(filled))
    expected = np.linalg.solve(A, r.ravel() + H.T @ lam)
    np.testing.assert_allclose(solved.under(lam).ravel(), expected, atol=1e-12)
    np.testing.assert_array_equal(solved.under(0.0 * lam), motion.dx)
    dx, error, total = solved.solved(System(A, r), rows, lam)
    np.testing.assert_allclose(dx.ravel(), expected, atol=1e-12)
    assert error == pytest.approx(0.0, abs=1e-24)
    assert total == pytest.approx(float(r.ravel() @ r.ravel()))


def test_another_motion_keeps_the_answer_to_rows():
    rng = np.random.default_rng(0)
    A, r, other = np.diag(np.arange(1.0, 7.0)), rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    H, rows = rows_of(rng, [1, 1])
    moved = Dense(A).motion(r).displaced(other)
    np.testing.assert_array_equal(moved.dx, other)
    lam = rng.normal(size=2)
    np.testing.assert_allclose(moved.response(rows, lam), np.linalg.solve(A, H.T @ lam).reshape(2, 3))
    assert moved.error_squares(System(A, r), other, rows, lam)[0] == pytest.approx(0.0, abs=1e-24)
    assert SolvedMotion(None, np.array([np.nan, 1.0])).finite is False


def test_residuals_of_several_bodies_are_one():
    """‖all errors‖ over ‖all forces‖; none without forces, infinite where a motion is not finite."""
    dx = np.zeros(3)
    assert linear_residual([(dx, 9e-8, 4.0), (dx, 16e-8, 5.0)]) == pytest.approx(sqrt(25e-8 / 9.0))
    assert linear_residual([(dx, 0.0, 0.0)]) == linear_residual([]) == 0.0
    for wrong in (inf, np.nan):
        assert linear_residual([(dx, 0.0, 1.0), (dx, wrong, 1.0)]) == inf
    motion, system = Dense(np.eye(3)).motion(np.ones(3)), System(np.eye(3), np.ones(3))
    assert motion.checked(system, np.array([1.0, np.inf, 1.0]), None, np.zeros(0))[1] == inf


def test_blocks_are_added_in_their_places():
    W = np.ones((4, 4))
    add_block(np.array([1, 3]), np.array([[1.0, 2.0], [3.0, 4.0]]), W)
    np.testing.assert_array_equal(W, [[1, 1, 1, 1], [1, 2, 1, 3], [1, 1, 1, 1], [1, 4, 1, 5]])
