"""Islands: groups of bodies that rows connect. No force of one moves another, so each has a problem of its own."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pliant.constraints.rows import Rows
from pliant.core.arrays import frozen
from pliant.core.kernels import inline, kernel
from pliant.core.types import IndexArray, IntArray
from pliant.solvers.contact import Law

_COULOMB, _CAPSTAN, _GUIDE = int(Law.COULOMB), int(Law.CAPSTAN), int(Law.GUIDE)


def islands(rows: Rows) -> list[tuple[IndexArray, list[int]]]:
    """Indices of the rows, ascending, and of the bodies of each island; empty where all rows belong to one."""
    if len(rows.H) == 1:
        return []
    touched = [k for k, H in enumerate(rows.H) if len(H.data)]
    if len(touched) < 2:
        return []
    count = len(rows.gap)
    if len(touched) == 2 and _any_in_both(*[frozen(rows.H[k].indptr) for k in touched]):
        return []
    parent, body = np.arange(len(rows.H)), np.empty(count, np.int64)
    body.fill(-1)
    first = [_join_rows(parent, body, k, frozen(rows.H[k].indptr)) for k in touched]
    island = np.empty(count, np.int64)
    count = _number(parent, body, frozen(rows.law), island)
    if count == 1:
        return []
    order = np.argsort(island, kind="stable")
    bodies: list[list[int]] = [[] for _ in range(count)]
    for k, row in zip(touched, first, strict=True):
        bodies[island[row]].append(k)
    return list(zip(np.split(order, np.cumsum(np.bincount(island))[:-1]), bodies, strict=True))


def picked_rows(H: sparse.csr_matrix, picked: IndexArray) -> sparse.csr_matrix:
    """The rows `picked` (k,) of H (m, n), (k, n)."""
    begin = H.indptr[picked]
    lengths = H.indptr[picked + 1] - begin
    indptr = np.zeros(len(picked) + 1, H.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    entries = np.repeat(begin - indptr[:-1], lengths) + np.arange(indptr[-1], dtype=indptr.dtype)
    return sparse.csr_matrix((H.data[entries], H.indices[entries], indptr), (len(picked), H.shape[1]))


@inline
def _root(parent: IndexArray, k: int) -> int:
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@kernel
def _any_in_both(one: IntArray, other: IntArray) -> bool:
    """Whether a row moves both of two bodies; `one` and `other` (m + 1,) are where the rows of each begin."""
    found = False
    for i in range(len(one) - 1):
        found = found or (one[i + 1] > one[i] and other[i + 1] > other[i])
    return found


@kernel
def _join_rows(parent: IndexArray, body: IndexArray, k: int, indptr: IntArray) -> int:
    """Join body k with the bodies of its rows so far: those in the tree `parent` (bodies,) under `body` (m,), or −1.
    Return its first row.
    """
    first = -1
    for i in range(len(body)):
        if indptr[i + 1] == indptr[i]:
            continue
        if first < 0:
            first = i
        if body[i] < 0:
            body[i] = k
        else:
            parent[_root(parent, k)] = _root(parent, body[i])
    return first


@kernel
def _number(parent: IndexArray, body: IndexArray, law: IntArray, island: IndexArray) -> int:
    """Fill the island (m,) of every row, from 0 in the order of the rows, and return their count."""
    m = len(body)
    for i in range(m):  # rows whose law involves those before them, and rows that move nothing, stay with these
        behind = law[i] == _CAPSTAN or law[i] == _GUIDE or body[i] < 0
        if behind and i > 0:
            if body[i] >= 0 and body[i - 1] >= 0:
                parent[_root(parent, body[i])] = _root(parent, body[i - 1])
            elif body[i] < 0:
                body[i] = body[i - 1]
        if law[i] == _GUIDE and i > 1 and body[i] >= 0 and body[i - 2] >= 0:
            parent[_root(parent, body[i])] = _root(parent, body[i - 2])
    for i in range(m - 1, -1, -1):
        if body[i] < 0:  # at the front
            body[i] = body[i + 1]
    i = 0
    while i < m:
        if law[i] == _COULOMB:  # normal and tangents
            for j in range(i + 1, i + 3):
                parent[_root(parent, body[j])] = _root(parent, body[i])
            i += 2
        i += 1
    number = np.full(len(parent), -1)
    count = 0
    for i in range(m):
        root = _root(parent, body[i])
        if number[root] < 0:
            number[root] = count
            count += 1
        island[i] = number[root]
    return count
