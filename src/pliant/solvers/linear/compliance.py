"""W = H A⁻¹ Hᵀ by forward substitution pruned on the elimination tree.

With A = L Lᵀ, W = Yᵀ Y for Y = L⁻¹ Hᵀ. A row of H with a few non-zeros reaches only the supernodes of its nodes and
their ancestors (J. R. Gilbert & T. Peierls, Sparse partial pivoting in time proportional to arithmetic operations, SIAM
J. Sci. Stat. Comput. 9, 1988; J. W. H. Liu 1990 for the tree). Each supernode therefore works on its *active* rows:
those of its children and those that start in it. What a supernode contributes to W is one symmetric product over its
active rows; where a parent has the same active rows as its last child both are summed before they are scattered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.solvers.linear.blas import Blas, address, solve_right, subtract_product, symmetric_update
from pliant.solvers.linear.condensation import mirror
from pliant.solvers.linear.fronts import Fronts
from pliant.solvers.linear.response import add_block


class Reach(NamedTuple):
    """Which rows of H reach which supernode, and the sizes of the arrays that the numeric phase needs.

    start_ptr   (S + 1)  non-zeros of H that start in each supernode: their row and their index in H
    active_ptr  (S + 1)  rows of H active in each supernode
    offset      (S)      position of each supernode's update in the workspace
    sizes       (3)      workspace, front, product
    """

    start_ptr: IndexArray
    start_row: IntArray
    start_entry: IndexArray
    active_ptr: IndexArray
    active: IntArray
    offset: IndexArray
    sizes: IndexArray


@kernel
def find_reach(fronts: Fronts, b: int, position: IntArray, h_ptr: IndexArray, h_columns: IntArray) -> Reach:
    """The reach of the rows of H, CSR with columns in the caller's numbering; columns of other nodes are left out."""
    count = len(fronts.parent)
    rows = len(h_ptr) - 1
    start_ptr = np.zeros(count + 1, np.int64)
    for q in range(h_ptr[rows]):
        node = position[h_columns[q] // b]
        if node >= 0:
            start_ptr[fronts.owner[node] + 1] += 1
    for s in range(count):
        start_ptr[s + 1] += start_ptr[s]
    start_row = np.empty(start_ptr[count], np.int32)
    start_entry = np.empty(start_ptr[count], np.int64)
    fill = start_ptr[:-1].copy()
    for row in range(rows):
        for q in range(h_ptr[row], h_ptr[row + 1]):
            node = position[h_columns[q] // b]
            if node >= 0:
                s = fronts.owner[node]
                start_row[fill[s]] = row
                start_entry[fill[s]] = q
                fill[s] += 1
    active_ptr = np.zeros(count + 1, np.int64)
    active = np.empty(64 * rows + 1024, np.int32)
    mark = np.full(rows, -1, np.int32)
    offset = np.zeros(count, np.int64)
    sizes = np.ones(3, np.int64)
    top = 0
    n = 0
    for s in range(count):
        if n + rows > len(active):
            grown = np.empty(2 * len(active) + rows, np.int32)
            grown[:n] = active[:n]
            active = grown
        for z in range(fronts.child_ptr[s + 1] - 1, fronts.child_ptr[s] - 1, -1):
            c = fronts.children[z]
            top = min(top, offset[c])
            for q in range(active_ptr[c], active_ptr[c + 1]):
                if mark[active[q]] != s:
                    mark[active[q]] = s
                    active[n] = active[q]
                    n += 1
        for q in range(start_ptr[s], start_ptr[s + 1]):
            if mark[start_row[q]] != s:
                mark[start_row[q]] = s
                active[n] = start_row[q]
                n += 1
        active_ptr[s + 1] = n
        width = n - active_ptr[s]
        below = b * (fronts.row_ptr[s + 1] - fronts.row_ptr[s])
        offset[s] = top
        top += width * below
        sizes[0] = max(sizes[0], top)
        sizes[1] = max(sizes[1], width * (below + b * (fronts.start[s + 1] - fronts.start[s])))
        sizes[2] = max(sizes[2], width * width)
    return Reach(start_ptr, start_row, start_entry, active_ptr, active[:n].copy(), offset, sizes)


@inline
def _gather(
    fronts: Fronts, reach: Reach, s: int, b: int, position: IntArray, h_columns: IntArray, h_values: FloatArray,
    front: FloatArray, workspace: FloatArray, slot: IndexArray,
) -> tuple[int, int, int]:  # fmt: skip
    """Right-hand sides of supernode s: entries of H that start here and the updates of its children.

    Rows of the front are contiguous, one entry per active row of H; `slot` maps rows of H to entries.
    """
    width = reach.active_ptr[s + 1] - reach.active_ptr[s]
    for q in range(width):
        slot[reach.active[reach.active_ptr[s] + q]] = q
    k = b * (fronts.start[s + 1] - fronts.start[s])
    height = k + b * (fronts.row_ptr[s + 1] - fronts.row_ptr[s])
    front[: height * width] = 0.0
    for q in range(reach.start_ptr[s], reach.start_ptr[s + 1]):
        entry = reach.start_entry[q]
        column = h_columns[entry]
        row = b * (position[column // b] - fronts.start[s]) + column % b
        front[row * width + slot[reach.start_row[q]]] += h_values[entry]
    for z in range(fronts.child_ptr[s], fronts.child_ptr[s + 1]):
        c = fronts.children[z]
        begin = reach.active_ptr[c]
        narrow = reach.active_ptr[c + 1] - begin
        if narrow == 0:
            continue
        size = b * (fronts.row_ptr[c + 1] - fronts.row_ptr[c])
        end = fronts.run_ptr[c + 1]
        for run in range(fronts.run_ptr[c], end):
            stop = fronts.run_start[run + 1] if run + 1 < end else size
            shift = fronts.run_target[run] - fronts.run_start[run]
            for i in range(fronts.run_start[run], stop):
                into = (i + shift) * width
                out = reach.offset[c] + i * narrow
                for q in range(narrow):
                    front[into + slot[reach.active[begin + q]]] += workspace[out + q]
    return k, height, width


@inline
def _scatter(reach: Reach, s: int, product: FloatArray, W: FloatArray) -> None:
    """Add the lower triangle of a product over the active rows of supernode s into the lower triangle of W."""
    begin = reach.active_ptr[s]
    width = reach.active_ptr[s + 1] - begin
    for a in range(width):
        i = reach.active[begin + a]
        for c in range(a, width):
            j = reach.active[begin + c]
            if i >= j:
                W[i, j] += product[a * width + c]
            else:
                W[j, i] += product[a * width + c]


@kernel
def condense_range(
    fronts: Fronts, lib: Blas, b: int, position: IntArray, panels: FloatArray, reach: Reach, h_columns: IntArray,
    h_values: FloatArray, workspace: FloatArray, W: FloatArray, first: int, last: int, y: FloatArray,
    delta: FloatArray,
) -> None:  # fmt: skip
    """Add the part of the supernodes [first, last) to the lower triangle of W, and Yᵀ y to `delta` (m,) unless y is
    empty; `workspace` has updates of children.
    """
    front, product = np.empty(reach.sizes[1]), np.empty(reach.sizes[2])
    slot = np.empty(len(W), np.int64)
    factor = address(panels)
    side = address(front)
    square = address(product)
    summed = -1  # supernode whose sum is in `product`, not yet in W
    for s in range(first, last):
        if reach.active_ptr[s + 1] == reach.active_ptr[s]:
            continue
        k, height, width = _gather(fronts, reach, s, b, position, h_columns, h_values, front, workspace, slot)
        corner = factor + 8 * fronts.panel[s]
        solve_right(lib, width, k, corner, height, side, width, True)
        if len(y) > 0:
            _add_slips(reach, s, front, y[b * fronts.start[s] : b * fronts.start[s + 1]], delta)
        if height > k:
            subtract_product(
                lib, width, height - k, k, side, width, corner + 8 * k, height, True, side + 8 * k * width, width
            )
            size = (height - k) * width
            workspace[reach.offset[s] : reach.offset[s] + size] = front[k * width : height * width]
        same = summed >= 0 and fronts.parent[summed] == s
        same = same and reach.active_ptr[summed + 1] - reach.active_ptr[summed] == width
        if summed >= 0 and not same:
            _scatter(reach, summed, product, W)
        symmetric_update(lib, width, k, side, width, square, width, 0, same)
        summed = s
    if summed >= 0:
        _scatter(reach, summed, product, W)


@inline
def _add_slips(reach: Reach, s: int, front: FloatArray, y: FloatArray, delta: FloatArray) -> None:
    """Add to `delta` (m,) what supernode s contributes to Yᵀ y, y (k,) being its unknowns."""
    active = reach.active[reach.active_ptr[s] : reach.active_ptr[s + 1]]
    total = np.zeros(len(active))
    for i in range(len(y)):
        row, factor = front[i * len(active) : (i + 1) * len(active)], y[i]
        for q in range(len(active)):
            total[q] += row[q] * factor
    for q in range(len(active)):
        delta[active[q]] += total[q]


@kernel
def condense(
    layout: Any, lib: Any, b: int, position: IntArray, panels: FloatArray, h_ptr: IntArray, h_columns: IntArray,
    h_values: FloatArray, few: float, alone: bool, W: FloatArray, y: FloatArray, delta: FloatArray,
) -> bool:  # fmt: skip
    """Add H A⁻¹ Hᵀ to W (m, m), which is zero before where `alone`, and Yᵀ y to `delta` (m,) unless y is empty. Empty
    rows of H cost nothing. False, and nothing is done, where rows touch `few` columns each or less. `layout` and `lib`
    are `Fronts` and `Blas` as plain tuples.
    """
    fronts, m, count = Fronts(*layout), len(W), 0
    rows, starts = np.empty(m, np.int64), np.zeros(m + 1, np.int32)
    for i in range(m):
        if h_ptr[i + 1] > h_ptr[i]:
            rows[count] = i
            count += 1
            starts[count] = h_ptr[i + 1]  # rows between them are empty
    if few > 0.0 and _count_touched(h_columns, b * len(position)) <= few * count:
        return False
    inside = alone and count == m
    own, slips = W if inside else np.zeros((count, count)), np.zeros(count)
    reach = find_reach(fronts, b, position, starts[: count + 1], h_columns)
    given = fronts, Blas(*lib), b, position, panels, reach, h_columns, h_values, np.empty(reach.sizes[0]), own
    condense_range(*given, 0, len(fronts.parent), y, slips)
    mirror(own)
    if len(y) > 0:
        for i in range(count):
            delta[rows[i]] += slips[i]
    if not inside:
        add_block(rows[:count], own, W)
    return True


@inline
def _count_touched(columns: IntArray, width: int) -> int:
    """How many distinct columns of `width` there are."""
    touched, count = np.zeros(width, np.bool_), 0
    for column in columns:
        count += not touched[column]
        touched[column] = True
    return count
