"""Nested dissection: an elimination order with little fill.

A set of nodes is cut in two by a *separator*; both halves are numbered first and the separator last, so that
eliminating one half never touches the other, and each half is treated the same way (A. George, Nested dissection of a
regular finite element mesh, SIAM J. Numer. Anal. 10, 1973). With coordinates the candidate cuts are planes normal to
the three axes; without, they are level sets of distances in the graph (A. George & J. W. H. Liu, An automatic nested
dissection algorithm, SIAM J. Numer. Anal. 15, 1978). Of all places of a cut the one with the smallest separator for its
balance wins: where a body is notched, its notch.
Its separator is then reduced to the smallest set of nodes that meets every edge across the cut: by Kőnig's theorem, a
maximum matching of the bipartite graph of these edges yields it.
"""

from __future__ import annotations

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray

LEAF = 16  # nodes; a smaller set is one front anyway
_SMOOTHINGS = 10  # sweeps of averaging over neighbours: level sets become flat on meshes
_MARGIN = 0.3  # least fraction of the nodes on either side of a cut: keeps the tree shallow


def nested_dissection(
    ptr: IndexArray, neighbours: IntArray, coordinates: FloatArray | None, *, leaf: int = LEAF
) -> IntArray:
    """Elimination order of the nodes of a graph, shape (n,): ``order[i]`` is the node eliminated i-th.

    The graph is CSR, symmetric, without diagonal. `coordinates` are in metres, shape (n, 3), or None.
    """
    n = len(ptr) - 1
    where = np.empty((n, 0)) if coordinates is None else np.ascontiguousarray(coordinates, np.float64)
    return np.asarray(_dissect(ptr, neighbours, where, leaf, _MARGIN))


