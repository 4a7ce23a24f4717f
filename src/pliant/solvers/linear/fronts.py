"""Where everything lies during the numeric factorization: one dense front per supernode.

The front of a supernode with k columns and u rows below is a lower triangle. Its first k columns, the *panel* (k + u
rows, column-major), are where the factor is computed and stays. The remaining u × u triangle, the *update*, is added
into the front of the parent. Updates live in one workspace of two stacks: supernodes of even depth push on one, those
of odd depth on the other, so an update is computed in its final place while those of the children are still there.
Rows of a child are mapped to rows of the parent as *runs* of consecutive indices, so additions are vector loops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import IndexArray, IntArray
from pliant.solvers.linear.elimination import Supernodes


class Fronts(NamedTuple):
    """Layout of all fronts, for kernels. Nodes are in elimination order; S supernodes, children before parents.

    start      (S + 1)  first node of each supernode
    row_ptr    (S + 1)  rows below the panel's triangle, as nodes, ascending: rows[row_ptr[s]:row_ptr[s + 1]]
    parent     (S)      supernode that receives the update, −1 for roots
    child_ptr  (S + 1)  children[child_ptr[s]:child_ptr[s + 1]], ascending
    owner      (nodes)  supernode of each node
    panel      (S + 1)  offset of each panel in the factor's storage
    update     (S)      offset of each update in the workspace
    entry_ptr  (S + 1)  blocks of A that enter the panel: block index (~index where it enters transposed) and offset
    run_ptr    (S + 1)  runs of the map into the parent: first row in the update, and in the parent's front, in scalars
    run_split  (S)      first run that lands below the parent's columns
    """

    start: IntArray
    row_ptr: IndexArray
    rows: IntArray
    parent: IntArray
    child_ptr: IndexArray
    children: IntArray
    owner: IntArray
    panel: IndexArray
    update: IndexArray
    entry_ptr: IndexArray
    entry_block: IntArray
    entry_offset: IndexArray
    run_ptr: IndexArray
    run_split: IndexArray
    run_start: IntArray
    run_target: IntArray


def lay_out(
    tree: Supernodes, indptr: IndexArray, indices: IntArray, position: IntArray, block: int
) -> tuple[Fronts, int]:
    """The layout for a pattern whose node i is eliminated at position[i] (−1: never), and the workspace size."""
    count = len(tree.parent)
    owner = np.repeat(np.arange(count, dtype=np.int32), np.diff(tree.start)).astype(np.int32)
    k, u = np.diff(tree.start).astype(np.int64), np.diff(tree.row_ptr)
    panel = np.zeros(count + 1, np.int64)
    np.cumsum(block * block * k * (k + u), out=panel[1:])
    child_ptr, children = _children(tree.parent)
    update, workspace = _stack_updates(tree.parent, child_ptr, children, (block * u) ** 2)
    entry_ptr, entry_block, entry_offset = _place_entries(tree, owner, panel, indptr, indices, position, block)
    run_ptr, run_split, run_start, run_target = _find_runs(tree, block)
    fronts = Fronts(
        start=tree.start, row_ptr=tree.row_ptr, rows=tree.rows, parent=tree.parent, child_ptr=child_ptr,
        children=children, owner=owner, panel=panel, update=update, entry_ptr=entry_ptr, entry_block=entry_block,
        entry_offset=entry_offset, run_ptr=run_ptr, run_split=run_split, run_start=run_start, run_target=run_target,
    )  # fmt: skip
    return fronts, int(workspace)


def _children(parent: IntArray) -> tuple[IndexArray, IntArray]:
    below = np.flatnonzero(parent >= 0)
    ptr = np.zeros(len(parent) + 1, np.int64)
    np.cumsum(np.bincount(parent[below], minlength=len(parent)), out=ptr[1:])
    return ptr, below[np.argsort(parent[below], kind="stable")].astype(np.int32)


@kernel
def _stack_updates(
    parent: IntArray, child_ptr: IndexArray, children: IntArray, size: IndexArray
) -> tuple[IndexArray, int]:
    """Offset of every update, and the length of the workspace."""
    count = len(parent)
    odd = np.zeros(count, np.int64)  # parity of the depth
    for s in range(count - 1, -1, -1):
        if parent[s] >= 0:
            odd[s] = 1 - odd[parent[s]]
    offset = np.zeros(count, np.int64)
    top = np.zeros(2, np.int64)
    peak = np.zeros(2, np.int64)
    for s in range(count):
        mine = odd[s]
        for q in range(child_ptr[s], child_ptr[s + 1]):
            top[1 - mine] -= size[children[q]]
        offset[s] = top[mine]
        top[mine] += size[s]
        peak[mine] = max(peak[mine], top[mine])
    for s in range(count):
        offset[s] += odd[s] * peak[0]
    return offset, peak[0] + peak[1]


@inline
def _local_row(tree: Supernodes, s: int, node: int) -> int:
    """Row of `node` in the front of supernode s, in nodes."""
    if node < tree.start[s + 1]:
        return node - int(tree.start[s])
    low = tree.row_ptr[s]
    high = tree.row_ptr[s + 1]
    while low < high:
        middle = (low + high) >> 1
        if tree.rows[middle] < node:
            low = middle + 1
        else:
            high = middle
    return int(tree.start[s + 1] - tree.start[s] + low - tree.row_ptr[s])


@kernel
def _place_entries(
    tree: Supernodes, owner: IntArray, panel: IndexArray, indptr: IndexArray, indices: IntArray, position: IntArray,
    block: int,
) -> tuple[IndexArray, IntArray, IndexArray]:  # fmt: skip
    """Which block of A enters which panel, and where; blocks of nodes that are not unknowns are left out."""
    count = len(tree.parent)
    ptr = np.zeros(count + 1, np.int64)
    for i in range(len(indptr) - 1):
        for q in range(indptr[i], indptr[i + 1]):
            column = min(position[i], position[indices[q]])
            if column >= 0:
                ptr[owner[column] + 1] += 1
    for s in range(count):
        ptr[s + 1] += ptr[s]
    blocks = np.empty(ptr[count], np.int32)
    offsets = np.empty(ptr[count], np.int64)
    fill = ptr[:-1].copy()
    for i in range(len(indptr) - 1):
        for q in range(indptr[i], indptr[i + 1]):
            a = position[i]
            b = position[indices[q]]
            if a < 0 or b < 0:
                continue
            s = owner[min(a, b)]
            height = block * (tree.start[s + 1] - tree.start[s] + tree.row_ptr[s + 1] - tree.row_ptr[s])
            row = block * _local_row(tree, s, max(a, b))
            blocks[fill[s]] = q if a >= b else ~q
            offsets[fill[s]] = panel[s] + block * (min(a, b) - tree.start[s]) * height + row
            fill[s] += 1
    return ptr, blocks, offsets


@kernel
def _find_runs(tree: Supernodes, block: int) -> tuple[IndexArray, IndexArray, IntArray, IntArray]:
    """Maximal runs of rows that are consecutive both in an update and in the front of the parent, in scalars."""
    count = len(tree.parent)
    ptr = np.zeros(count + 1, np.int64)
    split = np.zeros(count, np.int64)
    first = np.empty(len(tree.rows), np.int32)
    target = np.empty(len(tree.rows), np.int32)
    n = 0
    for s in range(count):
        p = tree.parent[s]
        split[s] = n
        last = -2
        for q in range(tree.row_ptr[s], tree.row_ptr[s + 1]):
            columns = tree.start[p + 1] - tree.start[p]
            row = _local_row(tree, p, tree.rows[q])
            if row != last + 1 or row == columns:
                first[n] = block * (q - tree.row_ptr[s])
                target[n] = block * row
                n += 1
            if row < columns:
                split[s] = n
            last = row
        ptr[s + 1] = n
    return ptr, split, first[:n].copy(), target[:n].copy()
