"""Which node blocks of a symmetric block matrix are non-zero.

A model couples nodes in *cliques*: the four nodes of a tetrahedron, the two of a beam element, the neighbourhood of a
smoothed strain. The pattern is the union of all pairs of all cliques. It is computed once per model; the positions of
the blocks of every clique come with it, so that assembly is plain addition into `values[position]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.checks import positive_count
from pliant.core.errors import InputError
from pliant.core.kernels import inline, kernel
from pliant.core.types import IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Lower triangle, diagonal included, of a symmetric matrix of node_count × node_count blocks, in block CSR.

    Block row i holds the columns ``indices[indptr[i]:indptr[i + 1]]``, ascending, each ≤ i, the last one i itself.
    Every block is `block` × `block` scalars: 3 for points, 6 for frames.
    """

    node_count: int
    block: int
    indptr: IndexArray
    indices: IntArray

    @staticmethod
    def from_cliques(node_count: int, clique_ptr: Any, clique_nodes: Any, *, block: int = 3) -> BlockPattern:
        """The union over cliques of all their node pairs, plus the diagonal.

        Clique c is ``clique_nodes[clique_ptr[c]:clique_ptr[c + 1]]``, in any order, repeated nodes allowed. One linear
        pass per stage and no sorting: rows are gathered unsorted and transposed twice, which sorts them.
        """
        node_count, block = positive_count("node_count", node_count), positive_count("block", block)
        ptr, nodes = _checked_cliques(node_count, clique_ptr, clique_nodes)
        indptr, indices = _transpose(node_count, *_transpose(node_count, *_gather_rows(node_count, ptr, nodes)))
        return BlockPattern(node_count, block, indptr, indices)

    def clique_positions(self, clique_ptr: Any, clique_nodes: Any) -> tuple[IndexArray, IntArray]:
        """Where the blocks of every clique lie: (pair_ptr, positions), with pair_ptr (clique_count + 1,).

        Nodes of a clique must be strictly ascending. With n nodes, its n(n + 1)/2 positions are those of the blocks
        (a, b), a ≥ b, in row-major order: (0, 0), (1, 0), (1, 1), (2, 0), …, with a and b local indices.
        """
        ptr, nodes = _checked_cliques(self.node_count, clique_ptr, clique_nodes)
        size = np.diff(ptr)
        pair_ptr = np.zeros(len(ptr), np.int64)
        np.cumsum(size * (size + 1) // 2, out=pair_ptr[1:])
        positions = np.empty(int(pair_ptr[-1]), np.int32)
        bad = _find_positions(self.indptr, self.indices, ptr, nodes, pair_ptr, positions)
        if bad >= 0:
            raise InputError(
                f"clique {bad} has nodes {nodes[ptr[bad] : ptr[bad + 1]].tolist()}: they must be strictly ascending, "
                "and all their pairs must be in the pattern; sort them, and build the pattern from the same cliques"
            )
        return pair_ptr, positions

    @cached_property
    def diagonal(self) -> IntArray:
        """Positions of the diagonal blocks, shape (node_count,)."""
        return (self.indptr[1:] - 1).astype(np.int32)

    @property
    def block_count(self) -> int:
        """Stored blocks: those of the lower triangle and the diagonal."""
        return len(self.indices)


def _checked_cliques(node_count: int, clique_ptr: Any, clique_nodes: Any) -> tuple[IndexArray, IntArray]:
    ptr = np.ascontiguousarray(clique_ptr, np.int64)
    nodes = np.ascontiguousarray(clique_nodes, np.int32)
    flat = ptr.ndim == 1 and nodes.ndim == 1 and len(ptr) > 0
    if not flat or ptr[0] != 0 or ptr[-1] != len(nodes) or np.any(np.diff(ptr) < 0):
        raise InputError(f"clique_ptr must ascend from 0 to the length of clique_nodes ({len(nodes)}), got {ptr!r}")
    if len(nodes) and (nodes.min() < 0 or nodes.max() >= node_count):
        wrong = nodes.min() if nodes.min() < 0 else nodes.max()
        raise InputError(f"clique_nodes must lie in [0, {node_count}), got {wrong}")
    return ptr, nodes


@kernel
def _gather_rows(node_count: int, clique_ptr: IndexArray, clique_nodes: IntArray) -> tuple[IndexArray, IntArray]:
    """Columns j ≤ i of every row i, unsorted: each clique that holds i is visited once, a mark keeps columns unique."""
    owner_ptr = np.zeros(node_count + 1, np.int64)
    for node in clique_nodes:
        owner_ptr[node + 1] += 1
    for i in range(node_count):
        owner_ptr[i + 1] += owner_ptr[i]
    owner = np.empty(len(clique_nodes), np.int32)
    fill = owner_ptr[:-1].copy()
    for c in range(len(clique_ptr) - 1):
        for q in range(clique_ptr[c], clique_ptr[c + 1]):
            node = clique_nodes[q]
            owner[fill[node]] = c
            fill[node] += 1
    mark = np.full(node_count, -1, np.int32)
    indptr = np.zeros(node_count + 1, np.int64)
    indices = np.empty(16 * node_count + 64, np.int32)
    for i in range(node_count):
        k = indptr[i]
        if k + i + 1 > len(indices):  # row i has at most i + 1 columns
            grown = np.empty(2 * len(indices) + i + 1, np.int32)
            grown[:k] = indices[:k]
            indices = grown
        mark[i] = i
        indices[k] = i
        k += 1
        for o in range(owner_ptr[i], owner_ptr[i + 1]):
            for q in range(clique_ptr[owner[o]], clique_ptr[owner[o] + 1]):
                j = clique_nodes[q]
                if j < i and mark[j] != i:
                    mark[j] = i
                    indices[k] = j
                    k += 1
        indptr[i + 1] = k
    return indptr, indices[: indptr[node_count]].copy()


@kernel
def _transpose(node_count: int, indptr: IndexArray, indices: IntArray) -> tuple[IndexArray, IntArray]:
    """Pattern of the transpose; its rows come out ascending."""
    out_ptr = np.zeros(node_count + 1, np.int64)
    for j in indices:
        out_ptr[j + 1] += 1
    for j in range(node_count):
        out_ptr[j + 1] += out_ptr[j]
    out = np.empty(len(indices), np.int32)
    fill = out_ptr[:-1].copy()
    for i in range(node_count):
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            out[fill[j]] = i
            fill[j] += 1
    return out_ptr, out


@inline
def _advance(indices: IntArray, start: int, stop: int, wanted: int) -> int:
    """First q in [start, stop) with indices[q] ≥ wanted, by bisection; stop where there is none."""
    while start < stop:
        middle = (start + stop) >> 1
        if indices[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _find_positions(
    indptr: IndexArray, indices: IntArray, clique_ptr: IndexArray, clique_nodes: IntArray, pair_ptr: IndexArray,
    positions: IntArray,
) -> int:  # fmt: skip
    """Fill `positions`; the first clique that is not ascending or not in the pattern, or −1."""
    for c in range(len(clique_ptr) - 1):
        begin = clique_ptr[c]
        out = pair_ptr[c]
        for a in range(begin, clique_ptr[c + 1]):
            row = clique_nodes[a]
            if a > begin and clique_nodes[a - 1] >= row:
                return c
            q = indptr[row]
            stop = indptr[row + 1]
            for b in range(begin, a + 1):
                q = _advance(indices, q, stop, clique_nodes[b])
                if q == stop or indices[q] != clique_nodes[b]:
                    return c
                positions[out] = q
                out += 1
    return -1