@kernel
def adjacency(indptr: IndexArray, indices: IntArray, number: IntArray, count: int) -> tuple[IndexArray, IntArray]:
    """Symmetric graph of the kept nodes, without diagonal, from the lower triangle.

    ``number[i]`` is the index of node i among the `count` kept ones, or −1.
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
def _distances(
    ptr: IndexArray, neighbours: IntArray, nodes: IntArray, part: IntArray, start: int, level: FloatArray,
    queue: IntArray,
) -> int:  # fmt: skip
    """Edges from `start` to each of `nodes` (which share one `part`), −1 where there is no path; a farthest node."""
    here = part[start]
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
    return int(queue[tail - 1])


@inline
def _lengthwise(
    ptr: IndexArray, neighbours: IntArray, nodes: IntArray, part: IntArray, level: FloatArray, queue: IntArray,
    other_level: FloatArray,
) -> None:  # fmt: skip
    """A coordinate along the longest extent of a set of nodes that is known by its graph only.

    It is the distance to one far end minus that to the other, whose level sets are flatter than spheres around an end,
    smoothed by averaging over neighbours. What is not connected to the ends lies behind the last node.
    """
    here = part[nodes[0]]
    start = _distances(ptr, neighbours, nodes, part, nodes[0], level, queue)
    end = _distances(ptr, neighbours, nodes, part, start, level, queue)
    _distances(ptr, neighbours, nodes, part, end, other_level, queue)
    last = level[end] + 1.0
    for node in nodes:
        level[node] = last if level[node] < 0.0 else level[node] - other_level[node]
    for _ in range(_SMOOTHINGS):
        for node in nodes:
            total = level[node]
            count = 1.0
            for q in range(ptr[node], ptr[node + 1]):
                if part[neighbours[q]] == here:
                    total += level[neighbours[q]]
                    count += 1.0
            level[node] = total / count


@inline
def _best_cut(
    ptr: IndexArray, neighbours: IntArray, nodes: IntArray, part: IntArray, level: FloatArray, rank: IntArray,
    touching: IntArray, margin: float,
) -> tuple[float, float]:  # fmt: skip
    """The level below which the cheapest cut along a direction lies, and its cost; infinite for no cut.

    The cost is the size of the separator, dearer when the halves are uneven; the size is taken as that of the smaller
    of the two sides of the cut. With nodes in the order of their levels, a node touches the other side of all cuts
    from its own place to that of its last neighbour, and from that of its first one to its own: one sweep over the
    edges knows all cuts.
    """
    here = part[nodes[0]]
    count = len(nodes)
    along = level[nodes]
    sequence = np.argsort(along, kind="mergesort")
    for i in range(count):
        rank[nodes[sequence[i]]] = i
        touching[i, 0] = touching[i, 1] = 0
    for node in nodes:
        mine = rank[node]
        first = last = mine
        for q in range(ptr[node], ptr[node + 1]):
            if part[neighbours[q]] == here:
                other = rank[neighbours[q]]
                first = min(first, other)
                last = max(last, other)
        touching[mine, 0] += 1
        touching[last, 0] -= 1
        touching[first, 1] += 1
        touching[mine, 1] -= 1
    lowest, cut = np.inf, 0.0
    low = high = 0
    for i in range(count - 1):
        low += touching[i, 0]
        high += touching[i, 1]
        below, above = i + 1, count - i - 1
        if min(below, above) < margin * count or along[sequence[i]] == along[sequence[i + 1]]:
            continue
        if low <= high:
            below -= low
        else:
            above -= high
        if below > 0 and above > 0:
            cost = (min(low, high) + 1.0) * (count / below + count / above)
            if cost < lowest:
                lowest, cut = cost, along[sequence[i]]
    return lowest, cut


@inline
def _choose_cut(
    ptr: IndexArray, neighbours: IntArray, nodes: IntArray, part: IntArray, where: FloatArray, margin: float,
    level: FloatArray, spare: FloatArray, queue: IntArray, touching: IntArray, side: IntArray,
) -> bool:  # fmt: skip
    """Set `side` to 0 below the cheapest cut and to 1 above it; False where no cut separates anything."""
    lowest = np.inf
    for direction in range(max(1, where.shape[1])):
        if where.shape[1] == 0:
            _lengthwise(ptr, neighbours, nodes, part, level, queue, spare)
        else:
            for node in nodes:
                level[node] = where[node, direction]
        cost, cut = _best_cut(ptr, neighbours, nodes, part, level, queue, touching, margin)
        if cost < lowest:
            lowest = cost
            for node in nodes:
                side[node] = 0 if level[node] <= cut else 1
    return lowest < np.inf


@inline
def _grow_alternating(
    ptr: IndexArray, neighbours: IntArray, here: int, part: IntArray, side: IntArray, match: IntArray,
    previous: IntArray, queue: IntArray, tail: int,
) -> int:  # fmt: skip
    """Search alternating paths from the low nodes queue[:tail]; the unmatched high node that ends one, or −1.

    ``previous[high]`` is the low node a high one was reached from; high nodes must have −1 there before.
    """
    head = 0
    while head < tail:
        low = queue[head]
        head += 1
        for q in range(ptr[low], ptr[low + 1]):
            high = neighbours[q]
            if part[high] == here and side[high] == 1 and previous[high] == -1:
                previous[high] = low
                if match[high] == -1:
                    return int(high)
                queue[tail] = match[high]
                tail += 1
    return -1


@inline
def _match(
    ptr: IndexArray, neighbours: IntArray, nodes: IntArray, part: IntArray, side: IntArray, match: IntArray,
    previous: IntArray, queue: IntArray,
) -> None:  # fmt: skip
    """Maximum matching of the edges across the cut, by augmenting paths from every low node."""
    here = part[nodes[0]]
    for node in nodes:
        match[node] = -1
    for node in nodes:  # a greedy start leaves few paths to search
        if side[node] == 0:
            for q in range(ptr[node], ptr[node + 1]):
                other = neighbours[q]
                if part[other] == here and side[other] == 1 and match[other] == -1:
                    match[node] = other
                    match[other] = node
                    break
    for node in nodes:
        previous[node] = -1
    for node in nodes:
        if side[node] == 0 and match[node] == -1:
            queue[0] = node
            high = _grow_alternating(ptr, neighbours, here, part, side, match, previous, queue, 1)
            if high == -1:
                continue  # what was searched in vain stays marked: no later path can pass there
            while high != -1:
                low = previous[high]
                following = match[low]
                match[low] = high
                match[high] = low
                high = following
            for other in nodes:
                previous[other] = -1


@inline
def _cover(
    ptr: IndexArray, neighbours: IntArray, nodes: IntArray, part: IntArray, side: IntArray, match: IntArray,
    previous: IntArray, queue: IntArray,
) -> None:  # fmt: skip
    """Set `side` to 2 on a smallest vertex cover of the edges across the cut (Kőnig)."""
    here = part[nodes[0]]
    _match(ptr, neighbours, nodes, part, side, match, previous, queue)
    tail = 0
    for node in nodes:
        previous[node] = -1
        if side[node] == 0 and match[node] == -1:
            queue[tail] = node
            tail += 1
    _grow_alternating(ptr, neighbours, here, part, side, match, previous, queue, tail)
    for node in nodes:  # of every matched pair: its high node where a path reaches it, else its low node
        low = side[node] == 0 and match[node] >= 0 and previous[match[node]] == -1
        high = side[node] == 1 and previous[node] != -1
        if low or high:
            side[node] = 2


@inline
def _partition(nodes: IntArray, side: IntArray, part: IntArray, fresh: int, buffer: IntArray) -> tuple[int, int]:
    """Reorder `nodes` into low half, high half and separator, and give the halves new parts; sizes of the halves."""
    count = len(nodes)
    placed = 0
    low = 0
    high = 0
    for wanted in range(3):
        for i in range(count):
            if side[nodes[i]] == wanted:
                buffer[placed] = nodes[i]
                placed += 1
        if wanted == 0:
            low = placed
        elif wanted == 1:
            high = placed - low
    for i in range(count):
        nodes[i] = buffer[i]
        if i < low:
            part[nodes[i]] = fresh
        elif i < low + high:
            part[nodes[i]] = fresh + 1
        else:
            part[nodes[i]] = -1
    return low, high


@kernel
def _dissect(ptr: IndexArray, neighbours: IntArray, where: FloatArray, leaf: int, margin: float) -> IntArray:
    """Split sets of nodes until they are small; each set is one slice of `order`, partitioned in place."""
    n = len(ptr) - 1
    order = np.arange(n).astype(np.int32)
    part = np.zeros(n, np.int32)
    side = np.empty(n, np.int32)
    level = np.empty(n)
    spare = np.empty(n)
    queue = np.empty(n, np.int32)
    touching = np.empty((n, 2), np.int32)
    match = np.empty(n, np.int32)
    previous = np.empty(n, np.int32)
    stack = np.empty((n + 2, 2), np.int64)
    stack[0, 0] = 0
    stack[0, 1] = n
    top = 1
    fresh = 1
    while top > 0:
        top -= 1
        begin = stack[top, 0]
        nodes = order[begin : stack[top, 1]]
        small = len(nodes) <= leaf
        if small or not _choose_cut(ptr, neighbours, nodes, part, where, margin, level, spare, queue, touching, side):
            continue
        _cover(ptr, neighbours, nodes, part, side, match, previous, queue)
        low, high = _partition(nodes, side, part, fresh, queue)
        fresh += 2
        stack[top, 0] = begin
        stack[top, 1] = begin + low
        stack[top + 1, 0] = begin + low
        stack[top + 1, 1] = begin + low + high
        top += 2
    return order
