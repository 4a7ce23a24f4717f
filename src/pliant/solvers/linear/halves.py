"""Two threads for one factorization or solve: independent subtrees of the elimination tree.

Nested dissection cuts a body in two, and each part is eliminated without the other. The supernodes of a subtree follow
each other, so a thread is given ranges of them and a workspace of its own. The updates of their roots are laid aside,
and put back where the rest of the tree looks for them. No sum changes its order: the factor is the same to the last
bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pliant.core.threads import beside
from pliant.core.types import FloatArray, IntArray
from pliant.solvers.linear.fronts import Fronts

LEAST = 1e9
"""Operations below which a second thread costs more than it saves: some 50 ms of one core."""
WIDE = 600
"""Columns of the last front from which on two threads share it."""
STRIP = 120
"""Columns of the last front that one thread factorizes between products that two share."""
BALANCE = 0.7
"""Fraction of the work in the larger half above which the larger subtree is split once more."""


class Halves(NamedTuple):
    """Roots of the subtrees of each thread, first supernodes (S,) of subtrees, and supernodes left for the end."""

    one: list[int]
    other: list[int]
    first: IntArray
    rest: list[int]


def find_halves(fronts: Fronts, block: int) -> Halves | None:
    """Two sets of subtrees of about equal work, or None where there is too little of it or nothing to cut."""
    count = len(fronts.parent)
    k, u = block * np.diff(fronts.start).astype(float), block * np.diff(fronts.row_ptr).astype(float)
    work = k**3 / 3.0 + k**2 * u + k * u**2
    if work.sum() < LEAST:
        return None
    first, below = np.arange(count, dtype=np.int32), work.copy()
    for s, parent in enumerate(fronts.parent.tolist()):
        if parent >= 0:
            first[parent] = min(first[parent], first[s])
            below[parent] += below[s]
    roots, rest = [s for s in range(count) if fronts.parent[s] < 0], []
    while True:
        one, other = _dealt(roots, below)
        larger = max(roots, key=lambda s: below[s])
        shares = [sum(below[s] for s in half) for half in (one, other)]
        children = fronts.children[fronts.child_ptr[larger] : fronts.child_ptr[larger + 1]].tolist()
        if max(shares) <= BALANCE * sum(shares) or not children or len(roots) > 16:
            break
        roots.remove(larger)
        rest.append(larger)
        roots.extend(children)
    return Halves(sorted(one), sorted(other), first, sorted(rest)) if one and other else None


def _dealt(roots: list[int], below: FloatArray) -> tuple[list[int], list[int]]:
    """The roots dealt to two threads, the largest first, each to the one with less work."""
    halves: tuple[list[int], list[int]] = ([], [])
    load = [0.0, 0.0]
    for root in sorted(roots, key=lambda s: -below[s]):
        mine = 0 if load[0] <= load[1] else 1
        halves[mine].append(root)
        load[mine] += below[root]
    return halves


def is_wide(fronts: Fronts, block: int, s: int) -> bool:
    """Whether two threads share the supernode s: the last one, if it has many columns."""
    return s == len(fronts.parent) - 1 and block * int(fronts.start[s + 1] - fronts.start[s]) >= WIDE


def eliminate_triangle(
    k: int, update: Callable[[int, int, int, int], None], factorize: Callable[[int, int], int]
) -> int:
    """Cholesky of a triangle of k columns: `update(first, last, begin, end)` takes what the columns before `first`
    contribute off the columns [first, last) in the rows [begin, end), `factorize(first, last)` says −1 or the column
    that failed. Rows are shared in the same way on one thread: the factor is the same to the last bit.
    """
    for first in range(0, k, STRIP):
        last = min(first + STRIP, k)
        if first:
            middle = (first + k) // 2
            beside(
                lambda f=first, n=last, m=middle: update(f, n, f, m),  # type: ignore[misc]
                lambda f=first, n=last, m=middle: update(f, n, m, k),  # type: ignore[misc]
            )
        failed = factorize(first, last)
        if failed >= 0:
            return failed
    return -1


def eliminate_halves(
    fronts: Fronts, halves: Halves, block: int, workspaces: tuple[FloatArray, FloatArray],
    eliminate: Callable[[int, int, FloatArray], int], eliminate_last: Callable[[], int],
) -> int:  # fmt: skip
    """Eliminate all supernodes by `eliminate(first, last, workspace)`, which says −1 or the unknown that failed, and a
    wide last one by `eliminate_last()`; says the first that failed. The first of the `workspaces` is for what both
    halves have in common, too.
    """
    workspace, beyond = workspaces
    failed = [-1, -1]
    aside: dict[int, FloatArray] = {}
    in_place = len(halves.rest) == 1  # then all updates wait for the one that needs them, and none is written over

    def update(s: int, own: FloatArray) -> FloatArray:
        size, at = (block * int(fronts.row_ptr[s + 1] - fronts.row_ptr[s])) ** 2, int(fronts.update[s])
        return own[at : at + size]

    def work(half: int, roots: list[int], own: FloatArray) -> None:
        for root in roots:
            failed[half] = eliminate(int(halves.first[root]), root + 1, own)
            if failed[half] >= 0:
                return
            if not in_place:
                aside[root] = update(root, own).copy()
            elif own is beyond:
                aside[root] = update(root, own)

    beside(lambda: work(0, halves.one, workspace), lambda: work(1, halves.other, beyond))
    if max(failed) >= 0:
        return min(x for x in failed if x >= 0)
    for s in halves.rest:
        for child in fronts.children[fronts.child_ptr[s] : fronts.child_ptr[s + 1]].tolist():
            if child in aside:
                update(child, workspace)[:] = aside.pop(child)
        failed_at = eliminate_last() if is_wide(fronts, block, s) else eliminate(s, s + 1, workspace)
        if failed_at >= 0:
            return failed_at
        if not in_place:
            aside[s] = update(s, workspace).copy()
    return -1


def substitute_halves(
    fronts: Fronts, halves: Halves, block: int, y: FloatArray, substitute: Callable[[FloatArray, int, int, bool], None]
) -> None:
    """Turn y (unknowns, …), in elimination order, into A⁻¹ y by `substitute(y, first, last, forward)`.

    What the subtrees of one thread add to those above is summed by itself, on one thread as on two: the solution is
    the same to the last bit.
    """

    def rows(first: int, last: int) -> slice:
        return slice(block * int(fronts.start[first]), block * int(fronts.start[last]))

    def work(roots: list[int], own: FloatArray, forward: bool) -> None:
        for root in roots:
            substitute(own, int(halves.first[root]), root + 1, forward)

    aside = y.copy()
    for s in halves.rest:
        aside[rows(s, s + 1)] = 0.0
    beside(lambda: work(halves.one, y, True), lambda: work(halves.other, aside, True))
    for root in halves.other:
        mine = rows(int(halves.first[root]), root + 1)
        y[mine] = aside[mine]
    for s in halves.rest:
        y[rows(s, s + 1)] += aside[rows(s, s + 1)]
    for s in halves.rest:
        substitute(y, s, s + 1, True)
    for s in reversed(halves.rest):
        substitute(y, s, s + 1, False)
    beside(lambda: work(halves.one, y, False), lambda: work(halves.other, y, False))


def condense_halves(
    fronts: Fronts, halves: Halves, size: int, W: FloatArray, update: Callable[[int], slice],
    condense: Callable[[FloatArray, FloatArray, int, int], None],
) -> None:  # fmt: skip
    """Add to W all that supernodes contribute by `condense(W, workspace, first, last)`, in a workspace of `size` in
    which supernode s leaves its update at `update(s)`. What the subtrees of one thread contribute is summed by itself.
    """
    own, beyond, apart = np.empty(size), np.empty(size), np.zeros_like(W)
    aside: dict[int, FloatArray] = {}

    def work(roots: list[int], into: FloatArray, workspace: FloatArray) -> None:
        for root in roots:
            condense(into, workspace, int(halves.first[root]), root + 1)
            aside[root] = workspace[update(root)].copy()

    beside(lambda: work(halves.one, W, own), lambda: work(halves.other, apart, beyond))
    W += apart
    for s in halves.rest:
        for child in fronts.children[fronts.child_ptr[s] : fronts.child_ptr[s + 1]].tolist():
            own[update(child)] = aside.pop(child)
        condense(W, own, s, s + 1)
        aside[s] = own[update(s)].copy()
