"""Nested dissection: an elimination order with little fill.

A set of nodes is cut in two by a *separator*; both halves are numbered first and the separator last, so that eliminating
one half never touches the other, and each half is treated the same way (A. George, Nested dissection of a regular finite
element mesh, SIAM J. Numer. Anal. 10, 1973). With coordinates the candidates are planes normal to the three axes; without,
they are the level sets of a breadth-first search from a far end of the set (George & Liu 1978). The cheapest
candidate wins: a small separator that leaves two halves of about the same size.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray

LEAF = 16  # nodes: smaller sets are eliminated as one dense front
_QUANTILES = np.array([0.5, 0.42, 0.58])  # cut positions tried along every direction


def nested_dissection(
    ptr: IndexArray, neighbours: IntArray, coordinates: FloatArray | None, *, leaf: int = LEAF
) -> IntArray:
    """Elimination order of the nodes of a graph, shape (n,): ``order[i]`` is the node eliminated i-th.

    The graph is CSR, symmetric, without diagonal. `coordinates` are in metres, shape (n, 3), or None.
    """
    n = len(ptr) - 1
    where = np.empty((n, 0)) if coordinates is None else np.ascontiguousarray(coordinates, np.float64)
    return _dissect(ptr, neighbours, where, leaf, _QUANTILES)


@kernel
def adjacency(indptr: IndexArray, indices: IntArray, number: IntArray, count: int) -> tuple[IndexArray, IntArray]:
    """Symmetric graph of the kept nodes, without diagonal, from the lower triangle.

    ``number[i]`` is the number of node i among the `count` kept ones, or −1.
    """
    ptr = np.zeros(count + 1, np.int64)
    for i in range(len(indptr) - 1):
        for q in range(indptr[i], indptr[i + 1] - 1):
            if number[i] >= 0 and number[indices[q]] >= 0:
                ptr[number[i] + 1] += 1
                ptr[number[indices[q]] + 1] += 1
    for i in range(count):
        ptr[i + 1] += ptr[i]
    neighbours = np.empty(ptr[count], np.int32)
    fill = ptr[:-1].copy()
    for i in range(len(indptr) - 1):
        for q in range(indptr[i], indptr[i + 1] - 1):
            a = number[i]
            b = number[indices[q]]
            if a >= 0 and b >= 0:
                neighbours[fill[a]] = b
                neighbours[fill[b]] = a
                fill[a] += 1
                fill[b] += 1
    return ptr, neighbours


@inline
def _levels(
    ptr: IndexArray, neighbours: IntArray, nodes: IntArray, part: IntArray, level: FloatArray, queue: IntArray
) -> None:
    """Breadth-first levels inside `nodes` (which share one `part`), from a node far from everything.

    Three searches, each from the last node of the one before, give a pseudo-peripheral start. What a search does not reach
    (another component) gets the next level after the last.
    """
    here = part[nodes[0]]
    start = nodes[0]
    for _ in range(3):
        for node in nodes:
            level[node] = -1.0
        level[start] = 0.0
        queue[0] = start
        head = 0
        tail = 1
        while head < tail:
            node = queue[head]
            head += 1
            for q in range(ptr[node], ptr[node + 1]):
                other = neighbours[q]
                if part[other] == here and level[other] < 0.0:
                    level[other] = level[node] + 1.0
                    queue[tail] = other
                    tail += 1
        start = queue[tail - 1]
    last = level[start] + 1.0
    for node in nodes:
        if level[node] < 0.0:
            level[node] = last


@inline
def _separator(
    ptr: IndexArray, neighbours: IntArray, nodes: IntArray, part: IntArray, value: FloatArray, cut: float
) -> tuple[int, int, int]:
    """Cut `nodes` at value ≤ cut: (nodes below, of these touching above, above touching below)."""
    here = part[nodes[0]]
    below = 0
    below_touching = 0
    above_touching = 0
    for node in nodes:
        low = value[node] <= cut
        below += low
        for q in range(ptr[node], ptr[node + 1]):
            other = neighbours[q]
            if part[other] == here and (value[other] <= cut) != low:
                if low:
                    below_touching += 1
                else:
                    above_touching += 1
                break
    return below, below_touching, above_touching


@inline
def _cost(size: int, below: int, separator: int, separator_below: bool) -> float:
    """Estimate of the work a cut leaves: its separator, dearer when the halves are uneven; infinite for no cut."""
    left = below - separator if separator_below else below
    right = size - below if separator_below else size - below - separator
    smaller = min(left, right)
    if smaller <= 0:
        return np.inf
    return (separator + 1.0) * (size / (4.0 * left) + size / (4.0 * right))


@kernel
def _dissect(ptr: IndexArray, neighbours: IntArray, where: FloatArray, leaf: int, quantiles: FloatArray) -> IntArray:
    """Split sets of nodes until they are small; `order` is partitioned in place into (low half, high half, separator)."""
    n = len(ptr) - 1
    order = np.arange(n).astype(np.int32)
    part = np.zeros(n, np.int32)
    fresh = 1
    level = np.empty(n)
    best = np.empty(n)
    buffer = np.empty(n, np.int32)
    stack = np.empty((2 * n + 2, 2), np.int64)
    stack[0, 0] = 0
    stack[0, 1] = n
    top = 1
    directions = max(1, where.shape[1])
    while top > 0:
        top -= 1
        begin = stack[top, 0]
        end = stack[top, 1]
        size = end - begin
        if size <= leaf:
            continue
        nodes = order[begin:end]
        lowest = np.inf
        best_cut = 0.0
        best_below = False
        for axis in range(directions):
            if where.shape[1] == 0:
                _levels(ptr, neighbours, nodes, part, level, buffer)
            else:
                for node in nodes:
                    level[node] = where[node, axis]
            ranked = np.sort(level[nodes])
            for quantile in quantiles:
                cut = ranked[int(quantile * (size - 1))]
                below, touching, above = _separator(ptr, neighbours, nodes, part, level, cut)
                low = _cost(size, below, touching, True)
                high = _cost(size, below, above, False)
                if min(low, high) < lowest:
                    lowest = min(low, high)
                    best_cut = cut
                    best_below = low <= high
                    for node in nodes:
                        best[node] = level[node]
        if lowest == np.inf:
            continue
        here = part[nodes[0]]
        for i in range(size):
            buffer[i] = nodes[i]
        left = 0
        right = 0
        for i in range(size):  # count, then place: low half, high half, separator
            node = buffer[i]
            low = best[node] <= best_cut
            split = False
            if low == best_below:
                for q in range(ptr[node], ptr[node + 1]):
                    other = neighbours[q]
                    if part[other] == here and (best[other] <= best_cut) != low:
                        split = True
                        break
            level[node] = 2.0 if split else (0.0 if low else 1.0)
            left += level[node] == 0.0
            right += level[node] == 1.0
        a = 0
        b = left
        c = left + right
        for i in range(size):
            node = buffer[i]
            if level[node] == 0.0:
                nodes[a] = node
                a += 1
                part[node] = fresh
            elif level[node] == 1.0:
                nodes[b] = node
                b += 1
                part[node] = fresh + 1
            else:
                nodes[c] = node
                c += 1
                part[node] = -1
        fresh += 2
        stack[top, 0] = begin
        stack[top, 1] = begin + left
        stack[top + 1, 0] = begin + left
        stack[top + 1, 1] = begin + left + right
        top += 2
    return order
