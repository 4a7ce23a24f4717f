import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.errors import InputError
from pliant.solvers.linear import BlockPattern

cliques_of = st.lists(st.lists(st.integers(0, 11), min_size=0, max_size=6), max_size=12)


def flatten(cliques):
    ptr = np.concatenate([[0], np.cumsum([len(c) for c in cliques])]).astype(np.int64)
    return ptr, np.array([node for c in cliques for node in c], np.int32)


@settings(max_examples=50, deadline=None)
@given(cliques_of)
def test_pattern_is_the_union_of_all_pairs(cliques):
    """Rows hold exactly the pairs of the cliques and the diagonal, ascending, even with repeated nodes."""
    pattern = BlockPattern.from_cliques(12, *flatten(cliques))
    wanted = {(i, i) for i in range(12)} | {(max(a, b), min(a, b)) for c in cliques for a in c for b in c}
    rows = np.repeat(np.arange(12), np.diff(pattern.indptr))
    assert list(zip(rows.tolist(), pattern.indices.tolist())) == sorted(wanted)
    np.testing.assert_array_equal(pattern.indices[pattern.diagonal], np.arange(12))


@settings(max_examples=50, deadline=None)
@given(cliques_of)
def test_positions_name_the_blocks_of_each_clique(cliques):
    """Positions follow the lower triangle of each clique row by row."""
    cliques = [sorted(set(c)) for c in cliques]
    ptr, nodes = flatten(cliques)
    pattern = BlockPattern.from_cliques(12, ptr, nodes)
    pair_ptr, positions = pattern.clique_positions(ptr, nodes)
    rows = np.repeat(np.arange(12), np.diff(pattern.indptr))
    for c, clique in enumerate(cliques):
        found = positions[pair_ptr[c] : pair_ptr[c + 1]]
        wanted = [(a, b) for i, a in enumerate(clique) for b in clique[: i + 1]]
        assert list(zip(rows[found].tolist(), pattern.indices[found].tolist())) == wanted


def test_unsorted_or_foreign_cliques_are_refused():
    """Positions need ascending nodes and pairs that are in the pattern; the message names the clique."""
    pattern = BlockPattern.from_cliques(4, [0, 2], [0, 1])
    with pytest.raises(InputError, match="clique 0 has nodes \\[1, 0\\]"):
        pattern.clique_positions([0, 2], [1, 0])
    with pytest.raises(InputError, match="clique 1"):
        pattern.clique_positions([0, 2, 4], [0, 1, 2, 3])


@pytest.mark.parametrize(("ptr", "nodes"), [([0, 3], [0, 1]), ([1, 2], [0, 1]), ([0, 2], [0, 9]), ([0, 2], [-1, 0])])
def test_wrong_cliques_are_refused(ptr, nodes):
    """Pointers that do not cover the nodes and nodes out of range raise InputError."""
    with pytest.raises(InputError):
        BlockPattern.from_cliques(4, ptr, nodes)
