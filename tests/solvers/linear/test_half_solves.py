"""A dx = r + Hᵀλ in two halves agrees with dense solves, for few rows and for more than are kept."""

import numpy as np
import pytest
from scipy import sparse

from pliant.solvers.linear import analyze
from pliant.solvers.linear.half_solves import MOST_ROWS, HalfSolvedMotion


@pytest.fixture
def factor(grid):
    return analyze(grid.pattern, coordinates=grid.coordinates).factorize(grid.matrix.values)


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 8, MOST_ROWS, MOST_ROWS + 1])
def test_rows_condense_and_move_as_dense_solves_say(grid, factor, make_rows, rows):
    H, rng = make_rows(rows, 630), np.random.default_rng(1)
    r, lam = rng.standard_normal((210, 3)), rng.standard_normal(rows)
    motion = factor.motion(r)
    assert isinstance(motion, HalfSolvedMotion)
    W, delta = np.ones((rows, rows)), np.ones(rows)
    moved = motion.condense(H, W, delta)
    dense, free = H.toarray(), np.linalg.solve(grid.dense, r.ravel())
    np.testing.assert_allclose(W - 1.0, dense @ np.linalg.solve(grid.dense, dense.T), rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_allclose(delta - 1.0, dense @ free, rtol=1e-9, atol=1e-10)
    expected = np.linalg.solve(grid.dense, r.ravel() + dense.T @ lam).reshape(r.shape)
    np.testing.assert_allclose(moved.under(lam), expected, rtol=1e-8, atol=1e-10)
    solved = factor.solve(r)  # r passed through L with the rows, four together: another order of sums
    np.testing.assert_allclose(motion.dx, solved, rtol=0.0, atol=1e-14 * np.abs(solved).max())
    again = motion.condense(H, np.zeros((rows, rows)), np.zeros(rows))  # y is known by now, as for a second island
    np.testing.assert_allclose(again.under(lam), expected, rtol=1e-8, atol=1e-10)


def test_rows_of_one_node_pass_over_other_subtrees(grid, factor):
    """A row that reaches one branch of the elimination tree gives the same as the general condensation."""
    H = sparse.csr_matrix(([1.0, -2.0, 0.5], ([0, 0, 1], [3, 4, 629])), shape=(2, 630))
    W, delta = np.zeros((2, 2)), np.zeros(2)
    factor.motion(np.ones((210, 3))).condense(H, W, delta)
    np.testing.assert_allclose(W, factor.compliance(H), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(delta, H @ factor.solve(np.ones(630)), rtol=1e-10, atol=1e-14)


def test_a_motion_that_is_not_finite_says_so(factor, make_rows):
    r = np.zeros((210, 3))
    assert factor.motion(r).finite
    r[17, 1] = np.nan
    assert not factor.motion(r).finite
    motion, H = factor.motion(r), make_rows(3, 630)
    motion.condense(H, np.zeros((3, 3)), np.zeros(3))
    assert not motion.finite
