import numpy as np
import pytest
from scipy import sparse

from pliant.solvers.linear.condensation import csr_parts, mirror, sandwich, touched_columns


@pytest.mark.parametrize("rows", [0, 1, 5, 70])
@pytest.mark.parametrize("per_row", [0, 1, 3, 5])
def test_sandwich_matches_numpy(make_rows, rows, per_row):
    """H C Hᵀ over the touched columns, exactly symmetric, for any number of non-zeros per row."""
    square = np.random.default_rng(1).standard_normal((40, 40))
    C = square @ square.T
    H = make_rows(rows, 40, per_row=per_row)
    ptr, columns, values = csr_parts(H, 40)
    touched, local = touched_columns(columns, 40)
    W = sandwich(ptr, local, values, np.ascontiguousarray(C[np.ix_(touched, touched)]))
    np.testing.assert_allclose(W, H @ C @ H.T.toarray(), rtol=1e-12, atol=1e-10)
    np.testing.assert_array_equal(W, W.T)


def test_mirror_copies_below_to_above():
    """Sizes that are not multiples of a tile included."""
    W = np.random.default_rng(0).standard_normal((75, 75))
    wanted = np.tril(W) + np.tril(W, -1).T
    mirror(W)
    np.testing.assert_array_equal(W, wanted)


def test_csr_parts_accepts_any_format():
    """Dense, COO and integer matrices become the same three arrays."""
    H = np.array([[0, 2, 0], [1, 0, 3]])
    for given in (H, sparse.coo_matrix(H), sparse.csr_array(H), sparse.csc_matrix(H.astype(np.float32))):
        ptr, columns, values = csr_parts(given, 3)
        assert (ptr.tolist(), columns.tolist(), values.tolist()) == ([0, 1, 3], [1, 0, 2], [2.0, 1.0, 3.0])
        assert (ptr.dtype, columns.dtype, values.dtype) == (np.int32, np.int32, np.float64)
