import numpy as np
import pytest
from scipy import linalg

from pliant.core.errors import InputError
from pliant.solvers.linear import analyze
from pliant.solvers.linear.elimination import elimination_tree, postorder, supernodes
from pliant.solvers.linear.ordering import adjacency


def fill_of(dense, order, block):
    """Node-level structure of the Cholesky factor by dense elimination of the pattern."""
    pattern = np.abs(dense.reshape(len(order), block, len(order), block)).sum((1, 3)) > 0
    filled = pattern[np.ix_(order, order)].copy()
    for j in range(len(order)):
        below = np.flatnonzero(filled[j + 1 :, j]) + j + 1
        filled[np.ix_(below, below)] = True
    return np.tril(filled)


@pytest.mark.parametrize("seed", range(5))
def test_tree_and_supernodes_match_dense_elimination(make_system, seed):
    """Parents are the first rows below the diagonal; supernode rows are exactly the filled rows."""
    system = make_system(40, seed=seed, cliques=30)
    ptr, neighbours = adjacency(system.pattern.indptr, system.pattern.indices, np.arange(40, dtype=np.int32), 40)
    order = np.random.default_rng(seed).permutation(40).astype(np.int32)
    order = order[postorder(elimination_tree(ptr, neighbours, order))]
    parent = elimination_tree(ptr, neighbours, order)
    filled = fill_of(system.dense, order, 3)
    for j in range(40):
        below = np.flatnonzero(filled[j + 1 :, j]) + j + 1
        assert parent[j] == (below[0] if len(below) else -1)
    groups = supernodes(ptr, neighbours, order, parent)
    for s in range(len(groups.parent)):
        last = groups.start[s + 1] - 1
        rows = np.sort(groups.rows[groups.row_ptr[s] : groups.row_ptr[s + 1]])
        np.testing.assert_array_equal(rows, np.flatnonzero(filled[:, last])[1:])


def test_postorder_makes_subtrees_contiguous():
    """Children come before parents and a subtree is one interval."""
    parent = np.array([3, 4, 4, 6, 6, -1, -1], np.int32)
    order = postorder(parent)
    place = np.argsort(order)
    assert sorted(order.tolist()) == list(range(7))
    assert all(place[i] < place[p] for i, p in enumerate(parent) if p >= 0)
    assert sorted(place[[0, 1, 2, 3, 4, 6]].tolist()) in ([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6])


def test_counts_are_those_of_the_factor(grid):
    """Reported non-zeros bound those of the true factor from above, within the zeros that merging adds."""
    symbolic = analyze(grid.pattern, coordinates=grid.coordinates)
    permuted = (3 * symbolic.nodes[:, None] + np.arange(3)).ravel()
    lower = linalg.cholesky(grid.dense[np.ix_(permuted, permuted)], lower=True)
    true = np.count_nonzero(np.abs(lower) > 1e-14)
    assert symbolic.unknown_count == 630
    assert true <= symbolic.factor_nonzeros <= 1.6 * true
    assert symbolic.flops > 0


def test_keep_must_be_a_mask(grid):
    """Index lists and masks of a wrong length are refused."""
    with pytest.raises(InputError, match="keep"):
        analyze(grid.pattern, keep=[0, 1])
    with pytest.raises(InputError, match="coordinates"):
        analyze(grid.pattern, coordinates=np.full((210, 3), np.nan))


@pytest.mark.parametrize("count", [60, 200])
def test_sizes_of_the_factor_are_those_of_its_fronts(make_system, count):
    """Operations of eliminating each front pivot by pivot, to lower order; entries of L; and the tallest front."""
    system = make_system(count, seed=1, cliques=2 * count)
    symbolic = analyze(system.pattern)
    k, u = (np.asarray(each, int) for each in symbolic._front_sizes())
    rows = [[pivots + rest - j for j in range(pivots)] for pivots, rest in zip(k, u, strict=True)]
    exact = sum(float(n) ** 2 for front in rows for n in front)
    assert symbolic.flops == pytest.approx(exact, rel=0.1)
    assert symbolic.factor_nonzeros == sum(n for front in rows for n in front)
    assert symbolic.tallest_front == (k + u).max()
    assert k.sum() == symbolic.unknown_count
