import numpy as np
import pytest
from scipy import sparse

from pliant.core.errors import InputError, SingularError
from pliant.solvers.linear import DenseFactor

rng = np.random.default_rng(0)
B = rng.standard_normal((12, 12))
SYMMETRIC = B @ B.T + np.eye(12)
SKEWED = B + 10.0 * np.eye(12)


@pytest.mark.parametrize("A", [SYMMETRIC, SKEWED])
@pytest.mark.parametrize("shape", [(12,), (12, 1), (12, 5), (4, 3)])
def test_solve_matches_numpy(A, shape):
    """Both kinds of matrix and all shapes of right-hand side, and the transpose."""
    factor = DenseFactor(A)
    rhs = rng.standard_normal(shape)
    wide = rhs.reshape(12, -1)
    np.testing.assert_allclose(factor.solve(rhs).reshape(12, -1), np.linalg.solve(A, wide), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        factor.solve_transposed(rhs).reshape(12, -1), np.linalg.solve(A.T, wide), rtol=1e-10, atol=1e-12
    )
    assert factor.solve(rhs).shape == shape


@pytest.mark.parametrize("A", [SYMMETRIC, SKEWED])
def test_compliance_matches_numpy(A):
    """Dense and sparse rows; exactly symmetric where A is; empty rows work."""
    H = rng.standard_normal((7, 12))
    W = DenseFactor(A).compliance(sparse.csr_matrix(H))
    np.testing.assert_allclose(W, H @ np.linalg.solve(A, H.T), rtol=1e-10, atol=1e-12)
    assert np.array_equal(W, W.T) == (A is SYMMETRIC)
    assert DenseFactor(A).compliance(np.empty((0, 12))).shape == (0, 0)


def test_half_solve():
    """The Gram matrix of L⁻¹ rhs is rhsᵀ A⁻¹ rhs; an unsymmetric matrix has no such root."""
    rhs = rng.standard_normal((12, 3))
    y = DenseFactor(SYMMETRIC).half_solve(rhs)
    np.testing.assert_allclose(y.T @ y, rhs.T @ np.linalg.solve(SYMMETRIC, rhs), rtol=1e-10)
    with pytest.raises(InputError, match="half_solve"):
        DenseFactor(SKEWED).half_solve(rhs)


def test_singular_matrices_name_the_unknown():
    """Zero rows, free motions and indefinite symmetric matrices raise SingularError; LU accepts the last one."""
    zero = SYMMETRIC.copy()
    zero[5] = zero[:, 5] = 0.0
    with pytest.raises(SingularError) as caught:
        DenseFactor(zero)
    assert caught.value.row == 5
    with pytest.raises(SingularError):
        DenseFactor(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    with pytest.raises(SingularError):
        DenseFactor(np.array([[1.0, 2.0], [0.5, 1.0]]))
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(SingularError):
        DenseFactor(indefinite)
    np.testing.assert_allclose(DenseFactor(indefinite, symmetric=False).solve([3.0, 3.0]), [1.0, 1.0])


def test_wrong_input_is_refused():
    """Matrices that are not square or not finite, and vectors of a wrong length."""
    with pytest.raises(InputError):
        DenseFactor(np.zeros((2, 3)))
    with pytest.raises(InputError):
        DenseFactor(np.array([[np.nan]]))
    with pytest.raises(InputError):
        DenseFactor(SYMMETRIC).solve(np.zeros(11))


def test_one_unknown():
    assert DenseFactor(np.array([[4.0]])).solve(np.array([2.0])) == pytest.approx([0.5])
    with pytest.raises(SingularError, match="unknown 0"):
        DenseFactor(np.array([[-4.0]]))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e12])
def test_singular_matrices_are_told_whatever_the_sign_and_the_size_of_their_entries(sign, size):
    """A row that is a combination of others; the same with a little of its own is solved."""
    rng = np.random.default_rng(0)
    A = sign * size * rng.uniform(0.5, 1.5, (6, 6))
    A[5] = A[1] + 0.5 * A[2]
    with pytest.raises(SingularError, match="singular at unknown 5"):
        DenseFactor(A, symmetric=False)
    A[5] *= 1.0 + 1e-3 * rng.normal(size=6)
    x = rng.normal(size=6)
    np.testing.assert_allclose(DenseFactor(A, symmetric=False).solve(A @ x), x, rtol=1e-8)


@pytest.mark.parametrize("symmetric", [True, False, None])
def test_a_matrix_of_no_unknowns_has_a_factor(symmetric):
    factor = DenseFactor(np.zeros((0, 0)), symmetric=symmetric)
    assert factor.solve(np.zeros(0)).shape == (0,)
    assert factor.solve_transposed(np.zeros((0, 2))).shape == (0, 2)
    assert factor.compliance(np.zeros((3, 0))).tolist() == np.zeros((3, 3)).tolist()
    if symmetric is not False:
        assert factor.lower.shape == (0, 0)
