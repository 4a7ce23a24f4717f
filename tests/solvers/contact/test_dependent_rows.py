"""Parts of the contact solvers alone: rows that depend on others, and planar contacts as spatial ones."""

import numpy as np
import pytest

from pliant.solvers.contact.friction import _padded
from pliant.solvers.contact.principal_pivoting import _solve_independent


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("left", [0.0, 1e-14, 1e-13])
def test_a_largest_independent_set_is_solved_and_the_others_stay(seed, left):
    """Up to `left` of the compliance, which is rounding; the right side is one that the rows can meet."""
    rng = np.random.default_rng(seed)
    n, rank = int(rng.integers(2, 9)), int(rng.integers(1, 6))
    H = rng.normal(size=(n, min(n, rank)))
    H /= np.linalg.norm(H, axis=1, keepdims=True)
    A = np.asfortranarray(H @ H.T + left * np.diag(rng.random(n)))
    fixed = rng.normal(size=n)
    right = H @ rng.normal(size=H.shape[1])
    x, dependent = _solve_independent(A.copy(order="F"), right, fixed)
    assert (~dependent).sum() == np.linalg.matrix_rank(H)
    np.testing.assert_array_equal(x[dependent], fixed[dependent])
    np.testing.assert_allclose(A @ x, right, atol=1e-7)
    assert np.linalg.matrix_rank(H[~dependent]) == (~dependent).sum()


def test_unsymmetric_rows_are_solved_as_they_are():
    rng = np.random.default_rng(0)
    A, right = rng.normal(size=(5, 5)), rng.normal(size=5)
    x, dependent = _solve_independent(np.asfortranarray(A), right, np.zeros(5))
    np.testing.assert_allclose(A @ x, right, atol=1e-10)
    assert not dependent.any()
    A[3] = A[1]
    right[3] = right[1]
    x, _ = _solve_independent(np.asfortranarray(A), right, np.zeros(5))
    np.testing.assert_allclose(A @ x, right, atol=1e-9)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_planar_contact_is_a_spatial_one_whose_second_tangent_nothing_moves(count):
    rng = np.random.default_rng(count)
    H = rng.normal(size=(2 * count, 2 * count + 1))
    W, q, forces = H @ H.T, rng.normal(size=2 * count), rng.normal(size=2 * count)
    W3, q3, forces3 = _padded(W, q, forces, count)
    own = np.array([[3 * k, 3 * k + 1] for k in range(count)], int).ravel()
    more = 3 * np.arange(count) + 2
    np.testing.assert_array_equal(W3[np.ix_(own, own)], W)
    np.testing.assert_array_equal(q3[own], q)
    np.testing.assert_array_equal(forces3[own], forces)
    assert not q3[more].any()
    assert not forces3[more].any()
    np.testing.assert_array_equal(W3[more], W3[:, more].T)
    assert (W3[more][:, own] == 0.0).all()
    assert count == 0 or np.linalg.matrix_rank(W3) == 3 * count
    assert _padded(W, q, None, count)[2] is None
