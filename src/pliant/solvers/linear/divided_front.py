"""One large front eliminated by two threads.

The panel is cut into strips of columns (left-looking blocked Cholesky). The triangle of a strip is factorized by one
thread; the rows below it are halved: each thread solves its rows against that triangle and then takes what all strips
so far contribute off the next one. The update is formed by ranges of its columns. One thread alone takes the same
parts one after the other, so the factor is the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

from pliant.core.kernels import kernel
from pliant.core.threads import beside
from pliant.core.types import FloatArray
from pliant.solvers.linear.blas import Blas, address, blas_arrays, solve_right, subtract_product, symmetric_update
from pliant.solvers.linear.fronts import Fronts
from pliant.solvers.linear.panel import factorize_panel

STRIP = 120
"""Columns of a strip: its triangle is little work, and the products of two threads are long enough to share."""


@kernel
def _load_columns(layout: Any, s: int, values: FloatArray, panels: FloatArray, first: int, last: int) -> None:
    """The blocks of A in the columns [first, last) of the panel of supernode s, zero elsewhere."""
    fronts = Fronts(*layout)
    b = values.shape[1]
    height = b * (fronts.start[s + 1] - fronts.start[s] + fronts.row_ptr[s + 1] - fronts.row_ptr[s])
    begin, end = fronts.panel[s] + first * height, fronts.panel[s] + last * height
    panels[begin:end] = 0.0
    for q in range(fronts.entry_ptr[s], fronts.entry_ptr[s + 1]):
        at = fronts.entry_offset[q]
        if at < begin or at >= end:
            continue
        number = fronts.entry_block[q]
        for c in range(b):
            for r in range(b):
                panels[at + c * height + r] = values[number, r, c] if number >= 0 else values[~number, c, r]


@kernel
def _add_columns(
    layout: Any, b: int, c: int, update: FloatArray, target: FloatArray, ld: int, shift: int, first: int, last: int
) -> None:
    """Add the columns of the update of child c that land in the columns [first, last) of its parent's front, lower
    triangle, to `target`, in which row and column r of that front lie at r − shift.
    """
    fronts = Fronts(*layout)
    size = b * (fronts.row_ptr[c + 1] - fronts.row_ptr[c])
    end = fronts.run_ptr[c + 1]
    for run in range(fronts.run_ptr[c], end):
        begin = fronts.run_start[run]
        stop = fronts.run_start[run + 1] if run + 1 < end else size
        lands = fronts.run_target[run] - begin
        for j in range(max(begin, first - lands), min(stop, last - lands)):
            column = (lands + j - shift) * ld - shift
            low = j
            for other in range(run, end):
                high = fronts.run_start[other + 1] if other + 1 < end else size
                into = column + fronts.run_target[other] + low - fronts.run_start[other]
                given = update[j * size + low : j * size + high]
                taken = target[into : into + high - low]
                for t in range(len(given)):
                    taken[t] += given[t]
                low = high


@kernel
def _factorize_triangle(
    lib: Any, panels: FloatArray, at: int, ld: int, first: int, last: int, following: int, scale: FloatArray,
    offset: int, tolerance: float,
) -> int:  # fmt: skip
    """Cholesky of the triangle of columns [first, last) of the panel at `at`, to which those before have contributed,
    and of the rows up to `following`; the column whose pivot fails, or −1. `scale` as for `factorize`, from `offset`.
    """
    corner, height = at + first * ld + first, following - first
    failed = factorize_panel(Blas(*lib), panels, corner, ld, height, last - first, scale, offset + first, tolerance)
    return first + failed if failed >= 0 else -1


@kernel
def _eliminate_rows(
    lib: Any, panels: FloatArray, at: int, ld: int, first: int, last: int, following: int, begin: int, end: int
) -> None:
    """Rows [begin, end) below the triangle of columns [first, last): those from `following` on are solved against it,
    and what all columns before `last` contribute is taken off the columns [last, following).
    """
    blas = Blas(*lib)
    corner = address(panels) + 8 * at
    solved = max(begin, following)
    if solved < end:
        rows = corner + 8 * (first * ld + solved)
        solve_right(blas, end - solved, last - first, corner + 8 * (first * ld + first), ld, rows, ld, True)
    if begin < end and last < following:
        into = corner + 8 * (last * ld + begin)
        given = corner + 8 * begin, ld, corner + 8 * last, ld
        subtract_product(blas, end - begin, following - last, last, *given, True, into, ld)


@kernel
def _form_update(
    lib: Any, panels: FloatArray, at: int, k: int, ld: int, update: FloatArray, first: int, last: int
) -> None:
    """The columns [first, last) of the update − B Bᵀ, lower triangle, for the rows B below a panel of k columns."""
    blas = Blas(*lib)
    u = ld - k
    below, square = address(panels) + 8 * (at + k), address(update)
    corner = square + 8 * (first * u + first)
    symmetric_update(blas, last - first, k, below + 8 * first, ld, corner, u, 1, False)
    if last < u:
        for j in range(first, last):
            update[j * u + last : (j + 1) * u] = 0.0
        given = below + 8 * last, ld, below + 8 * first, ld
        subtract_product(blas, u - last, last - first, k, *given, True, square + 8 * (first * u + last), u)


@dataclass(frozen=True)
class DividedFront:
    """Elimination of supernode s of `fronts`: `layout` is `fronts` as a plain tuple, `block` the unknowns of a node.

    `update` says where the update of a supernode lies: that of s is written, those of its children are read.
    """

    fronts: Fronts
    layout: tuple[Any, ...]
    block: int
    s: int
    update: Callable[[int], FloatArray]

    def eliminate(self, values: FloatArray, panels: FloatArray, scale: FloatArray, tolerance: float) -> int:
        """Fill the panel and the update from `values`, the blocks of A; −1, or the unknown whose pivot fails."""
        fronts, b, s = self.fronts, self.block, self.s
        at, offset = int(fronts.panel[s]), b * int(fronts.start[s])
        k = b * int(fronts.start[s + 1]) - offset
        height = k + b * int(fronts.row_ptr[s + 1] - fronts.row_ptr[s])

        def fill(first: int, last: int) -> None:
            _load_columns(self.layout, s, values, panels, first, last)
            self._add_children(panels[at : at + k * height], height, 0, first, last)

        # columns with half of the entries, whole nodes
        middle = b * int((height - sqrt(height * height - 0.5 * k * (2 * height - k))) / b)
        beside(lambda: fill(0, middle), lambda: fill(middle, k))
        failed = self._factorize(panels, at, k, height, scale, offset, tolerance)
        if failed >= 0:
            return offset + failed
        if height > k:
            self._form_update(panels, at, k, height)
        return -1

    def _add_children(self, target: FloatArray, ld: int, shift: int, first: int, last: int) -> None:
        children = self.fronts.children[self.fronts.child_ptr[self.s] : self.fronts.child_ptr[self.s + 1]]
        for c in children.tolist():
            _add_columns(self.layout, self.block, c, self.update(c), target, ld, shift, first, last)

    def _factorize(
        self, panels: FloatArray, at: int, k: int, height: int, scale: FloatArray, offset: int, tolerance: float
    ) -> int:
        """Cholesky of the panel by strips; −1, or the column whose pivot fails."""
        one, other = blas_arrays(), blas_arrays()
        for first in range(0, k, STRIP):
            last = min(first + STRIP, k)
            following = min(last + STRIP, k)  # end of the next strip, whose rows are needed by both threads
            failed = int(_factorize_triangle(one, panels, at, height, first, last, following, scale, offset, tolerance))
            if failed >= 0:
                return failed
            place = panels, at, height, first, last, following
            middle = (following + height) // 2

            def work(lib: Any, begin: int, end: int, place: Any = place) -> None:
                _eliminate_rows(lib, *place, begin, end)

            beside(lambda: work(one, last, middle), lambda: work(other, middle, height))  # noqa: B023  called at once
        return -1

    def _form_update(self, panels: FloatArray, at: int, k: int, height: int) -> None:
        own, u = self.update(self.s), height - k

        def form(first: int, last: int) -> None:
            _form_update(blas_arrays(), panels, at, k, height, own, first, last)
            self._add_children(own, u, k, k + first, k + last)

        middle = int(u * (1.0 - sqrt(0.5)))  # half of the entries of the lower triangle
        beside(lambda: form(0, middle), lambda: form(middle, u))
