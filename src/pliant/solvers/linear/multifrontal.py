"""Numeric multifrontal Cholesky factorization.

Fronts are visited children first. Each receives its blocks of A and the updates of its children, its panel is
factorized by dense Cholesky, and its own update is formed by one symmetric product (Duff & Reid 1983;
J. W. H. Liu, The multifrontal method for sparse matrix solution, SIAM Review 34, 1992).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.kernels import inline, kernel
from pliant.core.types import FloatArray, IntArray
from pliant.solvers.linear.blas import Blas, address, symmetric_update
from pliant.solvers.linear.fronts import Fronts
from pliant.solvers.linear.panel import factorize_panel


@inline
def _add_update(
    fronts: Fronts, c: int, size: int, update: FloatArray, first: int, last: int, target: FloatArray, offset: int,
    ld: int, shift: int,
) -> None:  # fmt: skip
    """Add the columns of runs [first, last) of the update of child c, lower triangle, into a front of its parent.

    Row and column r of the parent's front lie at r − shift of the array `target` + offset with leading dimension ld.
    """
    end = fronts.run_ptr[c + 1]
    source = fronts.update[c]
    for run in range(first, last):
        begin = fronts.run_start[run]
        stop = fronts.run_start[run + 1] if run + 1 < end else size
        for j in range(begin, stop):
            column = offset + (fronts.run_target[run] + j - begin - shift) * ld - shift
            low = j
            for other in range(run, end):
                high = fronts.run_start[other + 1] if other + 1 < end else size
                into = column + fronts.run_target[other] + low - fronts.run_start[other]
                out = source + j * size + low
                given = update[out : out + high - low]
                taken = target[into : into + high - low]
                for t in range(len(given)):
                    taken[t] += given[t]
                low = high


@inline
def _load_blocks(fronts: Fronts, s: int, height: int, values: FloatArray, panels: FloatArray) -> None:
    """Write the blocks of A that belong to the panel of supernode s, which is zero before."""
    b = values.shape[1]
    for q in range(fronts.entry_ptr[s], fronts.entry_ptr[s + 1]):
        at = fronts.entry_offset[q]
        number = fronts.entry_block[q]
        if number >= 0:
            for c in range(b):
                for r in range(b):
                    panels[at + c * height + r] = values[number, r, c]
        else:
            for c in range(b):
                for r in range(b):
                    panels[at + c * height + r] = values[~number, c, r]


@inline
def _fill_panel(
    fronts: Fronts, s: int, height: int, values: FloatArray, panels: FloatArray, workspace: FloatArray
) -> None:
    """The panel of supernode s before it is factorized: its blocks of A and the updates of its children."""
    b = values.shape[1]
    at = fronts.panel[s]
    panels[at : fronts.panel[s + 1]] = 0.0
    _load_blocks(fronts, s, height, values, panels)
    for q in range(fronts.child_ptr[s], fronts.child_ptr[s + 1]):
        c = fronts.children[q]
        size = b * (fronts.row_ptr[c + 1] - fronts.row_ptr[c])
        _add_update(fronts, c, size, workspace, fronts.run_ptr[c], fronts.run_split[c], panels, at, height, 0)


@kernel
def factorize(
    fronts: Fronts, lib: Blas, values: FloatArray, scale: FloatArray, tolerance: float, panels: FloatArray,
    workspace: FloatArray, first: int, last: int, out: FloatArray,
) -> int:  # fmt: skip
    """Fill `panels` of the supernodes [first, last); −1, or the unknown (in elimination order) whose pivot is not
    safely positive.

    `scale` is the diagonal of A in elimination order: a pivot ≤ tolerance × scale is what rounding leaves of nothing.
    The update of the last supernode goes to `out` unless that is empty, all others to the workspace.
    """
    b = values.shape[1]
    panel_address = address(panels)
    for s in range(first, last):
        k = b * (fronts.start[s + 1] - fronts.start[s])
        u = b * (fronts.row_ptr[s + 1] - fronts.row_ptr[s])
        height = k + u
        at = fronts.panel[s]
        _fill_panel(fronts, s, height, values, panels, workspace)
        failed = factorize_panel(lib, panels, at, height, height, k, scale, b * fronts.start[s], tolerance)
        if failed >= 0:
            return int(b * fronts.start[s] + failed)
        if u == 0:
            continue
        update, target = fronts.update[s], workspace
        if s == last - 1 and len(out) > 0:
            update, target = 0, out
        corner = panel_address + 8 * at
        symmetric_update(lib, u, k, corner + 8 * k, height, address(target) + 8 * update, u, 1, False)
        for q in range(fronts.child_ptr[s], fronts.child_ptr[s + 1]):
            c = fronts.children[q]
            size = b * (fronts.row_ptr[c + 1] - fronts.row_ptr[c])
            _add_update(fronts, c, size, workspace, fronts.run_split[c], fronts.run_ptr[c + 1], target, update, u, k)
    return -1


@kernel
def factorize_all(
    layout: Any, lib: Any, values: FloatArray, diagonal: IntArray, nodes: IntArray, tolerance: float,
    panels: FloatArray, workspace: FloatArray,
) -> int:  # fmt: skip
    """`factorize` of all supernodes; `layout` and `lib` are `Fronts` and `Blas` as plain tuples."""
    fronts = Fronts(*layout)
    scale = np.empty(values.shape[1] * len(nodes))
    diagonal_scale(values, diagonal, nodes, scale)
    given = fronts, Blas(*lib), values, scale, tolerance, panels, workspace
    return factorize(*given, 0, len(fronts.parent), np.empty(0))  # type: ignore[no-any-return]


@kernel
def diagonal_scale(values: FloatArray, diagonal: IntArray, nodes: IntArray, scale: FloatArray) -> None:
    """Set `scale` to |diagonal of A| in elimination order, shape (unknowns,)."""
    b = values.shape[1]
    for j in range(len(nodes)):
        for r in range(b):
            scale[b * j + r] = abs(values[diagonal[nodes[j]], r, r])
