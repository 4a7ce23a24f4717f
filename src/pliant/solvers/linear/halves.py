"""Two threads for one factorization or solve: independent subtrees of the elimination tree.

Nested dissection cuts a body in two, and each part is eliminated without the other. The supernodes of a subtree follow
each other, so a thread is given ranges of them and a workspace of its own. The updates of their roots are laid aside.
The large fronts above the subtrees are divided between both threads (`divided_front`). No sum changes its order: the
factor is the same to the last bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pliant.core.threads import beside
from pliant.core.types import FloatArray, IntArray
from pliant.solvers.linear.fronts import Fronts

LEAST = 1e9
"""Operations below which a second thread costs more than it saves: some 50 ms of one core."""
ROOTS = 16
"""Subtrees at most: with more, the fronts above them are small, and their division costs more than it saves."""
DIVIDED = 0.58
"""Time of a front that two threads divide over that of one: half, and the triangles that one of them factorizes."""


class Halves(NamedTuple):
    """Roots of the subtrees of each thread, first supernodes (S,) of subtrees, supernodes left for the end, ascending;
    and all roots, the one with the most work first.
    """

    one: list[int]
    other: list[int]
    first: IntArray
    rest: list[int]
    queue: list[int]


def find_halves(fronts: Fronts, block: int) -> Halves | None:
    """Subtrees for two threads and the fronts above them, which both divide; None where there is too little work or
    nothing to cut. Of the cuts that divide the largest subtree again and again, the one with the shortest time.
    """
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
    roots, rest, best, shortest = [s for s in range(count) if fronts.parent[s] < 0], list[int](), None, np.inf
    while len(roots) <= ROOTS:
        one, other = _dealt(roots, below)
        time = max(below[one].sum(), below[other].sum()) + DIVIDED * work[rest].sum()
        if one and other and time < shortest:
            queue = sorted(roots, key=lambda s: -below[s])
            best, shortest = Halves(sorted(one), sorted(other), first, sorted(rest), queue), time
        larger = max(roots, key=lambda s: below[s])
        children = fronts.children[fronts.child_ptr[larger] : fronts.child_ptr[larger + 1]].tolist()
        if not children:
            break
        roots.remove(larger)
        rest.append(larger)
        roots.extend(children)
    return best


def _dealt(roots: list[int], below: FloatArray) -> tuple[list[int], list[int]]:
    """The roots dealt to two threads, the largest first, each to the one with less work."""
    halves: tuple[list[int], list[int]] = ([], [])
    load = [0.0, 0.0]
    for root in sorted(roots, key=lambda s: -below[s]):
        mine = 0 if load[0] <= load[1] else 1
        halves[mine].append(root)
        load[mine] += below[root]
    return halves


class Updates:
    """Updates that wait for a divided front, by supernode, in memory that the next factorization uses again."""

    def __init__(self, fronts: Fronts, block: int) -> None:
        self._fronts, self._block = fronts, block
        self._kept: dict[int, FloatArray] = {}

    def size(self, s: int) -> int:
        """Scalars of the update of supernode s."""
        return (self._block * int(self._fronts.row_ptr[s + 1] - self._fronts.row_ptr[s])) ** 2

    def of(self, s: int) -> FloatArray:
        """The update of supernode s."""
        if s not in self._kept:
            self._kept[s] = np.empty(self.size(s))
        return self._kept[s]

    def within(self, workspace: FloatArray) -> Callable[[int], FloatArray]:
        """Where updates lie in a workspace through which the whole tree passes in order."""
        return lambda s: workspace[int(self._fronts.update[s]) : int(self._fronts.update[s]) + self.size(s)]


def eliminate_in_order(
    count: int, halves: Halves, eliminate: Callable[[int, int], int], divide: Callable[[int], int]
) -> int:
    """Eliminate all `count` supernodes in order: ranges by `eliminate(first, last)`, those that two threads would
    divide by `divide(s)`. Both say −1 or the unknown that failed; so does this.
    """
    first = 0
    for s in [*halves.rest, count]:
        failed = eliminate(first, s) if first < s else -1
        if failed < 0 and s < count:
            failed = divide(s)
        if failed >= 0:
            return failed
        first = s + 1
    return -1


def eliminate_halves(halves: Halves, eliminate: Callable[[int, int, int], int], divide: Callable[[int], int]) -> int:
    """Eliminate all supernodes on two threads: subtrees by `eliminate(thread, first, root)`, the next one by whichever
    thread is done, the largest first; then the others by `divide(s)`. As for `eliminate_in_order`, and the first
    unknown that failed in elimination order.
    """
    waiting = deque(halves.queue)
    failed: list[int] = []

    def work(thread: int) -> None:
        while waiting and not failed:
            try:
                root = waiting.popleft()
            except IndexError:  # the other thread took the last one
                return
            found = eliminate(thread, int(halves.first[root]), root)
            if found >= 0:
                failed.append(found)

    beside(lambda: work(0), lambda: work(1))
    if failed:
        return min(failed)
    for s in halves.rest:
        found = divide(s)
        if found >= 0:
            return found
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
