import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from pliant.solvers.linear import BlockPattern, analyze
from pliant.solvers.linear.ordering import adjacency, nested_dissection


def graph(pattern):
    number = np.arange(pattern.node_count, dtype=np.int32)
    return adjacency(pattern.indptr, pattern.indices, number, pattern.node_count)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 80), st.integers(0, 200), st.integers(0, 2**16), st.booleans())
def test_order_is_a_permutation(nodes, edges, seed, with_coordinates):
    """Any graph, connected or not, with coordinates or without, is ordered completely."""
    rng = np.random.default_rng(seed)
    pattern = BlockPattern.from_cliques(nodes, 2 * np.arange(edges + 1), rng.integers(0, nodes, 2 * edges))
    where = rng.random((nodes, 3)) if with_coordinates else None
    order = nested_dissection(*graph(pattern), where, leaf=4)
    np.testing.assert_array_equal(np.sort(order), np.arange(nodes))


@pytest.mark.parametrize("where", [np.zeros((210, 3)), np.full((210, 3), 1e300)])
def test_useless_coordinates_are_survived(grid, where):
    """Coincident nodes cannot be cut by planes; the order is still a permutation."""
    order = nested_dissection(*graph(grid.pattern), where)
    np.testing.assert_array_equal(np.sort(order), np.arange(210))


def test_dissection_reduces_fill(grid):
    """With and without coordinates the factor is clearly smaller than the dense one and than a scrambled order."""
    dense = 630 * 631 / 2
    geometric = analyze(grid.pattern, coordinates=grid.coordinates).factor_nonzeros
    graphical = analyze(grid.pattern).factor_nonzeros
    assert geometric < 0.6 * dense
    assert graphical < 0.7 * dense


@pytest.mark.parametrize("with_coordinates", [True, False])
def test_the_last_nodes_separate_the_rest(grid, with_coordinates):
    """Removing the top separator leaves at least two parts of fair size: dissection does dissect."""
    ptr, neighbours = graph(grid.pattern)
    order = nested_dissection(ptr, neighbours, grid.coordinates if with_coordinates else None)
    full = sparse.csr_matrix((np.ones(len(neighbours)), neighbours, ptr), shape=(210, 210))
    for separator in range(20, 60):
        rest = order[:-separator]
        count, label = csgraph.connected_components(full[rest][:, rest], directed=False)
        if count > 1:
            assert np.sort(np.bincount(label))[-2] > 40
            return
    pytest.fail("no separator of fewer than 60 nodes at the end of the order")


def test_separator_is_no_larger_than_a_plane():
    """On a bar of 12 × 3 × 3 nodes the first cut takes one plane of nine nodes, in any numbering of the nodes."""
    points = np.stack(np.meshgrid(np.arange(12), np.arange(3), np.arange(3), indexing="ij"), -1).reshape(-1, 3)
    points = np.random.default_rng(0).permutation(points).astype(float)
    near = np.abs(points[:, None] - points[None]).max(-1) <= 1
    full = sparse.csr_matrix(near & ~np.eye(108, dtype=bool))
    for where in (points, None):
        ptr, neighbours = full.indptr.astype(np.int64), full.indices.astype(np.int32)
        rest = nested_dissection(ptr, neighbours, where, leaf=60)[:-9]
        count, _ = csgraph.connected_components(full[rest][:, rest], directed=False)
        assert count >= 2


def test_a_notched_bar_is_cut_in_its_notch():
    """A bar of 20 × 3 × 3 nodes that has only three of them in its eighth plane is cut there, not in the middle."""
    points = np.stack(np.meshgrid(np.arange(20), np.arange(3), np.arange(3), indexing="ij"), -1).reshape(-1, 3)
    points = points[(points[:, 0] != 7) | (points[:, 1] == 0)].astype(float)
    near = np.abs(points[:, None] - points[None]).max(-1) <= 1
    full = sparse.csr_matrix(near & ~np.eye(len(points), dtype=bool))
    order = nested_dissection(full.indptr.astype(np.int64), full.indices.astype(np.int32), points, leaf=120)
    np.testing.assert_array_equal(points[order[-3:], 0], 7.0)


def test_adjacency_leaves_out_nodes_that_are_not_kept():
    """A path 0–1–2 without its middle has no edges."""
    pattern = BlockPattern.from_cliques(3, [0, 2, 4], [0, 1, 1, 2])
    ptr, neighbours = adjacency(pattern.indptr, pattern.indices, np.array([0, -1, 1], np.int32), 2)
    assert ptr.tolist() == [0, 0, 0]
    assert neighbours.size == 0
