"""Relaxed supernodes: small fronts are merged where a few stored zeros cost less than the overhead they save.

Merging a child with k₁ columns and u₁ rows below into a parent with k₂ columns and u₂ rows below gives a front with
k₁ + k₂ columns and u₂ rows below (I. S. Duff & J. K. Reid, The multifrontal solution of indefinite sparse symmetric
linear equations, ACM TOMS 9, 1983). Any child may merge, not only the last one: columns are renumbered afterwards. The
decision compares modelled times, whose constants were fitted on one core; only their ratios matter.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import IndexArray, IntArray
from pliant.solvers.linear.elimination import Supernodes, postorder

# Nanoseconds.
_FRONT = 1000.0  # calls and loops of one front
_FLOP = 0.045  # one multiply–add in a well filled BLAS call
_NARROW = 10.0  # columns at which BLAS reaches half of its speed
_ENTRY = 0.5  # one entry of an update matrix written, read and added into the parent


@inline
def _front_time(k: float, u: float) -> float:
    """Modelled time to factorize a front of k columns and u rows below, and to add its update into the parent."""
    work = k * (k * k / 3.0 + k * u + u * u)
    return _FRONT + _FLOP * work * (1.0 + _NARROW / k) + _ENTRY * (u * u + k * (k + u))


@kernel
def _merge_groups(start: IntArray, row_ptr: IndexArray, parent: IntArray, block: int) -> IntArray:
    """For every supernode the one it ends in, after merging children into parents bottom-up."""
    count = len(parent)
    group = np.arange(count).astype(np.int32)
    columns = np.empty(count)
    below = np.empty(count)
    for s in range(count):
        columns[s] = block * (start[s + 1] - start[s])
        below[s] = block * (row_ptr[s + 1] - row_ptr[s])
    child = np.full(count, -1, np.int32)
    sibling = np.full(count, -1, np.int32)
    for s in range(count):
        c = child[s]
        while c != -1:
            apart = _front_time(columns[c], below[c]) + _front_time(columns[s], below[s])
            if _front_time(columns[c] + columns[s], below[s]) <= apart:
                columns[s] += columns[c]
                group[c] = s
            c = sibling[c]
        if parent[s] >= 0:
            sibling[s] = child[parent[s]]
            child[parent[s]] = s
    for s in range(count - 1, -1, -1):
        group[s] = group[group[s]]
    return group


@kernel
def _renumber(fine: Supernodes, group: IntArray, sequence: IntArray) -> tuple[IntArray, IntArray]:
    """Columns in the order of the merged tree: (old column of each new one, supernode of each new column)."""
    n = fine.start[-1]
    rank = np.full(len(group), -1, np.int32)
    for g in range(len(sequence)):
        rank[sequence[g]] = g
    fill = np.zeros(len(sequence) + 1, np.int64)
    for s in range(len(group)):
        fill[rank[group[s]] + 1] += fine.start[s + 1] - fine.start[s]
    for g in range(len(sequence)):
        fill[g + 1] += fill[g]
    columns = np.empty(n, np.int32)
    owner = np.empty(n, np.int32)
    for s in range(len(group)):
        g = rank[group[s]]
        for j in range(fine.start[s], fine.start[s + 1]):
            columns[fill[g]] = j
            owner[fill[g]] = g
            fill[g] += 1
    return columns, owner


@kernel
def _merged(fine: Supernodes, sequence: IntArray, columns: IntArray, owner: IntArray) -> Supernodes:
    """Supernodes in the new numbering; rows are sorted by transposing their lists twice."""
    n = len(columns)
    count = len(sequence)
    position = np.empty(n, np.int32)
    for j in range(n):
        position[columns[j]] = j
    start = np.zeros(count + 1, np.int32)
    for j in range(n):
        start[owner[j] + 1] = j + 1
    row_ptr = np.zeros(count + 1, np.int64)
    touching = np.zeros(n + 1, np.int64)
    for g in range(count):
        s = sequence[g]
        row_ptr[g + 1] = row_ptr[g] + fine.row_ptr[s + 1] - fine.row_ptr[s]
        for q in range(fine.row_ptr[s], fine.row_ptr[s + 1]):
            touching[position[fine.rows[q]] + 1] += 1
    for j in range(n):
        touching[j + 1] += touching[j]
    who = np.empty(row_ptr[count], np.int32)
    fill = touching[:-1].copy()
    for g in range(count):
        s = sequence[g]
        for q in range(fine.row_ptr[s], fine.row_ptr[s + 1]):
            j = position[fine.rows[q]]
            who[fill[j]] = g
            fill[j] += 1
    rows = np.empty(row_ptr[count], np.int32)
    fill = row_ptr[:-1].copy()
    for j in range(n):
        for q in range(touching[j], touching[j + 1]):
            rows[fill[who[q]]] = j
            fill[who[q]] += 1
    parent = np.full(count, -1, np.int32)
    for g in range(count):
        if row_ptr[g + 1] > row_ptr[g]:
            parent[g] = owner[rows[row_ptr[g]]]
    return Supernodes(start, row_ptr, rows, parent)


def amalgamate(fine: Supernodes, *, block: int) -> tuple[Supernodes, IntArray]:
    """Merged supernodes, rows ascending, and the renumbering: ``columns[new] = old``."""
    group = _merge_groups(fine.start, fine.row_ptr, fine.parent, block)
    heads = np.flatnonzero(group == np.arange(len(group))).astype(np.int32)
    number = np.full(len(group), -1, np.int32)
    number[heads] = np.arange(len(heads), dtype=np.int32)
    above = fine.parent[heads]
    parent = np.where(above >= 0, number[group[above]], -1).astype(np.int32)
    sequence = heads[postorder(parent)]
    columns, owner = _renumber(fine, group, sequence)
    return _merged(fine, sequence, columns, owner), columns
