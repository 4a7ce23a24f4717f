import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from pliant.core.arrays import frozen
from pliant.core.errors import InputError
from pliant.solvers.linear import analyze


def expected(system, H, keep=None):
    free = np.ones(len(system.dense), bool) if keep is None else np.repeat(keep, system.pattern.block)
    rows = H.toarray()[:, free]
    return rows @ np.linalg.solve(system.dense[np.ix_(free, free)], rows.T)


@pytest.mark.parametrize("rows", [1, 3, 40, 300])
@pytest.mark.parametrize("per_row", [1, 9])
def test_compliance_matches_dense(grid, make_rows, rows, per_row):
    """W = H A⁻¹ Hᵀ, exactly symmetric, for fewer and for more rows than touched columns."""
    H = make_rows(rows, 630, per_row=per_row)
    W = analyze(grid.pattern, coordinates=grid.coordinates).factorize(grid.matrix.values).compliance(H)
    np.testing.assert_allclose(W, expected(grid, H), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(W, W.T)


def test_more_rows_than_touched_columns(grid, make_rows):
    """Many rows on few nodes go through the inverse on those nodes, with the same result."""
    few = make_rows(200, 30)
    H = sparse.csr_matrix((few.data, few.indices, few.indptr), shape=(200, 630))
    factor = analyze(grid.pattern, coordinates=grid.coordinates).factorize(grid.matrix.values)
    W = factor.compliance(H)
    np.testing.assert_allclose(W, expected(grid, H), rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(W, W.T)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(0, 100), st.integers(0, 40), st.integers(0, 2**16), st.sampled_from([3, 6]))
def test_compliance_on_random_patterns(make_system, make_rows, nodes, cliques, rows, seed, block):
    """Random graphs, masks and rows, also rows that touch fixed nodes only."""
    system = make_system(nodes, block=block, seed=seed, cliques=cliques)
    keep = np.random.default_rng(seed).random(nodes) < 0.7
    H = make_rows(rows, nodes * block, per_row=4, seed=seed)
    W = analyze(system.pattern, keep=keep).factorize(system.matrix.values).compliance(H)
    wanted = expected(system, H, keep)
    np.testing.assert_allclose(W, wanted, rtol=1e-7, atol=1e-9 * max(1.0, np.abs(wanted).max(initial=0.0)))


def test_no_rows(grid):
    """H without rows gives an empty W; H without entries gives zeros."""
    factor = analyze(grid.pattern).factorize(grid.matrix.values)
    assert factor.compliance(sparse.csr_matrix((0, 630))).shape == (0, 0)
    assert not factor.compliance(sparse.csr_matrix((4, 630))).any()


def test_repeated_bits(grid, make_rows):
    """The same rows give the same bits."""
    factor = analyze(grid.pattern, coordinates=grid.coordinates).factorize(grid.matrix.values)
    H = make_rows(60, 630)
    np.testing.assert_array_equal(factor.compliance(H), factor.compliance(H.copy()))


def test_wrong_width_is_refused(grid):
    """H needs one column per scalar unknown of the body."""
    with pytest.raises(InputError, match="630 columns"):
        analyze(grid.pattern).factorize(grid.matrix.values).compliance(sparse.csr_matrix((4, 629)))


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("empty", [(), (0,), (3, 4), (29,)])
def test_rows_are_added_where_they_stand_whether_some_are_empty_or_not(grid, make_rows, alone, empty):
    """Empty rows among others; W and δ hold the values of other bodies, W none where the body is alone."""
    factor = analyze(grid.pattern, coordinates=grid.coordinates).factorize(grid.matrix.values)
    H = make_rows(30, 630).tolil()
    for row in empty:
        H[row] = 0.0
    H = H.tocsr()
    H.eliminate_zeros()
    H.sort_indices()
    r = np.random.default_rng(0).normal(size=(210, 3))
    motion = factor.motion(r)
    before = 0.0 if alone else 2.0
    W, delta = np.full((30, 30), before), np.ones(30)
    parts = H.indptr.astype(np.int32), H.indices.astype(np.int32), H.data
    entries = tuple(frozen(part) for part in parts)
    assert factor.condense(entries, W, motion._y, delta, alone=alone, few=0.0)
    dense = H.toarray()
    np.testing.assert_allclose(W - before, dense @ np.linalg.solve(grid.dense, dense.T), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(delta - 1.0, dense @ np.linalg.solve(grid.dense, r.ravel()), rtol=1e-9, atol=1e-10)
