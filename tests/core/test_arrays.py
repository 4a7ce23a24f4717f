"""Small matrices: the quick way to make them gives what SciPy would."""

import numpy as np
import pytest
from scipy import sparse

from pliant.core.arrays import add_product, csr, selected_rows, stacked, transposed_product


def test_csr_is_the_matrix_of_its_arrays():
    given = sparse.random(4, 7, density=0.5, format="csr", random_state=0)
    made = csr(given.data, given.indices, given.indptr, given.shape)
    np.testing.assert_array_equal(made.toarray(), given.toarray())
    np.testing.assert_array_equal((made @ made.T).toarray(), (given @ given.T).toarray())
    assert csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(5, np.int32), (4, 7)).nnz == 0, "nothing is shared"


def test_an_entry_given_twice_counts_twice():
    made = csr(np.array([1.0, 2.0]), np.array([3, 3], np.int32), np.array([0, 2], np.int32), (1, 5))
    np.testing.assert_array_equal(made.toarray(), [[0, 0, 0, 3, 0]])
    np.testing.assert_array_equal(made @ np.arange(5.0), [9.0])


def test_stacked_rows_keep_their_order():
    parts = [sparse.random(m, 6, density=0.4, format="csr", random_state=m) for m in (3, 1, 4)]
    parts.insert(1, sparse.csr_matrix((2, 6)))
    np.testing.assert_array_equal(stacked(parts).toarray(), sparse.vstack(parts).toarray())


def test_the_product_with_the_transpose():
    H, x = sparse.random(5, 8, density=0.4, format="csr", random_state=2), np.arange(5.0)
    np.testing.assert_allclose(transposed_product(H, x), H.T @ x, atol=1e-15)


def test_stacked_rows_of_parts_with_none_one_and_two_rows():
    parts = [sparse.csr_matrix(np.arange(3.0 * rows).reshape(rows, 3) + 1.0) for rows in (1, 2, 0)]
    made = stacked(parts)
    np.testing.assert_array_equal(made.toarray(), np.vstack([part.toarray() for part in parts]))


def test_rows_with_wide_indices_are_stacked():
    """SciPy's index arrays have 64 bits after some operations."""
    parts = [sparse.random(3, 6, density=0.5, format="csr", random_state=k) for k in (0, 1)]
    for part in parts:
        part.indices, part.indptr = part.indices.astype(np.int64), part.indptr.astype(np.int64)
    made = stacked(parts)
    assert made.indptr.dtype == made.indices.dtype == np.int32
    np.testing.assert_array_equal(made.toarray(), np.vstack([part.toarray() for part in parts]))


def test_a_product_is_added_to_what_is_there():
    H, x, total = sparse.random(5, 8, density=0.4, format="csr", random_state=2), np.arange(8.0), np.arange(5.0)
    add_product(H, x.reshape(2, 4), total)
    np.testing.assert_allclose(total, np.arange(5.0) + H @ x, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_selected_rows_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    H = sparse.random(6, 9, density=0.4, format="csr", random_state=seed)
    H.data[:] = rng.normal(size=H.nnz)
    rows = rng.integers(0, 6, 8)
    found = selected_rows(H, rows)
    assert found.shape == (8, 9)
    np.testing.assert_array_equal(found.toarray(), H[rows].toarray())
