"""Elimination tree and supernodes of a symmetric pattern.

Eliminating node j couples all its later neighbours. The first of them is its *parent*; the tree of parents says which
eliminations depend on which (J. W. H. Liu, The role of elimination trees in sparse factorization, SIAM J. Matrix Anal.
11, 1990). Consecutive nodes whose columns of the factor have the same rows form a *supernode*, factorized as one dense
block. Everything here is at the level of nodes and linear in the number of node blocks of the factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.kernels import kernel
from pliant.core.types import IndexArray, IntArray


class Supernodes(NamedTuple):
    """Groups of consecutive columns of the factor, children before parents.

    Supernode s has the columns [start[s], start[s + 1]) and, below them, the rows ``rows[row_ptr[s]:row_ptr[s + 1]]``;
    parent[s] is the supernode of the first of these rows, −1 for a root.
    """

    start: IntArray
    row_ptr: IndexArray
    rows: IntArray
    parent: IntArray


@kernel
def elimination_tree(ptr: IndexArray, neighbours: IntArray, order: IntArray) -> IntArray:
    """Parent of every position of the elimination order, −1 for roots (Liu's algorithm with path compression)."""
    n = len(order)
    position = np.empty(n, np.int32)
    for j in range(n):
        position[order[j]] = j
    parent = np.full(n, -1, np.int32)
    ancestor = np.full(n, -1, np.int32)
    for j in range(n):
        for q in range(ptr[order[j]], ptr[order[j] + 1]):
            i = position[neighbours[q]]
            while i != -1 and i < j:
                above = ancestor[i]
                ancestor[i] = j
                if above == -1:
                    parent[i] = j
                i = above
    return parent


@kernel
def postorder(parent: IntArray) -> IntArray:
    """Nodes of a forest, every subtree contiguous and children before parents."""
    n = len(parent)
    child = np.full(n, -1, np.int32)
    sibling = np.full(n, -1, np.int32)
    for j in range(n - 1, -1, -1):
        if parent[j] >= 0:
            sibling[j] = child[parent[j]]
            child[parent[j]] = j
    order = np.empty(n, np.int32)
    stack = np.empty(n, np.int32)
    count = 0
    for root in range(n):
        if parent[root] != -1:
            continue
        stack[0] = root
        top = 0
        while top >= 0:
            j = stack[top]
            if child[j] == -1:
                order[count] = j
                count += 1
                top -= 1
            else:
                top += 1
                stack[top] = child[j]
                child[j] = sibling[child[j]]
    return order


@kernel
def supernodes(ptr: IndexArray, neighbours: IntArray, order: IntArray, parent: IntArray) -> Supernodes:
    """Maximal supernodes of a postordered elimination tree.

    The rows of column j are its later neighbours and the rows of its children. Column j joins the supernode of column
    j − 1 when that is its child and has exactly one row more; only the rows of a supernode's first column are kept.
    """
    n = len(order)
    position = np.empty(n, np.int32)
    for j in range(n):
        position[order[j]] = j
    start = np.empty(n + 1, np.int32)
    owner = np.empty(n, np.int32)
    row_ptr = np.zeros(n + 1, np.int64)
    rows = np.empty(4 * len(neighbours) + n + 64, np.int32)
    mark = np.full(n, -1, np.int32)
    child = np.full(n, -1, np.int32)
    sibling = np.full(n, -1, np.int32)
    count = 0
    previous = 0  # rows below column j − 1
    for j in range(n):
        begin = row_ptr[count]
        if begin + n > len(rows):
            grown = np.empty(2 * len(rows) + n, np.int32)
            grown[:begin] = rows[:begin]
            rows = grown
        k = begin
        for q in range(ptr[order[j]], ptr[order[j] + 1]):
            i = position[neighbours[q]]
            if i > j and mark[i] != j:
                mark[i] = j
                rows[k] = i
                k += 1
        c = child[j]
        while c != -1:
            for q in range(row_ptr[owner[c]], row_ptr[owner[c] + 1]):
                i = rows[q]
                if i > j and mark[i] != j:
                    mark[i] = j
                    rows[k] = i
                    k += 1
            c = sibling[c]
        if j > 0 and parent[j - 1] == j and previous == k - begin + 1:
            owner[j] = count - 1
        else:
            start[count] = j
            owner[j] = count
            count += 1
            row_ptr[count] = k
        previous = k - begin
        if parent[j] >= 0:
            sibling[j] = child[parent[j]]
            child[parent[j]] = j
    start[count] = n
    above = np.full(count, -1, np.int32)
    below_ptr = np.zeros(count + 1, np.int64)
    below = np.empty(row_ptr[count], np.int32)
    k = 0
    for s in range(count):
        last = start[s + 1] - 1
        if parent[last] >= 0:
            above[s] = owner[parent[last]]
        for q in range(row_ptr[s], row_ptr[s + 1]):
            if rows[q] > last:
                below[k] = rows[q]
                k += 1
        below_ptr[s + 1] = k
    return Supernodes(start[: count + 1].copy(), below_ptr, below[:k].copy(), above)
